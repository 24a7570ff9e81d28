"""What a result file holds (spec 5.2): the names of its keys, and what its readers are given. The score depends on
three states of an answer: a value is one; null, or an item that is missing inside a block, is not answered; a key that
all turns of the file lack is not measured. Elsewhere no key that begins with `em_` is spelled out, `em_model` aside.
And which model answered, by the names that servers give."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

from attunebench.judging import UNNAMED_SCALE, JudgeScale

if TYPE_CHECKING:
    from attunebench.protocol.calls import Kind

TURN_BLOCKS: Mapping[str, str] = {
    "draft": "em_drafted_response",
    "tags": "em_emotion_tags",
    "binary_om": "em_binary_om_assessment",
    "binary_hp": "em_binary_human_prediction",
    "binary_om_hp": "em_binary_om_assessment_hp",
    "binary_hp_hp": "em_binary_human_prediction_hp",
    "pairwise": "em_pairwise_selections",
}
"""Block of predictions (a field of `ResultTurn`) → its key in a turn of the file."""
WIDE_BLOCKS: Mapping[str, str] = {"panas": "predicted_post_panas", "wide": "predicted_conversation_wide"}
"""Block (a field of `Result`) → its key in `post_conversation`."""
BINARY_BLOCKS = ("binary_om", "binary_hp", "binary_om_hp", "binary_hp_hp")
DRAFT = TURN_BLOCKS["draft"]
FIRST_SCORES, FIRST_BINARY = "em_draft_judge_scores", "em_draft_binary_assessment"
"""The ratings and the yes/no answers of the file's first judge, as a turn has them beside those of all judges."""
SCORES_BY_JUDGE = "em_draft_judge_scores_by_model"
BINARY_BY_JUDGE = "em_draft_binary_assessment_by_model"
SCALE_BY_JUDGE = "em_draft_judge_scale_by_model"
"""judge → ratings, yes/no answers, and the scale that it was asked to rate on."""
BY_JUDGE = {FIRST_SCORES: SCORES_BY_JUDGE, FIRST_BINARY: BINARY_BY_JUDGE}
VOTE_KEYS = (FIRST_SCORES, SCORES_BY_JUDGE, FIRST_BINARY, BINARY_BY_JUDGE, SCALE_BY_JUDGE)
TURN_FIELDS: Mapping[str, tuple[Kind, str]] = {
    DRAFT: ("draft", "drafted_response"),
    "response_reasoning": ("draft", "reasoning"),
    TURN_BLOCKS["tags"]: ("review", "emotion_tags"),
    "review_reasoning": ("review", "reasoning"),
    "emotion_reasoning": ("review", "emotion_reasoning"),
    TURN_BLOCKS["binary_om"]: ("review", "binary_om_assessment"),
    TURN_BLOCKS["binary_hp"]: ("review", "binary_human_prediction"),
    "binary_reasoning": ("review", "binary_reasoning"),
    TURN_BLOCKS["binary_om_hp"]: ("binary_hp", "binary_om_assessment"),
    TURN_BLOCKS["binary_hp_hp"]: ("binary_hp", "binary_human_prediction"),
    "binary_hp_reasoning": ("binary_hp", "reasoning"),
    TURN_BLOCKS["pairwise"]: ("pairwise", "pairwise_selections"),
    "pairwise_reasoning": ("pairwise", "reasoning"),
}
"""Key of a turn → the kind of call that answers it, and the name of the answer or reason there."""
KEYS_OF_CALL: Mapping[Kind, tuple[str, ...]] = {
    **{kind: tuple(key for key, (of, _) in TURN_FIELDS.items() if of == kind) for kind, _ in TURN_FIELDS.values()},
    "judge": (SCORES_BY_JUDGE, BINARY_BY_JUDGE),
    "post": (*WIDE_BLOCKS.values(), "post_reasoning"),
}
"""Kind of call → the keys of a turn (of `post_conversation` for `post`) that its answer decides."""
OF_REPLIES = (
    *("em_model_reported", "providers_reported", "structured_used", "adapted"),
    *("post_conversation", "calls", "usage", "api_cost", "duration_seconds"),
)
"""The keys of the file that the evaluated model's replies decide, beside the turns."""
UNNAMED_JUDGE = "unknown"  # the judge of a file that holds one judge's votes and does not say whose
DIGESTS = ("prompt_set_sha256", "codebook_sha256", "calls_sha256", "plan_sha256")  # of `Stamp`, and keys of the file
_VERSION = re.compile(r"(?:[-@]\d{2,8})+")
"""What providers put behind a name to say which version of it answered: -0613, -2024-08-06, @001."""


def judge_calls_key(scale: JudgeScale) -> str:
    """The key under which a file states the digest of what judges were asked on this scale."""
    return "judge_calls_sha256" if scale == UNNAMED_SCALE else f"judge_calls_sha256_{scale}"


def now() -> str:
    """This moment as results and lists state it."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


class PredictedTag(NamedTuple):
    """A predicted emotion: a PANAS item in display form, 1–7 or None."""

    emotion: str
    intensity: float | None = None


class Vote(NamedTuple):
    """What a judge said about a draft: its ratings, its yes/no answers, and the scale that it was asked to rate on."""

    ratings: Mapping[str, Any]
    answers: Mapping[str, Any]
    scale: JudgeScale

    def __bool__(self) -> bool:
        """Whether it says anything; a judge that was asked and said nothing usable has voted all the same."""
        return bool(self.ratings or self.answers)


class ResultTurn(NamedTuple):
    """The predictions for one turn. None means not answered; `present` holds the blocks that the file has here."""

    number: int
    present: frozenset[str] = frozenset()
    draft: str | None = None
    tags: tuple[PredictedTag, ...] | None = None
    binary_om: Mapping[str, str] = {}
    binary_hp: Mapping[str, str] = {}
    binary_om_hp: Mapping[str, str] = {}
    binary_hp_hp: Mapping[str, str] = {}
    pairwise: Mapping[str, str] = {}
    assignment: Mapping[str, Any] = {}
    """Index of a comparison → {"A": variant, "B": variant} as they were shown, as the file states it."""
    votes: Mapping[str, Vote] = {}
    """Judge model → its vote, dimensions 1–7; the fallback to the single-judge field is made while reading."""
    unknown_tags: tuple[PredictedTag, ...] = ()  # predicted emotions that are none of the twenty, as the file has them
    first_ratings: Mapping[str, float] = {}  # from the field of the single judge alone
    first_assessment: Mapping[str, str] | None = None  # its yes/no about the draft; None where it made none

    @property
    def voters(self) -> tuple[str, ...]:
        """The judges that said something about the draft."""
        return tuple(judge for judge, vote in self.votes.items() if vote)

    @property
    def ratings(self) -> dict[str, Mapping[str, Any]]:
        """Judge model → its dimensions, of the judges that gave some."""
        return {judge: vote.ratings for judge, vote in self.votes.items() if vote.ratings}

    @property
    def assessments(self) -> dict[str, Mapping[str, Any]]:
        """Judge model → question → yes/no about the draft, of the judges that gave some."""
        return {judge: vote.answers for judge, vote in self.votes.items() if vote.answers}


@dataclass(frozen=True, slots=True)
class PredictedPanas:
    """Predicted state after the talk: item (lower case) → 1–7, and the file's own totals (10–70) or None."""

    items: Mapping[str, float] = field(default_factory=dict)
    positive: float | None = None
    negative: float | None = None
    stated: tuple[float | None, float | None] = (None, None)  # the file's two totals, also outside the scale


@dataclass(frozen=True, slots=True)
class PredictedWide:
    """Predicted answers about the whole talk; None is not answered, () is an answer."""

    q1: tuple[str, ...] | None = None
    q2: str | None = None
    q3: str | None = None
    follow_up: tuple[str, ...] | None = None
    four_branch: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Observed:
    """What servers did: the names that answered, how output was constrained, and what became of parameters."""

    models: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    structured: tuple[str, ...] = ()
    adapted: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunOrder:
    """Where the conversation stood (from 0) in the seeded, stratified order of the `of` conversations of its run."""

    seed: int
    position: int
    of: int


@dataclass(frozen=True, slots=True)
class Stamp:
    """How a result was made: its run's parameters, and digests of what was asked, each None where it is unknown:
    `calls_sha256` of the calls to the evaluated model, `judge_calls_sha256` (scale →) of one judge's, `plan_sha256` of
    what calls are made of, by which equal ones are known without being made."""

    parameters: Mapping[str, Any]
    prompt_set_sha256: str | None
    codebook_sha256: str | None
    calls_sha256: str | None
    judge_calls_sha256: Mapping[JudgeScale, str]
    plan_sha256: str | None = None

    @property
    def as_keys(self) -> dict[str, Any]:
        """The keys of a file that state the digests."""
        of_judges = {judge_calls_key(scale): digest for scale, digest in self.judge_calls_sha256.items()}
        return {**{name: getattr(self, name) for name in DIGESTS}, **of_judges}


class Result(NamedTuple):
    """One result file. `measured`: the blocks that at least one turn (or `post_conversation`) has."""

    conversation_id: str
    provider: str
    em_model: str
    mode: str
    turns: tuple[ResultTurn, ...]
    panas: PredictedPanas = PredictedPanas()
    wide: PredictedWide = PredictedWide()
    measured: frozenset[str] = frozenset()
    judges: tuple[str, ...] = ()
    epoch: int | None = None
    calls: Mapping[str, Any] = {}
    usage: Mapping[str, Any] = {}
    api_cost: float | None = None
    duration_seconds: float | None = None
    observed: Observed = Observed()
    run_order: RunOrder | None = None
    numbered: bool = True  # whether its turns say their numbers; else they are places in the list, from 1
    source_sha256: str | None = None  # the digest of the conversation's file as it was run
    asked_sha256: str | None = None  # `Conversation.asked_sha256` of the conversation as it was run
    votes_left_out: tuple[JudgeScale, ...] = ()  # scales of votes in the file that are not in the turns
    settings: Mapping[str, Any] = {}
    """parameters, prompt_set_sha256, codebook_sha256, panas_strategy and the like, as the file states them."""
    source_file: str = ""

    @property
    def key(self) -> tuple[str, str, str, str, int | None]:
        return (self.conversation_id, self.provider, self.em_model, self.mode, self.epoch)


def worth_telling(asked: str, reported: Iterable[str]) -> tuple[str, ...]:
    """The reported names where they are several models or another one than was asked, else (). A vendor before the
    name, a tag behind it, letter case and one version or date make no other model."""
    names = tuple(dict.fromkeys(reported))
    different = {_plain(name) for name in names}
    return () if len(different) <= 1 and all(is_same(asked, name) for name in names) else names


def is_same(asked: str, reported: str) -> bool:
    """Whether a server that answers under this name may be taken to have used the model that was asked."""
    wanted, found = _plain(asked).removesuffix("-latest"), _plain(reported)
    return found.startswith(wanted) and (found == wanted or _VERSION.fullmatch(found[len(wanted) :]) is not None)


def _plain(name: str) -> str:
    return name.strip().lower().rsplit("/", 1)[-1].split(":", 1)[0].removesuffix("-latest")
