"""People against models: shares by brute force, the published arithmetic, and the test of slices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from arenas import simulated_arena

from attunebench.analyses.table import Missing
from attunebench.arena.objects import DIMENSIONS
from attunebench.arena.people import ALL, decided, elo_difference, people, people_win
from attunebench.arena.sampling import ArenaSettings
from attunebench.arena.table import table_of

SETTINGS = ArenaSettings(resamples=200)
STRENGTHS = {"ann": 0.0, "lab0": -0.6, "lab1": 0.6, "edit": 0.3}
KINDS = {"ann": "human", "edit": "edited", "lab1": "original"}


def tables_of(arena, settings=SETTINGS):
    return {table.id: table for table in people(arena, table_of(arena), settings).tables}


def an_arena(seed=0, **rest):
    return simulated_arena(seed, **{"strengths": STRENGTHS, "kinds": KINDS, "tie": 0.2, **rest})


def counted(arena, models, kind="human"):
    """Wins, ties and losses of ann against these models, by a plain pass over the verdicts."""
    found = [0, 0, 0]
    for one in arena.verdicts:
        pair = arena.pairs[one.pair]
        others = {pair.left, pair.right} - {"ann"}
        if one.rater_kind == kind and len(others) == 1 and others <= models:
            sign = one.preference * (1 if pair.left == "ann" else -1)
            found[0 if sign > 0 else 1 if sign == 0 else 2] += 1
    return found


@pytest.mark.parametrize(
    ("shares", "of_decided", "dropped", "half"),
    [((46.8, 17.4, 35.8), 0.567, 46.5, 38.4), ((53.3, 0.0, 46.7), 0.533, 23.0, 23.0)],
)
def test_the_published_arithmetic(shares, of_decided, dropped, half):
    assert decided(np.array(shares)) == pytest.approx(of_decided, abs=5e-4)
    for ties, expected in (("dropped", dropped), ("half", half), ("davidson", dropped)):
        assert elo_difference(np.array(shares), ties) == pytest.approx(expected, abs=0.05)


def test_a_side_that_wins_everything_has_no_difference():
    assert np.isinf(elo_difference(np.array([[3.0, 0, 0], [0, 0, 3]]), "half")).all()
    assert np.isnan(elo_difference(np.array([0.0, 3, 0]), "dropped"))
    assert tables_of(with_people_winning(wins=25, losses=0))["overall"].rows[0][7].value is None


def with_people_winning(wins, losses):
    """Of 25 histories with a verdict each; all others are ties."""
    arena = simulated_arena(strengths={"ann": 0, "lab": 0}, kinds=KINDS, histories=25, people=1, pairs=1)
    signs = [1] * wins + [-1] * losses + [0] * (25 - wins - losses)
    both = zip(arena.verdicts, signs, strict=True)
    said = {True: 1, False: -1}
    verdicts = [
        one.model_copy(update={"preference": sign * said[arena.pairs[one.pair].left == "ann"]}) for one, sign in both
    ]
    return replace(arena, verdicts=verdicts)


def test_a_difference_that_is_infinite_in_many_resamples_has_no_interval():
    # One loss is missing from a third of the resamples, which must not pass for a narrower interval.
    settings = replace(SETTINGS, ties="dropped")
    few, enough = (tables_of(with_people_winning(24 - of, of), settings)["overall"].rows[0][7] for of in (1, 10))
    assert few.value == pytest.approx(400 * np.log10(23))
    assert (few.low, few.high) == (None, None)
    assert enough.low < enough.value < enough.high


def test_a_share_of_decided_pairs_is_over_the_histories_that_have_one():
    cell = tables_of(with_people_winning(wins=3, losses=0))["overall"].rows[0][6]
    assert (cell.value, cell.n, cell.small) == (1, 3, True)
    assert cell.low == pytest.approx(0.4385, abs=1e-4)  # Wilson's, of 3 of 3


def test_shares_are_those_of_the_verdicts():
    arena = an_arena(1)
    tables = tables_of(arena)
    rows = {ALL: tables["overall"].rows[0][1:], **{row[1].value: row[2:] for row in tables["models"].rows}}
    assert set(rows) == {ALL, "lab0", "lab1", "edit"}
    for name, row in rows.items():
        win, tie, loss = counted(arena, {"lab0", "lab1"} if name == ALL else {name})
        n = win + tie + loss
        assert row[0].value == n
        expected = [win / n, tie / n, loss / n, win / (win + loss), 400 * np.log10((win + tie / 2) / (loss + tie / 2))]
        assert [cell.value for cell in row[2:]] == pytest.approx(expected)
        assert [cell.n for cell in row[2:]] == [n, n, n, win + loss, n]


def test_judges_count_once_for_both_orders():
    arena = an_arena(2, judges=1, people=0, tie=0.0)
    win, _, loss = counted(arena, {"lab0", "lab1"}, "judge")
    row = tables_of(arena)["overall"].rows[0]
    assert (row[1].value, row[6].value) == ((win + loss) / 2, pytest.approx(win / (win + loss)))


def test_dimensions_have_shares_of_their_own():
    arena = an_arena(3, dimensions=True, tie=0.0)
    table = table_of(arena)
    rows = tables_of(arena)["dimensions"].rows
    assert len(rows) == len(DIMENSIONS)
    ann, edit = table.authors.index("ann"), table.authors.index("edit")
    met = ((table.left == ann) | (table.right == ann)) & (table.left != edit) & (table.right != edit)
    won = table.dimensions[met] * np.where(table.left[met] == ann, 1, -1)[:, None] > 0
    assert [row[7].value for row in rows] == pytest.approx(won.mean(axis=0).tolist())


def test_the_sides_of_pairs_do_not_matter():
    arena = an_arena(4)
    pairs = {key: pair.model_copy(update={"left": pair.right, "right": pair.left}) for key, pair in arena.pairs.items()}
    turned = [one.model_copy(update={"preference": -one.preference}) for one in arena.verdicts]
    one, other = (tables_of(each)["models"].rows for each in (arena, replace(arena, pairs=pairs, verdicts=turned)))
    assert [[cell.value for cell in row] for row in one] == [[cell.value for cell in row] for row in other]


def test_a_planted_difference_of_slices_is_found():
    arena = an_arena(5, histories=120, adversarial=0.5, tie=0.0)
    # In adversarial histories people lose what they had won.
    harder = [
        one.model_copy(update={"preference": abs(one.preference) * (-1 if arena.pairs[one.pair].left == "ann" else 1)})
        if arena.histories[arena.pairs[one.pair].history].slice == "adversarial" and number % 3
        else one
        for number, one in enumerate(arena.verdicts)
    ]
    arena = replace(arena, verdicts=harder)
    rows = {row[1].value: row for row in tables_of(arena)["slices"].rows}
    regular, adversarial, difference = rows[ALL][2:]
    assert difference.value == pytest.approx(adversarial.value - regular.value)
    assert difference.high < 0
    assert difference.p_corrected < 0.01


def test_edited_replies_alone_are_no_models():
    tables = tables_of(simulated_arena(strengths={"ann": 0, "edit": 0}, kinds=KINDS))
    assert [cell.value for cell in tables["overall"].rows[0][1:]] == [0, 0, *[None] * 5]
    assert tables["models"].rows[0][1].value == "edit"


def test_one_slice_is_compared_with_nothing():
    assert "slices" not in tables_of(an_arena())


def test_people_who_write_better_win():
    strengths = {"ann": 1.0, "lab0": 0.0, "lab1": 0.0}
    arena = simulated_arena(6, strengths=strengths, kinds={"ann": "human"})
    assert people_win(tables_of(arena)["overall"].rows[0][6]) == 1
    few = replace(SETTINGS, small=1000)
    assert people_win(tables_of(arena, few)["overall"].rows[0][6]) == 0


@pytest.mark.parametrize(
    ("strengths", "kinds"),
    [({"lab0": 0, "lab1": 0}, {}), ({"ann": 0, "bob": 0}, {"ann": "human", "bob": "human"})],
)
def test_without_people_or_models_there_is_a_reason(strengths, kinds):
    arena = simulated_arena(strengths=strengths, kinds=kinds)
    with pytest.raises(Missing):
        people(arena, table_of(arena), SETTINGS)


@pytest.mark.parametrize(
    "change", [{"people": 1}, {"histories": 1}, {"tie": 1.0}, {"histories": 3, "pairs": 1, "adversarial": 0.5}]
)
@pytest.mark.parametrize("ties", ["half", "dropped", "davidson"])
def test_little_gives_right_or_absent_numbers(change, ties):
    arena = an_arena(**change)
    cells = [
        cell for table in tables_of(arena, replace(SETTINGS, ties=ties)).values() for row in table.rows for cell in row
    ]
    assert all(np.isfinite(cell.value) for cell in cells if isinstance(cell.value, float))


def test_turns_of_one_conversation_are_flipped_and_permuted_together():
    arena = simulated_arena(7, strengths={"ann": 1.5, "lab": 0}, kinds=KINDS, histories=24, pairs=1, adversarial=0.5)
    histories = {
        name: one.model_copy(update={"conversation": str(at % 6)})
        for at, (name, one) in enumerate(arena.histories.items())
    }
    overall, apart = (tables_of(one)["overall"].rows[0] for one in (replace(arena, histories=histories), arena))
    assert (overall[2].value, apart[2].value) == (6, 24)
    # Of six conversations no p can be lower than 2 in 2⁶.
    assert overall[6].p >= 2 / 64 > apart[6].p
    together, single = (tables_of(one)["slices"].rows[0][4].p for one in (replace(arena, histories=histories), arena))
    assert together != single
