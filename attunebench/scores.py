"""What `scores.json` holds, written and read: typed dicts that are the file's JSON, and nothing that computes them.

A value that is None is undefined or was not measured; it is never 0. Numbers are not rounded.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypedDict, cast

from attunebench.errors import DataError
from attunebench.jsonfile import parse_json
from attunebench.wholefile import whole_file

SCHEMA_VERSION = "1.0"
"""Readers take any file of the same major version; a minor version only adds keys."""
_FORMAT = "attunebench-scores"
_HEAD_BYTES = 200

MetricValues = dict[str, "float | None"]


class PooledCell(TypedDict):
    """Counts of binary answers with "yes" as positive, and the rates of them; None where there is no truth at all."""

    tp: int
    tn: int
    fp: int
    fn: int
    accuracy: float | None
    precision: float | None
    recall: float | None
    f1: float | None
    mcc: float | None


class PooledBlock(PooledCell):
    """A block's counts in all, and by question category."""

    by_category: dict[str, PooledCell]


Pooled = dict[str, "PooledBlock | None"]
"""binary_om, binary_hp, binary_om_hp, binary_hp_hp → counts; None for a block that was not measured."""


class TurnEntry(TypedDict):
    """One turn. `metrics` holds every id of the registry that is computed per turn."""

    turnNumber: int
    metrics: MetricValues


class ConversationEntry(TypedDict):
    """One result. `metrics` holds every id of the registry; `calls` the counts behind the three rates."""

    conversationId: str
    provider: str
    em_model: str
    mode: str
    epoch: int | None
    source_file: str
    participant_id: str | None
    n_turns: int
    metrics: MetricValues
    turns: list[TurnEntry]
    pooled: Pooled
    calls: dict[str, float | None]
    composite_complete: bool


class Aggregate(TypedDict):
    """A metric over the conversations of a group; `n` counts those in which it is defined."""

    mean: float | None
    n: int
    se: float | None
    ci_low: float | None
    ci_high: float | None


class Sample(TypedDict):
    """The first `reached` of the `of` conversations in the random order of the run, stratified by topic and diagnosis.

    Results may lack a few of the beginning: those that were under way when the run ended, or skipped.
    """

    seed: int
    reached: int
    of: int


class Coverage(TypedDict):
    """Of the `expected` conversations of the ground truth, `scored` are in; ids of the others, and why they are not.

    `skipped`: a run could not finish them; `duplicated`: several results claim them; `missing`: no word of them.
    `sample`: where only a part is scored, the beginning of the run's order that it is; None where that is not certain.
    """

    expected: int
    scored: int
    skipped: list[str]
    duplicated: list[str]
    missing: list[str]
    sample: Sample | None


class AggregateEntry(TypedDict):
    """One (provider, model, mode). `composite_incomplete` counts conversations whose Composite lacks a term."""

    provider: str
    em_model: str
    mode: str
    n_conversations: int
    n_participants: int
    composite_incomplete: int
    metrics: dict[str, Aggregate]
    pooled: Pooled
    coverage: Coverage


class Scores(TypedDict):
    """The whole file. `left_out` names every file and result that was not scored, under why it was not."""

    schema_version: str
    format: str
    metadata: dict[str, Any]
    conversations: list[ConversationEntry]
    aggregates: list[AggregateEntry]
    left_out: dict[str, list[Any]]


def new_scores(
    metadata: dict[str, Any],
    conversations: list[ConversationEntry],
    aggregates: list[AggregateEntry],
    left_out: dict[str, list[Any]],
) -> Scores:
    """The file's content around its parts."""
    return {
        "schema_version": SCHEMA_VERSION,
        "format": _FORMAT,
        "metadata": metadata,
        "conversations": conversations,
        "aggregates": aggregates,
        "left_out": left_out,
    }


def write_scores(path: str | Path, scores: Scores) -> None:
    """Write the file whole or not at all.

    DataError where the target cannot be written, or is there and is no scores file (it is left untouched).
    """
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _refuse_foreign(target)
        with whole_file(target) as file:
            file.writelines(line.encode() for line in _lines(scores))
    except OSError as error:
        raise DataError(f"{target} cannot be written ({error.strerror or error}); name another --output.") from None


def read_scores(path: str | Path) -> Scores:
    """The content of a scores file. DataError: no such file, not JSON, not of this format, of a newer version."""
    source = Path(path)
    try:
        content = parse_json(source.read_bytes(), lenient=True)
    except OSError as error:
        raise DataError(
            f"{source} cannot be read ({error.strerror or error}); `attune-bench score` writes such a file."
        ) from None
    except ValueError as error:
        raise DataError(f"{source} is {error}; write it again with `attune-bench score`.") from None
    if not _is_scores(content):
        raise DataError(f"{source} is not a scores file; name the one that `attune-bench score` wrote.")
    version = str(content["schema_version"])
    if _major(version) != _major(SCHEMA_VERSION):
        raise DataError(
            f"{source} has schema version {version}, and this AttuneBench reads {SCHEMA_VERSION}; "
            "score the results again, or use the version that wrote it."
        )
    return cast(Scores, content)


def _is_scores(content: Any) -> bool:
    return (
        isinstance(content, dict)
        and "schema_version" in content
        and isinstance(content.get("metadata"), dict)
        and isinstance(content.get("conversations"), list)
        and isinstance(content.get("aggregates"), list)
    )


def _major(version: str) -> str:
    return version.split(".")[0]


def _refuse_foreign(target: Path) -> None:
    """Raise where the target holds anything but scores; the head of a file of ours tells, without reading all of it."""
    if target.is_dir():
        raise DataError(f"{target} is a folder; name a file in it as --output.")
    if not target.exists():
        return
    if not target.is_file():
        # A device or a pipe would be replaced by the file, and a pipe read from for ever.
        raise DataError(f"{target} is no ordinary file; name a file as --output.")
    with target.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if not head or f'"format": "{_FORMAT}"'.encode() in head:
        return
    try:
        foreign = not _is_scores(json.loads(target.read_bytes().decode("utf-8-sig")))
    except (ValueError, RecursionError):
        foreign = True
    if foreign:
        raise DataError(f"{target} is there and is no scores file, so it is left as it is; name another --output.")


def _lines(scores: Scores) -> Iterator[str]:
    """The file line by line, one conversation or group on each, and never as a whole in memory."""
    yield f'{{"schema_version": {_text(scores["schema_version"])}, "format": {_text(scores["format"])},\n'
    yield f'"metadata": {_text(scores["metadata"])},\n'
    yield from _list("conversations", scores["conversations"])
    yield from _list("aggregates", scores["aggregates"])
    yield f'"left_out": {_text(scores["left_out"])}}}\n'


def _list(name: str, entries: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    yield f'"{name}": ['
    separator = "\n"
    for entry in entries:
        yield separator + _text(entry)
        separator = ",\n"
    yield "\n],\n"


def _text(value: Any) -> str:
    return json.dumps(value, allow_nan=False)
