"""Ratings of an arena: those of evalica, by every group of raters, and never a number where there is none."""

from __future__ import annotations

from dataclasses import replace

import evalica
import numpy as np
import pytest
from arenas import simulated_arena, verdicts_of

from attunebench.analyses.table import Missing
from attunebench.arena.contests import ANCHOR, REGULARISED, rate
from attunebench.arena.objects import DIMENSIONS
from attunebench.arena.ratings import ratings
from attunebench.arena.sampling import ArenaSettings, rater_groups
from attunebench.arena.score import score_arena
from attunebench.arena.table import ALL_PEOPLE, table_of
from attunebench.errors import UsageError

SETTINGS = ArenaSettings(resamples=100)
STRENGTHS = {"ann": 0.2, "bob": -0.2, "lab0": -0.8, "lab1": 0.0, "lab2": 0.8}
KINDS = {"ann": "human", "bob": "human"}


def rating_of(arena, settings=SETTINGS):
    """Author → the cell of the first table."""
    table = ratings(arena, table_of(arena), settings).tables[0]
    return {row[0].value: row[-1] for row in table.rows}


def tables_of(arena, settings=SETTINGS):
    return {table.id: table for table in ratings(arena, table_of(arena), settings).tables}


@pytest.mark.parametrize("ties", ["half", "dropped"])
def test_ratings_are_those_of_evalica(ties):
    arena = simulated_arena(2, histories=150, tie=0.2)
    table = table_of(arena)
    keep = table.preference != 0 if ties == "dropped" else table.preference == table.preference
    winners = {1: evalica.Winner.X, 0: evalica.Winner.Draw, -1: evalica.Winner.Y}
    left, right = ([table.authors[at] for at in side[keep]] for side in (table.left, table.right))
    found = evalica.bradley_terry(left, right, [winners[int(one)] for one in table.winner[keep]], tolerance=1e-12)
    theta = np.log(found.scores)
    expected = 1000 + 400 / np.log(10) * (theta - theta.mean())
    # The ridge and the effect of the slot are in ours alone.
    mine = rating_of(arena, replace(SETTINGS, ties=ties))
    assert {name: cell.value for name, cell in mine.items()} == pytest.approx(expected.to_dict(), abs=3)


def test_davidson_orders_authors_as_half_wins_do_and_tells_them_apart_more():
    arena = simulated_arena(2, histories=150, tie=0.4)
    half, davidson = (rating_of(arena, replace(SETTINGS, ties=ties)) for ties in ("half", "davidson"))
    assert list(half) == list(davidson)
    assert davidson["lab3"].value > half["lab3"].value > 1000


def test_the_first_slot_is_found_and_does_not_move_ratings():
    arena = simulated_arena(4, histories=150, slot=0.5)
    cell = tables_of(arena)["raters"].rows[0][-1]
    assert cell.low < 400 / np.log(10) * 0.5 < cell.high
    even = rating_of(simulated_arena(4, histories=150))
    assert all(abs(cell.value - even[name].value) < 25 for name, cell in rating_of(arena).items())


def test_the_first_slot_is_that_of_single_verdicts_though_a_pair_lacks_its_second_order():
    arena = simulated_arena(2, people=0, judges=1, histories=30)
    # A judge who mostly prefers the first reply.
    given = [
        one.model_copy(update={"preference": 1 if one.order == "left" else -1}) if at % 4 else one
        for at, one in enumerate(arena.verdicts)
    ]
    whole, less = (tables_of(replace(arena, verdicts=of))["raters"].rows[0][-1].value for of in (given, given[:-1]))
    assert less == pytest.approx(whole, abs=5)


def test_people_who_were_only_compared_with_each_other_are_rated_as_authors():
    arena = simulated_arena(strengths={"ann": 0.0, "bob": 1.0}, kinds=KINDS)
    assert list(rating_of(arena)) == ["bob", "ann"]


def test_persons_are_rated_by_those_who_rate_all_people_together():
    arena = simulated_arena(strengths=STRENGTHS, kinds=KINDS, judges=1)
    among = [
        one
        for one in arena.verdicts
        if one.rater_kind == "judge" or {arena.pairs[one.pair].left, arena.pairs[one.pair].right} == {"ann", "bob"}
    ]
    tables = tables_of(replace(arena, verdicts=among))
    drills = {dict(row[-1].drill.where)["rater"] for id in ("ratings", "persons") for row in tables[id].rows}
    assert drills == {"judge0"}


@pytest.mark.parametrize("name", ["people", "judges"])
def test_a_judge_may_have_the_name_of_a_group(name):
    arena = simulated_arena(strengths=STRENGTHS, kinds=KINDS, judges=2)
    named = [one.model_copy(update={"rater": name}) if one.rater == "judge1" else one for one in arena.verdicts]
    one, other = (tables_of(replace(arena, verdicts=of))["by-rater"] for of in (arena.verdicts, named))
    assert [[cell.value for cell in row] for row in one.rows] == [[cell.value for cell in row] for row in other.rows]


def test_a_slot_that_one_author_always_had_is_not_fitted():
    arena = simulated_arena(5, strengths={"ann": 0.7, "lab": 0.0})
    first = [
        one.model_copy(update={"order": "left" if arena.pairs[one.pair].left == "ann" else "right"})
        for one in arena.verdicts
    ]
    rated = rate(table_of(replace(arena, verdicts=first)), SETTINGS)
    assert np.isnan(rated.slot[0])
    wins = (table_of(arena).winner * np.where(table_of(arena).left == 0, 1, -1) > 0).mean()
    assert rated.value[0] - rated.value[1] == pytest.approx(400 * np.log10(wins / (1 - wins)), abs=2)


def test_all_people_together_and_each_person_stand_on_one_scale():
    arena = simulated_arena(6, strengths=STRENGTHS, kinds=KINDS, histories=60)
    tables = tables_of(arena)
    together = rating_of(arena)
    persons = {row[0].value: row[-1].value for row in tables["persons"].rows}
    assert set(persons) == {"ann", "bob"}
    assert min(persons.values()) < together[ALL_PEOPLE].value < max(persons.values())
    best = max(persons, key=persons.get)
    assert tables["ratings"].chart.lines == {
        "people": together[ALL_PEOPLE].value,
        f"best person ({best})": persons[best],
    }


def test_without_people_the_original_is_the_anchor_and_nothing_is_human():
    kinds = {"lab0": "original", "lab1": "alternate", "lab2": "edited"}
    arena = simulated_arena(kinds=kinds, people=0, judges=1)
    cells = rating_of(arena)
    assert (cells["lab0"].value, cells["lab0"].low, cells["lab0"].mark) == (1000, None, ANCHOR)
    assert all(cell.low is not None for name, cell in cells.items() if name != "lab0")
    assert tables_of(arena)["ratings"].chart.lines == {}
    assert "human" not in {row[1].value for row in tables_of(arena)["ratings"].rows}


@pytest.mark.parametrize("anchor", ["lab1", "ann", "people"])
def test_the_anchor_is_1000(anchor):
    arena = simulated_arena(strengths=STRENGTHS, kinds=KINDS)
    cells = rating_of(arena, replace(SETTINGS, anchor=anchor))
    assert cells[anchor if anchor == "lab1" else ALL_PEOPLE].value == pytest.approx(1000)


def test_an_unknown_anchor_is_refused():
    with pytest.raises(UsageError):
        score_arena(simulated_arena(), ArenaSettings(anchor="nobody"))


def test_the_mean_of_all_is_1000():
    assert np.mean([cell.value for cell in rating_of(simulated_arena()).values()]) == pytest.approx(1000)


def test_authors_that_never_met_are_told():
    arena = simulated_arena(7, strengths=dict.fromkeys("abcde", 0.0), histories=60)
    split = {
        key: pair
        for key, pair in arena.pairs.items()
        if ({pair.left, pair.right} <= set("ab")) or {pair.left, pair.right} <= set("cde")
    }
    arena = replace(arena, pairs=split, verdicts=[one for one in arena.verdicts if one.pair in split])
    analysis = ratings(arena, table_of(arena), SETTINGS)
    marks = {row[0].value: row[-1].mark for row in analysis.tables[0].rows}
    assert marks == {"a": "group 2", "b": "group 2", "c": "", "d": "", "e": ""}
    assert len(analysis.warnings) == 1


def test_an_author_that_wins_everything_is_marked_and_has_a_finite_rating():
    arena = simulated_arena(8, histories=60)
    best = [
        one.model_copy(update={"preference": 1 if arena.pairs[one.pair].left == "lab3" else -1})
        if "lab3" in (arena.pairs[one.pair].left, arena.pairs[one.pair].right)
        else one
        for one in arena.verdicts
    ]
    arena = replace(arena, verdicts=best)
    cells = rating_of(arena)
    assert next(iter(cells)) == "lab3"
    assert 1000 < cells["lab3"].value < 5000
    assert {name for name, cell in cells.items() if cell.mark == REGULARISED} == {"lab3"}
    assert len(ratings(arena, table_of(arena), SETTINGS).warnings) == 1


@pytest.mark.parametrize("change", [{"people": 1}, {"histories": 1}, {"tie": 1.0}, {"pairs": 1, "histories": 2}])
@pytest.mark.parametrize("ties", ["half", "dropped", "davidson"])
def test_little_gives_right_or_absent_numbers(change, ties):
    analyses = score_arena(simulated_arena(**change), replace(SETTINGS, ties=ties))
    cells = [cell for one in analyses for table in one.tables for row in table.rows for cell in row]
    assert all(np.isfinite(cell.value) for cell in cells if isinstance(cell.value, float))
    if change == {"tie": 1.0} and ties != "dropped":
        rated = [row[-1].value for row in analyses[0].tables[0].rows]
        assert rated == pytest.approx([1000] * 4)


@pytest.mark.parametrize("arena", [simulated_arena(people=0), simulated_arena(histories=0), simulated_arena(pairs=0)])
def test_without_verdicts_there_is_a_reason(arena):
    with pytest.raises(Missing):
        ratings(arena, table_of(arena), SETTINGS)
    assert all(one.missing for one in score_arena(arena, SETTINGS)[:2])


def test_every_number_leads_to_as_many_verdicts_as_it_is_over():
    arena = simulated_arena(
        9,
        strengths={"ann": 0.0, "lab0": -0.5, "lab1": 0.5},
        kinds={"ann": "human"},
        judges=2,
        histories=12,
        people=2,
        dimensions=True,
        adversarial=0.5,
    )
    checked = set()
    for analysis in score_arena(arena, SETTINGS)[:2]:
        for table in analysis.tables:
            for row in table.rows:
                for column, cell in zip(table.columns, row, strict=True):
                    # Ties are not among the decided pairs, and the slot is fitted to single orders.
                    if cell.drill and cell.n and column.id not in ("decided", "slot") and column.label != "difference":
                        by = dict(cell.drill.where)["rater"]
                        found = verdicts_of(arena, cell.drill.where)
                        count = len({(one.pair, "" if by == "judges" else one.rater) for one in found})
                        if (analysis.name, table.id) != ("arena-people", "slices"):
                            assert (table.id, column.id, cell.n) == (table.id, column.id, count)
                            checked.add((analysis.name, table.id))
    assert len(checked) >= 8


def test_rates_of_the_matrix_are_those_of_the_verdicts():
    arena = simulated_arena(10, tie=0.3)
    matrix = tables_of(arena)["win-matrix"]
    for row in matrix.rows:
        for column, cell in zip(matrix.columns[1:], row[1:], strict=True):
            author, against = row[0].value, column.label
            found = [
                0.5 + one.preference * (1 if arena.pairs[one.pair].left == author else -1) / 2
                if abs(one.preference) < 2
                else float((one.preference > 0) == (arena.pairs[one.pair].left == author))
                for one in arena.verdicts
                if {arena.pairs[one.pair].left, arena.pairs[one.pair].right} == {author, against}
            ]
            assert cell.n == len(found)
            assert cell.value == (pytest.approx(np.mean(found)) if found else None)


def test_dimensions_and_slices_are_fits_of_their_own():
    arena = simulated_arena(11, dimensions=True, adversarial=0.5)
    tables = tables_of(arena)
    group = rater_groups(table_of(arena), SETTINGS)[0]
    for table_id, part, at in (
        ("slices", group.table.of_slice("adversarial"), "slice_adversarial"),
        ("dimensions", group.table.in_dimension(3), f"dimension_{DIMENSIONS[3]}"),
    ):
        table = tables[table_id]
        column = [one.id for one in table.columns].index(at)
        found = {row[1].value: row[column].value for row in table.rows}
        assert found == pytest.approx(dict(zip(part.authors, rate(part, SETTINGS).value, strict=True)))


def test_the_same_arena_gives_the_same_numbers():
    arena = simulated_arena(judges=1, adversarial=0.5, kinds={"lab0": "human"})
    assert score_arena(arena, SETTINGS) == score_arena(arena, SETTINGS)


def test_the_order_of_the_verdicts_does_not_matter():
    arena = simulated_arena(judges=1)
    turned = replace(arena, verdicts=list(reversed(arena.verdicts)))
    one, other = (rating_of(each) for each in (arena, turned))
    assert {name: cell.value for name, cell in one.items()} == pytest.approx(
        {name: cell.value for name, cell in other.items()}
    )


def test_what_is_wrong_with_the_files_stands_first():
    arena = replace(simulated_arena(), problems=("verdicts/a.jsonl names an unknown pair.",))
    assert score_arena(arena, SETTINGS)[0].warnings[0] == arena.problems[0]
