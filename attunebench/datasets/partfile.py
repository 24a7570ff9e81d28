"""A download that is not whole yet: its bytes, and beside them which version of which address they are of.

Owns what may be gone on with. Knows no network. The note beside the bytes holds a digest of the address and never the
address, which may have a password or a signature in it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from attunebench.datasets.sources import Address
from attunebench.errors import DataError
from attunebench.files import atomic_write
from attunebench.jsonfile import read_json

PART_NAME = "archive.part"
_NOTE_NAME = "archive.json"


@dataclass(frozen=True, slots=True)
class Version:
    """Which bytes these are, by the server's own word: `etag` and `modified` as it sent them, "" where it did not."""

    address: str
    etag: str = ""
    modified: str = ""
    total: int | None = None
    whole: bool = False

    @property
    def validator(self) -> str:
        """What a server is asked to compare before it sends the rest; "" where nothing tells versions apart byte by
        byte (a weak ETag does not)."""
        return self.etag if self.etag and not self.etag.startswith("W/") else self.modified


class PartFile:
    """The bytes of an address in a folder. Raises DataError where they cannot be written."""

    def __init__(self, folder: Path, address: Address) -> None:
        self.path = folder / PART_NAME
        self._note = folder / _NOTE_NAME
        self._address = hashlib.sha256(address.url.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def size(self) -> int:
        """Bytes that are there."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def known(self) -> Version | None:
        """The version of the bytes that are there; None where there are none, or of another address."""
        if not self.size:
            return None
        try:
            raw, _ = read_json(self._note)
            version = Version(**raw)
        except (DataError, TypeError):
            return None
        sound = all(isinstance(part, str) for part in (version.address, version.etag, version.modified))
        return version if sound and version.address == self._address else None

    def version(self, headers: Mapping[str, str], total: int | None) -> Version:
        """The version that a response speaks of; header names in lower case."""
        return Version(self._address, headers.get("etag", ""), headers.get("last-modified", ""), total)

    def begin(self, version: Version) -> None:
        """Forget what is there; bytes of this version follow."""
        self.discard()
        self.remember(version)

    def remember(self, version: Version) -> None:
        """Write down which version the bytes are of."""
        try:
            with atomic_write(self._note) as file:
                file.write(json.dumps(asdict(version)).encode())
        except OSError as error:
            raise self.unwritable(error) from None

    @contextmanager
    def opened(self) -> Iterator[Callable[[bytes], None]]:
        """Takes further bytes, each at once on its way to the disk: a kill costs none that was taken."""
        try:
            file = self.path.open("ab", buffering=0)
        except OSError as error:
            raise self.unwritable(error) from None

        def append(piece: bytes) -> None:
            rest = memoryview(piece)
            try:
                while rest:
                    rest = rest[file.write(rest) or 0 :]
            except OSError as error:
                raise self.unwritable(error) from None

        with file:
            yield append

    def discard(self) -> None:
        """Take away bytes and note."""
        for path in (self.path, self._note):
            with suppress(FileNotFoundError):
                path.unlink()

    def unwritable(self, error: OSError) -> DataError:
        """What to say where the disk takes no more."""
        return DataError(
            f"The download cannot be written to {self.path.parent} ({error.strerror or error}); make room or choose "
            "another place with --to, and repeat the command. What has come so far is kept there."
        )
