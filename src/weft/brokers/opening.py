"""From an address to a connection; the client of a broker is imported only if one is asked for."""

from importlib import import_module

from weft.brokers.address import Address
from weft.brokers.broker import Broker

_HOMES = {
    "kafka": ("kafka", "Kafka", "confluent_kafka"),
    "redis": ("redis_streams", "RedisStream", "redis"),
    "rediss": ("redis_streams", "RedisStream", "redis"),
    "nats": ("jetstream", "JetStream", "nats"),
}
"""The module and the class of each kind, and the package that it needs."""


def open_broker(address: Address) -> Broker:
    """A broker that is not connected yet; ValueError if its options are wrong or its client is not installed."""
    module, name, package = _HOMES[address.kind]
    try:
        import_module(package)
    except ImportError:
        extra = "redis" if address.kind == "rediss" else address.kind
        raise ValueError(
            f"{address} needs the package {package}; install it with pip install 'weft[{extra}]'"
        ) from None
    broker: Broker = getattr(import_module(f"weft.brokers.{module}"), name)(address)
    return broker
