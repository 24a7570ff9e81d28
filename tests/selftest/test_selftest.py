"""The self-test itself: real runs that are killed and lied to, on conversations cut to a turn or two."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from small_conversations import small_conversations

from attunebench.cli.main import main
from attunebench.selftest import scenarios
from attunebench.selftest.plans import ONE_KILL, SCENARIOS
from attunebench.selftest.scenarios import Proof

pytestmark = pytest.mark.slow

FORGETFUL = """
from attunebench.journal.store import Journal
Journal.find = lambda self, *hashes: None
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_conversations(tmp_path_factory.mktemp("selftest") / "data")


@pytest.fixture(scope="module")
def proof(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Proof:
    return Proof(tmp_path_factory.mktemp("proof"), data)


def test_a_run_that_meets_all_faults_and_is_killed_anywhere_changes_nothing(proof: Proof) -> None:
    scenario = replace(SCENARIOS["everything"], events=ONE_KILL.events, margin=0)
    (trial,) = proof.run([(scenario, 1)])
    assert [] == trial.problems
    assert trial.faults


def test_an_engine_that_forgets_what_it_has_is_found_out(
    proof: Proof, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(FORGETFUL)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (trial,) = proof.run([(SCENARIOS["Ctrl-C"], 0)])
    assert any("although the journal had their replies" in problem for problem in trial.problems)


def test_the_command_names_the_seed_and_what_is_proven(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(scenarios, "demo_folder", lambda: data)
    with pytest.raises(SystemExit) as ended:
        main(["selftest", "--only", "stubborn", "--seed", "3"])
    out, err = capsys.readouterr()
    assert (0, "") == (ended.value.code, err)
    assert "seed 3" in out
    assert "1 of 1 passed." in out


def test_an_unknown_scenario_is_named_with_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["selftest", "--only", "storms"])
    assert 2 == ended.value.code
    assert {"'storms'", "everything."} <= set(capsys.readouterr().err.replace(";", "").split())
