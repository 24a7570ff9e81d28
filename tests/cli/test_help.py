"""`--help` fits on a screen or two; each option is declared once, by a settings model, and shown by `--help-all`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from entries import an_entry, keep

from attunebench.cli.main import COMMANDS
from attunebench.runner import ModelSettings, RunSettings

if TYPE_CHECKING:
    from conftest import Command


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def options(text: str) -> set[str]:
    """The options that a help text lists."""
    return {word.strip(",") for line in text.splitlines() for word in line[:28].split() if word.startswith("--")}


def test_the_list_of_commands_is_that_of_the_modules(cli: Command) -> None:
    assert set(COMMANDS) <= {line.split()[0] for line in cli("--help").out.splitlines() if line.strip()}


def test_help_of_run_fits_on_sixty_lines_in_panels(cli: Command) -> None:
    lines = cli("run", "--help").out.splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 80
    panels = ["Model", "Judges", "What is asked", "Limits and cost", "Resuming", "Parallel", "Batch", "Output"]
    assert panels == [line[:-1] for line in lines if line[:-1] in panels]


@pytest.mark.parametrize(
    ("command", "without"),
    [
        ("run", set()),
        ("plan", {"concurrency", "rpm", "tpm", "max_cost", "call_timeout", "shard"}),
        ("rejudge", {"price_in", "price_out", "panas_strategy", "shard"}),
        ("predict-profile", {"judge_scale", "judge_price_in", "judge_price_out", "panas_strategy", "shard"}),
    ],
)
def test_the_fields_of_a_run_are_options_of_every_command_that_asks(
    cli: Command, command: str, without: set[str]
) -> None:
    fields = {name for name, field in RunSettings.model_fields.items() if field.json_schema_extra} - without
    shown = options(cli(command, "--help-all").out)
    assert {f"--{name.replace('_', '-')}" for name in fields} <= shown
    assert not {f"--{name.replace('_', '-')}" for name in without} & shown
    assert options(cli(command, "--help").out) - {"--help-all"} < shown


def test_judges_are_reached_by_the_options_of_a_model(cli: Command) -> None:
    fields = [name for name, field in ModelSettings.model_fields.items() if field.json_schema_extra]
    assert {f"--judge-{name.replace('_', '-')}" for name in fields} <= options(cli("run", "--help-all").out)


def test_a_value_that_the_settings_refuse_is_named_by_its_option(cli: Command) -> None:
    ended = cli("run", "baseline", "majority", "nowhere", "--concurrency", "0")
    assert 2 == ended.status
    assert ended.err.startswith("attune-bench: --concurrency: ")


@pytest.fixture
def completed(cli: Command, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    def call(line: str) -> list[str]:
        monkeypatch.setenv("_ATTUNE_BENCH_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        monkeypatch.setattr("sys.argv", ["attune-bench"])
        return cli().out.split()

    return call


def test_a_shell_completes_metrics(completed: Callable[[str], list[str]]) -> None:
    assert "composite" in completed("attune-bench analyze --metric compos")


def test_a_shell_completes_the_models_of_scores_and_journals(completed: Callable[[str], list[str]]) -> None:
    assert [] == completed("attune-bench compare --models ")
    Path("scores.json").write_text(json.dumps({"metadata": {"models": ["of-scores"]}}))
    keep(Path("results"), an_entry(1, model="of-journal"))
    keep(Path("elsewhere"), an_entry(1, model="of-elsewhere"))
    assert {"of-scores", "of-journal"} == {*completed("attune-bench compare --models ")}
    assert ["of-journal"] == completed("attune-bench run local of-j")
    assert ["of-elsewhere"] == completed("attune-bench rejudge -r elsewhere --judge-model of-e")
    Path("scores.json").write_text("no JSON")
    assert ["of-journal"] == completed("attune-bench compare --models ")
