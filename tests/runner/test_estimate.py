"""What `--dry-run` counts is what a run would send."""

from __future__ import annotations

from pathlib import Path

import pytest
from talks import talk

from attunebench.backends.prices import Prices
from attunebench.codebook import default_codebook
from attunebench.protocol.plan import plan_conversation
from attunebench.runner import ModelSettings, RunSettings
from attunebench.runner.pricing import CHARACTERS_PER_TOKEN, EXPECTED_REPLY, WORST, Estimate, estimate_run

BOOK = default_codebook()
TALKS = [talk(1), talk(2)]


def estimate(folder: Path, judges: int = 0, **settings: object) -> Estimate:
    names = [ModelSettings(provider="baseline", model=name) for name in ("majority", "random", "oracle")]
    return estimate_run(TALKS, RunSettings(em=names[0], judges=names[1 : judges + 1], output=folder, **settings), BOOK)


def characters(kind: str, judges: int = 0) -> int:
    calls = [call for each in TALKS for call in plan_conversation(each, "default", BOOK, judges=judges)]
    return sum(call.prompt_characters for call in calls if call.kind == kind)


def test_calls_and_characters_are_those_of_the_plan(tmp_path: Path) -> None:
    found = {kind.kind: (kind.calls, kind.characters) for kind in estimate(tmp_path / "results").kinds}
    expected = {"draft": 6, "review": 6, "binary_hp": 6, "pairwise": 6, "post": 2}
    assert {kind: (calls, characters(kind)) for kind, calls in expected.items()} == found


def test_a_judges_prompt_is_counted_with_the_draft_that_it_will_hold(tmp_path: Path) -> None:
    (judged,) = (kind for kind in estimate(tmp_path / "results", judges=2).kinds if kind.kind == "judge")
    assert 2 * 2 * 3 == judged.calls
    assert judged.characters >= characters("judge", judges=2) + judged.calls * 500


def test_the_limit_and_the_modes_count(tmp_path: Path) -> None:
    one, two = (
        estimate(tmp_path / "results", limit=1, modes=modes) for modes in (("default",), ("default", "verbose"))
    )
    assert (1, 13) == (one.jobs, one.calls)
    assert (2, 26) == (two.jobs, two.calls)


PROMPTS, REPLIES = Prices(1.0, 0.0), Prices(0.0, 1.0)
"""USD a token of one of the two, and nothing for the other."""


def test_prompts_cost_by_their_characters_and_at_worst_twice_that(tmp_path: Path) -> None:
    counted = estimate(tmp_path / "results")
    tokens = sum(kind.characters for kind in counted.kinds) / CHARACTERS_PER_TOKEN
    assert (tokens, WORST * tokens) == counted.price([PROMPTS], 4096)


def test_replies_cost_by_their_usual_length_and_at_worst_their_limit(tmp_path: Path) -> None:
    found = estimate(tmp_path / "results", limit=1)
    calls = {"draft": 3, "review": 3, "binary_hp": 3, "pairwise": 3, "post": 1}
    assert (sum(n * EXPECTED_REPLY[kind] for kind, n in calls.items()), 13 * 4096) == found.price([REPLIES], 4096)


def test_no_reply_is_expected_to_be_longer_than_its_limit(tmp_path: Path) -> None:
    assert (26 * 50, 26 * 50) == estimate(tmp_path / "results").price([REPLIES], 50)


def test_reasons_make_replies_longer(tmp_path: Path) -> None:
    plain, verbose = (
        estimate(tmp_path / "results", modes=(mode,)).price([REPLIES], 4096) for mode in ("default", "verbose")
    )
    assert plain is not None
    assert verbose is not None
    assert plain[0] < verbose[0]
    assert plain[1] == verbose[1]


def test_each_judge_is_paid_by_its_own_price(tmp_path: Path) -> None:
    counted = estimate(tmp_path / "results", judges=2)
    free, judge = Prices(0.0, 0.0), 6 * EXPECTED_REPLY["judge"]
    assert (judge, 6 * 4096) == counted.price([free, REPLIES, free], 4096)
    assert (2 * judge, 12 * 4096) == counted.price([free, REPLIES, REPLIES], 4096)


@pytest.mark.parametrize("prices", [(None, REPLIES), (REPLIES, None), (REPLIES,), ()])
def test_one_unknown_price_makes_the_whole_unknown(tmp_path: Path, prices: tuple[Prices | None, ...]) -> None:
    assert estimate(tmp_path / "results", judges=1).price(prices, 4096) is None
