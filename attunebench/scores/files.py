"""Writing and reading `scores.json`: whole or not at all, line by line, and never over a file of something else."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from math import isfinite
from pathlib import Path
from typing import Any, cast

from attunebench.errors import DataError
from attunebench.files import atomic_write, replaces_a_file
from attunebench.jsonfile import dump_json, parse_json
from attunebench.scores.schema import (
    FORMAT,
    SCHEMA_VERSION,
    AggregateEntry,
    ConversationEntry,
    GroundTruthEntry,
    Reference,
    Scores,
)
from attunebench.text import printable

_HEAD_BYTES = 200
_MAX_BYTES = 2 << 30


def new_scores(
    metadata: dict[str, Any],
    conversations: list[ConversationEntry],
    aggregates: list[AggregateEntry],
    left_out: dict[str, list[Any]],
    *,
    questions: Sequence[str] = (),
    ground_truth: Sequence[GroundTruthEntry] = (),
    references: Sequence[Reference] = (),
) -> Scores:
    """The file's content around its parts."""
    return {
        "schema_version": SCHEMA_VERSION,
        "format": FORMAT,
        "metadata": metadata,
        "conversations": conversations,
        "aggregates": aggregates,
        "questions": list(questions),
        "ground_truth": list(ground_truth),
        "references": list(references),
        "left_out": left_out,
    }


def write_scores(path: str | Path, scores: Scores, *, lines: Iterable[bytes] | None = None) -> None:
    """Write the file whole or not at all; `lines`, as `line_of` makes them, stand for its conversations.

    DataError where the target cannot be written, or is there and is no scores file (it is left untouched).
    """
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        refuse_foreign(target)
        with atomic_write(target) as file:
            file.writelines(_lines(scores, lines))
    except OSError as error:
        raise DataError(f"{target} cannot be written ({error.strerror or error}); name another --output.") from None


def read_scores(path: str | Path) -> Scores:
    """The content of a scores file, of ours or of the released scorer. DataError: no such file, not JSON, not of this
    format, of a newer version, a value that no score can have."""
    source = Path(path)
    if source.exists() and not source.is_file():
        # A pipe would be waited for, and a device read from for ever.
        raise DataError(f"{source} is not a regular file; name the one that `attune-bench score` wrote.")
    try:
        if source.stat().st_size > _MAX_BYTES:
            raise DataError(f"{source} is larger than {_MAX_BYTES >> 30} GB, the largest size that is read.")
        content = parse_json(source.read_bytes(), lenient=True)
    except OSError as error:
        raise DataError(
            f"{source} cannot be read ({error.strerror or error}); `attune-bench score` writes such a file."
        ) from None
    except ValueError as error:
        raise DataError(f"{source}: {error}; write it again with `attune-bench score`.") from None
    if not _is_scores(content):
        from attunebench.published import instead_of_scores, published_scores

        if published := published_scores(content, str(source)):
            return cast(Scores, published)
        raise DataError(f"{source} is not a scores file{instead_of_scores(content)}.")
    require_version(content, str(source))
    content["metadata"].pop("published", None)  # what only `published_scores` says
    return cast(Scores, content)


def require_version(content: Mapping[str, Any], name: str) -> None:
    """DataError where the scores say that they have another schema than this version reads."""
    version = str(content.get("schema_version", SCHEMA_VERSION))
    if version.split(".")[0] != SCHEMA_VERSION.split(".")[0]:
        raise DataError(
            f"{name} has schema version {printable(version)}, and this AttuneBench reads {SCHEMA_VERSION}; "
            "score the results again, or use the version that wrote it."
        )


def _is_scores(content: Any) -> bool:
    return (
        isinstance(content, dict)
        and "schema_version" in content
        and isinstance(content.get("metadata"), dict)
        and isinstance(content.get("conversations"), list)
        and isinstance(content.get("aggregates"), list)
    )


def refuse_foreign(path: str | Path) -> None:
    """DataError where the target is there and holds anything but scores, which a write would take away.

    The head of a file of ours tells, without reading all of it.
    """
    target = Path(path)
    if target.is_dir():
        raise DataError(f"{target} is a folder; name a file in it as --output.")
    if not replaces_a_file(target):  # nothing is there, or a device or a pipe, which is written to and never read
        return
    with target.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if not head or f'"format": "{FORMAT}"'.encode() in head:
        return
    try:
        foreign = not _is_scores(json.loads(target.read_bytes().decode("utf-8-sig")))
    except (ValueError, RecursionError):
        foreign = True
    if foreign:
        raise DataError(f"{target} exists and is not a scores file, so it was not overwritten; name another --output.")


def line_of(entry: Mapping[str, Any]) -> bytes:
    """A conversation's entry on one line. ValueError where a metric is NaN or infinite: that is a bug, and must not be
    written as null, which stands for undefined."""
    total = sum(sum(filter(None, part["metrics"].values())) for part in (entry, *entry["turns"]))
    if not isfinite(total):
        raise ValueError(f"a metric of {entry['conversationId']} is not a number")
    return dump_json(entry)


def _line_of_few(value: Any) -> bytes:
    """As `line_of`, for entries of any kind that are few."""
    json.dumps(value, allow_nan=False)
    return dump_json(value)


def _lines(scores: Scores, conversations: Iterable[bytes] | None) -> Iterator[bytes]:
    """The file line by line, one conversation or group on each, and never as a whole in memory."""
    yield f'{{"schema_version": "{scores["schema_version"]}", "format": "{scores["format"]}",\n'.encode()
    for name in ("metadata", "conversations", "aggregates", "questions", "ground_truth", "references", "left_out"):
        value: Any = scores[name]
        yield f'"{name}": '.encode()
        if name in ("metadata", "questions", "left_out"):
            yield dump_json(value)
        else:
            of_kind = {"conversations": line_of, "ground_truth": dump_json}.get(name, _line_of_few)
            entries = conversations if name == "conversations" and conversations is not None else map(of_kind, value)
            yield b"["
            for separator, line in zip(chain([b"\n"], repeat(b",\n")), entries, strict=False):
                yield separator
                yield line
            yield b"\n]"
        yield b"}\n" if name == "left_out" else b",\n"
