"""How large a source of data may be, and the sentences that refuse a larger one.

The bounds leave room for many times the published data with all results beside it; what they keep out is a file that
fills the disk or the memory. Knows no kind of archive.
"""

from __future__ import annotations

from attunebench.errors import DataError
from attunebench.jsonfile import MAX_BYTES

MOST_ARCHIVE_BYTES = 1_000_000_000
"""Of an archive as it is downloaded."""
MOST_UNPACKED_BYTES = 4_000_000_000
"""Of everything in an archive together."""
MOST_FILE_BYTES = MAX_BYTES
"""Of one file that is taken: a larger conversation could not be read."""
MOST_ENTRIES = 100_000
"""Files and folders in a source."""
MOST_RATIO = 200
"""Unpacked to packed bytes. Conversations pack about 1:10; only what repeats without end goes beyond 1:200."""
RATIO_FROM_BYTES = 1_000_000
"""Less than this may be packed as tightly as it likes."""
LARGEST_PIECE = 16 << 20
"""Of an archive's own lists and headers, which are read in one piece."""


def megabytes(count: int) -> str:
    """Bytes for people: "0.4 MB", "12.3 MB"."""
    return f"{count / 1_000_000:,.1f} MB"


def refuse_archive(what: str) -> DataError:
    """The refusal of an archive that is larger than any of this benchmark's."""
    return DataError(
        f"{what} is larger than {megabytes(MOST_ARCHIVE_BYTES)}, which no archive of this data is; check what it is, "
        "and give a folder with --from where it is right."
    )


def check_entry(where: str, name: str, unpacked: int, packed: int | None) -> None:
    """Raise DataError for an entry that is packed tighter than conversations can be; `packed` None is not known."""
    if packed is not None and unpacked > max(RATIO_FROM_BYTES, MOST_RATIO * packed):
        raise DataError(
            f"{where}: '{name}' would unpack to more than {MOST_RATIO} times its size, as only a zip bomb does; "
            "nothing was unpacked."
        )


def check_sum(where: str, entries: int, unpacked: int) -> None:
    """Raise DataError where there are more files, or more bytes in them, than any archive of this data has."""
    if entries > MOST_ENTRIES:
        raise DataError(
            f"{where} holds more than {MOST_ENTRIES:,} files; give the part of it that holds the conversations."
        )
    if unpacked > MOST_UNPACKED_BYTES:
        raise DataError(
            f"{where} would unpack to more than {megabytes(MOST_UNPACKED_BYTES)}; give the part of it that holds the "
            "conversations."
        )
