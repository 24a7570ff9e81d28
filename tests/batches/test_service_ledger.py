"""The ledger of what was handed over: whatever it has been told is found again, and a torn line does no harm."""

from __future__ import annotations

import json
import multiprocessing
from dataclasses import replace
from pathlib import Path

import pytest

from attunebench.batches.ledger import Ledger, Submission
from attunebench.errors import DataError

FIRST = Submission(
    tag="aa",
    part=1,
    model="m",
    start=0,
    stop=5,
    provider="openai",
    base_url="u",
    em_model="m",
    modes=("default", "verbose"),
    file="file-1",
    at="2026-01-01T00:00:00+00:00",
)
SECOND = replace(FIRST, part=2, start=5, stop=9)
LINES = 30


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path)


def open_now(ledger: Ledger, *modes: str, model: str = "m") -> list[Submission]:
    return Ledger(ledger.path.parent).open_for("openai", model, modes or ("default",))


def test_what_was_begun_is_open_until_it_has_ended(ledger: Ledger) -> None:
    assert [] == open_now(ledger)
    ledger.note("submitting", FIRST)
    ledger.note("submitting", SECOND)
    assert [FIRST, SECOND] == open_now(ledger)
    known = replace(FIRST, id="batch_1")
    ledger.note("submitted", known, batch=known.id)
    assert [known, SECOND] == open_now(ledger)
    ledger.note("ended", SECOND, how="never made")
    assert [known] == open_now(ledger)
    ledger.note("ended", known, how="completed")
    assert [] == open_now(ledger)


def test_each_run_finds_its_own(ledger: Ledger) -> None:
    """Runs in other modes or of other models may be under way beside it."""
    ledger.note("submitting", FIRST)
    assert [FIRST] == open_now(ledger, "verbose", "omniscient")
    assert [] == open_now(ledger, "omniscient")
    assert [] == open_now(ledger, model="other")


@pytest.mark.parametrize("cut", [1, 20, 50])
def test_a_line_that_was_cut_is_as_good_as_not_written(ledger: Ledger, cut: int) -> None:
    ledger.note("submitting", FIRST)
    ledger.note("submitted", FIRST, batch="batch_1")
    content = ledger.path.read_bytes()
    ledger.path.write_bytes(content[:-cut])
    assert [FIRST] == open_now(ledger)
    ledger.note("submitting", SECOND)
    assert [FIRST, SECOND] == open_now(ledger)


def test_a_damaged_ledger_stops_before_anything_is_sent_twice(ledger: Ledger) -> None:
    ledger.note("submitting", FIRST)
    ledger.path.write_bytes(b"{broken\n" + ledger.path.read_bytes())
    with pytest.raises(DataError, match=r"Line 1 of .*paid twice"):
        open_now(ledger)


def add_lines(folder: Path, who: str) -> None:
    for number in range(LINES):
        Ledger(folder).note("ended", replace(FIRST, tag=f"{who}{number}"), how="completed")


def test_processes_of_several_models_lose_none_of_each_other_s_lines(ledger: Ledger, tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    processes = [spawn.Process(target=add_lines, args=(tmp_path, who)) for who in "ab"]
    for each in processes:
        each.start()
    for each in processes:
        each.join()
    marks = [json.loads(line)["mark"] for line in ledger.path.read_bytes().splitlines()]
    assert sorted(f"{who}{number}.1" for who in "ab" for number in range(LINES)) == sorted(marks)
