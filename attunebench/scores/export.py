"""The tidy rows of scores as files: Parquet for data frames, CSV for spreadsheets, JSON lines for everything else."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

from attunebench.errors import DataError, UsageError
from attunebench.files import atomic_write
from attunebench.scores.frames import COLUMNS, ROWS, Row, columns_of
from attunebench.text import csv_cell

if TYPE_CHECKING:
    from attunebench.scores.table import ScoreTable

Format = Literal["parquet", "csv", "jsonl"]
_ROWS_AT_ONCE = 100_000


def export_scores(
    table: ScoreTable, folder: Path, format: Format = "parquet", *, overwrite: bool = False
) -> list[Path]:
    """Write the four files (`models`, `conversations`, `turns`, `answers`) of a table into a folder; their paths.

    Rows are streamed, and files appear together or not at all. Raises DataError where one is there already (without
    `overwrite`) or cannot be written, UsageError where Parquet is asked for without pyarrow.
    """
    write = _WRITERS[format]
    paths = {name: folder / f"{name}.{format}" for name in ROWS}
    if there := [path.name for path in paths.values() if path.exists() and not overwrite]:
        raise DataError(f"{folder} already holds {', '.join(there)}; name another folder, or use --overwrite.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as files:
            for name, path in paths.items():
                write(ROWS[name](table), columns_of(table, name), files.enter_context(atomic_write(path)))
    except OSError as error:
        raise DataError(f"{folder} cannot be written ({error.strerror or error}); name another folder.") from error
    return list(paths.values())


def _write_jsonl(rows: Iterator[Row], _: Sequence[str], file: BinaryIO) -> None:
    file.writelines(json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n" for row in rows)


def _write_csv(rows: Iterator[Row], columns: Sequence[str], file: BinaryIO) -> None:
    text = io.TextIOWrapper(file, "utf-8", errors="backslashreplace", newline="")
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: csv_cell(value) if isinstance(value, str) else value for key, value in row.items()})
    text.flush()
    text.detach()


def _write_parquet(rows: Iterator[Row], columns: Sequence[str], file: BinaryIO) -> None:
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter
    except ImportError as error:
        raise UsageError(
            'Parquet requires pyarrow: pip install ".[data]" in the checkout of attunebench, or choose --format csv.'
        ) from error
    types = {"text": pa.string(), "whole": pa.int64(), "number": pa.float64(), "truth": pa.bool_()}
    schema = pa.schema([(column, types[COLUMNS.get(column, "number")]) for column in columns])
    with ParquetWriter(file, schema) as writer:
        while part := list(islice(rows, _ROWS_AT_ONCE)):
            writer.write_table(pa.Table.from_pylist(part, schema))


_WRITERS: Mapping[Format, Callable[[Iterator[Row], Sequence[str], BinaryIO], None]] = {
    "parquet": _write_parquet,
    "csv": _write_csv,
    "jsonl": _write_jsonl,
}
