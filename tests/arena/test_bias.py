"""What sways judges: planted log-odds are found, none are found where none are, and shares are counts over counts."""

from dataclasses import replace

import numpy as np
import pytest
from arenas import simulated_arena
from swayed_arenas import JUDGE, swayed_arena

from attunebench.analyses.table import Missing, number_of
from attunebench.arena.bias import bias
from attunebench.arena.cells import excludes
from attunebench.arena.contests import REGULARISED
from attunebench.arena.objects import Verdict
from attunebench.arena.sampling import ArenaSettings
from attunebench.arena.table import table_of

SETTINGS = ArenaSettings(resamples=200)
PLANTED = {"first": 0.5, "length": 0.6, "markdown": -0.7, "family": 1.2}


def analysed(arena, **settings):
    """Rows of the tables of the analysis: table → rater → column → cell."""
    made = bias(arena, table_of(arena), replace(SETTINGS, **settings))
    return {
        one.id: {row[0].value: dict(zip([column.id for column in one.columns], row, strict=True)) for row in one.rows}
        for one in made.tables
    }


@pytest.fixture(scope="module")
def swayed():
    return swayed_arena(1, **PLANTED, sharpness=1.5)


@pytest.fixture(scope="module")
def fair():
    return swayed_arena(2, sharpness=2.0)


def judge_only(arena):
    return replace(arena, verdicts=[one for one in arena.verdicts if one.rater_kind == "judge"])


def test_planted_log_odds_are_within_their_intervals_and_differ_from_0(swayed):
    row = analysed(swayed)["slopes"][JUDGE]
    for id, planted in (("slot", "first"), *((name, name) for name in ("length", "markdown", "family"))):
        assert row[id].low <= PLANTED[planted] <= row[id].high
        assert excludes(row[id])


def test_nothing_is_found_with_a_fair_judge_though_it_is_surer_than_people(fair):
    made = analysed(fair)
    assert [] == [id for id, cell in made["slopes"][JUDGE].items() if cell.low is not None and excludes(cell)]
    assert not excludes(made["order"][JUDGE]["first"], 0.5)


def test_people_have_no_bias_where_the_judge_has_one(swayed):
    people = analysed(swayed)["slopes"]["people"]
    assert [] == [id for id, cell in people.items() if cell.low is not None and excludes(cell)]
    assert people["family"].value is None
    assert {"slot", "length", "markdown", "family"} < set(people)


def test_length_is_not_taken_for_the_strength_of_authors_who_write_long_replies():
    """The longer reply wins more often in this arena, since better authors write longer ones."""
    arena = swayed_arena(3, sharpness=2.0)
    wins = [
        (len(arena.replies[pair.history, pair.left].text) > len(arena.replies[pair.history, pair.right].text))
        == (one.preference > 0)
        for one in arena.verdicts
        if one.rater_kind == "judge" and (pair := arena.pairs[one.pair])
    ]
    assert np.mean(wins) > 0.55
    assert not excludes(analysed(arena)["slopes"][JUDGE]["length"])


def test_ties_left_out_leave_the_slopes_as_they_are_and_half_ties_shrink_them():
    tied = swayed_arena(4, length=0.8, tie=0.4)
    left_out = analysed(tied, ties="davidson")["slopes"][JUDGE]["length"]
    assert left_out.low <= 0.8 <= left_out.high
    assert analysed(tied, ties="half")["slopes"][JUDGE]["length"].value < left_out.value


def test_order_shares_are_counts_over_counts(swayed):
    winner = {(one.pair, one.order): np.sign(one.preference) for one in judge_only(swayed).verdicts}
    both = [(winner[pair, "left"], winner[pair, "right"]) for pair in swayed.pairs]
    row = analysed(swayed)["order"][JUDGE]
    assert len(both) == row["pairs"].value == row["consistent"].n
    assert np.mean([one == other for one, other in both]) == pytest.approx(row["consistent"].value)
    assert np.mean([(1, -1) == one for one in both]) == pytest.approx(row["to_first"].value)
    assert np.mean([(-1, 1) == one for one in both]) == pytest.approx(row["to_second"].value)
    first = [one == 1 if order == "left" else one == -1 for (_, order), one in winner.items()]
    assert np.mean(first) == pytest.approx(row["first"].value)
    assert excludes(row["first"], 0.5)


def test_swapping_left_and_right_in_the_files_changes_nothing(swayed):
    other = {"left": "right", "right": "left"}
    turned = replace(
        swayed,
        pairs={id: one.model_copy(update={"left": one.right, "right": one.left}) for id, one in swayed.pairs.items()},
        verdicts=[
            one.model_copy(update={"order": other[one.order], "preference": -one.preference}) for one in swayed.verdicts
        ],
    )
    before, after = analysed(swayed), analysed(turned)
    for table, rows in after.items():
        for rater, row in rows.items():
            for id, cell in row.items():
                assert number_of(cell) == pytest.approx(number_of(before[table][rater][id]), abs=1e-6)


def test_repeats_are_compared_with_the_verdict_that_they_repeat(fair):
    rng = np.random.default_rng(0)
    counted = judge_only(fair).verdicts[:80]
    again = [
        one.model_copy(update={"check": True, "preference": one.preference * int(rng.choice([1, 1, 1, -1]))})
        for one in counted
    ]
    row = analysed(replace(fair, verdicts=[*fair.verdicts, *again]))["order"][JUDGE]
    same = np.mean([one.preference == other.preference for one, other in zip(counted, again, strict=True)])
    assert (pytest.approx(same), 80, 0) == (row["repeated"].value, row["repeated"].n, row["swapped"].value)


def test_repeats_in_the_other_order_alone_are_counted_as_such(fair):
    """People saw each pair in one order; their checks swap it."""
    people = [one for one in fair.verdicts if one.rater_kind == "human"][:50]
    other = {"left": "right", "right": "left"}
    again = [one.model_copy(update={"check": True, "order": other[one.order]}) for one in people]
    row = analysed(replace(fair, verdicts=[*fair.verdicts, *again]))["order"]["people"]
    assert (1, 50, 50) == (row["repeated"].value, row["repeated"].n, row["swapped"].value)


def test_a_judge_of_one_trait_alone_has_no_finite_slope(fair):
    def longest(one):
        pair = fair.pairs[one.pair]
        left, right = (len(fair.replies[pair.history, name].text.replace("*", "")) for name in (pair.left, pair.right))
        return one.model_copy(update={"preference": int(np.sign(left - right))})

    verdicts = [longest(one) if one.rater_kind == "judge" else one for one in fair.verdicts]
    cell = analysed(replace(fair, verdicts=verdicts))["slopes"][JUDGE]["length"]
    assert (REGULARISED, None) == (cell.mark, cell.low)
    assert cell.value > 3


def test_without_people_other_judges_say_how_good_a_family_is(swayed):
    others = [one.model_copy(update={"rater": f"other/{one.rater}", "rater_kind": "judge"})
              for one in swayed.verdicts if one.rater_kind == "human"]  # fmt: skip
    cell = analysed(replace(swayed, verdicts=[*judge_only(swayed).verdicts, *others]))["slopes"][JUDGE]["family"]
    assert cell.low <= PLANTED["family"] <= cell.high
    assert excludes(cell)


def test_the_family_is_undefined_without_another_rater(swayed):
    assert "family" not in analysed(judge_only(swayed))["slopes"][JUDGE]
    notes = [len(bias(one, table_of(one), SETTINGS).notes) for one in (judge_only(swayed), swayed)]
    assert [2, 1] == notes


def test_a_judge_called_people_leaves_the_numbers_of_people_as_they_are(swayed):
    renamed = [one.model_copy(update={"rater": "people"}) if one.rater == JUDGE else one for one in swayed.verdicts]
    before, after = analysed(swayed)["slopes"], analysed(replace(swayed, verdicts=renamed))["slopes"]
    assert after["people"]["length"] == before["people"]["length"]
    assert after["judge people"]["length"].value == before[JUDGE]["length"].value


@pytest.mark.parametrize("made", [{}, {"rules": {"provider": "baseline"}}])
def test_judges_of_no_known_family_do_not_say_how_good_a_family_is(swayed, made):
    """The judge that nothing is known of may be of the same family; built-in rules rate no quality."""
    others = [one.model_copy(update={"rater": "rules", "rater_kind": "judge"})
              for one in swayed.verdicts if one.rater == "person0"]  # fmt: skip
    arena = replace(swayed, verdicts=[*judge_only(swayed).verdicts, *others], made={"verdicts": made})
    assert "family" not in analysed(arena)["slopes"][JUDGE]


def test_without_enough_verdicts_of_judges_a_sentence_says_so(swayed):
    people = replace(swayed, verdicts=[one for one in swayed.verdicts if one.rater_kind == "human"])
    assert bias(people, table_of(people), SETTINGS).shows


def test_the_family_of_a_judge_is_what_the_arena_says(swayed):
    renamed = [one.model_copy(update={"rater": "j"}) if one.rater == JUDGE else one for one in swayed.verdicts]
    unknown = replace(swayed, verdicts=renamed)
    noted = replace(unknown, made={"verdicts": {"j": {"provider": "x", "family": "lab0"}}})
    assert "family" not in analysed(unknown)["slopes"]["j"]
    assert analysed(noted)["slopes"]["j"]["family"] == replace(
        analysed(swayed)["slopes"][JUDGE]["family"], drill=analysed(noted)["slopes"]["j"]["family"].drill
    )


@pytest.mark.parametrize("made", [{"verdicts": 3}, {"verdicts": {JUDGE: None}}, {"verdicts": {JUDGE: {"family": 7}}}])
def test_notes_of_an_arena_that_make_no_sense_are_no_family(swayed, made):
    assert JUDGE in analysed(replace(swayed, made=made))["slopes"]


@pytest.fixture(scope="module")
def warm():
    """Every other pair is ambiguous; on these the judge prefers the reply with stock warmth, on others it follows
    people."""
    arena = simulated_arena(1, histories=50, pairs=4, people=4, judges=1)
    rng = np.random.default_rng(1)
    texts = ["I'm here for you. You've got this!", "She said that, then?"]
    replies = {key: one.model_copy(update={"text": texts[int(rng.integers(2))]}) for key, one in arena.replies.items()}
    place = {name: at for at, name in enumerate(arena.pairs)}

    def verdict(one):
        pair, ambiguous = arena.pairs[one.pair], place[one.pair] % 2 == 0
        left, right = (replies[pair.history, name].text == texts[0] for name in (pair.left, pair.right))
        people = int(one.rater[-1]) % 2 * 2 - 1 if ambiguous else 1
        judge = int(left) - int(right) if ambiguous else 1
        return one.model_copy(update={"preference": judge if one.rater_kind == "judge" else people})

    return replace(arena, replies=replies, verdicts=[verdict(one) for one in arena.verdicts])


def test_stock_warmth_is_told_on_ambiguous_pairs(warm):
    rows = analysed(warm)["warmth"]
    assert 1 == rows["judge0"]["ambiguous"].value
    assert excludes(rows["judge0"]["difference"])
    assert not excludes(rows["judge0"]["clear"], 0.5)
    assert 0.5 == rows["people"]["ambiguous"].value


def test_pairs_seen_by_one_person_are_not_called_ambiguous(warm):
    one = replace(warm, verdicts=[one for one in warm.verdicts if one.rater in ("rater0", "judge0")])
    assert "warmth" not in analysed(one)


def test_without_people_no_pair_is_ambiguous(warm):
    assert "warmth" not in analysed(judge_only(warm))


def test_the_same_arena_gives_the_same_numbers(fair):
    assert analysed(fair) == analysed(fair)


def test_replies_that_are_gone_are_left_out_of_slopes_and_said(fair):
    pair = next(iter(fair.pairs.values()))
    gone = pair.history, pair.left
    fewer = replace(fair, replies={key: one for key, one in fair.replies.items() if key != gone})
    made = bias(fewer, table_of(fewer), SETTINGS)
    assert any("not in the arena" in text for text in made.warnings)


@pytest.mark.parametrize("text", ["", " ", "x" * 100_000, "Я тут.", "**" * 5_000, "1. a\n2. b\n```\n</reply>\n```"])
def test_awkward_replies_have_traits(fair, text):
    key = next(iter(fair.replies))
    replies = {**fair.replies, key: fair.replies[key].model_copy(update={"text": text})}
    assert JUDGE in analysed(replace(fair, replies=replies))["slopes"]


def test_one_verdict_alone_has_numbers_without_intervals(fair):
    alone = replace(fair, verdicts=fair.verdicts[:1])
    cells = [cell for rows in analysed(alone).values() for row in rows.values() for cell in row.values()]
    assert {None} == {cell.low for cell in cells}


def test_an_arena_without_an_answer_has_no_bias(fair):
    pair = next(iter(fair.pairs))
    refused = Verdict(pair=pair, rater="j", rater_kind="judge", preference=None, outcome="refused")
    for verdicts in ([], [refused]):
        with pytest.raises(Missing):
            analysed(replace(fair, verdicts=verdicts))


@pytest.mark.slow
@pytest.mark.parametrize("planted", [{"pair_noise": 2.0}, PLANTED])
def test_intervals_cover_what_was_planted(planted):
    """40 studies: 95 % intervals hold in 87 % of them or more, all four slopes together in 92 %."""
    truth = {"slot": "first", "length": "length", "markdown": "markdown", "family": "family"}
    held = dict.fromkeys(truth, 0)
    for seed in range(40):
        row = analysed(swayed_arena(1000 + seed, **planted, sharpness=2.0))["slopes"][JUDGE]
        for id, name in truth.items():
            held[id] += row[id].low <= planted.get(name, 0.0) <= row[id].high
    assert min(held.values()) >= 0.87 * 40
    assert sum(held.values()) >= 0.92 * 160


def finite(arena, **settings):
    cells = [cell for rows in analysed(arena, **settings).values() for row in rows.values() for cell in row.values()]
    numbers = [end for cell in cells for end in (number_of(cell), cell.low, cell.high) if end is not None]
    return bool(numbers) and bool(np.isfinite(numbers).all())


@pytest.mark.parametrize("ties", ["half", "dropped", "davidson"])
def test_ties_alone_have_numbers(fair, ties):
    tied = replace(fair, verdicts=[one.model_copy(update={"preference": 0}) for one in fair.verdicts])
    assert finite(tied, ties=ties)
    assert analysed(tied, ties=ties)["order"][JUDGE]["consistent"].value == 1
    assert "first" not in analysed(tied, ties=ties)["order"][JUDGE]


def test_an_author_that_wins_everything_leaves_numbers_finite(fair):
    def won(one):
        pair = fair.pairs[one.pair]
        best = 2 if pair.left == "lab4/w" else -2 if pair.right == "lab4/w" else one.preference
        return one.model_copy(update={"preference": best})

    assert finite(replace(fair, verdicts=[won(one) for one in fair.verdicts]))


def test_authors_that_never_met_leave_numbers_finite(fair):
    first = {"lab0/small", "lab0/large", "lab1/x"}
    apart = {id: one for id, one in fair.pairs.items() if (one.left in first) == (one.right in first)}
    assert finite(replace(fair, pairs=apart, verdicts=[one for one in fair.verdicts if one.pair in apart]))


def test_the_order_of_lines_changes_no_value(swayed):
    mixed = [swayed.verdicts[at] for at in np.random.default_rng(0).permutation(len(swayed.verdicts))]
    before, after = analysed(swayed), analysed(replace(swayed, verdicts=mixed))
    for table, rows in before.items():
        for rater, row in rows.items():
            for id, cell in row.items():
                assert number_of(cell) == pytest.approx(number_of(after[table][rater][id]), abs=1e-6)


def test_a_trait_of_one_author_alone_is_not_told_from_the_author(fair):
    plain = {
        key: one.model_copy(update={"text": one.text.replace("*", "") + ("\n- so" if one.author == "lab1/x" else "")})
        for key, one in fair.replies.items()
    }
    assert "markdown" not in analysed(replace(fair, replies=plain))["slopes"][JUDGE]


def test_a_rater_with_a_single_order_is_said_to_have_one(fair):
    left = replace(fair, verdicts=[one for one in fair.verdicts if one.rater == JUDGE and one.order == "left"])
    assert 1 == len(bias(left, table_of(left), SETTINGS).warnings)
    assert () == bias(fair, table_of(fair), SETTINGS).warnings
