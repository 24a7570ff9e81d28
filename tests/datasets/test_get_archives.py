"""Archives that were made to do harm, or were damaged: refused by a sentence, nothing written outside or left."""

from __future__ import annotations

import io
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from published import SMALL, conversation, files, in_folder, tarred, tree, zipped

from attunebench.datasets import archives
from attunebench.datasets.getting import get
from attunebench.errors import AttuneBenchError, DataError

PACKERS: dict[str, Callable[[dict[str, bytes]], bytes]] = {
    "zip": zipped,
    "tar": lambda content: tarred(content, "w"),
    "tar.gz": tarred,
}


def place(tmp_path: Path, archive: bytes) -> Path:
    """The archive as a file in a folder of its own, beside which the data would go."""
    path = tmp_path / "from" / "given"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(archive)
    return path


def refused(tmp_path: Path, archive: bytes) -> bool:
    """Whether the archive is refused in one line, and the folder is as it was."""
    source = place(tmp_path, archive)
    before = tree(tmp_path)
    with pytest.raises(DataError) as raised:
        get(SMALL, source=str(source), to=tmp_path / "to" / SMALL)
    assert before == tree(tmp_path)
    return str(raised.value).isprintable()


@pytest.mark.parametrize("kind", PACKERS)
def test_every_kind_of_archive_brings_the_same_folder(tmp_path: Path, kind: str) -> None:
    source = place(tmp_path, PACKERS[kind](files()))
    (got,) = get(SMALL, source=str(source), to=tmp_path / "to" / SMALL)
    (from_folder,) = get(SMALL, source=str(in_folder(files(), tmp_path / "folder")), to=tmp_path / "to" / "other")
    assert from_folder.manifest.ground_truth_sha256 == got.manifest.ground_truth_sha256
    assert 20 == got.manifest.n_conversations


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize(
    "name",
    [
        "../conversation_13.json",
        "data/../../conversation_13.json",
        "a/..",
        "/etc/conversation_13.json",
        "C:/conversation_13.json",
        "c:conversation_13.json",
        "..\\conversation_13.json",
        "data\\conversation_13.json",
        "data/\x1b[2Jconversation_13.json",
        "data/\nconversation_13.json",
        "d/" * 3000 + "conversation_13.json",
    ],
)
def test_a_name_that_could_be_elsewhere_refuses_the_archive(tmp_path: Path, kind: str, name: str) -> None:
    assert refused(tmp_path, PACKERS[kind]({**files(), name: conversation(13)}))


def test_a_name_with_a_nul_refuses_the_zip(tmp_path: Path) -> None:
    archive = zipped({**files(), "data/conversation_13.jsonX.exe": b"{}"})
    assert refused(tmp_path, archive.replace(b"jsonX.exe", b"json\0.exe"))


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize(
    "other", ["attunebench-main/DATA/Conversation_13.JSON", "attunebench-main/data/conversation_13.json"]
)
def test_two_names_that_are_one_where_letter_case_is_ignored_refuse_the_archive(
    tmp_path: Path, kind: str, other: str
) -> None:
    content = [*files().items(), (other, b"{}")]
    with pytest.warns(UserWarning, match="Duplicate name") if kind == "zip" and other in files() else nullcontext():
        archive = PACKERS[kind](_Repeating(content))
    assert refused(tmp_path, archive)


@pytest.mark.parametrize("mode", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK])
def test_a_zip_with_a_link_or_a_device_is_refused(tmp_path: Path, mode: int) -> None:
    buffer = io.BytesIO(zipped(files()))
    with zipfile.ZipFile(buffer, "a") as archive:
        link = zipfile.ZipInfo("attunebench-main/other")
        link.create_system, link.external_attr = 3, (mode | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    assert refused(tmp_path, buffer.getvalue())


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_a_tar_with_a_link_or_a_device_is_refused(tmp_path: Path, kind: bytes) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        link = tarfile.TarInfo("data")
        link.type, link.linkname = kind, "/etc"
        archive.addfile(link)
        info = tarfile.TarInfo("data/conversation_13.json")
        archive.addfile(info)
    assert refused(tmp_path, buffer.getvalue())


def test_an_encrypted_zip_is_refused_with_the_remedy(tmp_path: Path) -> None:
    archive = bytearray(zipped(files()))
    archive[archive.index(b"PK\x01\x02") + 8] |= 1
    assert refused(tmp_path, bytes(archive))


def test_a_zip_packed_in_a_rare_way_is_refused_with_the_remedy(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("conversation_13.json", conversation(13))
    assert refused(tmp_path, buffer.getvalue())


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_what_unpacks_to_far_more_than_it_is_refuses_the_archive(tmp_path: Path, kind: str) -> None:
    archive = PACKERS[kind]({**files(), "data/conversation_13.json": b" " * (24 << 20)})
    assert refused(tmp_path, archive)


def test_a_zip_that_lies_about_a_size_is_read_no_further_than_it_said(tmp_path: Path) -> None:
    content = {**files(without=[13]), "data/conversation_13.json": b" " * 500_000}
    archive = zipped(content).replace(struct.pack("<L", 500_000), struct.pack("<L", 900))
    assert refused(tmp_path, archive)


def test_a_header_that_claims_gigabytes_is_not_read_into_memory(tmp_path: Path) -> None:
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 3 << 30
    tar = header.tobuf(tarfile.USTAR_FORMAT) + bytes(1024)
    assert refused(tmp_path, tar)
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    assert refused(tmp_path, packer.compress(tar) + packer.flush())


def test_a_zip_whose_list_claims_gigabytes_is_not_read_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MOST_HEADER_BYTES", 1000)
    assert refused(tmp_path, zipped(files()))


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize(
    ("bound", "most"), [("MOST_ENTRIES", 19), ("MOST_UNPACKED_BYTES", 20_000), ("MOST_FILE_BYTES", 900)]
)
def test_every_bound_refuses_the_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, bound: str, most: int
) -> None:
    monkeypatch.setattr(archives, bound, most)
    assert refused(tmp_path, PACKERS[kind](files()))


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.6, 0.9, 0.99])
def test_an_archive_that_was_cut_is_refused(tmp_path: Path, kind: str, share: float) -> None:
    archive = PACKERS[kind](files())
    # The padding behind a plain tar's end says nothing, and may be missing.
    end = archive.rstrip(b"\0") if kind == "tar" else archive
    assert refused(tmp_path, archive[: int(len(end) * share)])


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_a_flipped_bit_in_the_content_is_noticed(tmp_path: Path, kind: str) -> None:
    archive = bytearray(PACKERS[kind](files()))
    archive[len(archive) // 2] ^= 4
    assert refused(tmp_path, bytes(archive))


@given(data=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damage_ends_in_a_sentence_or_in_the_whole_folder(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    tmp_path = tmp_path_factory.mktemp("damage")
    archive = bytearray(_SMALL_ARCHIVES[data.draw(st.sampled_from(sorted(_SMALL_ARCHIVES)))])
    for _ in range(data.draw(st.integers(1, 8))):
        archive[data.draw(st.integers(0, len(archive) - 1))] = data.draw(st.integers(0, 255))
    source = place(tmp_path, bytes(archive))
    try:
        get(SMALL, source=str(source), to=tmp_path / "to" / SMALL, partial=True)
    except AttuneBenchError:
        assert ["from/given"] == list(tree(tmp_path))
    else:
        assert {"from", f"to/{SMALL}"} == {name.rpartition("/")[0] for name in tree(tmp_path)}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n  <!DOCTYPE html>",
        b'{"error": "no"}',
        b"Rar!\x1a",
        b"some words",
        b"PK\x03\x04",
        b"\x1f\x8b",
        zipped({}),
    ],
)
def test_what_is_not_an_archive_of_the_data_is_refused(tmp_path: Path, content: bytes) -> None:
    assert refused(tmp_path, content)


@pytest.mark.parametrize("pointer", [False, True])
def test_pointers_of_git_lfs_are_named(tmp_path: Path, pointer: bool) -> None:
    text = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"
    archive = text if pointer else zipped(dict.fromkeys(files(), text))
    with pytest.raises(DataError, match="git lfs pull"):
        get(SMALL, source=str(place(tmp_path, archive)), to=tmp_path / "to" / SMALL)


def test_the_page_about_data_states_the_bounds() -> None:
    page = (Path(__file__).parents[2] / "docs" / "data.md").read_text("utf-8")
    for most in (archives.MOST_ARCHIVE_BYTES, archives.MOST_UNPACKED_BYTES, archives.MOST_FILE_BYTES):
        assert f"| {archives.megabytes(most)} |" in page
    assert f"| {archives.MOST_ENTRIES:,} |" in page
    assert f"| {archives.MOST_RATIO} to 1, from {archives.megabytes(archives.RATIO_FROM_BYTES)} on |" in page


_SMALL_ARCHIVES = {
    kind: packer({f"d/conversation_{number}.json": conversation(number) for number in (13, 36)})
    for kind, packer in PACKERS.items()
}


class _Repeating(dict[str, bytes]):
    """Gives its pairs as they were given, a name twice where it was given twice."""

    def __init__(self, pairs: list[tuple[str, bytes]]) -> None:
        super().__init__(pairs)
        self._pairs = pairs

    def items(self) -> list[tuple[str, bytes]]:  # type: ignore[override]
        return self._pairs
