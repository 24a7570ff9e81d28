"""Which of the binary questions which model answers right: accuracy and MCC by question and category, with base rates.

Counts are pooled over all turns, as the pooled rates of the scores are. A question to which most people say yes is
answered well by saying yes always, so every accuracy stands beside that of the more frequent answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attunebench.analyses import verdicts, within
from attunebench.analyses.base import Subject
from attunebench.analyses.sampling import Sampling, beyond_reach, cells_of, corrected_p, mean_over_models
from attunebench.analyses.table import Analysis, Cell, Chart, Drill, Missing, Table, column, counts, table, words
from attunebench.scores.table import Block, ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.paired import paired_tests


@dataclass(frozen=True)
class _Side:
    """What was done or what was wanted: labels (turns, questions) and right answers (turns, questions, models)."""

    block: Block
    label: str
    meaning: str
    truth: Floats
    right: Floats


def analyse(subject: Subject) -> Analysis:
    """A table of accuracy and one of MCC, models × questions and models × categories, for each side."""
    study, sampling = within.scored_models(subject)
    settings = sampling.settings
    sides = [
        _Side("binary_om", "Binary OM", "what the reply did", study.truth_binary("observed"), study.right("binary_om")),
        _Side(
            "binary_hp",
            "Binary HP",
            "what the person wanted",
            study.truth_binary("preferred"),
            study.right("binary_hp"),
        ),
    ]
    tables, shows = [], []
    for side in sides:
        if not np.isnan(side.right).all():
            tables += [made for by in within.PLURALS for made in _tables(study, sampling, side, by)]
            rows = [(str(row[0].value), row) for row in tables[-4].rows if not row[6].small]
            accuracy = verdicts.range_text([(name, row[6]) for name, row in rows])
            above = verdicts.claims_sentence(
                [(name, row[7]) for name, row in rows], settings, of=f"of {side.label} from the more frequent answer"
            )
            shows += [f"{side.label}: accuracy over all models ranges from {accuracy}."] if accuracy else []
            shows.append(above)
    if not tables:
        raise Missing(within.NO_LABELS)
    return Analysis(
        tables=tuple(tables),
        shows=" ".join(shows),
        cannot="A hard question may be one on which people themselves differ; with one label per turn that cannot be "
        "distinguished from a model's mistake. MCC is unstable where one answer is rare.",
        warnings=verdicts.reach_text(np.full(len(study.questions), sampling.least), settings),
    )


def _tables(study: ScoreTable, sampling: Sampling, side: _Side, by: within.By) -> tuple[Table, Table]:
    """Accuracy with its base rates, and MCC; a row for each question (category) with a label."""
    names, parts = within.question_parts(study, by)
    asked = ~np.isnan(side.truth)
    labels = asked.sum(axis=0) @ parts
    yes = within.ratio(np.nansum(side.truth, axis=0) @ parts, labels)
    frequent = np.where(asked, side.truth == (yes[parts.argmax(axis=1)] >= 0.5), np.nan)
    pooled = mean_over_models(side.right)
    columns = np.concatenate([np.stack([side.truth, frequent, pooled], axis=2), side.right], axis=2)
    drills = [[_drill(side, by, name, key) for key in (None, *(g.key for g in study.groups))] for name in names]
    above, below = (sums.reshape(len(study.ids), -1) for sums in within.part_sums(study, columns, parts))
    flat = [drill for row in drills for drill in (row[0], row[0], *row)]
    cells = within.in_rows(within.rate_cells(sampling, above, below, flat, right=True), columns.shape[2])
    mcc = [
        _mcc_cells(study, sampling, side.truth, side.right[:, :, model], parts, [row[1 + model] for row in drills])
        for model in range(len(study.groups))
    ]
    order = [int(i) for i in np.flatnonzero(labels)]
    front = [
        counts("n", [row[0].n for row in cells], "conversations"),
        counts("labels", labels.astype(np.int64), meaning="Turns in which people answered yes or no."),
        column("yes", [row[0] for row in cells], "yes", "share", "Base rate: share of these labels that are yes."),
    ]
    noun = f"{len(order)} {within.PLURALS[by]}"
    caption = (
        f"{within.turns_text(study)}; {side.meaning}, pooled over turns, not answered is wrong. "
        f"{verdicts.intervals_text(sampling.settings)}"
    )
    over = _over_frequent(study, sampling, side.block, pooled, frequent, parts)
    titles = [f"{side.label}: {measure} by {by}" for measure in ("accuracy", "MCC")]
    ids = within.model_ids(study)
    return table(
        f"{side.block}-{within.PLURALS[by]}-accuracy",
        titles[0],
        words(by, names),
        *([words("asks", map(within.wording, names))] if by == "question" else []),
        *front,
        column("frequent", [row[1] for row in cells], "more frequent answer", "share", "Score of always giving it."),
        column("all", [row[2] for row in cells], "all models", "share", "Mean over models.", better=True),
        column("over", over, "above that answer", "share", "All models minus that answer.", better=True),
        *within.model_columns(study, [row[3:] for row in cells], f"{side.label}, accuracy."),
        order=order,
        caption=f"{caption}; {verdicts.correction_text(sampling.settings, noun)}.",
        chart=Chart("heatmap", by, ids, titles[0], "accuracy"),
    ), table(
        f"{side.block}-{within.PLURALS[by]}-mcc",
        titles[1],
        words(by, names),
        *front,
        *within.model_columns(study, list(zip(*mcc, strict=True)), f"{side.label}, MCC."),
        order=order,
        caption=f"{caption}.",
        chart=Chart("heatmap", by, ids, titles[1], "MCC"),
    )


def _drill(side: _Side, by: within.By, name: str, key: tuple[str, str, str] | None) -> Drill:
    if by == "question":
        return Drill(key, question=name, block=side.block)
    return Drill(key, metric=f"{side.block}_accuracy")


def _mcc_cells(
    study: ScoreTable, sampling: Sampling, truth: Floats, right: Floats, parts: Floats, drills: list[Drill]
) -> list[Cell]:
    """Matthews' correlation of one model's answers pooled by part; not answered is a wrong answer."""
    tp, fn, tn, fp = (
        within.part_sums(study, np.where(truth == label, value, np.nan)[:, :, None], parts)[0][:, :, 0]
        for label in (1, 0)
        for value in (right, 1 - right)
    )
    confusions = (tp, tn, fp, fn)
    value = _mcc(*(part.sum(axis=0) for part in confusions))
    samples = _mcc(*np.split(within.resampled_sums(sampling, np.concatenate(confusions, axis=1)), 4, axis=1))
    cells = within.function_cells(sampling, value, samples, tp + tn + fp + fn, drills)
    return [cell if cell.n else Cell(None, n=0) for cell in cells]


def _mcc(tp: Floats, tn: Floats, fp: Floats, fn: Floats) -> Floats:
    """(tp·tn − fp·fn) / √((tp+fp)(tp+fn)(tn+fp)(tn+fn)), 0 where that is 0. Source: spec 4.1."""
    below = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return np.asarray(np.where(below > 0, (tp * tn - fp * fn) / np.sqrt(np.where(below > 0, below, 1.0)), 0.0))


def _over_frequent(
    study: ScoreTable, sampling: Sampling, block: Block, pooled: Floats, frequent: Floats, parts: Floats
) -> list[Cell]:
    """All models minus the more frequent answer, over all answers; conversations (participants) move as a whole."""
    settings = sampling.settings
    # A row for each answer, and a column for each part, which has gaps where the question is of another part.
    sides = (np.where(parts == 1, side[:, :, None], np.nan).reshape(-1, parts.shape[1]) for side in (pooled, frequent))
    rows = study.clusters_of_turns()
    units = np.repeat(rows if sampling.clusters is None else sampling.clusters[rows], len(study.questions))
    tests = paired_tests(
        *sides,
        rng=settings.rng(f"question-heatmap/{block}/{parts.shape[1]}"),
        resamples=settings.resamples,
        clusters=np.unique(units, return_inverse=True)[1].astype(np.intp),
        level=settings.level,
        alpha=settings.alpha,
        power=settings.power,
    )
    there = within.part_sums(study, pooled[:, :, None], parts)[1][:, :, 0] > 0
    few = [within.is_small(study, np.zeros(len(study.ids)), part, settings) for part in there.T]
    small, n = beyond_reach(tests.least, settings) | np.array(few), there.sum(axis=0)
    corrected = corrected_p(tests, settings)
    return cells_of(tests.difference, tests.low, tests.high, n, small, p=tests.p, p_corrected=corrected)
