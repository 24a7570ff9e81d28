"""What `scores.json` holds, written and read: typed dicts that are the file's JSON, and nothing that computes them.

A value that is None is undefined or was not measured; it is never 0. Numbers are not rounded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import Any, TypedDict, cast

from typing_extensions import NotRequired

from attunebench.errors import DataError
from attunebench.files import atomic_write, replaces_a_file
from attunebench.jsonfile import parse_json
from attunebench.judging import JudgeScale

SCHEMA_VERSION = "1.1"
"""Readers take any file of the same major version; a minor version only adds keys.

1.1: `questions`, `ground_truth`, `references`; `answers`, `usage`, `api_cost`, `duration_seconds` of a conversation.
"""
_FORMAT = "attunebench-scores"
_HEAD_BYTES = 200
BASE_RATE, EMPTY_TAGS = "base-rate", "always-empty-tags"
"""Ids of `references`."""
_MAX_BYTES = 2 << 30
_ENCODER = json.JSONEncoder(allow_nan=False)

MetricValues = dict[str, "float | None"]
Check = Callable[[Iterable[str]], Iterable[str]]


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


class TurnAnswers(TypedDict, total=False):
    """What a model said in one turn; a key is absent where the result did not measure it.

    `tags`: item → intensity or None; {} is neutral, None not answered. The binary blocks are strings with a letter for
    each of the file's `questions`: y, n, or - for not answered. `pairwise` has A, B or - for each comparison of the
    turn, by its index.
    """

    tags: dict[str, float | None] | None
    binary_om: str
    binary_hp: str
    binary_om_hp: str
    binary_hp_hp: str
    pairwise: str


class PanasState(TypedDict):
    """A state, felt or predicted: totals (10–70) and items in lower case (1–7), those that are known."""

    positive: float | None
    negative: float | None
    items: dict[str, float]


class WideAnswers(TypedDict):
    """Answers about the whole talk, given or predicted. None is unknown or not answered; [] is an answer."""

    q1: list[str] | None
    q2: str | None
    q3: str | None
    follow_up: list[str] | None
    four_branch: dict[str, float]


class ConversationAnswers(TypedDict):
    """What a model said about the whole talk; None where the result did not measure it."""

    post_panas: PanasState | None
    wide: WideAnswers | None


class TurnEntry(TypedDict):
    """One turn. `metrics` holds every id of the registry that is computed per turn."""

    turnNumber: int
    metrics: MetricValues
    answers: TurnAnswers


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
    answers: ConversationAnswers
    usage: dict[str, float]
    api_cost: float | None
    duration_seconds: float | None


class TurnTruth(TypedDict):
    """The person's labels of one turn.

    `tags` as in `TurnAnswers`, None is no truth. `observed` and `preferred` have a letter for each of the file's
    `questions`: y, n, or . for no truth. `comparisons`: [question, variant A, variant B, winner or None], those that
    were asked and those that were not alike, so that their index is that of `TurnAnswers.pairwise`.
    """

    turnNumber: int
    tags: dict[str, float | None] | None
    observed: str
    preferred: str
    comparisons: list[list[str | None]]


class GroundTruthEntry(TypedDict):
    """One conversation of the ground truth: whose it is, what it is about, and its labels; no words of the talk.

    `demographics` holds what was told (`diagnoses` and `work_edu_background` are lists), `diagnosis_groups` see
    `conversations.groups`, `om_model` the chat model that the person talked with.
    """

    conversationId: str
    source_file: str
    participant_id: str | None
    om_model: str | None
    topics: list[str]
    subtopic: str | None
    attitude: str | None
    demographics: dict[str, Any]
    diagnosis_groups: list[str]
    computed_scores: dict[str, float]
    pre_panas: PanasState
    post_panas: PanasState
    wide: WideAnswers
    turns: list[TurnTruth]


class _Estimate(TypedDict):
    mean: float | None
    n: int
    se: float | None
    ci_low: float | None
    ci_high: float | None


class Aggregate(_Estimate, total=False):
    """A metric over the conversations of a group; `n` counts those in which it is defined.

    `ci_low` and `ci_high` are None where the interval cannot be estimated: a single conversation, or one value in all
    of them. `ci_method` is "wilson" for a share of right answers that is the same in all conversations; else it is
    there where BCa intervals were asked for: "bca", or "percentile" where BCa is undefined and the percentile interval
    stands in.
    """

    ci_method: str


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
    """One (provider, model, mode). `composite_incomplete` counts conversations whose Composite lacks a term; `judges`:
    judge → the scale of its votes that count."""

    provider: str
    em_model: str
    mode: str
    n_conversations: int
    n_participants: int
    composite_incomplete: int
    judges: NotRequired[dict[str, JudgeScale]]
    metrics: dict[str, Aggregate]
    pooled: Pooled
    coverage: Coverage


class ReferenceConversation(TypedDict):
    """A reference's values in one conversation: the metrics that it can have."""

    conversationId: str
    metrics: MetricValues


class Reference(TypedDict):
    """A score to hold models against, made from the ground truth alone; no model and in no ranking.

    `base-rate` answers every item with what would have scored best over all *other* conversations (the more frequent
    answer, the median rating); `always-empty-tags` says of every turn that nothing was felt. `metrics` as in
    `AggregateEntry`, for those that it can have. Files of one conversation have no base rate.
    """

    id: str
    label: str
    meaning: str
    n_conversations: int
    metrics: dict[str, Aggregate]
    conversations: list[ReferenceConversation]


class Scores(TypedDict):
    """The whole file. `left_out` names every file and result that was not scored, under why it was not.

    `questions`: the ids of the binary questions in the order of every string of letters in the file.
    """

    schema_version: str
    format: str
    metadata: dict[str, Any]
    conversations: list[ConversationEntry]
    aggregates: list[AggregateEntry]
    questions: list[str]
    ground_truth: list[GroundTruthEntry]
    references: list[Reference]
    left_out: dict[str, list[Any]]


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
        "format": _FORMAT,
        "metadata": metadata,
        "conversations": conversations,
        "aggregates": aggregates,
        "questions": list(questions),
        "ground_truth": list(ground_truth),
        "references": list(references),
        "left_out": left_out,
    }


def write_scores(path: str | Path, scores: Scores, *, lines: Iterable[str] | None = None, check: Check = iter) -> None:
    """Write the file whole or not at all; `lines`, texts as `entry_text` makes them, stand for its conversations.

    `check` passes on the pieces of the file, or raises, and then the target is as it was.
    DataError where the target cannot be written, or is there and is no scores file (it is left untouched).
    """
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        refuse_foreign(target)
        with atomic_write(target) as file:
            file.writelines(line.encode() for line in check(_lines(scores, lines)))
    except OSError as error:
        raise DataError(f"{target} cannot be written ({error.strerror or error}); name another --output.") from None


def read_scores(path: str | Path) -> Scores:
    """The content of a scores file, of ours or of the released scorer. DataError: no such file, not JSON, not of this
    format, of a newer version, a value that no score can have."""
    source = Path(path)
    if source.exists() and not source.is_file():
        # A pipe would be waited for, and a device read from for ever.
        raise DataError(f"{source} is no ordinary file; name the one that `attune-bench score` wrote.")
    try:
        if source.stat().st_size > _MAX_BYTES:
            raise DataError(f"{source} is larger than {_MAX_BYTES >> 30} GB, which no scores file is.")
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
    version = str(content["schema_version"])
    if version.split(".")[0] != SCHEMA_VERSION.split(".")[0]:
        raise DataError(
            f"{source} has schema version {version}, and this AttuneBench reads {SCHEMA_VERSION}; "
            "score the results again, or use the version that wrote it."
        )
    content["metadata"].pop("published", None)  # what only `published_scores` says
    return cast(Scores, content)


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
    if not head or f'"format": "{_FORMAT}"'.encode() in head:
        return
    try:
        foreign = not _is_scores(json.loads(target.read_bytes().decode("utf-8-sig")))
    except (ValueError, RecursionError):
        foreign = True
    if foreign:
        raise DataError(f"{target} is there and is no scores file, so it is left as it is; name another --output.")


def entry_text(value: Any) -> str:
    """An entry as it stands in the file, on a line of its own."""
    return _ENCODER.encode(value)


def _lines(scores: Scores, conversations: Iterable[str] | None) -> Iterator[str]:
    """The file line by line, one conversation or group on each, and never as a whole in memory."""
    yield f'{{"schema_version": {entry_text(scores["schema_version"])}, "format": {entry_text(scores["format"])},\n'
    yield f'"metadata": {entry_text(scores["metadata"])},\n'
    yield from _list(
        "conversations", map(entry_text, scores["conversations"]) if conversations is None else conversations
    )
    yield from _list("aggregates", map(entry_text, scores["aggregates"]))
    yield f'"questions": {entry_text(scores["questions"])},\n'
    yield from _list("ground_truth", map(entry_text, scores["ground_truth"]))
    yield from _list("references", map(entry_text, scores["references"]))
    yield f'"left_out": {entry_text(scores["left_out"])}}}\n'


def _list(name: str, texts: Iterable[str]) -> Iterator[str]:
    yield f'"{name}": ['
    yield from map("".join, zip(chain(["\n"], repeat(",\n")), texts, strict=False))
    yield "\n],\n"
