"""Which files of a source are a subset: by number, wherever they lie, and never by chance."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from published import SMALL, conversation, files, in_folder, tree

from attunebench.codebook import codebook_for
from attunebench.datasets.getting import choose, get
from attunebench.datasets.subsets import belongs_to_data, conversation_number, is_companion, published_subsets
from attunebench.errors import DataError, UsageError

CODEBOOK = b'{"binary": {"B1": {"text": "a"}}}'


def got_from(tmp_path: Path, content: dict[str, bytes], **options: bool) -> dict[str, bytes]:
    """What lies in the subset's folder after getting it from a folder with this content."""
    source = in_folder(content, tmp_path / "from")
    get(SMALL, source=str(source), to=tmp_path / SMALL, **options)
    return {name: data for name, data in tree(tmp_path / SMALL).items() if name != "attunebench-manifest.json"}


def test_files_are_found_wherever_they_lie(tmp_path: Path) -> None:
    content = {
        f"{number % 3}/deep/{name.rpartition('/')[2]}": data for number, (name, data) in enumerate(files().items())
    }
    assert {name.rpartition("/")[2]: data for name, data in content.items()} == got_from(tmp_path, content)


def test_a_folder_named_like_the_subset_wins(tmp_path: Path) -> None:
    other = dict.fromkeys(files(folder="Sample200"), b'{"turns": "others"}')
    assert set(got_from(tmp_path, {**other, **files(folder=f"x/{SMALL.upper()}/conversations")}).values()) == {
        conversation(number) for number in published_subsets()[SMALL]
    }


def test_a_number_that_only_another_folder_has_comes_from_there(tmp_path: Path) -> None:
    content = {**files(folder=SMALL, without=[13]), "Sample200/conversation_13.json": conversation(13)}
    assert conversation(13) == got_from(tmp_path, content)["conversation_13.json"]


def test_the_same_file_twice_is_no_trouble_and_two_different_ones_are(tmp_path: Path) -> None:
    content = {**files(folder="a"), **files(folder="b")}
    assert 20 == len(got_from(tmp_path, content))
    content["b/conversation_13.json"] = conversation(14)
    with pytest.raises(DataError, match=r"a/conversation_13\.json and b/conversation_13\.json"):
        get(SMALL, source=str(in_folder(content, tmp_path / "from")), to=tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_other_numbers_and_other_names_stay_where_they_are(tmp_path: Path) -> None:
    others = ("conversation_14.json", "conversation_013.json", "Conversation_13.json", "conversation_13.json.bak")
    hidden = {
        "__MACOSX/conversation_13.json": b"x",
        ".git/conversation_13.json": b"x",
        "d/._conversation_13.json": b"x",
    }
    content = {**files(folder="data"), **{f"other/{name}": b"x" for name in others}, **hidden}
    assert {name.rpartition("/")[2] for name in files()} == set(got_from(tmp_path, content))


def test_codebook_and_papers_come_from_the_nearest_folder_above(tmp_path: Path) -> None:
    content = {
        **files(folder="top/data"),
        "top/annotation_codebook.json": CODEBOOK,
        "top/README.md": b"of the repository",
        "top/data/README.md": b"of the data",
        "top/LICENSE-DATA": b"licence",
        "top/elsewhere/LICENSE": b"of something else",
        "top/setup.py": b"code",
    }
    found = got_from(tmp_path, content)
    beside = {name: data for name, data in found.items() if not name.startswith("conversation_")}
    assert {"annotation_codebook.json": CODEBOOK, "README.md": b"of the data", "LICENSE-DATA": b"licence"} == beside
    assert (tmp_path / SMALL / "annotation_codebook.json").resolve() == codebook_for(tmp_path / SMALL)


def test_a_codebook_that_would_stop_every_run_is_left_out(tmp_path: Path) -> None:
    content = {**files(folder="data"), "annotation_codebook.json": b"[]"}
    assert "annotation_codebook.json" not in got_from(tmp_path, content)


def test_missing_numbers_are_named_and_nothing_is_written(tmp_path: Path) -> None:
    source = in_folder(files(without=[13, 246]), tmp_path / "from")
    with pytest.raises(DataError, match="13, 246"):
        get(SMALL, source=str(source), to=tmp_path / SMALL)
    assert not (tmp_path / SMALL).exists()
    (got,) = get(SMALL, source=str(source), to=tmp_path / SMALL, partial=True)
    assert (18, (13, 246)) == (got.manifest.n_conversations, got.missing)


def test_number_106_is_said_to_be_outside_sample200(tmp_path: Path) -> None:
    source = in_folder(files("Subsample100", without=[106]), tmp_path / "from")
    with pytest.raises(DataError, match="106 is in Subsample100"):
        get("subsample100", source=str(source), to=tmp_path / "to")


@pytest.mark.parametrize(
    "bad",
    [
        b"{",
        json.dumps({"no": "turns"}).encode(),
        conversation(36),
        conversation(13).replace(b'"winner": "A"', b'"winner": "both"'),
    ],
)
def test_invalid_files_are_named_and_left_out_only_when_asked(tmp_path: Path, bad: bytes) -> None:
    content = files(folder="data") | {"data/conversation_13.json": bad}
    with pytest.raises(DataError, match=r"conversation_13\.json"):
        got_from(tmp_path, content)
    assert not (tmp_path / SMALL).exists()
    left_out = set(files(folder="")) - set(got_from(tmp_path, content, partial=True))
    assert {"conversation_13.json"} <= left_out <= {"conversation_13.json", "conversation_36.json"}


def test_a_source_without_any_valid_conversation_brings_nothing(tmp_path: Path) -> None:
    source = in_folder(dict.fromkeys(files(), b"{}"), tmp_path / "from")
    for partial in (False, True):
        with pytest.raises(DataError, match="Subsample20"):
            get(SMALL, source=str(source), to=tmp_path / SMALL, partial=partial)
    assert ["from"] == [path.name for path in tmp_path.iterdir()]


def test_links_in_a_folder_are_followed_as_caches_of_deposits_are_made_of_them(tmp_path: Path) -> None:
    blobs = in_folder(files(folder=""), tmp_path / "blobs")
    (tmp_path / "from").mkdir()
    for blob in blobs.iterdir():
        (tmp_path / "from" / blob.name).symlink_to(blob)
    (tmp_path / "from" / "loop").symlink_to(tmp_path / "from")
    (tmp_path / "from" / "dangling.json").symlink_to("nowhere")
    get(SMALL, source=str(tmp_path / "from"), to=tmp_path / SMALL)
    assert not any(path.is_symlink() for path in (tmp_path / SMALL).iterdir())


@pytest.mark.parametrize("name", ["Sample2000", "", "Demo12", "results"])
def test_a_name_that_is_none_to_get_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        get(name, source=str(tmp_path), to=tmp_path / "to")


@pytest.mark.parametrize(
    "source", ["", " ", "nowhere", "ftp://host/x.zip", "file:///etc/passwd", "http://", "http://h:x/", "s3://b"]
)
def test_a_source_that_is_none_is_refused(tmp_path: Path, source: str) -> None:
    with pytest.raises(UsageError, match="--from"):
        get(SMALL, source=source, to=tmp_path / "to")
    assert [] == list(tmp_path.iterdir())


def test_a_set_is_never_made_below_the_conversations_that_it_comes_from(tmp_path: Path) -> None:
    source = in_folder(files(folder="data"), tmp_path / "from")
    before = tree(source)
    with pytest.raises(UsageError, match="--to"):
        get(SMALL, source=str(source), to=source / "data" / SMALL)
    assert before == tree(source)
    assert 20 == get(SMALL, source=str(source), to=source / "other" / SMALL)[0].manifest.n_conversations


PATHS = st.lists(
    st.tuples(
        st.lists(st.sampled_from(["a", "Sample200", SMALL, SMALL.lower(), ".git"]), max_size=3),
        st.sampled_from(["conversation_13.json", "conversation_36.json", "conversation_5.json", "README.md", "x"]),
    ).map(lambda parts: "/".join([*parts[0], parts[1]])),
    unique=True,
)


def in_source(tmp_path: Path, *names: str) -> dict[PurePosixPath, Path]:
    """Files of these names that belong to a data set, each with the same content."""
    content = tmp_path / "content"
    content.write_bytes(b"{}")
    return {path: content for name in names if belongs_to_data(path := PurePosixPath(name), 1)}


@given(paths=PATHS)
def test_every_wanted_number_is_either_found_or_missing_and_order_decides_nothing(
    tmp_path_factory: pytest.TempPathFactory, paths: list[str]
) -> None:
    place = tmp_path_factory.getbasetemp()
    numbers = frozenset({13, 36})
    chosen, missing = choose(in_source(place, *paths), SMALL, numbers)
    visible = {PurePosixPath(path).name for path in paths if ".git" not in path}
    found = {number for name in visible if (number := conversation_number(name)) in numbers}
    assert found == {conversation_number(name) for name in chosen} - {None}
    assert numbers - found == set(missing)
    assert (chosen, missing) == choose(in_source(place, *paths[::-1]), SMALL, numbers)


@pytest.mark.parametrize("name", ["README", "readme.md", "LICENSE", "LICENCE.txt", "LICENSE-DATA", "CITATION.cff"])
def test_papers_are_known_by_their_names(name: str) -> None:
    assert is_companion(name)


@pytest.mark.parametrize("name", ["readme.exe", "license.json", "notes.md", "licenses", "conversation_1.json", ""])
def test_other_files_are_no_papers(name: str) -> None:
    assert not is_companion(name)


def test_of_two_equally_near_readmes_the_order_of_the_archive_decides_nothing(tmp_path: Path) -> None:
    pairs = [("b/README.md", b"b"), ("a/README.md", b"a")]
    pairs += [("b/conversation_13.json", conversation(13)), ("a/conversation_36.json", conversation(36))]
    for number, content in enumerate((pairs, pairs[::-1])):
        source = in_folder(dict(content), tmp_path / f"from{number}")
        get(SMALL, source=str(source), to=tmp_path / f"to{number}", partial=True)
        assert b"a" == (tmp_path / f"to{number}" / "README.md").read_bytes()
