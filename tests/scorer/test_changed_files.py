"""One field of a file is changed into what does not belong there: it is refused by name, or scored as not answered.

Never a traceback, and never another number without a word. ATTUNEBENCH_CHANGES=20000 tries more than the 2,000 of CI.
"""

from __future__ import annotations

import copy
import json
import os
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from factory import make_conversation
from planted import Plan, Skill, planted_scores
from result_factory import oracle_result

from attunebench import reports
from attunebench.codebook import default_codebook, load_codebook
from attunebench.conversations import load_conversations
from attunebench.conversations.reading import read_conversation
from attunebench.errors import AttuneBenchError, DataError
from attunebench.protocol.plan import show_prompt
from attunebench.results.folder import read_result
from attunebench.results.schema import Result
from attunebench.scorer import score_to_file
from attunebench.scorer.answers import MismatchError
from attunebench.scorer.conversation import score_prepared
from attunebench.scorer.truth import prepare
from attunebench.scores import read_scores
from attunebench.scores.loading import load_scores, score_table

CHANGES = int(os.environ.get("ATTUNEBENCH_CHANGES", "2000"))
Place = tuple[Any, ...]
FORMATS: tuple[reports.Format, ...] = ("terminal", "csv", "json", "markdown")
NOT_A_NUMBER, DEEP, TWICE = "<nan>", "<deep>", "<twice>"
DELETED = object()


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """The place of each value in the file."""
    if at:
        yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*at, key))


def odd_for(value: Any) -> list[Any]:
    """What does not belong where this value is: of another type, size or depth, or no JSON at all."""
    odd: list[Any] = [NOT_A_NUMBER, DEEP, TWICE, {"x": [1]}, -7, 10**29, 1e308, None, DELETED]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        odd += [str(value), f" {float(value)} ", "many", [value], True]
    if isinstance(value, str):
        odd += [[[]], {"text": value}]
    if isinstance(value, dict):
        odd += [[], [value], "none"]
    if isinstance(value, list):
        odd += [{str(place): one for place, one in enumerate(value)}]
    return odd


def changed(content: Any, place: Place, new: Any) -> bytes:
    """The file with another value at this place."""
    content = copy.deepcopy(content)
    holder = content
    for key in place[:-1]:
        holder = holder[key]
    old = holder[place[-1]]
    if new is DELETED:
        del holder[place[-1]]
        return json.dumps(content).encode()
    holder[place[-1]] = "<here>" if new in (NOT_A_NUMBER, DEEP, TWICE) else new
    text = json.dumps(content)
    if new == TWICE:
        other = json.dumps("another" if not isinstance(old, str) else 7)
        whole = json.dumps(old)
        if isinstance(place[-1], str):
            return text.replace('"<here>"', f"{other}, {json.dumps(place[-1])}: {whole}", 1).encode()
        return text.replace('"<here>"', f'{{"k": {other}, "k": {whole}}}', 1).encode()
    return text.replace('"<here>"', "NaN" if new == NOT_A_NUMBER else "[" * 90 + "]" * 90, 1).encode()


def drawn(content: Any, count: int, seed: str) -> list[tuple[Place, Any]]:
    rng = random.Random(seed)
    all_places = list(places(content))
    found = []
    for _ in range(count):
        place = rng.choice(all_places)
        value = content
        for key in place:
            value = value[key]
        found.append((place, rng.choice(odd_for(value))))
    return found


RAW = make_conversation(11, turns=2)


@cache
def _result() -> Any:
    made = oracle_result(RAW)
    for turn, shown in zip(made["turns"], RAW["turns"], strict=True):
        pairs = enumerate(shown["annotations"]["pairwiseComparisons"])
        turn["pairwise_assignment"] = {str(i): {"A": c["responseA"], "B": c["responseB"]} for i, c in pairs}
        turn["em_emotion_tags"] = turn["em_emotion_tags"][:1]
    talk, _ = read_conversation(RAW)
    assert talk is not None
    more = {"epoch": 1, "api_cost": 0.5, "duration_seconds": 3.5, "asked_sha256": talk.asked_sha256, "adapted": {}}
    calls = {"made": 9, "reasked": 1, "mended": 0, "refused": 0, "answered_items": 90, "expected_items": 90}
    return {**made, **more, "calls": calls, "usage": {"prompt_tokens": 100, "completion_tokens": 9}}


def scored(folder: Path, conversation: bytes, result: bytes) -> Any:
    """The scores of these files; None where one of them is refused by a sentence."""
    (folder / "conversation_1.json").write_bytes(conversation)
    (folder / "result.json").write_bytes(result)
    try:
        (talk,) = load_conversations(folder / "conversation_1.json")
    except DataError:
        return None
    found = read_result(folder / "result.json", "result.json")
    if not isinstance(found, Result):
        return None
    try:
        score, _ = score_prepared(prepare(talk), found)
    except MismatchError:
        return None
    return {"metrics": score["metrics"], "turns": {turn["turnNumber"]: turn["metrics"] for turn in score["turns"]}}


def right(folder: Path, change: Callable[[Any], tuple[bytes, bytes]], new: Any) -> None:
    """What was changed is scored as it was, as null, or as absent; or it is refused."""
    found = scored(folder, *change(new))
    if found is None:
        return
    allowed = [scored(folder, *change(other)) for other in (None, DELETED)]
    assert found in (scored(folder, json.dumps(RAW).encode(), json.dumps(_result()).encode()), *allowed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_a_conversation_with_a_changed_field_is_refused_or_scored_rightly(tmp_path: Path, part: int) -> None:
    whole = json.dumps(_result() | {"asked_sha256": None}).encode()
    for place, new in drawn(RAW, CHANGES * 3 // 80, f"conversation {part}"):
        right(tmp_path, lambda value, place=place: (changed(RAW, place, value), whole), new)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_a_result_with_a_changed_field_is_refused_or_scored_rightly(tmp_path: Path, part: int) -> None:
    whole = json.dumps(RAW).encode()
    for place, new in drawn(_result(), CHANGES * 4 // 80, f"result {part}"):
        right(tmp_path, lambda value, place=place: (whole, changed(_result(), place, value)), new)


SETTINGS = {
    "parameters": {"temperature": 0.0, "seed": None},
    "em_model_reported": "a, b",
    "providers_reported": ["p"],
    "run_order": {"seed": 0, "position": 0, "of": 1},
    "prompt_set_sha256": "x",
}
AROUND = ("participant_profile", "metadata", "conversationId")


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_what_was_scored_can_be_read_again(tmp_path: Path, part: int) -> None:
    result = {**_result(), **SETTINGS}
    sides = (
        (RAW, tmp_path / "truth" / "conversation_1.json", lambda place: place[0] in AROUND),
        (result, tmp_path / "results" / "r.json", lambda place: place[0] not in ("turns", "post_conversation")),
    )
    for content, path, is_around in sides:
        for _, other, _ in sides:
            other.parent.mkdir(exist_ok=True)
            other.write_text(json.dumps(RAW if other.parent.name == "truth" else result))
        most = [each for each in drawn(content, CHANGES * 2, f"again {part}") if is_around(each[0])]
        for place, new in most[: CHANGES // 50]:
            path.write_bytes(changed(content, place, new))
            with suppress(AttuneBenchError):
                score_to_file(tmp_path / "results", tmp_path / "truth", tmp_path / "s.json", resamples=2)
                assert load_scores(tmp_path / "s.json").groups


@cache
def _scores() -> Any:
    models = {"a": {"default": Skill(judge=0.5, cost=0.1), "verbose": Skill()}, "b": Skill()}
    return json.loads(json.dumps(planted_scores(models, Plan(2, turns=1), resamples=20)))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_scores_with_a_changed_field_are_refused_or_shown(tmp_path: Path, part: int) -> None:
    for place, new in drawn(_scores(), CHANGES * 2 // 40, f"scores {part}"):
        (tmp_path / "scores.json").write_bytes(changed(_scores(), place, new))
        with suppress(AttuneBenchError):
            content = read_scores(tmp_path / "scores.json")
            assert reports.render(content, format=FORMATS[len(place) % len(FORMATS)])
            score_table(content).models()


def test_a_codebook_with_a_changed_field_is_refused_or_shown(tmp_path: Path) -> None:
    raw = json.loads(Path(default_codebook().origin).read_text(encoding="utf-8"))
    talk, _ = read_conversation(RAW)
    assert talk is not None
    for place, new in drawn(raw, CHANGES // 10, "codebook"):
        (tmp_path / "codebook.json").write_bytes(changed(raw, place, new))
        with suppress(AttuneBenchError):
            book = load_codebook(tmp_path / "codebook.json")
            assert show_prompt(talk, 1, "review", "omniscient", book)
            assert show_prompt(talk, None, "post", "default", book)
