"""Names of features hashed into 2^bits names, the same ones on every machine and in every version."""

from hashlib import blake2b


def hashed_name(name: str, bits: int) -> str:
    """The name under which a feature is known: a number sign and a number below 2^bits.

    >>> hashed_name("body:free", 20) == hashed_name("body:free", 20), hashed_name("body:free", 1) in ("#0", "#1")
    (True, True)
    """
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return f"#{int.from_bytes(digest, 'little') & ((1 << bits) - 1)}"
