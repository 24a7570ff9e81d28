"""A scores.json of the released scorer: which shapes are read, what is said of them, what is refused."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_scores import plain_scores

import attunebench
from attunebench.errors import DataError
from attunebench.published import BY_SE, published_remarks, published_scores, rules_of
from attunebench.reports import build_report
from attunebench.reports.merging import merged_scores
from attunebench.scores import read_scores
from attunebench.scores.compatibility import findings
from attunebench.scores.loading import score_table

ENTRIES = [
    {
        "conversation_id": f"c{row:03}",
        "model": model,
        "mode": "default",
        "composite_score": 50.0 + row,
        "avg_emotion_va_score": 0.25,
        "binary_human_accuracy": 0.5,
        "hp_perspective_alignment": -1.5,
        "post_score": {"q1_looking_for_score": 0.5, "q3_follow_up_score": None},
        "turn_count": 5,
    }
    for model in ("alpha", "beta")
    for row in range(3)
]
AGGREGATE = {"em_model": "gamma", "mode": "verbose", "n_conversations": 50}
AGGREGATE |= {"avg_composite_score": 60.0, "se_composite_score": 1.0, "avg_emotion_f1": 0.3, "z_score": 2.5}


def read(content):
    return published_scores(copy.deepcopy(content), "published.json")


@pytest.mark.parametrize("key", ["conversations", "conversation_scores", "scores", "results", None])
def test_conversations_may_stand_under_several_names_or_at_the_top(key):
    scores = read(ENTRIES if key is None else {key: ENTRIES})
    assert rules_of(scores["metadata"]) == "released"
    first = scores["conversations"][0]
    assert (first["conversationId"], first["em_model"], first["mode"]) == ("c000", "alpha", "default")
    assert first["metrics"] == {
        "composite": 50.0,
        "emotion_va": 0.25,
        "binary_hp_accuracy": 0.5,
        "hp_perspective_alignment": -1.5,
        "q1_goals": 0.5,
    }
    assert {entry["em_model"]: entry["metrics"]["composite"]["mean"] for entry in scores["aggregates"]} == {
        "alpha": pytest.approx(51),
        "beta": pytest.approx(51),
    }


def _in_camel_case(key):
    first, *others = key.split("_")
    return first + "".join(part.capitalize() for part in others)


def test_keys_in_camel_case_are_read_as_those_with_underscores():
    humps = [{_in_camel_case(key): value for key, value in entry.items()} for entry in ENTRIES]
    for entry in humps:
        entry["postScore"] = {_in_camel_case(key): value for key, value in entry["postScore"].items()}
    aggregates = [{_in_camel_case(key): value for key, value in AGGREGATE.items()}]
    found = read({"conversationScores": humps, "aggregateResults": aggregates})
    assert found == read({"conversation_scores": ENTRIES, "aggregate_results": [AGGREGATE]})


def test_a_key_that_is_not_known_is_listed_once():
    (entry,) = read(ENTRIES)["metadata"]["published"]
    assert entry["unknown_keys"] == ["turn_count"]
    assert "turn_count" in published_remarks(read(ENTRIES)["metadata"])[0]


@pytest.mark.parametrize(
    "content", [[AGGREGATE], {"aggregates": [AGGREGATE]}, {"aggregate_results": {"gamma": AGGREGATE}}]
)
def test_of_aggregates_the_interval_is_by_standard_errors_and_marked(content):
    scores = read(content)
    found = scores["aggregates"][0]["metrics"]
    assert (found["composite"]["ci_low"], found["composite"]["ci_high"]) == pytest.approx((58.04, 61.96))
    assert found["composite"]["ci_method"] == BY_SE
    assert found["emotion_f1"]["ci_low"] is None
    (group,) = build_report(scores).groups
    assert group.by_se
    with pytest.raises(DataError):
        score_table(scores)


def test_a_model_with_conversations_is_taken_from_these():
    stated = {"model": "alpha", "mode": "default", "n_conversations": 9, "composite_score": 1.0, "z_score": 0.5}
    scores = read({"conversations": ENTRIES, "aggregates": [stated]})
    alpha = next(entry for entry in scores["aggregates"] if entry["em_model"] == "alpha")
    assert alpha["metrics"]["composite"]["mean"] == pytest.approx(51)
    assert alpha["metrics"]["z_score"]["mean"] == 0.5


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("composite_score", 100.5),
        ("avg_emotion_va_score", 35.0),
        ("binary_human_accuracy", "high"),
        ("binary_human_accuracy", True),
        ("q3_follow_up_score", -0.1),
        ("composite_score", float("nan")),
    ],
)
def test_a_value_out_of_range_is_refused_by_file_entry_and_key(key, value):
    entries = copy.deepcopy(ENTRIES)
    entries[2][key] = value
    with pytest.raises(DataError, match=rf"published\.json.*entry 3.*{key}"):
        read(entries)


def test_entries_without_a_model_or_a_conversation_and_doubles_are_refused():
    for spoiled in ({"model": None}, {"conversation_id": None}):
        with pytest.raises(DataError, match=r"entry 1"):
            read([{**ENTRIES[0], **spoiled}])
    with pytest.raises(DataError, match=r"entry 2"):
        read([ENTRIES[0], ENTRIES[0]])


@pytest.mark.parametrize("content", [None, 3, "x", [], {}, [1, 2], {"scores": [{"a": 1}]}, {"results": {"x": 1}}])
def test_anything_else_is_no_such_file(content):
    assert read(content) is None


def test_a_file_on_the_disk_is_read_in_place_of_ours(tmp_path):
    path = tmp_path / "published.json"
    path.write_text(json.dumps({"scores": ENTRIES}), encoding="utf-8")
    assert len(read_scores(path)["conversations"]) == 6
    for unreadable in ('{"a": 1, "a": 2}', "hello", "[" * 100 + "]" * 100):
        path.write_text(unreadable, encoding="utf-8")
        with pytest.raises(DataError, match=r"published\.json: (holds|not|nested)"):
            read_scores(path)
    path.write_text(json.dumps({"scores": [{"a": 1}]}), encoding="utf-8")
    with pytest.raises(DataError):
        read_scores(path)


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.integers(0, len(ENTRIES) - 1), st.sampled_from(sorted(ENTRIES[0])), junk)
def test_whatever_stands_in_a_field_is_read_or_refused(row, key, value):
    entries = copy.deepcopy(ENTRIES)
    entries[row][key] = value
    try:
        scores = read({"conversations": entries, "aggregates": [AGGREGATE]})
    except DataError:
        return
    build_report(scores)
    score_table(scores)


# Beside ours


def ours(**metadata):
    return plain_scores({"own": {"composite": [40.0, 50.0, 60.0], "emotion_va": [0.1, 0.2, 0.3]}}, **metadata)


def test_published_models_stand_beside_ours_in_one_report():
    merged = merged_scores([ours(rules="released"), read([*ENTRIES, AGGREGATE])], ["ours.json", "published.json"])
    report = build_report(merged)
    assert {group.model for group in report.groups} == {"own", "alpha", "beta", "gamma"}
    assert report.rules == "released"
    assert merged["ground_truth"] == ours()["ground_truth"]


@pytest.mark.parametrize(
    "others",
    [
        [ours(), read(ENTRIES)],
        [ours(rules="released"), ours(rules="released")],
        [ours(), plain_scores({"new": {"composite": [1.0]}}, ground_truth_sha256="b" * 64)],
    ],
    ids=["other rules", "the same model", "other labels"],
)
def test_what_cannot_stand_side_by_side_is_refused(others):
    with pytest.raises(DataError):
        merged_scores(others, ["one.json", "two.json"])


def test_a_study_never_mixes_rules():
    with pytest.raises(DataError, match="--rules"):
        score_table([ours(), ours(rules="released")])
    assert score_table(ours()).rules == "attunebench"
    assert score_table(ours(rules="released")).rules == "released"


def test_studies_are_made_of_the_files_of_each_rules(tmp_path):
    for name, rules in (("a", "attunebench"), ("b", "released")):
        (tmp_path / name).write_text(json.dumps(ours(rules=rules)), encoding="utf-8")
    assert attunebench.analyze([tmp_path / "b", tmp_path / "a"], "rules").rules == "released and attunebench"


def test_published_models_are_compared_over_the_conversations_that_both_have():
    study = score_table([ours(rules="released", registry_version="1.1"), read([*ENTRIES, AGGREGATE])])
    assert [group.model for group in study.groups] == ["alpha", "beta", "own"]
    found = findings(study)
    assert not [finding for finding in found if finding.severity == "refuse"]
    assert [finding for finding in found if "gamma" in finding.sentence]
