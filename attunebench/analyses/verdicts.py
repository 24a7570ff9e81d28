"""What analyses say: one sentence for each kind of test, and the captions, notes and warnings of tables.

Numbers in sentences are rounded here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from attunebench.analyses.base import Settings, value_of, variants_of
from attunebench.analyses.sampling import CORRECTIONS, beyond_reach, claimed, plain_correction
from attunebench.analyses.table import NOT_ESTIMABLE, ZERO_INFLATED, Cell, Table
from attunebench.judging import judges_named
from attunebench.metrics.draft import JUDGED
from attunebench.scores.audits import audits_in, prompts_of, standing_of, validation_text
from attunebench.scores.compatibility import findings
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.permutation import least_corrected
from attunebench.text import counted as counted
from attunebench.text import listed as listed
from attunebench.text import number as number_text
from attunebench.text import p_value

_MARKS = {
    NOT_ESTIMABLE: "every conversation (or participant) has the same value, so no interval can be estimated; shares of "
    "right answers have Wilson's interval instead.",
    ZERO_INFLATED: "at least nine in ten conversations share one value (mostly 0), so the percentile interval is "
    "narrower than it should be.",
}

# One sentence per kind of test: subject, direction, effect with its interval, corrected p where tested, n


def difference_sentence(first: str, second: str, what: str, cell: Cell, settings: Settings, *, digits: int = 3) -> str:
    """Whether two differ: `cell` is first minus second."""
    if cell.value is None:
        return f"{first} and {second} cannot be compared on {what}."
    effect = effect_text(cell, digits)
    if cell.small:
        return f"Too few {settings.units} to compare {first} with {second} on {what} ({effect})."
    if not claimed(cell, settings):
        return f"{first} and {second} do not differ significantly on {what} ({effect})."
    return f"{first} is {'higher' if value_of(cell) > 0 else 'lower'} than {second} on {what}: {effect}."


def correlation_sentence(first: str, second: str, cell: Cell, settings: Settings, *, over: str) -> str:
    """How two things correlate; `over` says over what ("11 models")."""
    if cell.value is None or cell.small:
        return f"Too few {settings.units} to correlate {first} with {second} over {over}."
    effect = effect_text(cell, 2)
    if cell.p is None and cell.p_corrected is None:
        return f"{first} and {second} correlate at ρ {effect} over {over}."
    if not claimed(cell, settings):
        return f"{first} and {second} are not significantly correlated over {over} (ρ {effect})."
    return f"{first} and {second} correlate over {over}: ρ {effect}."


def claims_sentence(
    named: Iterable[tuple[str, Cell]], settings: Settings, *, noun: str = "difference", of: str = "", digits: int = 3
) -> str:
    """Which of many tests against 0, each with a name, are significant: their number, then each with its effect.

    `of` follows the noun ("between branches").
    """
    usable = [(name, cell) for name, cell in named if cell.value is not None and not cell.small]
    found = [f"{name} {with_interval(cell, digits, sign=True)}" for name, cell in usable if claimed(cell, settings)]
    whole = f"{counted(len(usable), noun)} {of}".rstrip()
    if not usable:
        return f"Too few {settings.units} for a claim."
    if not found:
        single = " ".join(filter(None, ("The", noun, of, "is not significant.")))
        return f"None of the {whole} is significant." if len(usable) > 1 else single
    return f"{len(found)} of {whole} {'is' if len(found) == 1 else 'are'} significant: {listed(found, most=4)}."


def sides(cells: Iterable[Cell], settings: Settings) -> tuple[int, int, int]:
    """How many cells are significantly above 0, below it, and how many have enough behind them for a claim."""
    usable = [cell for cell in cells if cell.value is not None and not cell.small]
    values = [value_of(cell) for cell in usable if claimed(cell, settings)]
    return sum(value > 0 for value in values), sum(value < 0 for value in values), len(usable)


def range_text(named: Iterable[tuple[str, Cell]], digits: int = 3) -> str:
    """ "between 0.310 [0.287, 0.333] (a) and 0.412 [0.380, 0.441] (b)": the lowest and the highest, or the only one."""
    ordered = sorted(((n, c) for n, c in named if c.value is not None), key=lambda one: value_of(one[1]))
    ends = [f"{with_interval(cell, digits)} ({name})" for name, cell in ordered[:1] + ordered[1:][-1:]]
    return f"between {' and '.join(ends)}" if len(ends) == 2 else "".join(ends)


def sentences(*parts: str) -> str:
    """The sentences in one paragraph, none twice."""
    return " ".join(dict.fromkeys(filter(None, parts)))


def effect_text(cell: Cell, digits: int = 3) -> str:
    """ "+0.031 [0.010, 0.052], p 0.012, n = 200", as far as the cell has them."""
    p = cell.p if cell.p_corrected is None else cell.p_corrected
    parts = ("" if p is None else f"p {p_value(p)}", "" if cell.n is None else f"n = {cell.n}")
    return ", ".join(filter(None, (with_interval(cell, digits, sign=True), *parts)))


# Captions, notes and warnings


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


def shared_people_text(study: ScoreTable, settings: Settings) -> str:
    """That people have several conversations, which the settings take as independent; "" where neither is so."""
    counts = np.bincount(study.clusters)
    several = int((counts > 1).sum())
    if settings.by_participant or not several:
        return ""
    return (
        f"{several} of {len(counts)} participants {'has' if several == 1 else 'have'} several conversations, which are "
        "treated as independent. If a person's conversations are similar, intervals are too narrow and p too small: "
        "use `--cluster participant`."
    )


def judges_text(study: ScoreTable) -> str:
    """Who judged the drafts, and whether these judges agree with participants: a judged score is an artefact of its
    judge and never stands without it."""
    judged: dict[tuple[str, ...], list[str]] = {}
    audits = [one for part in study.metadata for one in audits_in(part)]
    passed, failed = dict[str, str](), dict[str, str]()
    for group in study.groups:
        variants = variants_of(study, group)
        names = tuple(sorted({judge for variant in variants for judge in judges_named(variant)}))
        judged.setdefault(names, []).append(f"{group.label} ({group.mode})")
        good, bad = standing_of(names, audits, prompts_of(variants))
        passed, failed = passed | good, failed | bad
    if len(judged) == 1:
        names_of_all = next(iter(judged))
        by = f"Drafts were judged by {listed(names_of_all)}."
        said = by if names_of_all else "The scores do not name the judge of the drafts."
    else:
        parts = [f"{listed(names) or 'no judge named'} for {listed(who)}" for names, who in judged.items()]
        said = f"Drafts had different judges and are not comparable across them: {'; '.join(parts)}."
    return " ".join([said, *validation_text(passed, failed)])


def judges_note(study: ScoreTable, metric_ids: Iterable[str]) -> tuple[str, ...]:
    """`judges_text` where one of the metrics is a judge's, else nothing."""
    return (judges_text(study),) if JUDGED.intersection(metric_ids) else ()


def number(value: float | None, digits: int = 3, *, sign: bool = False) -> str:
    """A number in a sentence."""
    return number_text(value, digits, sign=sign, undefined="undefined")


def with_interval(cell: Cell, digits: int = 3, *, sign: bool = False) -> str:
    """ "0.612 [0.581, 0.643]"; the value alone where there is no interval."""
    value = number(cell.value if isinstance(cell.value, (int, float)) else None, digits, sign=sign)
    whole = cell.low is not None and cell.high is not None
    return f"{value} [{number(cell.low, digits)}, {number(cell.high, digits)}]" if whole else value


def intervals_text(settings: Settings) -> str:
    """How intervals were made: for the note of an analysis, and captions of tables that stand alone."""
    level, resamples = f"{100 * settings.level:g} %", f"{settings.resamples:,} resamples of {settings.units}"
    return f"{level} percentile bootstrap intervals, {resamples}"


def sample_text(study: ScoreTable) -> str:
    """ "60 conversations of 12 participants", for captions."""
    people = len(np.unique(study.clusters))
    return f"{counted(len(study.ids), 'conversation')} of {counted(people, 'participant')}"


def correction_text(settings: Settings, over: str) -> str:
    """ "p by sign flips, corrected after Holm over 55 pairs", for captions."""
    return f"p by sign-flip permutation, corrected ({CORRECTIONS[settings.correction]}) over {over}"


def comparability(study: ScoreTable, metric_ids: Iterable[str]) -> tuple[str, ...]:
    """What stands against ranking these groups in these metrics: other labels, prompts, judges, settings, coverage."""
    return tuple(
        f"NOT COMPARABLE: {finding.sentence}" if finding.severity == "refuse" else finding.sentence
        for finding in findings(study, metric_ids)
    )


def small_text(settings: Settings) -> str:
    """What marks a cell as small, for notes."""
    return f"No claim is made on fewer than {settings.small} conversations or a single participant."


def legend(tables: Sequence[Table]) -> tuple[str, ...]:
    """What the marks of these tables mean, as far as they need a sentence."""
    marks = {cell.mark for table in tables for row in table.rows for cell in row}
    return tuple(f"“{mark}”: {meaning}" for mark, meaning in _MARKS.items() if mark in marks)
