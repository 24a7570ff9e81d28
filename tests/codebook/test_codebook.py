"""The codebook: ours is complete, a user's is read in whatever shape gives its questions IDs."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunebench.codebook import Codebook, codebook_for, default_codebook, load_codebook, similarity
from attunebench.errors import DataError

UNIT = st.floats(0, 1)


def write(folder: Path, content: Any) -> Path:
    path = folder / "annotation_codebook.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_it_has_every_id_of_the_format() -> None:
    ours = default_codebook()
    assert 36 == len(ours.binary)
    assert 17 == len(ours.pairwise)
    assert {f"B{n}" for n in range(1, 21)} <= set(ours.binary)
    assert {"general", *(f"PW{n}" for n in range(1, 17))} == set(ours.pairwise)


def test_participant_texts_address_the_participant_and_observer_texts_never_do() -> None:
    for question in default_codebook().binary.values():
        assert re.search(r"\byour?\b", question.text)
        assert not re.search(r"\byou", question.observer_text)
        assert "HP" in question.observer_text
        assert not re.search(r"\b(HP|OM)\b", question.text)


def test_every_question_ends_with_a_question_mark_and_is_worded_once() -> None:
    ours = default_codebook()
    texts = [t for q in ours.binary.values() for t in (q.text, q.observer_text)]
    texts += [text for text in ours.pairwise.values() if text is not None]
    assert all(text.endswith("?") for text in texts)
    assert len(texts) == len(set(texts))


def test_only_the_question_that_is_not_public_lacks_a_text() -> None:
    assert ["PW16"] == [key for key, text in default_codebook().pairwise.items() if text is None]


def test_the_two_branch_maps_lead_to_the_four_branches() -> None:
    ours = default_codebook()
    assert set(ours.branches) == set(ours.study_branches.values())
    assert set(ours.branches) == set(ours.category_branches.values()) - {None}
    assert {question.category for question in ours.binary.values()} == set(ours.category_branches)


def test_there_are_ten_items_on_each_side_and_each_has_coordinates() -> None:
    ours = default_codebook()
    assert (10, 10) == (len(ours.panas_positive), len(ours.panas_negative))
    assert set(ours.panas) == set(ours.coordinates)


def test_every_profile_score_has_a_range_that_prompts_can_show() -> None:
    assert 14 == len(default_codebook().scales)
    assert "2-14" == default_codebook().scales["tipi_openness"].range


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("Distressed", "Upset", 0.9233),
        ("Afraid", "Inspired", 0.4069),
        ("Proud", "Afraid", 0.4344),
        ("Proud", "Proud", 1.0),
    ],
)
def test_worked_similarities(a: str, b: str, expected: float) -> None:
    assert expected == default_codebook().similarity_matrix[a][b]


@given(st.tuples(UNIT, UNIT), st.tuples(UNIT, UNIT))
def test_similarity_is_symmetric_and_within_bounds(a: tuple[float, float], b: tuple[float, float]) -> None:
    assert similarity(a, b) == similarity(b, a)
    assert 0 <= similarity(a, b) <= 1
    assert 1 == similarity(a, a)


def test_the_digest_is_of_the_bytes_of_the_file() -> None:
    ours = default_codebook()
    assert hashlib.sha256(Path(ours.origin).read_bytes()).hexdigest() == ours.sha256
    assert ours is default_codebook()


def test_a_copy_of_ours_borrows_nothing(tmp_path: Path) -> None:
    copy = tmp_path / "copy.json"
    copy.write_bytes(Path(default_codebook().origin).read_bytes())
    loaded = load_codebook(copy)
    assert () == loaded.borrowed
    assert str(copy) == loaded.origin
    assert default_codebook().binary == loaded.binary


SHAPES: dict[str, Any] = {
    "object keyed by ID": {"binary": {"B1": {"text": "Did it see you?", "observerText": "Did it see the HP?"}}},
    "list with id": [{"id": "B1", "text": "Did it see you?", "observerText": "Did it see the HP?"}],
    "list with questionId": {
        "x": {"y": [{"questionId": "B1", "text": "Did it see you?", "observerText": "Did it see the HP?"}]}
    },
    "a category map before it": {
        "categories": {"B1": "perceiving"},
        "questions": [{"id": "B1", "text": "Did it see you?", "observerText": "Did it see the HP?"}],
    },
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_a_foreign_codebook_is_found_by_ids_in_any_shape(shape: str, tmp_path: Path) -> None:
    loaded = load_codebook(write(tmp_path, SHAPES[shape]))
    assert ("Did it see you?", "Did it see the HP?") == (loaded.binary["B1"].text, loaded.binary["B1"].observer_text)
    assert "perceiving" == loaded.binary["B1"].category


def test_what_a_foreign_codebook_lacks_comes_from_ours_and_is_named(tmp_path: Path) -> None:
    loaded = load_codebook(write(tmp_path, {"B1": {"text": "Did it see you?"}, "PW16": {"text": "Which is warmer?"}}))
    assert "B1" not in loaded.borrowed
    assert "PW16" not in loaded.borrowed
    assert {"B2", "PW1", "general", "coordinates", "follow-up options"} <= set(loaded.borrowed)
    assert "Which is warmer?" == loaded.pairwise["PW16"]
    assert default_codebook().binary["B2"] == loaded.binary["B2"]


def test_a_question_without_observer_text_is_worded_the_same_for_both_stances(tmp_path: Path) -> None:
    loaded = load_codebook(write(tmp_path, {"B1": {"text": "Are feelings named?"}}))
    assert "Are feelings named?" == loaded.binary["B1"].observer_text


def test_a_foreign_follow_up_list_is_taken(tmp_path: Path) -> None:
    content = {"general": "Which one is better?", "q3_followUp_whatFeltOff": {"options": ["Cold", "Late"]}}
    loaded = load_codebook(write(tmp_path, content))
    assert ("Cold", "Late") == loaded.follow_up_options == loaded.wide["q3_followUp_whatFeltOff"].options
    assert "follow-up options" not in loaded.borrowed


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"a": 1}', '{"B1": "perceiving"}', '{"B1": {}}', "[" * 100_000, "NaN"]
)
def test_a_file_that_is_no_codebook_is_refused_in_a_sentence(content: str, tmp_path: Path) -> None:
    path = tmp_path / "codebook.json"
    path.write_text(content)
    with pytest.raises(DataError, match=re.escape(str(path))):
        load_codebook(path)


def test_a_missing_codebook_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="There is no codebook at"):
        load_codebook(tmp_path / "none.json")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["B1", "PW16", "general", "id", "text", "observerText", "category"]), inner)
    ),
    max_leaves=12,
)


@given(json_values)
def test_any_json_gives_a_complete_codebook_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, content: Any
) -> None:
    try:
        loaded: Codebook = load_codebook(write(tmp_path_factory.mktemp("codebook"), content))
    except DataError:
        return
    assert all(isinstance(q.text, str) and q.text and q.observer_text for q in loaded.binary.values())
    assert default_codebook().pairwise.keys() == loaded.pairwise.keys()


@pytest.mark.parametrize("below", [".", "data", "data/Sample200"])
def test_the_codebook_of_a_checkout_is_found_up_to_two_levels_above(below: str, tmp_path: Path) -> None:
    (tmp_path / "data/Sample200/deeper").mkdir(parents=True)
    path = write(tmp_path, {})
    assert path.resolve() == codebook_for(tmp_path / below)
    assert codebook_for(tmp_path / "data/Sample200/deeper") is None
