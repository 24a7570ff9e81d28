"""What is cut out of a folder is the same to the byte, whole or not there, and never takes anything away unasked."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from factory import write_conversations

from attunebench.codebook import codebook_for, default_codebook
from attunebench.conversations import load_conversations
from attunebench.conversations.loading import MANIFEST_NAME
from attunebench.datasets.getting import cut
from attunebench.datasets.subsets import published_subsets, recognise, subset_file_name
from attunebench.datasets.verifying import read_manifest, verify
from attunebench.errors import DataError, UsageError


def sample(folder: Path, numbers: frozenset[int]) -> Path:
    """A folder of valid conversations with these numbers."""
    made = write_conversations(folder.parent / "made", len(numbers), turns=1)
    folder.mkdir(parents=True)
    for place, number in enumerate(sorted(numbers), 1):
        (made / f"conversation_{place}.json").rename(folder / subset_file_name(number))
    made.rmdir()
    return folder


def state(folder: Path) -> dict[str, str]:
    """Every file below a folder, hidden ones too, with its digest."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder with the numbers of Subsample25 and a few more."""
    return sample(tmp_path / "data" / "larger", published_subsets()["Subsample25"] | {901, 902})


def test_a_subset_is_copied_to_the_byte_and_the_source_stays_as_it_was(source: Path) -> None:
    before = state(source)
    target = source.parent / "Subsample25"
    made = cut(source, target, published_subsets()["Subsample25"])
    assert before == state(source)
    copies = {name: digest for name, digest in state(target).items() if name != MANIFEST_NAME}
    assert {
        subset_file_name(number): before[subset_file_name(number)] for number in published_subsets()["Subsample25"]
    } == (copies)
    assert "Subsample25" == recognise(copies) == made.manifest.subset
    assert load_conversations(target).ground_truth_sha256 == made.manifest.ground_truth_sha256
    assert read_manifest(target / MANIFEST_NAME) == made.manifest
    assert verify(target, subset="Subsample25", manifest=made.manifest).ok
    assert ["Subsample25", "larger"] == sorted(path.name for path in source.parent.iterdir())


def test_the_codebook_above_the_source_and_the_papers_in_it_come_along(source: Path, tmp_path: Path) -> None:
    book = json.dumps({"B1": {"text": "Did it name a feeling of yours?"}})
    (source.parent / "annotation_codebook.json").write_text(book)
    (source / "LICENSE-DATA").write_text("CC BY 4.0")
    (source / "notes.txt").write_text("mine")
    target = tmp_path / "far" / "away" / "from" / "it"
    made = cut(source, target, {901, 902})
    assert ("LICENSE-DATA", "annotation_codebook.json") == made.companions
    assert target / "annotation_codebook.json" == codebook_for(target)
    assert book == (target / "annotation_codebook.json").read_text()
    assert not (target / "notes.txt").exists()
    assert made.manifest.files[-1].name == "annotation_codebook.json"


def test_a_source_without_a_codebook_gives_none(source: Path) -> None:
    assert () == cut(source, source.parent / "part", {901}).companions
    assert default_codebook().sha256  # the run takes ours, as it does for the source


def test_number_106_is_said_to_be_outside_the_sample_and_the_rest_is_cut_only_when_asked(tmp_path: Path) -> None:
    source = sample(tmp_path / "Sample200", published_subsets()["Sample200"])
    target = tmp_path / "Subsample100"
    with pytest.raises(DataError, match="106 is in Subsample100"):
        cut(source, target, published_subsets()["Subsample100"])
    assert ["Sample200"] == [path.name for path in tmp_path.iterdir()]
    made = cut(source, target, published_subsets()["Subsample100"], partial=True)
    assert ((106,), 99, None) == (made.missing, made.manifest.n_conversations, made.manifest.subset)


def test_a_source_with_none_of_the_files_is_refused_even_where_a_part_would_do(source: Path) -> None:
    with pytest.raises(DataError):
        cut(source, source.parent / "part", {1001, 1002}, partial=True)


def test_a_target_that_is_there_gives_way_only_when_asked(source: Path) -> None:
    target = source.parent / "part"
    cut(source, target, {901})
    before = state(target)
    with pytest.raises(UsageError, match="--replace"):
        cut(source, target, {902})
    assert before == state(target)
    cut(source, target, {902}, replace=True)
    assert {"conversation_902.json", MANIFEST_NAME} == set(state(target))
    assert ["larger", "part"] == sorted(path.name for path in source.parent.iterdir())


def test_a_folder_that_holds_something_else_is_never_replaced(source: Path) -> None:
    target = source.parent / "part"
    cut(source, target, {901})
    (target / "thesis.docx").write_text("years of work")
    before = state(target)
    with pytest.raises(DataError, match=r"thesis\.docx"):
        cut(source, target, {902}, replace=True)
    assert before == state(target)


@pytest.mark.parametrize("place", [".", "inside", "deep/inside", ".."])
def test_a_target_that_would_be_one_set_with_the_source_is_refused(source: Path, place: str) -> None:
    before = state(source.parent)
    with pytest.raises((DataError, UsageError), match="--to"):
        cut(source, source / place, {901}, replace=True)
    assert before == state(source.parent)


def test_a_link_to_the_source_is_the_source(source: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(source)
    with pytest.raises(UsageError, match="--to"):
        cut(source, tmp_path / "link" / "part", {901})


def test_a_number_that_two_files_have_is_refused_where_it_is_wanted(source: Path) -> None:
    write_conversations(source / "more", 1, seed=90, turns=1)
    (source / "more" / "conversation_1.json").rename(source / "more" / "conversation_901.json")
    with pytest.raises(DataError, match=r"Number 901 .*conversation_901\.json and more/conversation_901\.json"):
        cut(source, source.parent / "part", {901})
    assert (902,) == tuple(
        int(name.split("_")[1].split(".")[0])
        for name in state(cut(source, source.parent / "part", {902}).folder)
        if name != MANIFEST_NAME
    )


def test_an_invalid_file_among_the_wanted_is_refused_or_left_out_and_one_beside_them_is_neither(source: Path) -> None:
    (source / "conversation_901.json").write_text('{"turns": []}')
    before = state(source.parent)
    with pytest.raises(DataError, match=r"conversation_901\.json"):
        cut(source, source.parent / "part", {901, 902})
    assert before == state(source.parent)
    made = cut(source, source.parent / "part", {901, 902}, partial=True)
    assert (1, 1) == (made.manifest.n_conversations, len(made.left_out))
    assert () == cut(source, source.parent / "other", {902}).left_out


def test_files_in_folders_below_the_source_are_found(source: Path) -> None:
    (source / "batch").mkdir()
    (source / "conversation_901.json").rename(source / "batch" / "conversation_901.json")
    made = cut(source, source.parent / "part", {901})
    assert {"conversation_901.json", MANIFEST_NAME} == set(state(made.folder))


def test_a_place_that_cannot_be_written_is_a_sentence_and_leaves_nothing(source: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="--to"):
        cut(source, tmp_path / "file" / "part", {901})
    with pytest.raises(DataError, match="--from"):
        cut(tmp_path / "none", tmp_path / "part", {901})
    assert not (tmp_path / "part").exists()
