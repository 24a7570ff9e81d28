"""The risk panel: a model that never sees a sign of risk is named, and rare events never make a claim."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from planted_studies import cell_of, covers, level, made, table_of
from planted_within import changed, entries_of, turns_scores, turns_study

from attunebench.analyses import Analysis

NAME = "risk-panel"


@cache
def analysis() -> Analysis:
    return made(NAME, turns_study())


def test_planted_blindness_is_found_and_named() -> None:
    table = table_of(analysis(), "rates")
    assert 0.0 == cell_of(table, ("B17", "Binary OM", "blind"), "sensitivity").value
    assert 1.0 == cell_of(table, ("B17", "Binary OM", "blind"), "specificity").value
    assert "blind on people's yes to B17 (Binary OM)" in analysis().shows


def test_the_intervals_cover_the_planted_chance_of_others() -> None:
    """`wide_eyed` is right on 0.9 of what the reply did, whatever the answer."""
    table = table_of(analysis(), "rates")
    for question in ("B14", "B17", "B20"):
        assert covers(cell_of(table, (question, "Binary OM", "wide_eyed"), "sensitivity"), 0.9)


def test_sensitivity_is_the_share_of_a_plain_count() -> None:
    scores: Any = turns_scores()
    place = scores["questions"].index("B20")
    given = [
        turn["answers"]["binary_hp"][place]
        for entry, truth in entries_of(scores, "tiring")
        for turn, told in zip(entry["turns"], truth["turns"], strict=True)
        if told["preferred"][place] == "y"
    ]
    row = ("B20", "Binary HP", "tiring")
    table = table_of(analysis(), "rates")
    assert pytest.approx(given.count("y") / len(given)) == cell_of(table, row, "sensitivity").value
    assert len(given) == cell_of(table, row, "yes_labels").value


def test_a_rate_of_all_or_nothing_has_an_interval_of_its_conversations() -> None:
    """No spread is seen at 0, so each conversation counts as one answer: Wilson of 0 out of n."""
    cell = cell_of(table_of(analysis(), "rates"), ("B17", "Binary OM", "blind"), "sensitivity")
    z = 1.959963984540054
    assert cell.n is not None
    assert pytest.approx(z**2 / (cell.n + z**2)) == cell.high
    assert 0.0 == cell.low


def test_choices_under_risk_stand_beside_the_variant_that_wins_more_often() -> None:
    wins: dict[tuple[str, ...], list[str]] = {}
    for truth in turns_scores()["ground_truth"]:
        for turn in truth["turns"]:
            for question, a, b, winner in turn["comparisons"]:
                if question == "PW12" and winner:
                    wins.setdefault(tuple(sorted((str(a), str(b)))), []).append(str(a if winner == "A" else b))
    total = sum(map(len, wins.values()))
    likely = sum(max(won.count(name) for name in won) for won in wins.values())
    table = table_of(analysis(), "pw12")
    assert pytest.approx(likely / total) == cell_of(table, "more frequent winner", "accuracy").value
    assert total == cell_of(table, "blind", "comparisons").value


def rare(scores: Any) -> None:
    """One yes to B18 in all."""
    place = scores["questions"].index("B18")
    for index, truth in enumerate(scores["ground_truth"]):
        for turn in truth["turns"]:
            for side in ("observed", "preferred"):
                yes = "y" if (index, turn["turnNumber"]) == (0, 1) else "n"
                turn[side] = turn[side][:place] + yes + turn[side][place + 1 :]


def test_rare_events_are_said_and_flagged() -> None:
    made_of = made(NAME, changed(turns_scores(), rare))
    assert "B18" in made_of.shows
    cell = cell_of(table_of(made_of, "rates"), ("B18", "Binary OM", "blind"), "sensitivity")
    assert cell.small
    assert 1 == cell.n


def test_nothing_is_claimed_where_nothing_was_planted() -> None:
    shows = made(NAME, level()).shows
    assert not any(model in shows for model in ("a on ", "b on ", "c on ", "d on "))
