"""What a report says of servers that did not do what was asked: behaviours 13, 14, 37 and 38."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from attunebench.errors import DataError
from attunebench.reports import build_report, render

MakeScores = Callable[..., dict[str, Any]]


def observed(scores: dict[str, Any], *each: dict[str, Any]) -> dict[str, Any]:
    """The scores with what servers made of each group in turn."""
    for entry, found in zip(scores["metadata"]["settings"], each, strict=False):
        entry["observed"] = found
    return scores


@pytest.fixture
def two(make_scores: MakeScores) -> dict[str, Any]:
    """Scores of the models a and b."""
    scores: dict[str, Any] = make_scores(("a", "default", 0.5), ("b", "default", 0.4))
    return scores


def notes(scores: dict[str, Any]) -> list[str]:
    """The notes under the leaderboard, but for the one that tiers are never without."""
    return [note for note in build_report(scores).sections[0].notes if not note.startswith("No tiers")]


def test_a_model_that_is_what_was_asked_gets_no_word(two: dict[str, Any]) -> None:
    found = {"models_reported": {"a-2026-01-31": 4}, "providers_reported": {"X": 4}, "structured_used": {"schema": 4}}
    report = build_report(observed(two, found | {"adapted": {}}))
    assert ((), []) == (report.warnings, notes(observed(two, found | {"adapted": {}})))


def test_a_parameter_that_was_not_applied_stands_under_the_leaderboard_with_its_models(two: dict[str, Any]) -> None:
    found = {"adapted": {"temperature": {"not accepted": 4}}}
    (note,) = notes(observed(two, found, found))
    assert ("Temperature" in note, note.endswith("a and b.")) == (True, True)


def test_what_changes_no_answer_is_not_told(two: dict[str, Any]) -> None:
    quiet = {"max_tokens": {"sent under its other name": 4}, "accept-encoding": {"identity": 4}}
    scores = observed(two, {"adapted": quiet})
    assert [] == notes(scores)


def test_a_format_that_was_not_held_by_a_schema_is_told(two: dict[str, Any]) -> None:
    scores = observed(two, {"structured_used": {"schema": 4}}, {"structured_used": {"object": 1, "text": 3}})
    expected = "The answer format was enforced by a JSON schema: a; by JSON mode and the prompt alone: b."
    assert [expected] == notes(scores)


def test_another_model_than_was_asked_is_a_warning(two: dict[str, Any]) -> None:
    scores = observed(two, {"models_reported": {"cheaper": 4}})
    assert ("A different model answered than was requested: a (cheaper).",) == build_report(scores).warnings


def test_several_models_and_providers_are_warnings_with_their_counts(two: dict[str, Any]) -> None:
    scores = observed(two, {}, {"models_reported": {"b": 3, "c": 1}, "providers_reported": {"X": 1, "Y": 4}})
    assert (
        "More than one model ID answered: b (b in 3 results and c in 1 result).",
        "More than one provider answered, and providers run a model differently: b (Y in 4 results and X in 1 result).",
    ) == build_report(scores).warnings


def test_modes_of_a_model_are_taken_together(make_scores: MakeScores) -> None:
    scores = make_scores(("a", "default", 0.5), ("a", "verbose", 0.4))
    scores = observed(scores, {"models_reported": {"a": 4}}, {"models_reported": {"b": 4}})
    assert "a (a in 4 results and b in 4 results)" in build_report(scores).warnings[0]


def test_the_branch_view_says_it_at_its_end(two: dict[str, Any]) -> None:
    scores = observed(two, {"adapted": {"seed": {"not accepted": 1}}})
    assert "Seed was not applied (not accepted by the server): a." == build_report(scores, by="branch").notes[0]


def test_names_of_servers_steer_no_terminal(two: dict[str, Any]) -> None:
    shown = render(observed(two, {"models_reported": {"x\x1b[2J": 1}}), format="terminal")
    assert "\x1b" not in shown
    assert "than was requested: a (x)" in " ".join(shown.split())


@pytest.mark.parametrize("nothing", [None, {}, {"models_reported": None, "adapted": {}}])
def test_scores_that_do_not_say_it_are_reported_all_the_same(two: dict[str, Any], nothing: Any) -> None:
    assert () == build_report(observed(two, nothing, nothing)).warnings


def test_scores_that_say_it_badly_are_refused(two: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="adapted"):
        build_report(observed(two, {"adapted": {"seed": "no"}}, None))
