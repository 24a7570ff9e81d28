"""What the released rules change: paired differences and ranks of planted scores, and what is missing without both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from plain_scores import plain_scores

from attunebench.analyses import Analysis, Settings, Subject, analyse
from attunebench.reports.html.charts import picture
from attunebench.scores.loading import score_table

BASE = np.linspace(40, 60, 25)


def study(rules: str, **composites: Any) -> Any:
    values = {
        name: {"composite": composite, "q1_goals": composite / 200 + (0.1 if rules == "released" else 0)}
        for name, composite in composites.items()
    }
    return score_table(plain_scores(values, rules=rules))


OURS = study("attunebench", a=BASE + 2, b=BASE, c=BASE - 5)
RELEASED = study("released", a=BASE - 1, b=BASE + 1, c=BASE - 5)


def made(*studies: Any) -> Analysis:
    first, *others = studies
    return analyse("rules", Subject(first, Settings(resamples=200), tuple(others)))


def rows(analysis: Analysis) -> dict[tuple[Any, Any], dict[str, Any]]:
    (table,) = analysis.tables
    names = [column.id for column in table.columns]
    return {(row[0].value, row[1].value): dict(zip(names, row, strict=True)) for row in table.rows}


def test_the_difference_is_paired_so_that_a_constant_shift_has_no_interval() -> None:
    found = rows(made(OURS, RELEASED))
    shift = found["Composite", "a"]["difference"]
    assert (shift.value, shift.low, shift.high, shift.n) == (pytest.approx(-3), None, None, 25)
    assert found["Composite", "a"]["ours"].value == pytest.approx(BASE.mean() + 2)
    assert found["Composite", "a"]["released"].value == pytest.approx(BASE.mean() - 1)


def test_shares_are_in_points_of_100() -> None:
    cells = rows(made(OURS, RELEASED))["Q1 goals", "c"]
    assert cells["difference"].value == pytest.approx(10)
    assert cells["ours"].value == pytest.approx((BASE.mean() - 5) / 2)


def test_ranks_are_by_each_rules_own_means() -> None:
    found = rows(made(OURS, RELEASED))
    ranks = {m: tuple(found["Composite", m][k].value for k in ("rank", "rank_released", "rank_change")) for m in "abc"}
    assert ranks == {"a": (1, 2, -1), "b": (2, 1, 1), "c": (3, 3, 0)}


def test_the_order_of_the_studies_does_not_matter() -> None:
    assert made(RELEASED, OURS) == made(OURS, RELEASED)


def test_the_chart_shows_the_first_metric_alone() -> None:
    (table,) = made(OURS, RELEASED).tables
    drawn = picture(table, {})
    assert drawn is not None
    assert [row.label for row in drawn.rows] == ["a", "b", "c"]


@pytest.mark.parametrize("studies", [(OURS,), (OURS, OURS), (OURS, study("released", other=BASE))])
def test_without_the_same_results_by_both_rules_there_is_no_table(studies: Any) -> None:
    assert made(*studies).missing
    assert made(*studies).tables == ()
