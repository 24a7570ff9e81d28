"""How analyses test: paired differences, their correction as the settings say, and when a difference may be claimed.

The permutations follow from the number of tests alone, never from the number of resamples.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from attunebench.analyses.model import Cell, Settings
from attunebench.errors import UsageError
from attunebench.statistics.bootstrap import Floats, Labels
from attunebench.statistics.multiple import adjust, max_t
from attunebench.statistics.paired import PairedTests, paired_tests
from attunebench.statistics.permutation import FEWEST, least_corrected, permutations_needed

_MOST_JOINT = 10_000
"""Of these max-T takes about a gigabyte."""
CORRECTIONS = {"holm": "Holm", "bh": "Benjamini and Hochberg", "maxt": "max-T"}


def pair_tests(
    name: str, a: Floats, b: Floats, settings: Settings, clusters: Labels | None, *, family: int | None = None
) -> PairedTests:
    """Paired tests of the columns of a against those of b as the settings say; `name` is the use of the chance.

    `family`: how many tests are corrected together, where these are not all.
    """
    joint = settings.correction == "maxt"
    if joint and a.shape[1] > _MOST_JOINT:
        raise UsageError(
            f"max-T keeps the permutations of all pairs in memory and takes at most {_MOST_JOINT:,} pairs, not "
            f"{a.shape[1]:,}; use --correction holm."
        )
    return paired_tests(
        a,
        b,
        rng=settings.rng(name),
        resamples=settings.resamples,
        tests=family,
        clusters=clusters,
        level=settings.level,
        alpha=settings.alpha,
        power=settings.power,
        joint=joint,
    )


def corrected_p(tests: PairedTests, settings: Settings) -> Floats:
    """p of all columns of the tests, corrected for their number as the settings say.

    At an α that the permutations in memory cannot decide, Holm stands in for max-T, which has the same guarantee.
    """
    if settings.correction == "maxt" and permutations_needed(1, settings.alpha) <= FEWEST:
        return max_t(tests.observed, tests.null)
    return adjust(tests.p, plain_correction(settings))


def plain_correction(settings: Settings) -> Literal["holm", "bh"]:
    """The correction of tests that were not permuted together, for which max-T does not exist: then Holm."""
    return "bh" if settings.correction == "bh" else "holm"


def beyond_reach(least: Floats, settings: Settings, *, together: bool = True) -> NDArray[np.bool_]:
    """Tests whose corrected p cannot be at most α, whatever the data: there are too few conversations (participants).

    `least` is the smallest p that each test of a family can give; `together`: they are permuted together.
    """
    correction = settings.correction if together else plain_correction(settings)
    with np.errstate(invalid="ignore"):
        return np.asarray(least_corrected(least, correction) > settings.alpha)


def reach_text(least: Floats, settings: Settings, *, together: bool = True) -> tuple[str, ...]:
    """A warning where no test of a family can be significant, whatever the data; else nothing. See `beyond_reach`."""
    tests = int((~np.isnan(least)).sum())
    if not tests or not (beyond_reach(least, settings, together=together) | np.isnan(least)).all():
        return ()
    correction = settings.correction if together else plain_correction(settings)
    smallest, corrected = (float(np.nanmin(p)) for p in (least, least_corrected(least, correction)))
    return (
        f"Too few {settings.units} for a claim: the smallest possible p is {smallest:.3g}, and {corrected:.3g} after "
        f"correction ({CORRECTIONS[correction]}) over {tests:,} {'test' if tests == 1 else 'tests'}.",
    )


def claimed(cell: Cell, settings: Settings) -> bool:
    """Whether a difference may be claimed: told from 0 after correction, on enough conversations."""
    p = cell.p if cell.p_corrected is None else cell.p_corrected
    return p is not None and p <= settings.alpha and not cell.small
