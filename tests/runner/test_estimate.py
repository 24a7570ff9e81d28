"""What `--dry-run` counts is what a run would send."""

from __future__ import annotations

from pathlib import Path

from talks import talk

from attunebench.codebook import default_codebook
from attunebench.protocol.plan import plan_conversation
from attunebench.runner import Estimate, ModelSettings, RunSettings, estimate_run

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


def test_nothing_is_made_on_disk(tmp_path: Path) -> None:
    estimate(tmp_path / "results")
    assert [] == list(tmp_path.iterdir())
