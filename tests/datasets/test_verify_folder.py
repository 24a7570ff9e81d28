"""What `verify` finds in a folder: which subset it is, what stands there twice, and what is invalid."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from factory import make_conversation, write_conversations
from hypothesis import given
from hypothesis import strategies as st

from attunebench.conversations import load_conversations
from attunebench.datasets.subsets import match_of, nearest, parse_spans, published_subsets, spans, subset_file_name
from attunebench.datasets.verifying import verify
from attunebench.errors import DataError, UsageError

NUMBERS = st.sets(st.integers(0, 300), min_size=1)


@pytest.fixture
def subset(tmp_path: Path) -> Path:
    """A folder with the file numbers of Subsample20."""
    made = write_conversations(tmp_path / "made", 20, turns=1)
    folder = tmp_path / "Subsample20"
    folder.mkdir()
    for made_file, number in zip(sorted(made.iterdir()), sorted(published_subsets()["Subsample20"]), strict=True):
        made_file.rename(folder / subset_file_name(number))
    return folder


def test_the_numbers_of_a_subset_are_recognised_and_its_digest_is_that_of_scores(subset: Path) -> None:
    found = verify(subset)
    assert found.ok
    assert "Subsample20" in found.subset
    assert load_conversations(subset).ground_truth_sha256 == found.digest


def test_a_missing_and_an_extra_number_are_named(subset: Path) -> None:
    first, second = sorted(published_subsets()["Subsample20"])[:2]
    (subset / subset_file_name(first)).rename(subset / subset_file_name(999))
    (subset / subset_file_name(second)).unlink()
    found = verify(subset, subset="subsample20")
    assert not found.ok
    assert f"2 missing ({spans([first, second])}), 1 extra (999)" in found.subset
    assert verify(subset).ok, "nobody said that it has to be a subset"
    assert "Subsample20" in verify(subset).subset


def test_a_file_by_another_name_is_no_file_of_the_subset(subset: Path) -> None:
    number = min(published_subsets()["Subsample20"])
    (subset / subset_file_name(number)).rename(subset / f"talk_{number}.json")
    found = verify(subset, subset="Subsample20")
    assert not found.ok
    assert f"1 missing ({number})" in found.subset
    assert f"talk_{number}.json" in found.subset


def test_number_106_is_said_to_be_outside_the_sample_of_200() -> None:
    match = match_of("Sample200", published_subsets()["Sample200"] | {106})
    assert ((), (106,)) == (match.missing, match.extra)


def test_one_talk_under_two_ids_is_a_duplicate(tmp_path: Path) -> None:
    raw = make_conversation(1, turns=2)
    folder = write_conversations(tmp_path, 3, seed=10, turns=1)
    (folder / "conversation_7.json").write_text(json.dumps(raw))
    raw["conversationId"] = "another"
    raw["turns"][0]["userMessage"] += " \n"
    (folder / "conversation_8.json").write_text(json.dumps(raw))
    found = verify(folder)
    assert not found.ok
    (duplicate,) = found.duplicates
    assert all(name in duplicate for name in ("conversation_7.json", "conversation_8.json", "different labels"))


def test_a_copy_of_a_file_under_another_number_is_an_error(tmp_path: Path) -> None:
    folder = write_conversations(tmp_path, 2, turns=1)
    shutil.copy(folder / "conversation_1.json", folder / "conversation_3.json")
    found = verify(folder)
    assert not found.ok
    assert {"conversation_1.json", "conversation_3.json"} == {issue.file for issue in found.report.errors}


def test_one_number_on_two_files_is_a_duplicate(tmp_path: Path) -> None:
    folder = write_conversations(tmp_path, 2, turns=1)
    write_conversations(folder / "more", 1, seed=9, turns=1)
    (duplicate,) = verify(folder).duplicates
    assert "conversation_1.json and more/conversation_1.json" in duplicate


def test_what_cannot_be_looked_at_is_refused_by_a_sentence(tmp_path: Path) -> None:
    write_conversations(tmp_path / "data", 1, turns=1)
    with pytest.raises(DataError):
        verify(tmp_path / "none")
    with pytest.raises(DataError):
        verify(tmp_path / "data" / "conversation_1.json")
    with pytest.raises(UsageError):
        verify(tmp_path / "data", subset="Sample201")


@pytest.mark.parametrize("name", list(published_subsets()))
def test_the_nearest_subset_of_nearly_all_its_numbers_is_that_subset(name: str) -> None:
    numbers = sorted(published_subsets()[name])
    found = nearest(numbers[1:])
    assert found is not None
    assert (name, (numbers[0],), ()) == (found.subset, found.missing, found.extra)


def test_numbers_of_our_own_are_near_to_no_subset() -> None:
    assert nearest(range(1001, 1013)) is None
    assert nearest(()) is None


@given(NUMBERS)
def test_numbers_in_words_are_read_back(numbers: set[int]) -> None:
    assert numbers == parse_spans(spans(numbers))


@pytest.mark.parametrize("text", ["", ",", "a", "3-1", "1-", "-1", "1..3", "1-999999999", "²"])
def test_what_is_no_list_of_numbers_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_spans(text)
