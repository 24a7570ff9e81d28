"""One result file's JSON → `Result`: tolerant of what is missing, deaf to what is unknown (spec 5.2).

Pure: no file is opened here. What is no result at all is told apart by `kind_of`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from attunebench.constants import BRANCHES, PANAS_ITEMS
from attunebench.conversations.traits import PROFILE_TASK
from attunebench.judging import BINARY_BY_JUDGE, SCALE_BY_JUDGE, SCORES_BY_JUDGE, scale_of
from attunebench.results import values
from attunebench.results.schema import (
    Observed,
    PredictedPanas,
    PredictedTag,
    PredictedWide,
    Result,
    ResultTurn,
    RunOrder,
)

T = TypeVar("T")

TURN_BLOCKS = (
    "em_drafted_response",
    "em_emotion_tags",
    "em_binary_om_assessment",
    "em_binary_human_prediction",
    "em_binary_om_assessment_hp",
    "em_binary_human_prediction_hp",
    "em_pairwise_selections",
)
WIDE_BLOCKS = ("predicted_post_panas", "predicted_conversation_wide")
SETTINGS = (
    "attunebench_version",
    "prompt_set_sha256",
    "codebook_sha256",
)
"""Settings that are a text."""
UNNAMED_JUDGE = "unknown"
"""The judge of a file that holds one judge's votes and does not say whose."""

_DISPLAY = {item.casefold(): item for item in PANAS_ITEMS}
_ID_KEYS = ("conversationId", "conversation_id")
_NUMBER_KEYS = ("turnNumber", "turn_number", "turn")


def kind_of(content: Any) -> Literal["result", "other"]:
    """Whether a file's JSON is meant to be a result: it names an `em_model`, or its turns hold predictions.

    A predicted profile is the result of another task, and no result of the benchmark.
    """
    if not isinstance(content, dict):
        return "other"
    if "aggregates" in content or content.get("task") == PROFILE_TASK:
        return "other"
    if "em_model" in content or "post_conversation" in content:
        return "result"
    turns = content.get("turns")
    predicted = isinstance(turns, list) and any(
        isinstance(turn, dict) and any(key.startswith("em_") for key in turn) for turn in turns
    )
    return "result" if predicted else "other"


def parse_result(content: Mapping[str, Any], source_file: str = "") -> Result:
    """The result; ValueError says in a clause what is missing of `conversationId`, `em_model` and `turns`."""
    conversation_id = values.identifier(values.first(content, _ID_KEYS))
    if conversation_id is None:
        raise ValueError("conversationId is missing")
    em_model = values.text(content.get("em_model"))
    if em_model is None:
        raise ValueError("em_model is missing")
    turns, numbered = _turns(content.get("turns"))
    wide, wide_blocks = _post_conversation(content)
    predicted_panas = wide.get(WIDE_BLOCKS[0])
    predicted_wide = wide.get(WIDE_BLOCKS[1])
    return Result(
        conversation_id=conversation_id,
        provider=values.text(content.get("provider")) or "unknown",
        em_model=em_model,
        mode=values.text(content.get("mode")) or "default",
        turns=turns,
        panas=_panas(values.block(predicted_panas)),
        wide=_wide(values.block(predicted_wide)),
        measured=frozenset().union(wide_blocks, *(turn.present for turn in turns)),
        judges=_judges(content.get("judge_models"), turns),
        epoch=_epoch(content.get("epoch")),
        calls=values.block(content.get("calls")),
        usage=values.block(content.get("usage")),
        api_cost=values.amount(content.get("api_cost")),
        duration_seconds=values.amount(content.get("duration_seconds")),
        observed=_observed(content),
        run_order=_run_order(values.block(content.get("run_order"))),
        numbered=numbered,
        source_sha256=values.text(content.get("source_sha256")),
        asked_sha256=values.text(content.get("asked_sha256")),
        settings=_settings(content, wide),
        source_file=source_file,
    )


def _epoch(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _settings(content: Mapping[str, Any], post: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that have the form in which scores keep them; another form says nothing that could be compared."""
    settings: dict[str, Any] = {key: content[key] for key in SETTINGS if isinstance(content.get(key), str)}
    if isinstance(parameters := content.get("parameters"), dict):
        settings["parameters"] = parameters
    if (judges := values.texts(content.get("judge_models"))) is not None:
        settings["judge_models"] = list(judges)
    strategy = values.text(post.get("panas_strategy"))
    return {**settings, "panas_strategy": strategy} if strategy else settings


def _observed(content: Mapping[str, Any]) -> Observed:
    """`em_model_reported` is one name or several with commas between."""
    models = values.text(content.get("em_model_reported")) or ""
    adapted = values.block(content.get("adapted"))
    return Observed(
        models=tuple(filter(None, (name.strip() for name in models.split(",")))),
        providers=values.texts(content.get("providers_reported")) or (),
        structured=values.texts(content.get("structured_used")) or (),
        adapted={name: how for name, how in adapted.items() if isinstance(how, str)},
    )


def _run_order(block: Mapping[str, Any]) -> RunOrder | None:
    seed, position, of = (block.get(key) for key in ("seed", "position", "of"))
    if type(seed) is not int or type(position) is not int or type(of) is not int or not 0 <= position < of:
        return None
    return RunOrder(seed, position, of)


def _turns(value: Any) -> tuple[tuple[ResultTurn, ...], bool]:
    """The turns, and whether they say their numbers."""
    if not isinstance(value, list) or not all(isinstance(turn, dict) for turn in value):
        raise ValueError("turns is missing or is not a list of objects")
    given = [next((turn[key] for key in _NUMBER_KEYS if turn.get(key) is not None), None) for turn in value]
    numbered = any(number is not None for number in given)
    numbers = [values.whole(number) for number in given] if numbered else range(1, len(value) + 1)
    turns = tuple(_turn(turn, _known(numbers[place], place)) for place, turn in enumerate(value))
    twice = next((number for number, count in Counter(numbers).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"turn {twice} stands in it more than once")
    return turns, numbered


def _known(number: int | None, place: int) -> int:
    """The number of a turn. Where others say theirs, its place in the list is no substitute."""
    if number is None:
        raise ValueError(f"the turnNumber of its turn at position {place + 1} is missing or not a whole number")
    return number


def _turn(turn: Mapping[str, Any], number: int) -> ResultTurn:
    return ResultTurn(
        number=number,
        present=frozenset(key for key in TURN_BLOCKS if key in turn),
        draft=values.text(turn.get("em_drafted_response")),
        tags=_tags(turn.get("em_emotion_tags")),
        binary_om=_yes_no(turn.get("em_binary_om_assessment")),
        binary_hp=_yes_no(turn.get("em_binary_human_prediction")),
        binary_om_hp=_yes_no(turn.get("em_binary_om_assessment_hp")),
        binary_hp_hp=_yes_no(turn.get("em_binary_human_prediction_hp")),
        pairwise=_choices(turn.get("em_pairwise_selections"), values.LETTERS, values.letter),
        assignment=values.block(turn.get("pairwise_assignment")),
        judge_scores=_by_judge(turn, SCORES_BY_JUDGE, "em_draft_judge_scores", _ratings),
        judge_binary=_by_judge(turn, BINARY_BY_JUDGE, "em_draft_binary_assessment", _yes_no),
        judge_scales=_map(turn.get(SCALE_BY_JUDGE), scale_of),
        unknown_tags=_unknown_tags(turn.get("em_emotion_tags")),
        first_ratings=_ratings(turn.get("em_draft_judge_scores")),
        first_assessment=_first_assessment(turn),
    )


def _map(value: Any, read: Callable[[Any], T | None]) -> dict[str, T]:
    """The readable entries of an object; an entry that cannot be read is not answered and left out."""
    if not isinstance(value, dict):
        return {}
    return {key: known for key, raw in value.items() if (known := read(raw)) is not None}


def _choices(value: Any, spellings: Mapping[Any, str], read: Callable[[Any], str | None]) -> dict[str, str]:
    """As `_map`, in one go where all values are spelled as usual: a file holds hundreds of them."""
    try:
        return {key: spellings[raw] for key, raw in value.items()}
    except (AttributeError, KeyError, TypeError):
        return _map(value, read)


def _yes_no(value: Any) -> dict[str, str]:
    return _choices(value, values.YES_NO, values.yes_no)


def _ratings(value: Any) -> dict[str, float]:
    return _map(value, values.rating)


def _by_judge(
    turn: Mapping[str, Any], many: str, single: str, read: Callable[[Any], dict[str, T]]
) -> dict[str, dict[str, T]]:
    """Judge → its readable votes, falling back to the field of the single judge where no judge is named."""
    voted = {judge: read(votes) for judge, votes in values.block(turn.get(many)).items()}
    voted = {judge: votes for judge, votes in voted.items() if votes}
    if voted:
        return voted
    votes = read(turn.get(single))
    return {UNNAMED_JUDGE: votes} if votes else {}


def _first_assessment(turn: Mapping[str, Any]) -> dict[str, str] | None:
    """The field of the single judge. An empty one is an assessment, unless the votes by judge show that none was made:
    there an empty entry is a vote without a usable word, and no entry is no vote."""
    votes, by_judge = turn.get("em_draft_binary_assessment"), turn.get(BINARY_BY_JUDGE)
    if not isinstance(votes, dict):
        return None
    made = bool(votes) or not isinstance(by_judge, dict) or {} in by_judge.values()
    return _yes_no(votes) if made else None


def _judges(stated: Any, turns: tuple[ResultTurn, ...]) -> tuple[str, ...]:
    """The judges that the file says were set, else those that voted."""
    named = values.texts(stated)
    if named:
        return tuple(dict.fromkeys(named))
    return tuple(dict.fromkeys(judge for turn in turns for judge in (*turn.judge_scores, *turn.judge_binary)))


def _tags(value: Any) -> tuple[PredictedTag, ...] | None:
    """The tags whose emotion is one of the twenty; a non-empty list of which nothing is left is not answered."""
    if not isinstance(value, list):
        return None
    tags = tuple(tag for tag in map(_tag, value) if tag is not None)
    return tags if tags or not value else None


def _unknown_tags(value: Any) -> tuple[PredictedTag, ...]:
    """The tags with a name that is none of the twenty."""
    if not isinstance(value, list):
        return ()
    unknown = [(entry, name) for entry in value if _tag(entry) is None and (name := values.text(_named(entry)))]
    return tuple(
        PredictedTag(name, values.intensity(entry.get("intensity")) if isinstance(entry, dict) else None)
        for entry, name in unknown
    )


def _named(entry: Any) -> Any:
    return entry.get("emotion") if isinstance(entry, dict) else entry


def _tag(entry: Any) -> PredictedTag | None:
    named = _named(entry)
    emotion = _DISPLAY.get(" ".join(named.split()).casefold()) if isinstance(named, str) else None
    if emotion is None:
        return None
    return PredictedTag(emotion, values.intensity(entry.get("intensity")) if isinstance(entry, dict) else None)


def _post_conversation(content: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """What was predicted about the whole talk, and which blocks of it were asked.

    A `post_conversation` of null was asked and not answered; one that is absent was not asked.
    """
    post = content.get("post_conversation")
    if isinstance(post, dict):
        return post, tuple(key for key in WIDE_BLOCKS if key in post)
    return {}, WIDE_BLOCKS if "post_conversation" in content else ()


def _panas(panas: Mapping[str, Any]) -> PredictedPanas:
    items = values.first(panas, ("items", "responses"))
    source = values.block(items) if items is not None else panas
    ratings = {key.strip().casefold(): raw for key, raw in source.items()}
    return PredictedPanas(
        items={item: known for item in _DISPLAY if (known := values.rating(ratings.get(item))) is not None},
        positive=values.panas_total(panas.get("totalPositiveAffect")),
        negative=values.panas_total(panas.get("totalNegativeAffect")),
        stated=(_finite(panas.get("totalPositiveAffect")), _finite(panas.get("totalNegativeAffect"))),
    )


def _finite(value: Any) -> float | None:
    return values.number(value, -values.MOST, values.MOST)


def _wide(wide: Mapping[str, Any]) -> PredictedWide:
    branches = {key.strip().casefold(): raw for key, raw in values.block(wide.get("fourBranchScores")).items()}
    return PredictedWide(
        q1=values.texts(values.first(wide, ("q1_lookingFor", "Q1", "q1"))),
        q2=values.text(values.first(wide, ("q2_emotionClarity", "Q2", "q2"))),
        q3=values.text(values.first(wide, ("q3_modelFit", "Q3", "q3"))),
        follow_up=values.texts(wide.get("q3_followUp_whatFeltOff")),
        four_branch={name: known for name in BRANCHES if (known := values.rating(branches.get(name))) is not None},
    )
