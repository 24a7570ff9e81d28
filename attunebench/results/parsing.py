"""One result file's JSON → `Result`: tolerant of what is missing, deaf to what is unknown (spec 5.2). Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attunebench import coerce
from attunebench.constants import BRANCHES, PANAS_ITEMS
from attunebench.conversations.traits import PROFILE_TASK
from attunebench.judging import JUDGE_SCALES, scale_of
from attunebench.results import schema
from attunebench.results.schema import PredictedTag, Result, ResultTurn, Vote

_SETTINGS = ("attunebench_version", "prompt_set_sha256", "codebook_sha256")  # settings that are a text
_ITEMS = tuple(item.casefold() for item in PANAS_ITEMS)
_DISPLAY = {item: item for item in PANAS_ITEMS} | dict(zip(_ITEMS, PANAS_ITEMS, strict=True))
_ANY = (-coerce.MOST, coerce.MOST)


def is_result(content: Any) -> bool:
    """Whether a file's JSON is meant to be a result: it names an `em_model`, or its turns hold predictions."""
    if not isinstance(content, dict) or "aggregates" in content or content.get("task") == PROFILE_TASK:
        return False
    turns = content.get("turns")
    keys = (key for turn in (turns if isinstance(turns, list) else ()) if isinstance(turn, dict) for key in turn)
    return "em_model" in content or "post_conversation" in content or any(key.startswith("em_") for key in keys)


def parse_result(content: Mapping[str, Any], source_file: str = "") -> Result:
    """The result; ValueError says in a clause what is missing of `conversationId`, `em_model` and `turns`."""
    conversation_id = coerce.identifier(coerce.first(content, ("conversationId", "conversation_id")))
    if conversation_id is None:
        raise ValueError("conversationId is missing")
    em_model = coerce.text(content.get("em_model"))
    if em_model is None:
        raise ValueError("em_model is missing")
    numbers, numbered = turn_numbers(content.get("turns"))
    judges = coerce.texts(content.get("judge_models")) or ()
    first = judges[0] if judges else schema.UNNAMED_JUDGE
    turns = tuple(_turn(turn, number, first) for number, turn in zip(numbers, content["turns"], strict=True))
    post = coerce.block(content.get("post_conversation"))
    # A `post_conversation` of null was asked and not answered; one that is absent was not asked.
    unanswered = "post_conversation" in content and not isinstance(content["post_conversation"], dict)
    asked = {name for name, key in schema.WIDE_BLOCKS.items() if unanswered or key in post}
    epoch = content.get("epoch")
    return Result(
        conversation_id=conversation_id,
        provider=coerce.text(content.get("provider")) or "unknown",
        em_model=em_model,
        mode=coerce.text(content.get("mode")) or "default",
        turns=turns,
        panas=_panas(coerce.block(post.get(schema.WIDE_BLOCKS["panas"]))),
        wide=_wide(coerce.block(post.get(schema.WIDE_BLOCKS["wide"]))),
        measured=frozenset(asked).union(*(turn.present for turn in turns)),
        judges=tuple(dict.fromkeys(judges or (judge for turn in turns for judge in turn.voters))),
        epoch=epoch if type(epoch) is int else None,
        calls=coerce.block(content.get("calls")),
        usage=coerce.block(content.get("usage")),
        api_cost=coerce.amount(content.get("api_cost")),
        duration_seconds=coerce.amount(content.get("duration_seconds")),
        observed=_observed(content),
        run_order=_run_order(coerce.block(content.get("run_order"))),
        numbered=numbered,
        source_sha256=coerce.text(content.get("source_sha256")),
        asked_sha256=coerce.text(content.get("asked_sha256")),
        settings=_settings(content, post),
        source_file=source_file,
    )


def turn_numbers(turns: Any) -> tuple[tuple[int, ...], bool]:
    """The numbers of a file's turns, and whether these state them (else places, from 1). ValueError: a clause."""
    if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
        raise ValueError("turns is missing or is not a list of objects")
    keys = ("turnNumber", "turn_number", "turn")
    given = [next((turn[key] for key in keys if turn.get(key) is not None), None) for turn in turns]
    if all(number is None for number in given):
        return tuple(range(1, len(turns) + 1)), False
    wholes = [*map(coerce.whole, given)]
    if None in wholes:
        place = wholes.index(None) + 1
        raise ValueError(f"the turnNumber of its turn at position {place} is missing or not a whole number")
    numbers = tuple(number for number in wholes if number is not None)
    if len({*numbers}) < len(numbers):
        twice = next(number for number in numbers if numbers.count(number) > 1)
        raise ValueError(f"turn {twice} occurs in it more than once")
    return numbers, True


def stamp_of(content: Mapping[str, Any]) -> schema.Stamp:
    """How the result was made, as far as the file states it."""
    digests = {scale: content.get(schema.judge_calls_key(scale)) for scale in JUDGE_SCALES}
    return schema.Stamp(
        parameters=coerce.block(content.get("parameters")),
        judge_calls_sha256={scale: digest for scale, digest in digests.items() if digest is not None},
        **{name: content.get(name) for name in schema.DIGESTS},
    )


def _settings(content: Mapping[str, Any], post: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that have the form in which scores keep them; another form says nothing that could be compared."""
    forms = {**dict.fromkeys(_SETTINGS, str), "parameters": dict}
    settings = {key: content[key] for key, form in forms.items() if isinstance(content.get(key), form)}
    if (judges := coerce.texts(content.get("judge_models"))) is not None:
        settings["judge_models"] = list(judges)
    strategy = coerce.text(post.get("panas_strategy"))
    return {**settings, "panas_strategy": strategy} if strategy else settings


def _observed(content: Mapping[str, Any]) -> schema.Observed:
    """`em_model_reported` is one name or several with commas between."""
    models = (coerce.text(content.get("em_model_reported")) or "").split(",")
    adapted = coerce.block(content.get("adapted"))
    return schema.Observed(
        models=tuple(filter(None, map(str.strip, models))),
        providers=coerce.texts(content.get("providers_reported")) or (),
        structured=coerce.texts(content.get("structured_used")) or (),
        adapted={name: how for name, how in adapted.items() if isinstance(how, str)},
    )


def _run_order(block: Mapping[str, Any]) -> schema.RunOrder | None:
    seed, position, of = (block.get(key) for key in ("seed", "position", "of"))
    if type(seed) is int and type(position) is int and type(of) is int and 0 <= position < of:
        return schema.RunOrder(seed, position, of)
    return None


def _turn(turn: Mapping[str, Any], number: int, first: str) -> ResultTurn:
    """`first`: the judge whose votes are in the fields of a single judge."""
    keys = schema.TURN_BLOCKS
    tags, unknown_tags = _tags(turn.get(keys["tags"]))
    # An empty field of the single judge is an assessment, unless the votes by judge show that none was made: there an
    # empty entry is a vote without a usable word, and no entry is no vote.
    single, by_judge = turn.get(schema.FIRST_BINARY), turn.get(schema.BINARY_BY_JUDGE)
    assessed = isinstance(single, dict) and (single or not isinstance(by_judge, dict) or {} in by_judge.values())
    return ResultTurn(
        number=number,
        present=frozenset(name for name, key in keys.items() if key in turn),
        draft=coerce.text(turn.get(schema.DRAFT)),
        tags=tags,
        **{name: _yes_no(turn.get(keys[name])) for name in schema.BINARY_BLOCKS},
        pairwise=_choices(turn.get(keys["pairwise"]), _SIDES, coerce.letter),
        assignment=coerce.block(turn.get("pairwise_assignment")),
        votes=votes_of(turn, first),
        unknown_tags=unknown_tags,
        first_ratings=_map(turn.get(schema.FIRST_SCORES), coerce.rating),
        first_assessment=_yes_no(single) if assessed else None,
    )


def _map(value: Any, read: Callable[[Any], Any]) -> dict[str, Any]:
    """The readable entries of an object; an entry that cannot be read is not answered and left out."""
    return {key: known for key, raw in coerce.block(value).items() if (known := read(raw)) is not None}


_ANSWERS, _SIDES = frozenset(coerce.YES_NO.values()), frozenset(coerce.LETTERS.values())


def _choices(value: Any, usual: frozenset[str], read: Callable[[Any], str | None]) -> Mapping[str, str]:
    """As `_map`, where each odd spelling is read once: a file holds hundreds of values, and most are as usual."""
    try:
        if usual.issuperset(value.values()):
            return value  # type: ignore[no-any-return]
        odd = {raw: read(raw) for raw in set(value.values()) - usual}
    except (AttributeError, TypeError):  # no object, or a value that no word can equal
        return _map(value, read)
    found = dict(value)
    for key in [key for key, raw in value.items() if raw in odd]:
        if (known := odd[value[key]]) is None:
            del found[key]
        else:
            found[key] = known
    return found


def _yes_no(value: Any) -> Mapping[str, str]:
    return _choices(value, _ANSWERS, coerce.yes_no)


def votes_of(turn: Mapping[str, Any], first: str) -> dict[str, Vote]:
    """Judge → its vote in a turn of a file; a vote of a single judge is the `first` one's."""
    ratings, answers, scales = vote_blocks(turn, first).values()
    return {
        judge: Vote(_map(ratings.get(judge), coerce.rating), _yes_no(answers.get(judge)), scale_of(scales.get(judge)))
        for judge in {**ratings, **answers}
    }


def vote_blocks(turn: Mapping[str, Any], first: str) -> dict[str, dict[str, Any]]:
    """The votes by judge of a turn in a file (`SCORES_BY_JUDGE` …): key → judge → its entry as it is. Where no entry
    says anything, the field of the single judge counts, as an entry of the `first` one."""
    blocks = {key: dict(coerce.block(turn.get(key))) for key in (*schema.BY_JUDGE.values(), schema.SCALE_BY_JUDGE)}
    for single, many in schema.BY_JUDGE.items():
        if turn.get(single) and not any(blocks[many].values()):
            blocks[many][first] = turn[single]
    return blocks


def _tags(value: Any) -> tuple[tuple[PredictedTag, ...] | None, tuple[PredictedTag, ...]]:
    """The tags of the twenty emotions (None, not answered, for a list without any), and those with another name."""
    if not isinstance(value, list):
        return None, ()
    known, unknown = list[PredictedTag](), list[PredictedTag]()
    for entry in value:
        tag = entry if isinstance(entry, dict) else {"emotion": entry}
        if (name := coerce.text(tag.get("emotion"))) is not None:
            item = _DISPLAY.get(name) or _DISPLAY.get(" ".join(name.split()).casefold())
            (known if item else unknown).append(PredictedTag(item or name, coerce.intensity(tag.get("intensity"))))
    return tuple(known) if known or not value else None, tuple(unknown)


def _panas(panas: Mapping[str, Any]) -> schema.PredictedPanas:
    items = coerce.first(panas, ("items", "responses"))
    ratings = {key.strip().casefold(): raw for key, raw in (panas if items is None else coerce.block(items)).items()}
    totals = panas.get("totalPositiveAffect"), panas.get("totalNegativeAffect")
    return schema.PredictedPanas(
        items={item: known for item in _ITEMS if (known := coerce.rating(ratings.get(item))) is not None},
        positive=coerce.panas_total(totals[0]),
        negative=coerce.panas_total(totals[1]),
        stated=(coerce.number(totals[0], *_ANY), coerce.number(totals[1], *_ANY)),
    )


def _wide(wide: Mapping[str, Any]) -> schema.PredictedWide:
    branches = {key.strip().casefold(): raw for key, raw in coerce.block(wide.get("fourBranchScores")).items()}
    return schema.PredictedWide(
        q1=coerce.texts(coerce.first(wide, ("q1_lookingFor", "Q1", "q1"))),
        q2=coerce.text(coerce.first(wide, ("q2_emotionClarity", "Q2", "q2"))),
        q3=coerce.text(coerce.first(wide, ("q3_modelFit", "Q3", "q3"))),
        follow_up=coerce.texts(wide.get("q3_followUp_whatFeltOff")),
        four_branch={name: known for name in BRANCHES if (known := coerce.rating(branches.get(name))) is not None},
    )
