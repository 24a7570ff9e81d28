"""What a run says when it is over."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from attunebench.cli.closing import closing_lines, going_on
from attunebench.metrics.rates import percent
from attunebench.protocol.calls import Usage
from attunebench.runner import ModelSettings, RunSettings, RunSummary
from attunebench.runner.budget import Budget

AGAIN = "attune-bench run local m 'my  data'"


def lines(provider: str = "openrouter", **fields: Any) -> list[str]:
    """The closing lines of a run that went well, but for these fields."""
    facts: dict[str, Any] = {
        "jobs": 40,
        "written": 38,
        "complete_before": 2,
        "skipped": {},
        "votes_owed": 0,
        "calls": 100,
        "reasks": 0,
        "retries": 0,
        "answered_items": 100,
        "expected_items": 100,
        "seconds": 200.0,
        "output": Path("results"),
    }
    settings = RunSettings(em=ModelSettings(provider=provider, model="m"))
    summary = RunSummary(**facts | fields)
    return [*closing_lines(summary, settings), *filter(None, [going_on(summary, AGAIN)])]


def spending(*costs: float | None, judges: tuple[float | None, ...] = (), wasted: float | None = 0.0) -> Budget:
    """Replies of 1,000 + 100 tokens that cost so much."""
    spent = Budget()
    usage = Usage(1000, 600, 100, 20)
    for cost in costs:
        spent.model.add(usage, cost)
    for cost in judges:
        spent.judges.add(usage, cost)
    if wasted != 0.0:
        spent.wasted.add(usage, wasted)
    return spent


def test_a_run_that_went_well_says_little() -> None:
    expected = [
        "38 results written to results, 2 complete before, 0 skipped; 3 min.",
        "100 calls answered, 2.0k tokens in (60% cached), 200 tokens out (20% reasoning).",
        "Cost: $3.00.",
    ]
    assert expected == lines(spending=spending(1.0, 2.0))


def test_few_answers_come_first() -> None:
    assert percent(0.9) in lines(answered_items=90)[0]


def test_that_the_model_refused_everything_comes_first() -> None:
    first = lines(answered_items=0, unanswered=Counter(refused=100))[0]
    assert first.startswith("Attention")
    assert "refused every call (100)" in first
    assert "refused every call" not in lines(answered_items=1, unanswered=Counter(refused=99))[0]


def test_the_cost_is_split_where_there_is_something_to_split() -> None:
    said = lines(spending=spending(0.9, judges=(0.33,), wasted=0.02))
    assert "Cost: $1.23, of which model $0.90, judges $0.33, wasted $0.0200." in said


@pytest.mark.parametrize(
    ("spent", "expected"),
    [
        (spending(None), "Cost: unknown (the server reports none; set --price-in and --price-out)."),
        (spending(1.0, None), "Cost: at least $1.00 (1 reply of unknown cost)."),
        (
            spending(1.0, judges=(None,)),
            "Cost: at least $1.00 (1 reply of unknown cost), of which model $1.00, judges unknown.",
        ),
        (spending(0.0), "Cost: $0.00."),
    ],
)
def test_an_unknown_cost_is_never_a_number(spent: Budget, expected: str) -> None:
    assert expected in lines(spending=spent)


def test_waste_of_unknown_cost_is_told_in_tokens() -> None:
    assert any(line.endswith("of which wasted 1.1k tokens.") for line in lines(spending=spending(None, wasted=None)))


def test_what_the_journal_gave_and_what_was_lost_are_told_apart_from_the_cost() -> None:
    spent = spending(1.0)
    spent.replayed, spent.lost = 1200, 1
    said = lines(spending=spent)
    assert any(line.startswith("1,200 replies came from the journal") for line in said)
    assert "1 request got no usable reply; the provider may still bill them." in said


@pytest.mark.parametrize(
    ("stopped", "begins"),
    [
        ("interrupted", "Interrupted: finished work is kept."),
        ("max-cost", "Stopped by --max-cost: the next request could exceed it."),
        ("outage", "Stopped by an outage: the server no longer answers."),
    ],
)
def test_a_run_that_ended_early_says_why_what_is_done_and_how_to_go_on(stopped: str, begins: str) -> None:
    said = lines(stopped=stopped, sample="12 of 40 conversations, a random sample", written=10, unreached=28)
    assert f"{begins} Done: 12 of 40 conversations, a random sample." == said[0]
    assert "10 results written to results, 2 complete before, 0 skipped, 28 not reached; 3 min." == said[1]
    assert said[-1].startswith("Resume")
    assert said[-1].endswith(AGAIN)


def test_many_skipped_conversations_are_not_all_listed() -> None:
    said = lines(skipped={f"c{n} (default)": "draft of turn 1: 503." for n in range(7)})
    assert 5 == sum("skipped c" in line for line in said)
    assert "  … and 2 more, in the _skipped file there." in said
    assert f"Resume with: {AGAIN}" == said[-1]


def test_what_servers_did_not_take_and_who_answered_is_said() -> None:
    said = lines(adapted={"temperature": "not accepted", "accept-encoding": "identity"}, models={"m": ["x", "y"]})
    assert "Temperature was not applied (not accepted by the server)." in said
    assert "Attention: calls to m were answered by x, y." in said
    assert not any("encoding" in line for line in said)


def test_a_baseline_has_no_tokens_and_no_cost() -> None:
    assert 1 == len(lines("baseline", spending=spending(0.0)))
