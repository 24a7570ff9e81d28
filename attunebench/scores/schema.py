"""The one declaration of `scores.json`: what is written, what is read, and what no file may hold.

A value that is None is undefined or was not measured; it is never 0. Numbers are not rounded. Keys that may be missing
are those that an older version did not write; readers accept unknown keys, since a newer minor version may add some.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, GetPydanticSchema, SkipValidation, with_config
from pydantic_core import core_schema

# pydantic reads the typed dicts of `typing` from Python 3.12 on only.
from typing_extensions import NotRequired, TypedDict

from attunebench.judging import JudgeScale

SCHEMA_VERSION = "1.1"
"""Readers take any file of the same major version; a minor version only adds keys.

1.1: `questions`, `ground_truth`, `references`; `answers`, `usage`, `api_cost`, `duration_seconds` of a conversation.
"""
FORMAT = "attunebench-scores"
BASE_RATE, EMPTY_TAGS = "base-rate", "always-empty-tags"
"""Ids of `references`."""

Block = Literal["binary_om", "binary_hp", "binary_om_hp", "binary_hp_hp"]
Side = Literal["observed", "preferred"]
TRUTH_OF_BLOCK: Mapping[Block, Side] = {
    "binary_om": "observed",
    "binary_hp": "preferred",
    "binary_om_hp": "observed",
    "binary_hp_hp": "preferred",
}
"""Block of answers → the side of the labels that it is about."""

STRICT = ConfigDict(strict=True, extra="ignore")
_MOST = 1e12
"""No valid score, price or count is larger, and larger values could overflow sums of squares."""
Number = Annotated[float, Field(ge=-_MOST, le=_MOST)]
Count = Annotated[int, Field(ge=0, le=10**9)]
Whole = Annotated[int, Field(ge=-(10**9), le=10**9)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]
_Nullable = GetPydanticSchema(lambda source, handler: core_schema.nullable_schema(handler(source)))
"""Null is accepted, although it is no longer written."""
MetricValues = dict[str, Number | None]
Answered = Annotated[str, Field(pattern=r"^[yn-]*\z")]
Labelled = Annotated[str, Field(pattern=r"^[yn.]*\z")]
Choices = Annotated[str, Field(pattern=r"^[AB-]*\z")]
Comparison = Annotated[list[str | None], Field(min_length=4, max_length=4)]


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


Pooled = dict[str, PooledBlock | None]
"""binary_om, binary_hp, binary_om_hp, binary_hp_hp → counts; None for a block that was not measured."""


class TurnAnswers(TypedDict):
    """What a model said in one turn; a key is absent where the result did not measure it.

    `tags`: item → intensity or None; {} is neutral, None not answered. The binary blocks are strings with a letter for
    each of the file's `questions`: y, n, or - for not answered. `pairwise` has A, B or - for each comparison of the
    turn, by its index.
    """

    tags: NotRequired[MetricValues | None]
    binary_om: NotRequired[Answered]
    binary_hp: NotRequired[Answered]
    binary_om_hp: NotRequired[Answered]
    binary_hp_hp: NotRequired[Answered]
    pairwise: NotRequired[Choices]


class PanasState(TypedDict):
    """A state, felt or predicted: totals (10–70) and items in lower case (1–7), those that are known."""

    positive: Number | None
    negative: Number | None
    items: dict[str, Number]


class WideAnswers(TypedDict):
    """Answers about the whole conversation, given or predicted. None is unknown or not answered; [] is an answer."""

    q1: list[str] | None
    q2: str | None
    q3: str | None
    follow_up: list[str] | None
    four_branch: dict[str, Number]


class ConversationAnswers(TypedDict):
    """What a model said about the whole conversation; None where the result did not measure it."""

    post_panas: NotRequired[PanasState | None]
    wide: NotRequired[WideAnswers | None]


class TurnEntry(TypedDict):
    """One turn. `metrics` holds every id of the registry that is computed per turn."""

    turnNumber: Whole
    metrics: MetricValues
    answers: NotRequired[TurnAnswers]


class _OfGroup(TypedDict):
    provider: NotRequired[str]
    em_model: str
    mode: NotRequired[str]


class ConversationEntry(_OfGroup):
    """One result. `metrics` holds every id of the registry; `calls` the counts behind the three rates."""

    conversationId: str
    epoch: NotRequired[Whole | None]
    source_file: NotRequired[str]
    participant_id: str | None
    n_turns: NotRequired[int]
    metrics: MetricValues
    turns: list[TurnEntry]
    pooled: NotRequired[SkipValidation[Pooled]]
    calls: NotRequired[MetricValues | None]
    composite_complete: NotRequired[bool]
    answers: NotRequired[ConversationAnswers | None]
    usage: NotRequired[dict[str, Number] | None]
    api_cost: NotRequired[Number | None]
    duration_seconds: NotRequired[Number | None]


class TurnTruth(TypedDict):
    """The person's labels of one turn.

    `tags` as in `TurnAnswers`, None is no truth. `observed` and `preferred` have a letter for each of the file's
    `questions`: y, n, or . for no truth. `comparisons`: [question, variant A, variant B, winner or None], those that
    were asked and those that were not alike, so that their index is that of `TurnAnswers.pairwise`.
    """

    turnNumber: Whole
    tags: MetricValues | None
    observed: Labelled
    preferred: Labelled
    comparisons: list[Comparison]


class GroundTruthEntry(TypedDict):
    """One conversation of the ground truth: whose it is, what it is about, and its labels; no text of it.

    `demographics` holds self-reported values (`diagnoses` and `work_edu_background` are lists), `diagnosis_groups` see
    `conversations.groups`, `om_model` the chat model that the person talked with.
    """

    conversationId: str
    source_file: str
    participant_id: str | None
    om_model: str | None
    topics: list[str]
    subtopic: str | None
    attitude: str | None
    demographics: dict[str, str | list[str] | Number | None]
    diagnosis_groups: list[str]
    computed_scores: dict[str, Number]
    pre_panas: PanasState
    post_panas: PanasState
    wide: WideAnswers
    turns: list[TurnTruth]


class Aggregate(TypedDict):
    """A metric over the conversations of a group; `n` counts those in which it is defined.

    `ci_low` and `ci_high` are None where the interval cannot be estimated: a single conversation, or one value in all
    of them. `ci_method` is "wilson" for a share of right answers that is the same in all conversations; else it is
    there where BCa intervals were asked for: "bca", or "percentile" where BCa is undefined and the percentile interval
    stands in.
    """

    mean: NotRequired[Number | None]
    n: NotRequired[Count]
    se: NotRequired[Number | None]
    ci_low: NotRequired[Number | None]
    ci_high: NotRequired[Number | None]
    ci_method: NotRequired[SkipValidation[str]]


class Sample(TypedDict):
    """The first `reached` of the `of` conversations in the random order of the run, stratified by topic and diagnosis.

    Results may lack a few of the beginning: those that were under way when the run ended, or skipped.
    """

    seed: int
    reached: int
    of: int


class Coverage(TypedDict):
    """Of the `expected` conversations of the ground truth, `scored` are in; ids of the others, and why they are not.

    `skipped`: a run could not finish them; `duplicated`: several results claim them; `missing`: not found.
    `sample`: where only a part is scored, the beginning of the run's order that it is; None where that is not certain.
    """

    expected: NotRequired[Count]
    scored: NotRequired[Count]
    skipped: NotRequired[list[str]]
    duplicated: NotRequired[list[str]]
    missing: NotRequired[list[str]]
    sample: NotRequired[Sample | None]


class AggregateEntry(_OfGroup):
    """One (provider, model, mode). `composite_incomplete` counts conversations whose Composite lacks a term; `judges`:
    judge → the scale of its votes that count."""

    n_conversations: NotRequired[Count]
    n_participants: NotRequired[Count]
    composite_incomplete: NotRequired[Count]
    judges: NotRequired[SkipValidation[dict[str, JudgeScale]]]
    metrics: dict[str, Aggregate]
    pooled: NotRequired[Pooled]
    coverage: NotRequired[Annotated[Coverage, _Nullable]]


class ReferenceConversation(TypedDict):
    """A reference's values in one conversation: the metrics that it can have."""

    conversationId: str
    metrics: MetricValues


class Reference(TypedDict):
    """A score to compare models with, computed from the ground truth alone; no model and in no ranking.

    `base-rate` answers every item with what would have scored best over all *other* conversations (the more frequent
    answer, the median rating); `always-empty-tags` predicts for every turn that nothing was felt. `metrics` as in
    `AggregateEntry`, for those that it can have. Files of one conversation have no base rate.
    """

    id: str
    label: str
    meaning: str
    n_conversations: NotRequired[Count]
    metrics: dict[str, Aggregate]
    conversations: list[ReferenceConversation]


class _Variant(TypedDict):
    n_results: NotRequired[Count]
    judge_models: NotRequired[list[str] | None]
    parameters: NotRequired[dict[str, Any] | None]


class _Observed(TypedDict):
    models_reported: NotRequired[dict[str, Count] | None]
    providers_reported: NotRequired[dict[str, Count] | None]
    structured_used: NotRequired[dict[str, Count] | None]
    adapted: NotRequired[dict[str, dict[str, Count]] | None]


class _Settings(_OfGroup):
    variants: NotRequired[list[_Variant] | None]
    observed: NotRequired[_Observed | None]


class _Intervals(TypedDict):
    seed: NotRequired[Seed]
    resamples: NotRequired[Annotated[int, Field(ge=1, le=10**6)]]
    unit: NotRequired[str]
    method: NotRequired[str]


class _BertScore(TypedDict):
    model: str
    layer: Count
    sha256: NotRequired[str | None]
    rescaled: NotRequired[bool]


class _VotesLeftOut(TypedDict):
    em_model: str
    mode: str
    judge_scale: str
    n_results: Count


class _Metadata(TypedDict):
    created: NotRequired[str | None]
    ground_truth: NotRequired[str | None]
    results: NotRequired[str | None]
    ground_truth_sha256: NotRequired[str | None]
    settings: NotRequired[list[_Settings] | None]
    sources: NotRequired[list[str] | None]
    intervals: NotRequired[_Intervals | None]
    bertscore: NotRequired[_BertScore | None]
    votes_left_out: NotRequired[list[_VotesLeftOut] | None]


@with_config(STRICT)
class Scores(TypedDict):
    """The whole file. `left_out` names every file and result that was not scored, by reason.

    `questions`: the ids of the binary questions in the order of every string of letters in the file.
    """

    schema_version: NotRequired[SkipValidation[str]]
    format: NotRequired[SkipValidation[str]]
    metadata: Annotated[dict[str, Any], GetPydanticSchema(lambda _, handler: handler.generate_schema(_Metadata))]
    conversations: list[ConversationEntry]
    aggregates: list[AggregateEntry]
    questions: NotRequired[Annotated[list[str], _Nullable]]
    ground_truth: NotRequired[Annotated[list[GroundTruthEntry], _Nullable]]
    references: NotRequired[Annotated[list[Reference], _Nullable]]
    left_out: NotRequired[dict[str, list[dict[str, Any]]]]
