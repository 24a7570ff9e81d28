"""Histories from conversations, files of histories and dialogues, and the slice that they are put into."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from factory import make_conversation
from hypothesis import given
from hypothesis import strategies as st

from attunebench.arena.histories import (
    AdversarialRule,
    drawn,
    histories_of,
    read_material,
    read_slices,
    sliced,
)
from attunebench.arena.objects import History, Message
from attunebench.conversations import demo_folder, load_conversations
from attunebench.conversations.reading import read_conversation
from attunebench.conversations.schema import Conversation
from attunebench.errors import DataError

GOOD, POOR = "Very well-matched and adaptive", "Mostly off-target or intrusive"


def conversation(change: Callable[[dict[str, Any]], object] = len, turns: int = 3) -> Conversation:
    """A conversation without any adversarial label, but for what is changed."""
    content = make_conversation(5, turns)
    content["conversationWideQuestions"] |= {"q3_modelFit": GOOD, "q3_followUp_whatFeltOff": []}
    for turn in content["turns"]:
        turn["moodShiftTags"] = [{"emotion": "Proud", "intensity": 4}]
        for one in turn["annotations"]["binaryJudgements"]:
            one |= {"observedBehavior": "yes", "preferredBehavior": "yes"}
    change(content)
    read, _ = read_conversation(content)
    assert read is not None
    return read


def negative(content: dict[str, Any]) -> None:
    """Two bad feelings and a good one in the first turn."""
    content["turns"][0]["moodShiftTags"] += [{"emotion": name, "intensity": 1} for name in ("Upset", "Guilty")]


def unmet(content: dict[str, Any], wrong: int = 2, of: int = 6) -> None:
    """So many questions of the first turn in which the reply did otherwise than preferred."""
    judgements = content["turns"][0]["annotations"]["binaryJudgements"]
    for place, one in enumerate(judgements):
        answers = ("na", "na") if place >= of else ("no" if place < wrong else "yes", "yes")
        one |= dict(zip(("observedBehavior", "preferredBehavior"), answers, strict=True))


def poor(content: dict[str, Any]) -> None:
    content["conversationWideQuestions"] |= {"q3_modelFit": POOR, "q3_followUp_whatFeltOff": ["Too generic"]}


def test_a_history_ends_in_the_message_of_its_turn() -> None:
    talk = conversation()

    first, second, third = histories_of([talk])

    assert f"{talk.conversation_id}/1" == first.id
    assert {talk.conversation_id} == {one.conversation for one in (first, second, third)}
    assert [("seeker", talk.turns[0].user_message)] == [(one.role, one.text) for one in first.turns]
    assert [
        ("seeker", talk.turns[0].user_message),
        ("supporter", talk.turns[0].llm_response),
        ("seeker", talk.turns[1].user_message),
    ] == [(one.role, one.text) for one in second.turns]
    assert 5 == len(third.turns)


def test_the_reply_to_a_history_is_not_in_it() -> None:
    talk = conversation()

    for turn, history in zip(talk.turns, histories_of([talk]), strict=True):
        shown = "".join(one.text for one in history.turns)
        assert not any(reply and reply in shown for reply in turn.variants.values())


@pytest.mark.parametrize(("change", "criterion"), [(negative, "tags"), (unmet, "unmet")])
def test_a_criterion_holds_after_the_reply_that_it_is_about(change: Any, criterion: Any) -> None:
    talk = conversation(change)

    met = [AdversarialRule().met(talk, place) for place in range(3)]

    assert [(), (criterion,), ()] == met


def test_poor_fit_holds_for_every_history() -> None:
    assert 3 * [("fit",)] == [AdversarialRule().met(conversation(poor), place) for place in range(3)]


def test_a_third_of_the_questions_is_enough_and_less_is_not() -> None:
    talks = [conversation(lambda content, wrong=wrong: unmet(content, wrong, of=9)) for wrong in (2, 3)]

    assert [(), ("unmet",)] == [AdversarialRule().met(talk, 1) for talk in talks]


def test_as_many_good_feelings_as_bad_ones_are_not_negative() -> None:
    def mixed(content: dict[str, Any]) -> None:
        content["turns"][0]["moodShiftTags"] += [{"emotion": "Upset", "intensity": 7}]

    assert () == AdversarialRule().met(conversation(mixed), 1)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (AdversarialRule(), ["regular", "adversarial", "regular"]),
        (AdversarialRule(needed=1), ["adversarial", "adversarial", "adversarial"]),
        (AdversarialRule(needed=3), ["regular", "regular", "regular"]),
        (AdversarialRule(("tags",)), ["regular", "adversarial", "regular"]),
        (AdversarialRule(("fit",)), ["adversarial", "adversarial", "adversarial"]),
        (AdversarialRule(("unmet",)), ["regular", "regular", "regular"]),
        (AdversarialRule(()), ["regular", "regular", "regular"]),
    ],
)
def test_each_part_of_the_rule_can_be_switched(rule: AdversarialRule, expected: list[str]) -> None:
    def change(content: dict[str, Any]) -> None:
        negative(content)
        poor(content)

    assert expected == [history.slice for history in histories_of([conversation(change)], rule)]


def test_the_slice_of_a_history_does_not_depend_on_labels_of_its_own_turn() -> None:
    def change(content: dict[str, Any]) -> None:
        content["turns"][2]["moodShiftTags"] = [{"emotion": "Upset", "intensity": 7}]
        for one in content["turns"][2]["annotations"]["binaryJudgements"]:
            one |= {"observedBehavior": "no", "preferredBehavior": "yes"}

    assert ["regular"] * 3 == [history.slice for history in histories_of([conversation(change)])]


def test_missing_labels_make_nothing_adversarial() -> None:
    def change(content: dict[str, Any]) -> None:
        content["turns"][0]["moodShiftTags"] = None
        content["conversationWideQuestions"]["q3_modelFit"] = None
        for one in content["turns"][0]["annotations"]["binaryJudgements"]:
            one["preferredBehavior"] = None

    assert () == AdversarialRule().met(conversation(change), 1)


def test_the_demonstration_has_both_slices() -> None:
    histories = histories_of(load_conversations(demo_folder()))

    assert 64 == len({one.id for one in histories})
    assert {"regular", "adversarial"} == {one.slice for one in histories}


ESCONV = {
    "experience_type": "Previous Experience",
    "emotion_type": "anxiety",
    "problem_type": "job crisis",
    "situation": "I hate my job but I am scared to quit.",
    "dialog": [
        {"speaker": "supporter", "annotation": {"strategy": "Question"}, "content": "Hello, what would you like? "},
        {"speaker": "seeker", "annotation": {}, "content": "I am anxious.\n"},
        {"speaker": "seeker", "annotation": {}, "content": "I may quit."},
        {"speaker": "supporter", "annotation": {"strategy": "Question"}, "content": "Why is that?"},
        {"speaker": "supporter", "annotation": {"strategy": "Self-disclosure"}, "content": "I did once."},
        {"speaker": "seeker", "annotation": {}, "content": "It is hard."},
    ],
}


def saved(path: Path, *entries: Any) -> Path:
    text = json.dumps([*entries]) if path.suffix == ".json" else "\n".join(map(json.dumps, entries))
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("name", ["talks.json", "talks.jsonl"])
def test_a_dialogue_is_cut_before_each_message_of_the_supporter(tmp_path: Path, name: str) -> None:
    material = read_material(saved(tmp_path / name, ESCONV, {**ESCONV, "id": "mine", "slice": "adversarial"}))

    assert ["talks-1/1", "talks-1/2", "mine/1", "mine/2"] == [one.id for one in material.histories]
    assert [2, 4] == [len(one.turns) for one in material.histories[:2]]
    assert "I am anxious.\nI may quit." == material.histories[0].turns[-1].text
    assert {"talks-1/1": "Why is that?\nI did once.", "mine/1": "Why is that?\nI did once."} == material.followed_by
    assert ["talks-1", "talks-1", "mine", "mine"] == [one.conversation for one in material.histories]
    assert ("anxiety", "job crisis", "Previous Experience") == material.histories[0].tags
    assert ["regular", "regular", "adversarial", "adversarial"] == [one.slice for one in material.histories]


def test_other_names_of_roles_and_texts_are_known(tmp_path: Path) -> None:
    messages = [{"role": "user", "text": "a"}, {"role": "Assistant", "content": "b"}, {"role": "usr", "utterance": "c"}]

    first, second = read_material(saved(tmp_path / "a.json", {"messages": messages})).histories

    assert ["seeker"] == [one.role for one in first.turns]
    assert ["seeker", "supporter", "seeker"] == [one.role for one in second.turns]


def test_histories_of_a_file_are_kept_as_they_are(tmp_path: Path) -> None:
    line = {"id": "h", "turns": [{"role": "seeker", "text": "a"}, {"role": "seeker", "text": "b"}], "slice": "mine"}

    (history,) = read_material(saved(tmp_path / "a.jsonl", line)).histories

    assert ("h", "mine", 2) == (history.id, history.slice, len(history.turns))


@pytest.mark.parametrize(
    "entry",
    [
        {},
        5,
        None,
        {"dialog": {}},
        {"dialog": [5]},
        {"dialog": [{"speaker": "seeker"}]},
        {"dialog": [{"speaker": "system", "content": "You are a supporter."}]},
        {"dialog": [{"speaker": None, "content": "a"}]},
        {"dialog": [{"speaker": "seeker", "content": "a"}], "id": "x" * 600},
        {"turns": [], "id": "h"},
        {"turns": [{"role": "supporter", "text": "a"}], "id": "h"},
        {"turns": [{"role": "seeker", "text": "a"}]},
        {"turns": [{"role": "seeker", "text": 5}], "id": "h"},
    ],
)
def test_what_is_no_history_is_named(tmp_path: Path, entry: Any) -> None:
    with pytest.raises(DataError, match=r"talks\.jsonl, line 2: "):
        read_material(saved(tmp_path / "talks.jsonl", ESCONV, entry))


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b'[{"dialog": []}]', b"[" * 9999])
def test_a_file_without_a_history_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "talks.json").write_bytes(content)

    with pytest.raises(DataError, match=r"talks\.json"):
        read_material(tmp_path / "talks.json")


MESSAGES = st.lists(
    st.fixed_dictionaries({"speaker": st.sampled_from(["seeker", "supporter"]), "content": st.text(max_size=20)}),
    max_size=12,
)


@given(MESSAGES)
def test_every_history_of_a_dialogue_begins_it_and_ends_in_the_seeker(
    tmp_path_factory: pytest.TempPathFactory, messages: list[dict[str, str]]
) -> None:
    file = tmp_path_factory.mktemp("dialogues") / "a.json"
    roles = [one["speaker"] for one in messages]
    if "seeker" not in roles or any("\ud800" <= sign <= "\udfff" for one in messages for sign in one["content"]):
        return
    histories = read_material(saved(file, {"dialog": messages})).histories

    assert sum(one == "seeker" and before != "seeker" for before, one in zip(["", *roles], roles, strict=False)) == len(
        histories
    )
    for shorter, longer in pairwise(histories):
        assert shorter.turns == longer.turns[: len(shorter.turns)]


def histories(*ids: str) -> list[History]:
    return [History(id=name, turns=(Message(role="seeker", text=name),), tags=("a",)) for name in ids]


def test_slices_of_a_file_hold_for_a_history_or_a_whole_conversation(tmp_path: Path) -> None:
    entries = [
        {"id": "c", "slice": "adversarial"},
        {"id": "c/2", "slice": "mine", "tags": ["b"]},
        {"id": "gone", "tags": "x"},
    ]

    made, unknown = sliced(histories("c/1", "c/2", "d/1"), read_slices(saved(tmp_path / "s.jsonl", *entries)))

    assert [("adversarial", ("a",)), ("mine", ("a", "b")), ("regular", ("a",))] == [
        (one.slice, one.tags) for one in made
    ]
    assert ("gone",) == unknown


@pytest.mark.parametrize("entry", [{"id": "a"}, {"slice": "b"}, {"id": "a", "slice": 5}, {"id": "c", "slice": "other"}])
def test_slices_that_say_nothing_or_two_things_are_refused(tmp_path: Path, entry: Any) -> None:
    with pytest.raises(DataError):
        read_slices(saved(tmp_path / "s.jsonl", {"id": "c", "slice": "mine"}, entry))


def test_a_larger_draw_keeps_the_smaller_one() -> None:
    everything = histories(*(f"h{number}" for number in range(50)))

    small, large = ({one.id for one in drawn(everything, n, 7)} for n in (10, 20))

    assert (10, 20) == (len(small), len(large))
    assert small < large
    assert small != {one.id for one in drawn(everything, 10, 8)}
    assert everything == drawn(everything, 99, 7)
