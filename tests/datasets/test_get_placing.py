"""A kill, a full disk or an older folder: the target is the old or the new one, whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest
from archive_server import ArchiveServer, stall
from published import SMALL, conversation, files, in_folder, tree, zipped

from attunebench.datasets.building import place
from attunebench.datasets.getting import get
from attunebench.errors import DataError, UsageError

OLD = {f"{SMALL}/conversation_13.json": b"old", f"{SMALL}/README.md": b"old"}


NEW = {f"{SMALL}/{name}" for name in [*files(folder=""), "attunebench-manifest.json"]}


def test_a_target_that_is_there_is_never_touched_without_replace(tmp_path: Path) -> None:
    source = in_folder(files(), tmp_path / "from")
    parent = in_folder(OLD, tmp_path / "place")
    (parent / "empty").mkdir()
    (parent / "link").symlink_to("nowhere")
    before = tree(tmp_path)
    for name in (SMALL, "empty", f"{SMALL}/README.md", "link"):
        with pytest.raises(UsageError, match="--replace"):
            get(SMALL, source=str(source), to=parent / name)
    assert before == tree(tmp_path)


def test_replace_puts_the_new_folder_in_place_of_the_old(tmp_path: Path) -> None:
    parent = in_folder(OLD, tmp_path / "place")
    get(SMALL, source=str(in_folder(files(), tmp_path / "from")), to=parent / SMALL, replace=True)
    assert NEW == tree(parent).keys()


def test_a_folder_that_appears_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    new = in_folder({"conversation_36.json": b"new"}, tmp_path / "new")
    in_folder(OLD, tmp_path)
    with pytest.raises(UsageError, match="--replace"):
        place(new, tmp_path / SMALL, replace=False)
    assert OLD.items() <= tree(tmp_path).items()


def test_a_folder_that_cannot_be_moved_brings_the_old_one_back(tmp_path: Path) -> None:
    in_folder(OLD, tmp_path)
    with pytest.raises(FileNotFoundError):
        place(tmp_path / "missing", tmp_path / SMALL, replace=True)
    assert OLD == tree(tmp_path)


@pytest.mark.parametrize(
    "foreign", ["notes.txt", "results/x.json", ".git/config", "conversation_1.json/x", "my_conversation_1.json"]
)
def test_replace_deletes_nothing_that_is_no_part_of_a_data_set(tmp_path: Path, foreign: str) -> None:
    source = in_folder(files(), tmp_path / "from")
    parent = in_folder({**OLD, f"{SMALL}/{foreign}": b"mine"}, tmp_path / "place")
    before = tree(tmp_path)
    with pytest.raises(DataError, match="--replace"):
        get(SMALL, source=str(source), to=parent / SMALL, replace=True)
    assert before == tree(tmp_path)


def test_a_refusal_with_replace_leaves_the_old_folder(tmp_path: Path) -> None:
    parent = in_folder(OLD, tmp_path / "place")
    source = in_folder(files() | {f"x/{SMALL}/conversation_13.json": b"{"}, tmp_path / "from")
    with pytest.raises(DataError, match=r"conversation_13\.json"):
        get(SMALL, source=str(source), to=parent / SMALL, replace=True)
    assert OLD == tree(parent)


def test_the_same_again_fetches_nothing_and_an_incomplete_one_is_no_excuse(tmp_path: Path) -> None:
    source = in_folder(files(), tmp_path / "from")
    (first,) = get(SMALL, source=str(source), to=tmp_path / SMALL)
    before = tree(tmp_path)
    (second,) = get(SMALL, source="http://127.0.0.1:9/none.zip", to=tmp_path / SMALL)
    assert (True, False, first.manifest.files) == (first.is_new, second.is_new, second.manifest.files)
    assert before == tree(tmp_path)
    (tmp_path / SMALL / "conversation_13.json").unlink()
    with pytest.raises(UsageError, match="--replace"):
        get(SMALL, source=str(source), to=tmp_path / SMALL)


def test_all_brings_every_subset_or_none(tmp_path: Path) -> None:
    content = {**files("Sample200", "Sample200"), **files("Subsample100", "Subsample100", without=[106])}
    source = in_folder(content, tmp_path / "from")
    with pytest.raises(DataError, match="106"):
        get("all", source=str(source), to=tmp_path / "to")
    assert ["from"] == [path.name for path in tmp_path.iterdir()]
    (source / "Subsample100/conversation_106.json").write_bytes(conversation(106))
    all_got = get("ALL", source=str(source), to=tmp_path / "to")
    sizes = {"Sample200": 200, "Subsample100": 100, "Subsample50": 50, "Subsample25": 25, "Subsample20": 20}
    assert sizes == {built.name: built.manifest.n_conversations for built in all_got}
    assert sizes == {path.name: len(list(path.glob("conversation_*"))) for path in (tmp_path / "to").iterdir()}


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_a_command_that_is_killed_or_interrupted_leaves_no_visible_file(tmp_path: Path, end: signal.Signals) -> None:
    archive = zipped(files())
    with ArchiveServer(archive) as server:
        server.script.append(stall(len(archive) // 2))
        command = [sys.executable, "-m", "attunebench.cli.main", "data", "get", SMALL, "-q", "--from", server.url]
        running = subprocess.Popen(command, cwd=tmp_path)
        while not server.requests:
            assert running.poll() is None
            threading.Event().wait(0.02)
        running.send_signal(end)
        assert running.wait() == (130 if end is signal.SIGINT else -end)
        assert [] == [path for path in tmp_path.iterdir() if end is signal.SIGINT or not path.name.startswith(".")]


_KILLED_AT = """
    import os, signal, sys
    from pathlib import Path
    from published import SMALL
    from attunebench.datasets.getting import get

    count = 0
    def watch(event, arguments):
        global count
        count += event == "os.rename"
        if event == "os.rename" and count == int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    get(SMALL, source=sys.argv[1], to=Path(sys.argv[2]), replace=True, partial=True)
"""


@pytest.mark.parametrize("rename", [1, 2, 3, 4])
def test_a_kill_at_any_rename_leaves_the_old_or_the_new_folder_and_the_old_is_never_lost(
    tmp_path: Path, rename: int
) -> None:
    """The renames: of the manifest; of the old folder; of the new one. There is no fourth."""
    source = in_folder({f"conversation_{n}.json": conversation(n) for n in (13, 36)}, tmp_path / "from")
    parent = in_folder(OLD, tmp_path / "place")
    run_script(_KILLED_AT, source, parent / SMALL, rename, status=0 if rename == 4 else -signal.SIGKILL)
    left = {name: data for name, data in tree(parent).items() if not name.startswith(".")}
    moved = {name.replace(SMALL, f"{SMALL}.replaced"): data for name, data in OLD.items()}
    if rename < 4:
        assert left in (OLD, moved)
    get(SMALL, source=str(source), to=parent / SMALL, replace=True, partial=True)
    assert (conversation(13), rename == 3) == (
        tree(parent)[f"{SMALL}/conversation_13.json"],
        moved.items() <= tree(parent).items(),
    )


_SMALL_DISK = """
    import resource, sys
    from attunebench.cli.main import main

    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
    main(["data", *sys.argv[2:]])
"""


@pytest.mark.parametrize("words", [("get", SMALL), ("cut", SMALL), ("get", SMALL, "--partial")])
def test_a_disk_that_fills_up_leaves_no_half_folder(tmp_path: Path, words: tuple[str, ...]) -> None:
    source = in_folder(
        files(folder="") | {"conversation_246.json": conversation(246) + b" " * 100_000}, tmp_path / "from"
    )
    parent = in_folder(OLD, tmp_path / "place")
    ended = run_script(_SMALL_DISK, 50_000, *words, "--from", source, "--to", parent / SMALL, "--replace", status=2)
    assert "free some space" in ended.stderr
    assert OLD == tree(parent)


def run_script(script: str, *words: object, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a script of this file in a process of its own; it ends with this status and without a traceback."""
    support = str(Path(__file__).parents[1] / "support")
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, words)],
        # A byte-code file that the full disk cut short would break every later import.
        env={**os.environ, "PYTHONPATH": support, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (status, "") == (ended.returncode, ended.stderr if "Traceback" in ended.stderr else "")
    return ended
