"""The self-test itself: real runs that are killed and lied to, on conversations cut to a turn or two."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from attunebench.selftest.plans import ONE_KILL, SCENARIOS, Scenario
from attunebench.selftest.scenarios import Proven, selftest, small_conversations

pytestmark = pytest.mark.slow

FORGETFUL = """
from attunebench.journal.store import Journal
Journal.find = lambda self, *hashes: None
"""


def proven(tmp_path: Path, *tries: tuple[Scenario, int]) -> list[Proven]:
    data = small_conversations(tmp_path / "data")
    with selftest(data) as (proof, _):
        return list(proof.run(tries))


def test_a_run_that_is_killed_anywhere_goes_on_without_loss_or_second_payment(tmp_path: Path) -> None:
    outcomes = proven(tmp_path, *((ONE_KILL, seed) for seed in range(4)))
    assert [()] * 4 == [outcome.problems for outcome in outcomes]


def test_a_mixture_of_all_faults_and_kills_changes_nothing(tmp_path: Path) -> None:
    everything, stubborn = proven(tmp_path, (SCENARIOS["everything"], 1), (SCENARIOS["stubborn"], 1))
    assert ((), ()) == (everything.problems, stubborn.problems)
    assert everything.faults
    assert stubborn.unanswered


def test_an_engine_that_forgets_what_it_has_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text(FORGETFUL)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (outcome,) = proven(tmp_path, (SCENARIOS["Ctrl-C"], 0))
    assert any("although the journal had their replies" in problem for problem in outcome.problems)


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "attunebench.cli.main", "selftest", *words], capture_output=True, text=True, check=False
    )


def test_the_command_says_what_it_did_and_what_is_proven() -> None:
    ended = command("--only", "calm", "--seed", "3")
    assert (0, "") == (ended.returncode, ended.stderr)
    assert "seed 3" in ended.stdout
    assert "1 of 1 proven." in ended.stdout


def test_an_unknown_scenario_is_named_with_those_that_there_are() -> None:
    ended = command("--only", "storms")
    assert 2 == ended.returncode
    assert "'storms'" in ended.stderr
    assert "everything" in ended.stderr
