"""Every spelling of `--modes`, in any position."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunebench.cli.arguments import gather_modes
from attunebench.protocol.modes import MODES


@pytest.mark.parametrize(
    ("typed", "gathered"),
    [
        ("run p m d --modes default verbose", "run p m d --modes default,verbose"),
        ("run --modes default verbose p m d", "run --modes default,verbose p m d"),
        ("run p --modes default,verbose omniscient m d", "run p --modes default,verbose,omniscient m d"),
        ("run p m d --modes all", "run p m d --modes all"),
        ("run p m d --modes default --modes verbose", "run p m d --modes default --modes verbose"),
        ("run p m d --modes=default", "run p m d --modes=default"),
        ("run p --modes=default verbose m d", "run p --modes=default,verbose m d"),
        ("run p m d --modes VERBOSE, default -o x", "run p m d --modes VERBOSE,,default -o x"),
        ("run p m d --modes -o x", "run p m d --modes -o x"),
        ("run p m d --modes", "run p m d --modes"),
        ("run p m d --modes nonsense verbose", "run p m d --modes nonsense,verbose"),
        ("run -- --modes default verbose", "run -- --modes default verbose"),
    ],
)
def test_words_after_modes_become_one_value(typed: str, gathered: str) -> None:
    assert gathered.split() == gather_modes(typed.split())


@given(st.lists(st.sampled_from(["run", "p", "--limit", "3", "data", "-o", "x", "a,b"])))
def test_a_command_without_modes_stays_as_it_is(words: list[str]) -> None:
    assert words == gather_modes(words)


@given(st.lists(st.sampled_from(MODES), min_size=1, max_size=4), st.sampled_from(["o", "p", "data"]))
def test_no_mode_is_lost_and_no_other_word_is_taken(modes: list[str], after: str) -> None:
    assert ["run", "--modes", ",".join(modes), after] == gather_modes(["run", "--modes", *modes, after])


@pytest.mark.parametrize(
    "words",
    [
        ["--modes", "verbose", "default"],
        ["--modes", "default,verbose"],
        ["--modes", "default", "--modes", "verbose"],
        ["--modes", "VERBOSE", "Default"],
    ],
)
def test_spellings_run_the_same_modes(cli, data: Path, words: list[str]) -> None:
    ended = cli("run", *words, "baseline", "majority", data, "--limit", "1", "--quiet")
    assert 0 == ended.status, ended.err
    modes = {json.loads(path.read_text())["mode"] for path in Path("results").glob("*.json")}
    assert {"default", "verbose"} == modes


def test_all_runs_the_four_modes(cli, data: Path) -> None:
    assert 0 == cli("run", "baseline", "majority", data, "--modes", "all", "--limit", "1", "-q").status
    assert 4 == len(list(Path("results").glob("*.json")))


def test_without_modes_the_default_one_runs(cli, data: Path) -> None:
    cli("run", "baseline", "majority", data, "-q")
    assert {"default"} == {json.loads(path.read_text())["mode"] for path in Path("results").glob("*.json")}


@pytest.mark.parametrize("words", [["--modes", "defualt"], ["--modes", "default", "--", "verbos"], ["verbos"]])
def test_an_unknown_mode_is_named_with_those_there_are(cli, data: Path, words: list[str]) -> None:
    ended = cli("run", "baseline", "majority", data, *words)
    assert 2 == ended.status
    assert "There is no mode" in ended.err
    assert "verbose_omniscient" in ended.err
