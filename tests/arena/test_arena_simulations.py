"""Studies whose truth is planted: what ratings tend to, how often intervals cover it, and false claims (spec 10.5)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from arenas import projected, simulated_table
from scipy.stats import spearmanr

from attunebench.arena.contests import rate
from attunebench.arena.folder import Arena
from attunebench.arena.people import people, people_win
from attunebench.arena.sampling import ArenaSettings
from attunebench.arena.table import VerdictTable

FIVE = {f"lab{place}": strength for place, strength in enumerate(np.linspace(-1, 1, 5).tolist())}
SEVENTEEN = {f"lab{place}": strength for place, strength in enumerate(np.linspace(-1, 1, 17).tolist())}
NOTHING = Arena({})


def by_verdict(table: VerdictTable) -> VerdictTable:
    """As if every verdict were a history of its own: then verdicts are resampled."""
    names, places = tuple(map(str, range(len(table)))), np.arange(len(table))
    return replace(table, histories=names, units=places, slices=("regular",) * len(names), history=places)


def coverage(truth, *, change=lambda table: table, studies=200, **study):
    covered = []
    for seed in range(studies):
        table = change(simulated_table(seed, strengths=FIVE, **study))
        cells = rate(table, ArenaSettings(resamples=250, seed=seed)).cells()
        covered += [cell.low <= truth[name] <= cell.high for name, cell in zip(FIVE, cells, strict=True)]
    return np.mean(covered)


def half_width(table, **settings):
    cells = rate(table, ArenaSettings(**settings)).cells()
    return np.mean([(cell.high - cell.low) / 2 for cell in cells])


def test_noise_of_pairs_shrinks_planted_strengths_by_about_06():
    planted, tended = (projected(SEVENTEEN, noise) for noise in (0.0, 2.0))
    slope = np.polyfit(list(planted.values()), list(tended.values()), 1)[0]
    assert slope == pytest.approx(0.62, abs=0.05)


@pytest.mark.slow
def test_intervals_over_histories_cover_what_ratings_tend_to():
    truth = projected(FIVE, 2.0)
    assert 0.93 <= coverage(truth, pair_noise=2.0) <= 0.97
    # Resampled verdicts know nothing of the noise that raters of a pair share.
    assert coverage(truth, pair_noise=2.0, change=by_verdict, studies=20) < 0.8


@pytest.mark.slow
def test_intervals_with_noise_of_replies_cover_a_little_less():
    assert 0.91 <= coverage(projected(FIVE, 2.0), reply_noise=2**0.5) <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize(("rater_noise", "least"), [(0.0, 0.95), (0.5, 0.92)])
def test_intervals_over_few_raters_cover_raters_at_large(rater_noise, least):
    truth = projected(FIVE, (4 + 2 * rater_noise**2) ** 0.5)
    assert coverage(truth, pair_noise=2.0, rater_noise=rater_noise, people=10) >= least


@pytest.mark.slow
def test_the_published_size_recovers_the_planted_order():
    table = simulated_table(1, strengths=SEVENTEEN, histories=300, pairs=9, people=15)
    found, truth = rate(table, ArenaSettings(resamples=2)).value, np.array(list(projected(SEVENTEEN, 0.0).values()))
    assert spearmanr(found, truth).statistic >= 0.95
    assert np.sqrt(np.mean((found - truth) ** 2)) <= 10


@pytest.mark.slow
def test_honest_intervals_of_the_published_size_are_far_wider_than_those_over_verdicts():
    table = simulated_table(2, strengths=SEVENTEEN, histories=300, pairs=9, people=15, pair_noise=2.0)
    assert half_width(table, resamples=300) == pytest.approx(25, abs=3)
    one_rater = replace(by_verdict(table), raters=("all",), rater=np.zeros(len(table), dtype=np.intp))
    assert half_width(one_rater, resamples=100) == pytest.approx(9.5, abs=1)


@pytest.mark.slow
def test_no_more_than_5_percent_of_null_studies_claim_that_people_win():
    strengths, studies, claims = dict.fromkeys("abcd", 0.0), 200, np.zeros(3)
    for seed in range(studies):
        table = simulated_table(
            seed, strengths=strengths, kinds={"a": "human"}, pair_noise=2.0, people=6, histories=50, adversarial=0.5
        )
        tables = {
            one.id: one for one in people(NOTHING, table, ArenaSettings(resamples=200, seed=seed, small=2)).tables
        }
        whole = people_win(tables["overall"].rows[0][6])
        single = [people_win(row[7]) for row in tables["models"].rows]
        claims += [whole == 1, 1 in single, tables["slices"].rows[0][4].p <= 0.05]
    assert (claims[:2] / studies <= 0.05).all()
    assert 0.01 <= claims[2] / studies <= 0.09
