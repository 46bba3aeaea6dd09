"""Addresses of brokers: `kafka://host:9092/topic`, `redis://host:6379/stream`, `nats://host:4222/subject`."""

from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

PORTS = {"kafka": 9092, "redis": 6379, "rediss": 6379, "nats": 4222}
"""The kinds of brokers, and their usual ports."""
FORM = "write it as kafka://HOST:PORT/TOPIC, redis://HOST:PORT/STREAM or nats://HOST:PORT/SUBJECT"


@dataclass(frozen=True)
class Address:
    """Where a broker is, and what is read there. The password is not part of its representation."""

    kind: str
    host: str
    port: int
    name: str
    """The topic, stream or subject."""
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    options: dict[str, str] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        """Without what is secret: as it is shown, and as progress is kept under."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        database = self.options.get("db", "0")
        return f"{self.kind}://{host}:{self.port}/{self.name}" + (f"?db={database}" if database != "0" else "")


def is_address(text: str) -> bool:
    """Is this the address of a broker, and not the name of a file?"""
    return text.partition("://")[0] in PORTS and "://" in text


def parse_address(text: str) -> Address:
    """Read an address; ValueError says what is wrong with it."""
    parts = urlsplit(text)
    try:
        port = parts.port
    except ValueError:
        raise ValueError(f"{shown(text)}: the port is not a number from 0 to 65535; {FORM}") from None
    name = unquote(parts.path.removeprefix("/"))
    if not parts.hostname or not name or parts.fragment:
        raise ValueError(f"{shown(text)} is not the address of a broker; {FORM}")
    if any(ord(character) < 32 for character in name):
        raise ValueError(f"{shown(text)}: a name has no control characters; {FORM}")
    return Address(
        parts.scheme,
        parts.hostname,
        port or PORTS[parts.scheme],
        name,
        unquote(parts.username) if parts.username else None,
        unquote(parts.password) if parts.password else None,
        dict(parse_qsl(parts.query, keep_blank_values=True)),
    )


def shown(text: str) -> str:
    """A source as it may be printed: an address without user, password and options; a file as it is."""
    if not is_address(text):
        return text
    kind, _, rest = text.partition("://")
    return f"{kind}://{rest.partition('?')[0].rpartition('@')[2]}"


def take_options(address: Address, known: tuple[str, ...]) -> dict[str, str]:
    """The options of an address, all of which must be known."""
    for option in address.options:
        if option not in known:
            raise ValueError(f"{address}: unknown option {option!r}; there are {', '.join(known)}")
    return address.options
