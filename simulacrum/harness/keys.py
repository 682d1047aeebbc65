"""The signature of a report: HMAC-SHA256 over its raw bytes, with a key that the account makes for itself.

It stops accidents: a report that was edited, or that came with a checkout from elsewhere, does not count. It does not
stop the account's owner, who has the key, and is no security boundary.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
from dataclasses import dataclass
from pathlib import Path

from ..errors import SimulacrumError
from .places import state_folder

KEY_BYTES = 32


@dataclass(frozen=True)
class Signature:
    """A detached signature: which key made it (a short hash of the key), and the HMAC in hexadecimal."""

    key_id: str
    hmac: str

    def to_bytes(self) -> bytes:
        """As the signature file holds it."""
        return (json.dumps({"key_id": self.key_id, "hmac": self.hmac}) + "\n").encode()

    @classmethod
    def parse(cls, data: bytes) -> Signature | None:
        """The signature in a file's bytes; None where they hold none."""
        try:
            content = json.loads(data)
            found = cls(content["key_id"], content["hmac"])
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
        return found if isinstance(found.key_id, str) and isinstance(found.hmac, str) else None


def key_file() -> Path:
    """Where the key lies: ``$SIMULACRUM_KEY_FILE`` (one key for a cluster, say), or ``key`` in the state folder."""
    path = os.environ.get("SIMULACRUM_KEY_FILE")
    return Path(os.path.expanduser(path)) if path else state_folder() / "key"


def existing_key() -> bytes | None:
    """The key, or None where none was made. Raises :class:`SimulacrumError` for a file that holds none."""
    path = key_file()
    try:
        key = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SimulacrumError(f"the key {path} cannot be read: {error}") from None
    if len(key) < KEY_BYTES:
        raise SimulacrumError(
            f"the key {path} is damaged ({len(key)} bytes, expected {KEY_BYTES}): delete it, validate again"
        )
    return key


def account_key() -> bytes:
    """The key, made (32 random bytes, mode 0600) where there is none."""
    key = existing_key()
    if key is None:
        _make_key(key_file())
        key = existing_key()
    assert key is not None
    return key


def key_id(key: bytes) -> str:
    """A short hash that names a key and does not tell it."""
    return hashlib.sha256(key).hexdigest()[:16]


def sign(data: bytes, key: bytes) -> Signature:
    """The signature of some bytes."""
    return Signature(key_id(key), hmac.new(key, data, hashlib.sha256).hexdigest())


def genuine(data: bytes, signature: Signature, key: bytes) -> bool:
    """Whether a signature is that of these bytes with this key."""
    return hmac.compare_digest(sign(data, key).hmac.encode(), signature.hmac.encode(errors="replace"))


def _make_key(path: Path) -> None:
    """Write a new key under another name, then link it into place: of two processes one wins, and both read its key."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    work = path.with_name(f"{path.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
    try:
        with os.fdopen(os.open(work, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(os.urandom(KEY_BYTES))
        with contextlib.suppress(FileExistsError):
            os.link(work, path)
    finally:
        work.unlink(missing_ok=True)
