"""A service that `weft serve` runs, as a model: `service` over the standard library, `asynchronous` over httpx.

from weft.client import Client, ServiceError
"""

from weft.client.service import Client, ServiceError, Uploaded

__all__ = ["Client", "ServiceError", "Uploaded"]
