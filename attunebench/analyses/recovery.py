"""Accuracy on the turn after a misread against the turn after a hit, within each conversation (part of the mood path).

In a short sequence values after a high one are low by mere counting: the high one is missing among the rest. Over all
orders of a conversation's T turns the mean after a misread minus that after a hit is (ȳ_hit − ȳ_misread)/(T − 1), which
is taken off, so that turns in random order show no difference (cf. Miller & Sanjurjo 2018).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attunebench.analyses import within
from attunebench.analyses.base import label_of
from attunebench.analyses.sampling import Sampling, mean_over_models
from attunebench.analyses.table import Cell, Drill, Table, column, counts, table, words
from attunebench.analyses.verdicts import claims_sentence, correction_text, intervals_text
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats

OUTCOMES = ("emotion_va", "binary_om_accuracy", "binary_hp_accuracy", "pairwise_accuracy")


def recovery(study: ScoreTable, sampling: Sampling) -> tuple[list[Table], str]:
    """For each outcome over all models and for each of them, with a sentence; no table where nothing is defined."""
    settings, models = sampling.settings, len(study.groups)
    misread = _misread(study)
    outcomes = {m: values for m in OUTCOMES if not np.isnan(values := study.turn_values(m)).all()}
    if not outcomes or np.isnan(misread).all():
        return [], ""
    # (conversations, outcomes, models, [after a misread, after a hit])
    plain = np.stack([after_means(study, misread, values) for values in outcomes.values()], axis=1)
    others = np.stack([after_means(study, misread, _beyond(values)) for values in outcomes.values()], axis=1)
    pooled = mean_over_models(np.moveaxis(plain, 2, -1))
    rows = np.concatenate([pooled[:, :, None], plain], axis=2)
    rows[np.isnan(rows).any(axis=3)] = np.nan
    means = sampling.cells(rows.reshape(len(study.ids), -1), flag=False)
    drills = [
        Drill(g.key, m, turns=_turns_after(study, misread[:, i])) for m in outcomes for i, g in enumerate(study.groups)
    ]
    single = within.in_rows(_tested(sampling, "plain", plain, drills), models)
    of_all = _tested(sampling, "pooled", pooled)
    single_beyond = within.in_rows(_tested(sampling, "beyond", others), models)
    beyond = [cell for row in single_beyond for cell in (Cell(None), *row)]
    shares = [np.nanmean(misread), *within.column_means(misread)]
    differences = [cell for first, row in zip(of_all, single, strict=True) for cell in (first, *row)]
    tests = f"{len(outcomes)} outcomes for all models, {len(outcomes) * models} cells for single ones"
    made = table(
        "recovery",
        "On the turn after a misread",
        words("outcome", [label_of(m) for m in outcomes for _ in range(1 + models)]),
        words("model", ("all models", *study.labels) * len(outcomes)),
        counts("n", [c.n for c in differences], "conversations", "With a turn after a misread and one after a hit."),
        column("misread", shares * len(outcomes), "turns misread", "share", "Share of all turns."),
        column("after_hit", means[1::2], "", "share", "Mean of the next turn.", better=True),
        column("after_misread", means[::2], "", "share", "Mean of the next turn, corrected for counting.", better=True),
        column("difference", differences, "misread − hit", "share", "Within conversations; below 0: errors in runs."),
        column("beyond", beyond, "beyond the other models", "share", "Of the value minus the others' on the turn."),
        caption="A turn is misread where Emotion F1 is 0. Every conversation is compared with itself; what short "
        "sequences show by counting alone is taken off. “Beyond the other models” controls for turns that are hard "
        f"for all. {intervals_text(settings)}; {correction_text(settings, tests)}.",
    )
    named = zip(map(label_of, outcomes), of_all, strict=True)
    return [made], claims_sentence(named, settings, of="between the turn after a misread and after a hit")


def _misread(study: ScoreTable) -> Floats:
    """1 where a turn was misread, 0 where not: (turns, models). NaN where it was never answered: that is no misread."""
    f1 = study.turn_values("emotion_f1")
    unanswered = np.zeros(f1.shape, dtype=bool)
    for model, group in enumerate(study.groups):
        unanswered[:, model] = [bool(epochs) and not any(t is not None for t in epochs) for epochs in study.tags(group)]
    return np.where(np.isnan(f1) | unanswered, np.nan, (f1 == 0).astype(np.float64))


def _beyond(values: Floats) -> Floats:
    """Each model's values less the mean of the other models on the same turn; NaN without others."""
    if values.shape[1] < 2:
        return np.full(values.shape, np.nan)
    others = [mean_over_models(np.delete(values, model, axis=1)) for model in range(values.shape[1])]
    return np.asarray(values - np.stack(others, axis=1))


def after_means(study: ScoreTable, misread: Floats, values: Floats) -> Floats:
    """Mean after a misread, less what counting alone adds, and after a hit: (conversations, models, 2).

    Takes two of (turns, models). NaN is a gap, and a turn after a gap follows nothing.
    """
    conversation = study.clusters_of_turns()
    before = np.full_like(misread, np.nan)
    before[1:] = np.where((conversation[1:] == conversation[:-1])[:, None], misread[:-1], np.nan)

    def sums(outcome: Floats, kind: int) -> tuple[Floats, Floats]:
        return within.conversation_sums(study, np.where(outcome == kind, values, np.nan))

    own = [sums(misread, kind) for kind in (1, 0)]
    counting = within.ratio(within.ratio(*own[1]) - within.ratio(*own[0]), own[0][1] + own[1][1] - 1)
    after = [within.ratio(*sums(before, kind)) for kind in (1, 0)]
    means = np.stack([after[0] - np.nan_to_num(counting), after[1]], axis=-1)
    means[np.isnan(means).any(axis=-1)] = np.nan
    return means


def _tested(sampling: Sampling, name: str, sides: Floats, drills: Sequence[Drill] | None = None) -> list[Cell]:
    """After a misread minus after a hit, of each column of (conversations, …, 2)."""
    missed, hit = (sides[..., side].reshape(len(sides), -1) for side in (0, 1))
    return within.paired_cells(sampling, f"mood-path/recovery/{name}", missed, hit, drills)


def _turns_after(study: ScoreTable, misread: Floats) -> tuple[tuple[str, int], ...]:
    rows = study.clusters_of_turns()
    return within.turns_of(study, 1 + np.flatnonzero((misread[:-1] == 1) & (rows[1:] == rows[:-1])))
