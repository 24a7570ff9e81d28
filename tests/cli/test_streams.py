"""Commands whose output is closed, cut off or full, run as users run them: in a process and a shell of their own."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
COMMAND = f"{shlex.quote(sys.executable)} -m attunebench.cli.main"


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&-"])
def test_a_run_without_one_of_its_streams_does_its_work(data: Path, tmp_path: Path, closed: str) -> None:
    ended = shell(f"{COMMAND} run baseline majority {data} -q {closed}", tmp_path)
    assert 0 == ended.returncode, ended.stderr
    assert 3 == len(list((tmp_path / "results").glob("*.json")))


@full
@pytest.mark.parametrize("options", ["", "-q"])
def test_a_run_whose_messages_find_no_room_is_complete(data: Path, tmp_path: Path, options: str) -> None:
    ended = shell(f"{COMMAND} run baseline majority {data} {options} 2>/dev/full", tmp_path)
    assert 0 == ended.returncode
    assert 3 == len(list((tmp_path / "results").glob("*.json")))


@full
def test_an_error_that_nobody_can_read_keeps_its_status(tmp_path: Path) -> None:
    assert 2 == shell(f"{COMMAND} report -s missing.json 2>/dev/full", tmp_path).returncode


def test_a_run_whose_messages_nobody_reads_to_the_end_is_complete(data: Path, tmp_path: Path) -> None:
    ended = shell(f"{COMMAND} run baseline majority {data} 2>&1 | true", tmp_path)
    assert (0, "") == (ended.returncode, ended.stderr)
    assert 3 == len(list((tmp_path / "results").glob("*.json")))


def test_a_report_without_stdout_is_no_bug(data: Path, tmp_path: Path) -> None:
    ended = shell(f"{COMMAND} report --explain all >&-", tmp_path)
    assert (0, "") == (ended.returncode, ended.stderr)


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    for output in ("", "-o /dev/stdout"):
        ended = shell(f"{COMMAND} report --explain all {output} | true", tmp_path)
        assert (0, "") == (ended.returncode, ended.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("options", ["", "--format html --no-texts", "--format csv"])
def test_dev_stdout_is_written_to_where_it_stands(data: Path, tmp_path: Path, options: str) -> None:
    shell(f"{COMMAND} run baseline majority {data} -q; {COMMAND} score -d {data} --resamples 100", tmp_path)
    report = f"{COMMAND} report {options} -o"
    ended = shell(f"{{ echo before; {report} /dev/stdout; echo after; }} > all; {report} alone", tmp_path)
    assert 0 == ended.returncode, ended.stderr
    assert f"before\n{(tmp_path / 'alone').read_text()}after\n" == (tmp_path / "all").read_text()


@full
def test_a_full_disk_behind_stdout_is_told_in_a_sentence(tmp_path: Path) -> None:
    ended = shell(f"{COMMAND} report --explain all > /dev/full", tmp_path)
    assert 2 == ended.returncode
    assert "space" in ended.stderr
    assert "bug" not in ended.stderr


def test_a_disk_that_fills_up_ends_a_run_and_leaves_no_half_file(data: Path, tmp_path: Path) -> None:
    ended = shell(f"ulimit -f 4; {COMMAND} run baseline majority {data} -q", tmp_path)
    assert 2 == ended.returncode
    assert "cannot be written" in ended.stderr
    assert [] == list((tmp_path / "results").glob("[!.]*"))


@full
@pytest.mark.slow
def test_events_that_a_full_disk_does_not_take_end_no_run(data: Path, tmp_path: Path) -> None:
    ended = shell(f"{COMMAND} run baseline majority {data} --json > /dev/full", tmp_path)
    assert (0, 3) == (ended.returncode, len([*(tmp_path / "results").glob("[!_]*.json")]))
    assert 1 == ended.stderr.count("Events cannot be written")


@full
@pytest.mark.slow
def test_one_object_that_a_full_disk_does_not_take_is_an_error_of_status_2(tmp_path: Path) -> None:
    ended = shell(f"{COMMAND} doctor --json > /dev/full", tmp_path)
    assert (2, 1) == (ended.returncode, len(ended.stderr.strip().splitlines()))
