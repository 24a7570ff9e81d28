"""Figures of an arena: one of each chart of its analyses, with the same numbers, and why others are not drawn."""

from __future__ import annotations

from dataclasses import replace

import pytest
from arena_pages import arena_scores, small_arena

from attunebench.analyses.table import Analysis, Cell, Chart, column, table, words
from attunebench.arena.sampling import ArenaSettings
from attunebench.arena.score import score_arena
from attunebench.arena.scores import ArenaScores
from attunebench.errors import UsageError
from attunebench.figures import Look, Picture, Skipped, render
from attunebench.figures.arena import draw_arena, figures_of

LOOK = Look("double", 60)


def scores() -> ArenaScores:
    return arena_scores(small_arena())


def drawn(of: ArenaScores, *only: str, look: Look = LOOK) -> tuple[list[Picture], list[Skipped]]:
    return draw_arena(of.analyses, of.groups, "intervals", look, only)


@pytest.mark.slow
def test_every_chart_of_every_analysis_is_drawn() -> None:
    arena = small_arena(histories=24, people=4, judges=2)
    found = replace(scores(), analyses=score_arena(arena, ArenaSettings(resamples=100, small=4)))
    pictures, skipped = drawn(found)
    assert {one.id for one in pictures} | {one.name for one in skipped} >= set(figures_of(found.analyses))
    assert len(pictures) >= 12
    for width in ("single", "double"):
        again, _ = drawn(found, look=Look(width, 60))
        assert all(render(one, "svg", LOOK) for one in again)


def test_a_figure_has_the_same_bytes_each_time() -> None:
    one, other = (drawn(scores(), "arena-ratings-matrix")[0][0] for _ in range(2))
    assert render(one, "svg", LOOK) == render(other, "svg", LOOK)


def test_the_name_of_an_analysis_chooses_all_of_its_figures() -> None:
    pictures, _ = drawn(scores(), "arena-ratings")
    assert [one.id for one in pictures] == ["arena-ratings-ratings", "arena-ratings-matrix"]


def test_an_analysis_that_is_missing_says_why() -> None:
    _, skipped = drawn(scores(), "arena-agreement")
    assert [(one.name, one.reason) for one in skipped] == [("arena-agreement", "There is one rater only.")]


def test_a_name_of_no_figure_is_refused() -> None:
    with pytest.raises(UsageError):
        drawn(scores(), "leaderboard")


def test_a_chart_without_a_value_is_not_drawn() -> None:
    chart = Chart("intervals", "author", ("rating",))
    empty = table("none", "None", words("author", ["lab0"]), column("rating", [Cell(None)]), chart=chart)
    found = replace(scores(), analyses=[Analysis("arena-ratings", "Ratings", tables=(empty,))])
    pictures, skipped = drawn(found)
    assert ([], ["arena-ratings-none"]) == (pictures, [one.name for one in skipped])


def test_of_a_line_only_the_values_over_too_few_histories_are_hollow() -> None:
    chart = Chart("lines", "author", ("regular", "adversarial"))
    columns = column("regular", [Cell(1000.0)]), column("adversarial", [Cell(900.0, small=True)])
    slopes = table("slices", "Slices", words("author", ["lab0"]), *columns, chart=chart)
    (one,), _ = drawn(replace(scores(), analyses=[Analysis("arena-ratings", "Ratings", tables=(slopes,))]))
    hollow = [line.get_ydata() for line in one.figure.axes[0].lines if line.get_markerfacecolor() == "white"]
    assert [[900.0]] == [list(values) for values in hollow]


def test_a_title_that_asks_is_no_sentence_with_two_ends() -> None:
    found = scores()
    asked = replace(found.analyses[0].tables[0], title="Who wins?")
    pictures, _ = drawn(replace(found, analyses=[replace(found.analyses[0], tables=(asked,))]))
    assert "?." not in pictures[0].caption[0]


def test_captions_say_how_the_intervals_of_their_analysis_were_made() -> None:
    found = scores()
    note = "95 % percentile bootstrap intervals, 100 resamples of histories and of raters."
    pictures, _ = drawn(replace(found, analyses=[replace(found.analyses[0], notes=("A tie.", note))]))
    assert pictures[0].caption[1] == note


def test_captions_are_short_enough_for_print() -> None:
    pictures, _ = drawn(scores())
    assert all(len(" ".join(one.caption).split()) <= 60 for one in pictures)
