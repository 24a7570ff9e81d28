"""Agreement of people and judges: equal to a plain recomputation, with the same reference for both."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from arenas import simulated_arena
from sklearn.metrics import cohen_kappa_score

from attunebench.analyses.table import Analysis, Cell, Missing
from attunebench.arena.agreement import agreement
from attunebench.arena.folder import Arena
from attunebench.arena.objects import DIMENSIONS
from attunebench.arena.sampling import ArenaSettings
from attunebench.arena.table import table_of

QUICK = ArenaSettings(resamples=100)
LEVEL = dict.fromkeys("abcd", 0.0)
TOGETHER = "all judges (majority)"


@cache
def study() -> Arena:
    """Five people, of whom not everybody sees each pair, and two judges; one pair in ten has ties."""
    arena = simulated_arena(
        3, strengths=LEVEL, pair_noise=3.0, histories=30, people=5, judges=2, judge_noise=2.0, tie=0.1, adversarial=0.5
    )
    rng = np.random.default_rng(4)
    return replace(arena, verdicts=[v for v in arena.verdicts if v.rater_kind == "judge" or rng.random() < 0.8])


def analysed(arena: Arena, settings: ArenaSettings = QUICK) -> Analysis:
    return agreement(arena, table_of(arena), settings)


@cache
def found() -> Analysis:
    return analysed(study())


def cells(analysis: Analysis, table_id: str, *keys: str) -> dict[str, Cell]:
    """The row of a table that begins with these words, by the ids of its columns."""
    (table,) = [one for one in analysis.tables if one.id == table_id]
    (row,) = [row for row in table.rows if keys == tuple(cell.value for cell in row[: len(keys)])]
    return dict(zip([column.id for column in table.columns], row, strict=True))


def choices(arena: Arena) -> dict[str, dict[str, int]]:
    """Rater → pair → −1, 0, 1; a judge with different winners in its two orders says 0."""
    said: dict[str, dict[str, list[int]]] = {}
    for one in arena.verdicts:
        if one.preference is not None:
            said.setdefault(one.rater, {}).setdefault(one.pair, []).append(int(np.sign(one.preference)))
    return {
        rater: {pair: signs[0] if len(set(signs)) == 1 else 0 for pair, signs in of.items()}
        for rater, of in said.items()
    }


def most_frequent(signs: list[int]) -> int:
    """Of two as frequent none."""
    ordered = Counter(signs).most_common(2)
    return 0 if len(ordered) > 1 and ordered[0][1] == ordered[1][1] else ordered[0][0]


def comparisons(arena: Arena, rater: str) -> list[tuple[int, int]]:
    """What a judge or people say, beside the majority of the others, for each person; without ties of that."""
    said, made = choices(arena), []
    people = [name for name in said if name.startswith("rater")]
    for person in people:
        for pair in said[person]:
            others = [said[other][pair] for other in people if other != person and pair in said[other]]
            if others and most_frequent(others):
                own = said[person] if rater == "people" else said[rater]
                made.append((own[pair], most_frequent(others)))
    return made


@pytest.mark.parametrize("rater", ["people", "judge0", "judge1"])
def test_agreement_with_the_majority_is_that_of_a_plain_recomputation(rater):
    made, row = comparisons(study(), rater), cells(found(), "majority", rater)
    assert len(made) == row["comparisons"].value
    assert pytest.approx(np.mean([(1 + own * others) / 2 for own, others in made])) == row["agree"].value
    assert pytest.approx(np.mean([own == others for own, others in made if own])) == row["decided"].value
    assert pytest.approx(np.mean([own == 0 for own, _ in made])) == row["ties"].value
    own, others = zip(*made, strict=True)
    assert pytest.approx(cohen_kappa_score(own, others)) == row["kappa"].value


def test_ties_of_the_majority_are_left_out_and_counted():
    row, said = cells(found(), "majority", "people"), choices(study())
    people = [name for name in said if name.startswith("rater")]
    alone = sum(
        not any(pair in said[other] for other in people if other != person)
        for person in people
        for pair in said[person]
    )
    assert sum(len(said[name]) for name in people) - alone == row["comparisons"].value + row["tied"].value


def test_people_and_judges_are_compared_on_the_same_comparisons():
    people, judge = (cells(found(), "majority", name) for name in ("people", "judge0"))
    assert people["agree"].value == judge["same"].value
    assert pytest.approx(judge["agree"].value - people["agree"].value) == judge["difference"].value


def test_people_count_only_where_the_judge_has_answered():
    """Else a judge that is left out of hard pairs would be compared with people who are not."""
    arena = study()
    some = {pair for pair in arena.pairs if pair.endswith("/0")}
    arena = replace(arena, verdicts=[v for v in arena.verdicts if v.rater != "judge0" or v.pair in some])
    alone = replace(arena, verdicts=[v for v in arena.verdicts if v.pair in some])
    row, people = cells(analysed(arena), "majority", "judge0"), cells(analysed(alone), "majority", "people")
    assert people["agree"].value == row["same"].value
    assert pytest.approx(people["ceiling"].value) == row["ceiling"].value


def test_all_two_people_of_a_pair_are_compared():
    said = choices(study())
    people = [name for name in said if name.startswith("rater")]
    both = [
        (said[one][pair], said[other][pair])
        for one, other in combinations(people, 2)
        for pair in said[one].keys() & said[other]
    ]
    row = cells(found(), "two", "people", "people")
    assert pytest.approx(np.mean([(1 + a * b) / 2 for a, b in both if a or b])) == row["agree"].value
    assert pytest.approx(np.mean([a == b for a, b in both if a and b])) == row["decided"].value


def test_two_judges_are_compared_on_the_pairs_of_both():
    said = choices(study())
    both = [(said["judge0"][pair], said["judge1"][pair]) for pair in study().pairs]
    row = cells(found(), "two", "judge0", "judge1")
    assert pytest.approx(np.mean([(1 + a * b) / 2 for a, b in both if a or b])) == row["agree"].value
    assert pytest.approx(cohen_kappa_score(*zip(*both, strict=True))) == row["kappa"].value


def test_a_slice_has_the_numbers_of_an_arena_of_that_slice():
    arena = study()
    there = {one.id for one in arena.histories.values() if one.slice == "adversarial"}
    alone = replace(arena, verdicts=[v for v in arena.verdicts if arena.pairs[v.pair].history in there])
    for rater in ("people", "judge0", TOGETHER):
        row, whole = cells(found(), "slices", "adversarial", rater), cells(analysed(alone), "majority", rater)
        for name in ("n", "tied", "agree", "kappa", "ac1", "ceiling"):
            assert pytest.approx(whole[name].value) == row[name].value


def test_a_dimension_has_the_numbers_of_verdicts_about_it_alone():
    arena, (name, *_) = study(), DIMENSIONS
    sides = {1: "left", 0: "same", -1: "right"}
    signs = [0 if v.preference is None else int(np.sign(v.preference)) for v in arena.verdicts]
    turned = [
        v.model_copy(update={"preference": 2, "dimensions": {name: sides[sign]}})
        for v, sign in zip(arena.verdicts, signs, strict=True)
    ]
    analysis = analysed(replace(arena, verdicts=turned))
    for rater in ("people", "judge1"):
        row = cells(analysis, "dimensions", name.replace("_", " "), rater)
        assert cells(found(), "majority", rater)["agree"].value == row["agree"].value
        assert 1 == cells(analysis, "majority", rater)["agree"].value


def test_pairs_with_a_majority_under_two_thirds_are_counted_as_ambiguous():
    said, ambiguous, pairs = choices(study()), 0, 0
    for pair in study().pairs:
        signs = [said[name][pair] for name in said if name.startswith("rater") and pair in said[name]]
        pairs += len(signs) > 1
        ambiguous += len(signs) > 1 and 3 * max(Counter(signs).values()) < 2 * len(signs)
    row = cells(found(), "clear", "all")
    assert (pairs, pytest.approx(ambiguous / pairs)) == (row["n"].value, row["ambiguous"].value)


def test_the_ensemble_of_judges_is_a_judge():
    arena = simulated_arena(5, strengths=LEVEL, pair_noise=3.46, people=5, judges=3, judge_noise=2.5, histories=100)
    analysis = analysed(arena)
    single = [cells(analysis, "majority", f"judge{place}")["agree"].value for place in range(3)]
    assert max(single) < cells(analysis, "majority", TOGETHER)["agree"].value


@pytest.fixture(scope="module")
def heart() -> Analysis:
    """Pairs whose log-odds have a standard deviation of 3.46, seen by nine people and a judge with noise of 1.9."""
    arena = simulated_arena(
        8, strengths=LEVEL, pair_noise=3.46, people=9, judges=1, judge_noise=1.9, histories=300, pairs=2
    )
    return analysed(arena)


def test_a_simulated_study_has_the_agreement_of_the_specification(heart):
    two = cells(heart, "two", "people", "people")
    assert pytest.approx(0.795, abs=0.02) == two["agree"].value
    assert pytest.approx(0.59, abs=0.04) == two["kappa"].value
    assert pytest.approx(0.787, abs=0.02) == cells(heart, "two", "people", "judge0")["agree"].value


def test_the_ceiling_of_a_simulated_study_is_that_of_its_planted_spread(heart):
    row = cells(heart, "clear", "all")
    assert pytest.approx(0.854, abs=0.015) == row["one"].value
    assert row["one"].low < 0.854 < row["one"].high
    assert pytest.approx(row["observed"].value, abs=0.01) == row["expected"].value


def test_the_majority_by_which_pairs_are_clear_leaves_out_the_person_who_is_compared(heart):
    """Else everybody would agree on what is unanimous, by definition."""
    assert 1 > cells(heart, "margins", "unanimous", "people")["agree"].value
    parts = [cells(heart, "margins", name, "people")["agree"].value for name in ("ambiguous", "clear", "unanimous")]
    assert sorted(parts) == parts


def test_a_judge_without_noise_reaches_the_ceiling_and_people_do_not():
    arena = simulated_arena(2, strengths=LEVEL, pair_noise=3.46, people=7, judges=1, histories=150, pairs=2)
    judge, people = (cells(analysed(arena), "majority", name) for name in ("judge0", "people"))
    assert judge["agree"].low < judge["ceiling"].value < judge["agree"].high
    assert people["agree"].high < people["ceiling"].low
    assert judge["difference"].low > 0


def test_people_who_answer_at_random_agree_by_chance_and_have_no_ceiling_above_it():
    arena = simulated_arena(6, strengths=LEVEL, people=5, judges=1, judge_noise=1.0, histories=150, pairs=2)
    people, judge = (cells(analysed(arena), "majority", name) for name in ("people", "judge0"))
    for row in (people, judge):
        assert row["agree"].low < 0.5 < row["agree"].high
    assert people["ceiling"].low < 0.62


def test_intervals_are_over_histories_and_not_over_verdicts():
    """Five times more raters with the very same verdicts are no more evidence."""
    arena = simulated_arena(1, strengths=LEVEL, pair_noise=3.0, people=3, judges=1, judge_noise=2.0, histories=30)
    more = [
        v.model_copy(update={"rater": f"{v.rater}.{copy}"})
        for v in arena.verdicts
        if v.rater_kind == "human"
        for copy in range(5)
    ]
    wide = cells(analysed(arena), "two", "people", "judge0")["agree"]
    narrow = cells(analysed(replace(arena, verdicts=[*arena.verdicts, *more])), "two", "people", "judge0")["agree"]
    assert pytest.approx(wide.high - wide.low) == narrow.high - narrow.low


def test_one_person_for_each_pair_is_compared_with_judges_and_has_no_ceiling():
    arena = simulated_arena(1, strengths=LEVEL, pair_noise=3.0, people=1, judges=2, judge_noise=1.0)
    analysis = analysed(arena)
    row = cells(analysis, "majority", "judge0")
    assert (row["agree"].value, row["agree"].n) == (cells(analysis, "two", "people", "judge0")["agree"].value, 160)
    assert not {"same", "difference", "ceiling"} & set(row)
    assert "people" not in [row[0].value for table in analysis.tables if table.id == "majority" for row in table.rows]
    assert analysis.warnings


def test_judges_alone_are_compared_with_each_other():
    arena = simulated_arena(1, strengths=LEVEL, pair_noise=3.0, people=0, judges=2, judge_noise=1.0)
    analysis = analysed(arena)
    assert {"two", "alpha"} == {table.id for table in analysis.tables}
    assert analysis.warnings


@pytest.mark.parametrize("raters", [{"people": 1}, {"people": 0, "judges": 1}, {"people": 0}])
def test_agreement_requires_two_raters(raters):
    with pytest.raises(Missing):
        analysed(simulated_arena(1, **raters))


def test_where_everybody_calls_every_pair_the_same_nothing_is_claimed():
    arena = simulated_arena(1, people=4, judges=1, judge_noise=1.0, tie=1.0)
    analysis = analysed(arena)
    row = cells(analysis, "majority", "people")
    assert 0 == row["comparisons"].value
    assert not {"agree", "kappa", "ceiling"} & set(row)
    assert row["tied"].value == 4 * len(arena.pairs)
    assert 1 == cells(analysis, "clear", "all")["tied"].value


def test_verdicts_without_an_answer_are_left_out():
    arena = study()
    lost = [
        v.model_copy(update={"preference": None, "outcome": "refused"}) if v.rater == "judge1" else v
        for v in arena.verdicts
    ]
    analysis = analysed(replace(arena, verdicts=lost))
    names = [row[0].value for table in analysis.tables if table.id == "majority" for row in table.rows]
    assert ["people", "judge0"] == names
    assert cells(found(), "majority", "judge0")["agree"].value == cells(analysis, "majority", "judge0")["agree"].value


def test_a_history_gives_no_interval():
    arena = simulated_arena(1, strengths=LEVEL, histories=1, pairs=6, people=4, judges=1)
    row = cells(analysed(arena), "majority", "judge0")
    assert row["agree"].low is None
    assert row["agree"].small


def test_numbers_lead_to_their_verdicts():
    where = {
        name: dict(cells(found(), "slices", "regular", name)["agree"].drill.where) for name in ("people", TOGETHER)
    }
    assert {"rater": "people", "slice": "regular"} == where["people"]
    assert {"rater": "judges", "slice": "regular"} == where[TOGETHER]


def test_the_charts_have_chance_and_the_ceiling_as_lines():
    for table in found().tables:
        if table.id in ("majority", "slices"):
            assert 0.5 in table.chart.lines.values()
            assert 2 == len(table.chart.lines)


def test_a_pair_that_two_people_saw_is_enough_for_their_agreement():
    arena = simulated_arena(1, strengths=LEVEL, people=2, judges=1, pair_noise=2.0, histories=10)
    (first, *_) = arena.pairs
    arena = replace(arena, verdicts=[v for v in arena.verdicts if v.rater != "rater1" or v.pair == first])
    row = cells(analysed(arena), "majority", "people")
    assert (1, 2) == (row["n"].value, row["comparisons"].value)
    assert any("39" in warning for warning in analysed(arena).warnings)


def test_no_number_depends_on_the_order_of_the_files():
    turned = analysed(replace(study(), verdicts=study().verdicts[::-1]))
    for name in ("people", "judge0"):
        there, here = (cells(one, "two", "people", name) for one in (found(), turned))
        for coefficient in ("agree", "kappa", "ac1"):
            assert pytest.approx(there[coefficient].value) == here[coefficient].value


def test_where_all_agree_there_is_still_doubt():
    """As for every share of 0 or 1, each history counts once; and the ceiling follows."""
    arena = simulated_arena(1, strengths={"a": 60.0, "b": 0.0}, people=3, judges=1, histories=30)
    row = cells(analysed(arena), "majority", "judge0")
    assert (1.0, 1.0, 0.0) == (row["agree"].value, row["agree"].high, row["ties"].value)
    assert pytest.approx(0.886, abs=0.001) == row["agree"].low
    assert row["agree"].low < row["ceiling"].low < 1
    assert 0.0 < row["ties"].high


def test_verdicts_of_one_person_about_a_dimension_are_no_majority():
    name, arena = DIMENSIONS[0], study()
    alone = [v.model_copy(update={"dimensions": {name: "left"} if v.rater == "rater0" else {}}) for v in arena.verdicts]
    assert "dimensions" not in [table.id for table in analysed(replace(arena, verdicts=alone)).tables]


def test_one_other_person_is_no_clear_majority():
    analysis = analysed(simulated_arena(1, strengths=LEVEL, people=2, histories=30))
    assert "margins" not in [table.id for table in analysis.tables]
