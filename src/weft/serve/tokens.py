"""Bearer tokens: who may read, learn and administer. A folder keeps hashes only.

A token is `weft_NAME_SECRET`; its secret has 256 random bits, so that a plain SHA-256 of it cannot be searched.
"""

import hashlib
import hmac
import json
import os
import secrets
from pathlib import Path
from typing import Literal, get_args

import msgspec

from weft.serve.folder import TOKENS
from weft.store.digests import FileError
from weft.store.files import write_atomic

FILE = TOKENS
COOKIE = "weft"
"""What the cookie of a browser is called that holds a token."""
Scope = Literal["read", "learn", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
"""Each includes those before it."""


class Token(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is kept of a token."""

    name: str
    scope: Scope
    sha256: str


class Tokens:
    """The tokens of a folder; a file that has changed is read again, so that a running service follows."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._found: dict[str, Token] = {}
        self._stamp: tuple[int, int, int] | None = None
        self.refresh()

    def refresh(self) -> None:
        """Read the file if it has changed; FileError if it is damaged."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            self._found, self._stamp = {}, None
            return
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        if stamp != self._stamp:
            self._found = {token.name: token for token in _read(self.path)}
            self._stamp = stamp

    def __len__(self) -> int:
        return len(self._found)

    def listed(self) -> list[Token]:
        """All tokens, by name."""
        return sorted(self._found.values(), key=lambda token: token.name)

    def scope_of(self, text: str) -> Scope | None:
        """What a token may do; None if it is not one of this folder's."""
        name, secret = _split(text)
        token = self._found.get(name)
        known = token.sha256 if token is not None else _hash("")
        is_right = hmac.compare_digest(_hash(secret), known)
        return token.scope if token is not None and is_right else None

    def add(self, scope: Scope) -> str:
        """A new token, which is shown once and never again."""
        name, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
        self._write([*self.listed(), Token(name, scope, _hash(secret))])
        return f"weft_{name}_{secret}"

    def remove(self, name: str) -> None:
        """Take a token back; ValueError if there is none of that name."""
        if name not in self._found:
            raise ValueError(f"there is no token {name!r} in {self.path.parent}; weft token list shows them")
        self._write([token for token in self.listed() if token.name != name])

    def _write(self, tokens: list[Token]) -> None:
        text = json.dumps(msgspec.to_builtins(tokens), indent=2)
        write_atomic(self.path, (text + "\n").encode())
        os.chmod(self.path, 0o600)
        self.refresh()


def allows(held: Scope, needed: Scope) -> bool:
    """Whether a scope includes another.

    >>> allows("admin", "learn"), allows("read", "learn")
    (True, False)
    """
    return SCOPES.index(held) >= SCOPES.index(needed)


def _split(text: str) -> tuple[str, str]:
    head, _, rest = text.partition("_")
    name, _, secret = rest.partition("_")
    return (name, secret) if head == "weft" else ("", text)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _read(path: Path) -> list[Token]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[Token])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise FileError(f"{path} cannot be used: {error}; restore it, or remove it and add tokens anew") from None
