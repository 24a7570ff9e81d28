"""What a study refuses to read, and that the sentence names the file and the place; and what it takes all the same."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from planted import Plan, Skill, planted_scores
from planted_studies import older

from attunebench.errors import DataError
from attunebench.scores.files import write_scores
from attunebench.scores.loading import score_table

Content = dict[str, Any]
Place = tuple[str | int, ...]

TURN: Place = ("conversations", 0, "turns", 0)
TRUTH: Place = ("ground_truth", 0, "turns", 0)


@cache
def _whole() -> Any:
    return planted_scores({"a": {"default": Skill(judge=0.5), "verbose": Skill()}, "b": Skill()}, Plan(3, turns=3))


def whole() -> Content:
    return copy.deepcopy(_whole())


def at(content: Any, place: Place) -> Any:
    for key in place:
        content = content[key]
    return content


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("conversations", 0), None),
        (("conversations", 0, "conversationId"), 7),
        (("conversations", 0, "em_model"), None),
        (("conversations", 0, "mode"), ["default"]),
        (("conversations", 0, "epoch"), "1"),
        (("conversations", 0, "epoch"), 10**29),
        (("conversations", 0, "metrics"), []),
        (("conversations", 0, "metrics", "composite"), "61.2"),
        (("conversations", 0, "metrics", "composite"), True),
        (("conversations", 0, "metrics", "composite"), float("nan")),
        (("conversations", 0, "metrics", "composite"), 10**25),
        (("conversations", 0, "api_cost"), "much"),
        (("conversations", 0, "usage"), [1]),
        (("conversations", 0, "turns"), None),
        (("conversations", 0, "answers", "wide", "q1"), "one"),
        (("conversations", 0, "answers", "wide", "four_branch"), None),
        (("conversations", 0, "answers", "post_panas", "items"), {"active": "very"}),
        ((*TURN, "turnNumber"), 1.0),
        ((*TURN, "turnNumber"), 10**29),
        ((*TURN, "answers"), None),
        ((*TURN, "answers", "tags"), ["Upset"]),
        ((*TURN, "answers", "binary_om"), 5),
        ((*TURN, "answers", "pairwise"), "ABC"),
        (("aggregates", 0, "metrics"), []),
        (("questions",), "B1"),
        (("ground_truth", 0, "topics"), "work"),
        (("ground_truth", 0, "demographics"), []),
        (("ground_truth", 0, "computed_scores", "who_5"), "13"),
        ((*TRUTH, "comparisons", 0), ["general", "original", "human"]),
        ((*TRUTH, "comparisons", 0), ["general", "original", "human", "A", "B"]),
        ((*TRUTH, "tags"), {"Upset": "a lot"}),
        (("references", 0, "conversations"), {}),
        (("references", 0, "conversations", 0, "metrics"), None),
        (("metadata", "settings"), {"a": 1}),
        (("metadata", "settings", 0), 3),
        (("metadata", "settings", 0, "variants"), "absolute"),
        (("metadata", "sources"), 5),
        (("metadata", "intervals"), {"resamples": 10**9}),
    ],
)
def test_a_value_that_cannot_be_there_is_refused_at_its_place(place: Place, value: object) -> None:
    content = whole()
    at(content, place[:-1])[place[-1]] = value
    with pytest.raises(DataError) as refused:
        score_table(content, files=["odd.json"])
    assert str(refused.value).startswith("odd.json ")
    assert str(place[-1]).removesuffix("0") in str(refused.value)
    assert "attune-bench score" in str(refused.value)


@pytest.mark.parametrize(
    "place",
    [
        ("conversations", 0, "conversationId"),
        ("conversations", 0, "em_model"),
        ("conversations", 0, "participant_id"),
        ("conversations", 0, "metrics"),
        ("conversations", 0, "turns"),
        (*TURN, "turnNumber"),
        (*TURN, "metrics"),
        ("aggregates", 0, "em_model"),
        ("ground_truth", 0, "turns"),
        ("ground_truth", 0, "wide"),
        ("ground_truth", 0, "post_panas"),
        (*TRUTH, "observed"),
        (*TRUTH, "comparisons"),
        ("references", 0, "conversations"),
    ],
)
def test_a_key_that_a_study_needs_is_missed_by_its_name(place: Place) -> None:
    content = whole()
    del at(content, place[:-1])[place[-1]]
    with pytest.raises(DataError, match=f"{place[-1]}: it is missing"):
        score_table(content)


@pytest.mark.parametrize("block", ["binary_om", "binary_hp", "binary_om_hp", "binary_hp_hp"])
@pytest.mark.parametrize("change", [lambda s: s[1:], lambda s: f"{s}y", lambda s: f"Y{s[1:]}", lambda s: f"é{s[1:]}"])
def test_answers_must_have_a_known_letter_for_each_question(block: str, change: Callable[[str], str]) -> None:
    content = whole()
    answers = at(content, TURN)["answers"]
    answers[block] = change(answers[block])
    with pytest.raises(DataError, match=block):
        score_table(content)


def test_labels_must_have_a_letter_for_each_question() -> None:
    content = whole()
    content["questions"] = content["questions"][:-1]
    for entry in content["conversations"]:
        for turn in entry["turns"]:
            turn["answers"] = {}
    with pytest.raises(DataError, match=r"observed in ground_truth\[0\].* letters for"):
        score_table(content)


@pytest.mark.parametrize("epoch", [None, 2])
def test_a_result_that_stands_there_twice_is_refused_and_not_averaged(epoch: int | None) -> None:
    content = whole()
    content["conversations"][0]["epoch"] = epoch
    content["conversations"].append(copy.deepcopy(content["conversations"][0]))
    with pytest.raises(DataError, match=r"2 results of a for conversation .*\(mode default"):
        score_table(content)


@pytest.mark.parametrize("part", ["ground_truth", "conversations"])
def test_a_turn_that_stands_there_twice_is_refused(part: str) -> None:
    content = whole()
    turns = content[part][0]["turns"]
    turns[1]["turnNumber"] = turns[0]["turnNumber"]
    with pytest.raises(DataError, match=r"a turn of conversation .* more than once"):
        score_table(content)


def test_a_conversation_with_labels_twice_is_refused() -> None:
    content = whole()
    content["ground_truth"].append(content["ground_truth"][0])
    with pytest.raises(DataError, match="2 times in ground_truth"):
        score_table(content)


def test_epochs_with_and_without_a_number_are_averaged() -> None:
    content = whole()
    entry = next(e for e in content["conversations"] if e["em_model"] == "b")
    entry["metrics"]["composite"] = 40.0
    again = {**copy.deepcopy(entry), "epoch": 3}
    again["metrics"]["composite"] = 60.0
    content["conversations"].append(again)
    study = score_table(content)
    row = study.ids.index(entry["conversationId"])
    column = [group.model for group in study.groups].index("b")
    assert 50.0 == study.values("composite")[row, column]


def test_keys_of_a_newer_version_are_passed_over() -> None:
    content = whole()
    for place in ((), ("conversations", 0), TURN, TRUTH, ("metadata",), ("ground_truth", 0), ("aggregates", 0)):
        at(content, place)["new"] = {"a": [1]}
    assert score_table(whole()).ids == score_table(content).ids


def test_scores_of_the_first_version_need_no_labels_and_answers() -> None:
    assert 3 == len(score_table(older(_whole())).groups)


def test_references_to_conversations_that_are_not_there_are_passed_over() -> None:
    content = whole()
    content["references"][0]["conversations"][0]["conversationId"] = "elsewhere"
    values = score_table(content).references[0].values["composite"]
    assert [True, False, False] == list(np.isnan(values))


def test_references_come_from_the_file_that_has_some() -> None:
    mine, old = whole(), older(_whole())
    for part in ("conversations", "aggregates"):
        old[part] = [{**entry, "em_model": "older"} for entry in old[part] if entry["em_model"] == "b"]  # type: ignore[literal-required]
    assert ("base-rate", "always-empty-tags") == tuple(r.id for r in score_table([old, mine]).references)


def test_one_model_in_two_files_is_refused_also_where_they_list_no_groups() -> None:
    with pytest.raises(DataError, match=r"one\.json and two\.json"):
        score_table([{**whole(), "aggregates": []}] * 2, files=["one.json", "two.json"])


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("a", "b"), ["a", "b"]),
        (("m\x1b[31m", "m\n"), ["m (test)", "m (test) #2"]),
        (("", "\u202e"), ["(no name) (test)", "(no name) (test) #2"]),
        (("x" * 10_000, "b"), ["b", "x" * 99 + "…"]),
    ],
)
def test_labels_are_short_unique_and_harmless_whatever_models_are_called(names: tuple[str, str], expected) -> None:
    content = whole()
    renamed = dict(zip("ab", names, strict=True))
    for entry in (*content["conversations"], *content["aggregates"]):
        entry["em_model"] = renamed[entry["em_model"]]
    study = score_table(content)
    assert expected == sorted({group.label for group in study.groups})
    assert set(names) == {group.model for group in study.groups}


@pytest.mark.parametrize("number", [math.nan, math.inf])
@pytest.mark.parametrize("part", ["conversations", "turns", "aggregates"])
def test_a_metric_that_is_no_number_is_never_written_as_undefined(part: str, number: float, tmp_path: Path) -> None:
    scores = planted_scores({"alpha": Skill()}, Plan(2, turns=2))
    entry = scores["aggregates"][0] if part == "aggregates" else scores["conversations"][1]
    where = entry["turns"][0]["metrics"] if part == "turns" else entry["metrics"]
    where["emotion_f1"] = {"mean": number} if part == "aggregates" else number
    with pytest.raises(ValueError):  # noqa: PT011
        write_scores(tmp_path / "scores.json", scores)
    assert [] == list(tmp_path.iterdir())
