"""`run --dry-run`: what a run would cost, by which prices, and what is lacking where that is unknown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Command, Ended

NOWHERE = "http://127.0.0.1:9/v1"
"""No server listens here, so that nothing lists a price."""
MODEL, JUDGES = ("--price-in", "3", "--price-out", "15"), ("--judge-price-in", "1", "--judge-price-out", "2")


@pytest.fixture
def foresee(cli: Command, data: Path) -> Command:
    return lambda *words: cli("run", "local", "m", data, "--base-url", NOWHERE, "--dry-run", *words)


def last_line(ended: Ended) -> str:
    assert (0, "") == (ended.status, ended.err)
    return ended.out.splitlines()[-1]


def test_with_prices_the_cost_is_told_with_its_worst_and_its_source(foresee: Command) -> None:
    said = last_line(foresee(*MODEL))
    assert said.startswith("Cost: about $")
    assert "(--price-in and --price-out)" in said


@pytest.mark.parametrize(
    ("words", "lacking"),
    [
        ((), "--price-in and --price-out"),
        (("--judge-model", "j"), "--price-in and --price-out and --judge-price-in and --judge-price-out"),
        (("--judge-model", "j", *MODEL), "--judge-price-in and --judge-price-out"),
        (("--judge-model", "j", *JUDGES), "--price-in and --price-out"),
    ],
)
def test_where_a_price_is_unknown_the_options_that_give_it_are_named(
    foresee: Command, words: tuple[str, ...], lacking: str
) -> None:
    assert f"Cost: unknown, as there are no prices; set {lacking}." == last_line(foresee(*words))


def test_what_is_built_in_has_no_cost(cli: Command, data: Path) -> None:
    assert "Cost" not in cli("run", "baseline", "majority", data, "--dry-run").out


def test_judges_of_a_baseline_have_their_cost(cli: Command, data: Path) -> None:
    judge = ("--judge-model", "j", "--judge-provider", "local", "--judge-base-url", NOWHERE)
    said = last_line(cli("run", "baseline", "majority", data, "--dry-run", *judge, *JUDGES))
    assert said.startswith("Cost: about $")


@pytest.mark.parametrize("given", ["--price-in", "--price-out", "--judge-price-in", "--judge-price-out"])
def test_one_price_alone_is_refused_with_the_name_of_the_other(foresee: Command, given: str) -> None:
    ended = foresee("--judge-model", "j", given, "1")
    other = given.replace("-in", "-OUT").replace("-out", "-in").lower()
    assert 2 == ended.status
    assert f"{given} without {other}" in ended.err


def test_without_a_key_all_but_the_price_is_told(cli: Command, data: Path) -> None:
    ended = cli("run", "openrouter", "vendor/model", data, "--dry-run")
    assert 0 == ended.status
    assert "\ndraft " in ended.out
    assert "Prices not fetched: No API key for openrouter" in ended.out
    assert "Cost: about $" in cli("run", "openrouter", "vendor/model", data, "--dry-run", *MODEL).out


def test_nothing_is_made_on_disk(foresee: Command, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    foresee(*MODEL)
    assert before == sorted(tmp_path.iterdir())


def test_a_bound_without_prices_stops_a_run_before_it_asks(cli: Command, data: Path) -> None:
    ended = cli("run", "local", "m", data, "--base-url", NOWHERE, "--max-cost", "1")
    assert 2 == ended.status
    assert "--max-cost needs prices" in ended.err
    assert "--price-in and --price-out" in ended.err
