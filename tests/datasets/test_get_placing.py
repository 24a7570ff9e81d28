"""A kill, a full disk, a second process or an older folder: the target is the old or the new one, whole."""

from __future__ import annotations

import json
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

from attunebench.datasets.getting import get
from attunebench.datasets.placing import WORK_NAME, Workplace, workplace
from attunebench.errors import DataError, UsageError

OLD = {f"{SMALL}/conversation_13.json": b"old", f"{SMALL}/README.md": b"old"}


NEW = {f"{SMALL}/{name}" for name in [*files(folder=""), "attunebench-manifest.json"]}


def test_a_target_that_is_there_is_never_touched_without_replace(tmp_path: Path) -> None:
    source = in_folder(files(), tmp_path / "from")
    place = in_folder(OLD, tmp_path / "place")
    (place / "empty").mkdir()
    (place / "link").symlink_to("nowhere")
    before = tree(tmp_path)
    for name in (SMALL, "empty", f"{SMALL}/README.md", "link"):
        with pytest.raises(UsageError, match="--replace"):
            get(SMALL, source=str(source), to=place / name)
    assert before == tree(tmp_path)


def test_replace_puts_the_new_folder_in_place_of_the_old(tmp_path: Path) -> None:
    place = in_folder(OLD, tmp_path / "place")
    get(SMALL, source=str(in_folder(files(), tmp_path / "from")), to=place / SMALL, replace=True)
    assert NEW == tree(place).keys()


@pytest.mark.parametrize("exchange", [True, False])
def test_a_swap_is_the_same_with_and_without_an_exchange_in_one_step(
    tmp_path: Path, exchange: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not exchange:
        monkeypatch.setattr(sys, "platform", "other")
    place = in_folder(OLD, tmp_path / "place")
    with workplace(place) as work:
        (work.new(SMALL) / "conversation_36.json").write_bytes(b"new")
        work.place(work.folder / "new" / SMALL, place / SMALL, replace=True)
    assert {f"{SMALL}/conversation_36.json": b"new"} == tree(place)


def test_a_folder_that_appears_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    with workplace(tmp_path) as work:
        new = work.new(SMALL)
        in_folder(OLD, tmp_path)
        with pytest.raises(UsageError, match="--replace"):
            work.place(new, tmp_path / SMALL, replace=False)
    assert OLD == tree(tmp_path)


def test_other_work_in_the_same_place_costs_no_download(tmp_path: Path) -> None:
    part = {f"{WORK_NAME}/archive.part": b"half"}
    with workplace(in_folder(part, tmp_path)) as work:
        work.place(work.new(SMALL), tmp_path / SMALL, replace=False)
    assert part[f"{WORK_NAME}/archive.part"] == tree(tmp_path)[f"{WORK_NAME}/archive.part"]


def test_what_was_moved_away_before_a_kill_comes_back(tmp_path: Path) -> None:
    place = in_folder({f"{WORK_NAME}/old/{name}": data for name, data in OLD.items()}, tmp_path)
    with workplace(place) as work:
        assert isinstance(work, Workplace)
    assert OLD == tree(place)


@pytest.mark.parametrize(
    "foreign", ["notes.txt", "results/x.json", ".git/config", "conversation_1.json/x", "my_conversation_1.json"]
)
def test_replace_deletes_nothing_that_is_no_part_of_a_data_set(tmp_path: Path, foreign: str) -> None:
    source = in_folder(files(), tmp_path / "from")
    place = in_folder({**OLD, f"{SMALL}/{foreign}": b"mine"}, tmp_path / "place")
    before = tree(tmp_path)
    with pytest.raises(DataError, match="would delete it"):
        get(SMALL, source=str(source), to=place / SMALL, replace=True)
    assert before == tree(tmp_path)


def test_a_refusal_with_replace_leaves_the_old_folder(tmp_path: Path) -> None:
    place = in_folder(OLD, tmp_path / "place")
    source = in_folder(files() | {f"x/{SMALL}/conversation_13.json": b"{"}, tmp_path / "from")
    with pytest.raises(DataError, match="not valid JSON"):
        get(SMALL, source=str(source), to=place / SMALL, replace=True)
    assert OLD == tree(place)


def test_the_same_again_fetches_nothing_and_an_incomplete_one_is_no_excuse(tmp_path: Path) -> None:
    source = in_folder(files(), tmp_path / "from")
    (first,) = get(SMALL, source=str(source), to=tmp_path / SMALL)
    before = tree(tmp_path)
    (second,) = get(SMALL, source="http://127.0.0.1:9/none.zip", to=tmp_path / SMALL)
    assert (True, False, first.digest) == (first.fetched, second.fetched, second.digest)
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
    assert sizes == {got.subset: got.n_conversations for got in all_got}
    assert sizes == {path.name: len(list(path.glob("conversation_*"))) for path in (tmp_path / "to").iterdir()}


def test_two_at_once_do_not_meet_in_one_place(tmp_path: Path) -> None:
    source = str(in_folder(files(), tmp_path / "from"))
    with workplace(tmp_path / "to"), pytest.raises(DataError, match="is at work in"):
        get(SMALL, source=source, to=tmp_path / "to" / SMALL)
    get(SMALL, source=source, to=tmp_path / "to" / SMALL)
    assert NEW == tree(tmp_path / "to").keys()


@pytest.mark.parametrize(
    ("end", "status", "told"),
    [
        (signal.SIGKILL, -signal.SIGKILL, ""),
        (
            signal.SIGINT,
            130,
            "Interrupted: no folder is half done. The same command goes on with what was downloaded.\n",
        ),
    ],
)
def test_a_download_that_is_killed_or_interrupted_is_gone_on_with_by_the_same_command(
    tmp_path: Path, end: signal.Signals, status: int, told: str
) -> None:
    archive = zipped(files())
    with ArchiveServer(archive) as server:
        server.script.append(stall(len(archive) // 2))
        command = [sys.executable, "-m", "attunebench.cli.main", "data", "get", SMALL, "-q", "--from", server.url]
        running = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        part = tmp_path / "data" / WORK_NAME / "archive.part"
        while not (part.exists() and part.stat().st_size == len(archive) // 2):
            assert running.poll() is None
            threading.Event().wait(0.02)
        running.send_signal(end)
        _, said = running.communicate()
        assert (status, told) == (running.returncode, said)
        assert not (tmp_path / "data" / SMALL).exists()
        get(SMALL, source=server.url, to=tmp_path / "data" / SMALL)
        assert f"bytes={len(archive) // 2}-" == server.requests[1].get("range")
    assert NEW == tree(tmp_path / "data").keys()


_EVERY_STEP = """
    import json, os, signal, sys
    from pathlib import Path
    from published import SMALL, in_folder, tree
    from attunebench.datasets.getting import get

    STEPS = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "ctypes.dlsym", "shutil.rmtree")
    base, source, sys.platform = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    old = {name: b"old" for name in json.loads(sys.argv[4])}

    def killed_at(last, place):
        count = 0
        def watch(event, arguments):
            nonlocal count
            if event in STEPS or (event == "open" and str(arguments[1])[:1] in ("w", "x", "a")):
                count += 1
                if count == last:
                    os.kill(os.getpid(), signal.SIGKILL)
        if not (child := os.fork()):
            try:
                sys.addaudithook(watch)
                get(SMALL, source=source, to=place / SMALL, replace=True, partial=True)
            finally:
                os._exit(0)
        return os.waitpid(child, 0)[1] != 0

    after, step, killed = [], 0, True
    while killed:
        step += 1
        place = in_folder(old, base / str(step))
        killed = killed_at(step, place)
        found = [sorted(tree(place))]
        get(SMALL, source=source, to=place / SMALL, replace=True, partial=True)
        after.append([*found, sorted(tree(place))])
    print(json.dumps(after))
"""


@pytest.mark.parametrize("platform", ["linux", "other"])
def test_a_kill_at_any_step_leaves_the_old_or_the_new_one_and_the_next_command_the_new(
    tmp_path: Path, platform: str
) -> None:
    source = in_folder({f"conversation_{n}.json": conversation(n) for n in (13, 36)}, tmp_path / "from")
    ended = run_script(_EVERY_STEP, tmp_path / "places", source, platform, json.dumps(sorted(OLD)))
    states = json.loads(ended.stdout)
    fresh = [
        f"{SMALL}/{name}" for name in ("attunebench-manifest.json", "conversation_13.json", "conversation_36.json")
    ]
    assert len(states) > 15
    assert [fresh] * len(states) == [afterwards for _, afterwards in states]
    between = [f"{WORK_NAME}/old/{name}" for name in sorted(OLD)]
    for killed, _ in states:
        visible = [name for name in killed if not name.startswith(WORK_NAME)]
        moved_away = platform == "other" and not visible and set(between) <= set(killed)
        assert moved_away or visible in (sorted(OLD), fresh)


_SMALL_DISK = """
    import resource, sys
    from attunebench.cli.main import main

    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
    main(["data", "get", *sys.argv[2:]])
"""


def test_a_disk_that_fills_up_while_unpacking_leaves_no_half_folder(tmp_path: Path) -> None:
    source = in_folder(
        files() | {f"x/{SMALL}/conversation_246.json": conversation(246) + b" " * 100_000}, tmp_path / "from"
    )
    place = in_folder(OLD, tmp_path / "place")
    ended = run_script(_SMALL_DISK, 50_000, SMALL, "--from", source, "--to", place / SMALL, "--replace", status=2)
    assert "cannot be written" in ended.stderr
    assert "make room" in ended.stderr
    assert OLD == tree(place)


def test_a_disk_that_fills_up_while_downloading_leaves_what_can_be_gone_on_with(tmp_path: Path) -> None:
    archive = zipped(files())
    with ArchiveServer(archive) as server:
        target = tmp_path / "place" / SMALL
        ended = run_script(_SMALL_DISK, 10_000, SMALL, "--from", server.url, "--to", target, status=2)
        assert "make room" in ended.stderr
        assert [WORK_NAME] == [path.name for path in (tmp_path / "place").iterdir()]
        get(SMALL, source=server.url, to=target)
        assert "bytes=10000-" == server.requests[-1]["range"]
    assert NEW == tree(tmp_path / "place").keys()


def run_script(script: str, *words: object, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a script of this file in a process of its own; it ends with this status and without a traceback."""
    support = str(Path(__file__).parents[1] / "support")
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, words)],
        env={**os.environ, "PYTHONPATH": support},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (status, "") == (ended.returncode, ended.stderr if "Traceback" in ended.stderr else "")
    return ended
