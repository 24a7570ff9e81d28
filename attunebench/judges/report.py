"""The two questions asked of judges, as analyses: how scores change with who judges, and whether judges agree.

A panel is a set of judges whose votes are taken; all panels are compared over the conversations that they share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attunebench.analyses.base import Settings, by_value, metric_column, value_of
from attunebench.analyses.sampling import Sampling
from attunebench.analyses.table import Analysis, Cell, Filled, Table, column, counts, table, words
from attunebench.analyses.verdicts import counted, intervals_text, listed, small_text, with_interval
from attunebench.judges.agreement import Agreeing
from attunebench.judges.ballots import METRICS, Ballots
from attunebench.judging import judge_label
from attunebench.metrics.registry import REGISTRY
from attunebench.scores.audits import JudgeAudit, standing_of, validation_text
from attunebench.statistics.bootstrap import Floats, resample_weights
from attunebench.statistics.ranks import competition_ranks

_NONE = "No draft in these results has a vote; `attune-bench rejudge --judge-model` adds votes."
_ONE = "Only one judge has voted; `attune-bench rejudge --judge-model` adds the votes of another."
_SEPARATE = "Votes on different scales are reported separately; they are never averaged or compared."


def judge_report(
    ballots: Ballots,
    *,
    added: Sequence[str] = (),
    before: Ballots | None = None,
    settings: Settings | None = None,
    audits: Sequence[JudgeAudit] | None = None,
) -> tuple[Analysis, ...]:
    """How judged scores change with who judges, and how far judges agree; for each scale of votes on its own. With
    `audits`, whether the judges agree with participants.

    `added`: judges that are new, so that scores are compared with those by the others; `before`: the votes as they
    were, where some were replaced. Of the settings level, resamples, seed, `by_participant` and `small` count.
    """
    settings, scales, analyses = settings or Settings(), ballots.scales, list[Analysis]()
    for scale in scales or (None,):
        mine = ballots.on(scale) if scale and len(scales) > 1 else ballots
        earlier = before.on(scale) if scale and before else before
        for analysis in (_scores(mine, added, earlier, settings), _agreement(mine, settings)):
            if scale is not None:
                name = analysis.name if scale == scales[0] else f"{analysis.name}-{scale}"
                notes = (*analysis.notes, *((_SEPARATE,) if len(scales) > 1 else ()))
                if audits is not None:
                    judges = [judge_label(judge, scale) for judge in mine.judges]
                    notes = (*notes, *validation_text(*standing_of(judges, audits, ())))
                analysis = replace(analysis, name=name, title=f"{analysis.title} ({scale} scale)", notes=notes)
            analyses.append(analysis)
    return tuple(analyses)


def _agreement(ballots: Ballots, settings: Settings) -> Analysis:
    about = Analysis("judge-agreement", "Agreement of judges", "Do judges agree on the same drafts?")
    if not any(draft.votes for draft in ballots.drafts) or len(ballots.judges) < 2:
        return replace(about, missing=_ONE if any(draft.votes for draft in ballots.drafts) else _NONE)
    tables = Agreeing(ballots, settings).tables()
    alpha = next(table for table in tables if table.id == "alpha")
    shown = [
        f"α {with_interval(cell, 2)} on the {kind.value} ({counted(int(value_of(n)), 'item')}"
        f"{', too few conversations for a claim' if cell.small else ''})"
        for kind, _, n, _, cell in alpha.rows[:2]
        if cell.value is not None
    ]
    return replace(
        about,
        shows=f"All judges together reach {' and '.join(shown)}." if shown else "No item was answered by two judges.",
        cannot="Agreement does not show accuracy, because similar models make similar errors. If "
        "one answer dominates, κ and α are low even when judges mostly agree; compare AC1 and the share of equal "
        "answers.",
        tables=tuple(tables),
        notes=(small_text(settings),),
    )


# Scores by who judges


class _Panels(NamedTuple):
    """Panels by label, and the place of the reference that the others are compared with. `values`: metric → a table
    (conversations, groups) for each panel."""

    ballots: Ballots
    labels: list[str]
    reference: int | None
    values: dict[str, list[Floats]]
    sampling: Sampling

    def name(self, place: int) -> str:
        """The label without who is in it."""
        return self.labels[place].partition(":")[0]


def _panels(ballots: Ballots, added: Sequence[str], before: Ballots | None, settings: Settings) -> _Panels:
    """Each judge alone, the judges before, and all; the reference is those before, else all.

    Before means the judges that were not `added`, or, where votes were replaced, the votes as they were in `before`.
    """
    everybody = ballots.judges
    earlier = tuple(judge for judge in everybody if judge not in added)
    panels: list[tuple[str, tuple[str, ...], Ballots]] = [(judge, (judge,), ballots) for judge in everybody]
    reference = None
    if before is not None and before.judges:
        reference = len(panels)
        panels.append((f"before: {listed(before.judges)}", before.judges, before))
    elif 0 < len(earlier) < len(everybody):
        # One judge who was there before is not shown a second time.
        panels = [panel for panel in panels if panel[1] != earlier]
        reference = len(panels)
        panels.append((f"before: {listed(earlier)}", earlier, ballots))
    if len(everybody) > 1:
        reference = len(panels) if reference is None else reference
        panels.append((f"all: {listed(everybody)}", everybody, ballots))
    values = {m: [votes.values(m, judges, ballots) for _, judges, votes in panels] for m in METRICS}
    clusters = ballots.people if settings.by_participant else None
    units = len(ballots.people) if clusters is None else int(clusters.max()) + 1
    weights = resample_weights(units, settings.resamples, np.random.default_rng(settings.seed))
    sampling = Sampling(weights, clusters, ballots.people, settings)
    return _Panels(ballots, [label for label, *_ in panels], reference, values, sampling)


def _scores(ballots: Ballots, added: Sequence[str], before: Ballots | None, settings: Settings) -> Analysis:
    about = Analysis("judge-scores", "Judged scores", "How do judged scores depend on the judge?")
    if all(np.isnan(ballots.values(metric, ballots.judges)).all() for metric in METRICS):
        return replace(about, missing=_NONE)
    panels = _panels(ballots, added, before, settings)
    (scores, largest), (orders, reversals) = _scores_table(panels), _orders_table(panels)
    return replace(
        about,
        shows=" ".join(filter(None, (largest, reversals))),
        cannot="These numbers do not show which judge is right; that requires people's ratings of the same drafts. A "
        "judged score depends on its judges, so name them whenever you report it.",
        tables=(scores, orders) if orders.rows else (scores,),
        notes=(small_text(settings),),
    )


def _scores_table(panels: _Panels) -> tuple[Table, str]:
    """The scores, their difference from the reference panel, and the largest differences in a sentence."""
    ballots, at, sampling = panels.ballots, panels.reference, panels.sampling
    labels, modes = ballots.labels, [mode for *_, mode in ballots.groups]
    groups = sorted(range(len(labels)), key=lambda group: (modes[group], labels[group]))
    rows = [(group, place) for group in groups for place in range(len(panels.labels))]
    filled, differences = list[Filled](), list[str]()
    for metric, values in panels.values.items():
        cells = [sampling.cells(by_panel) for by_panel in values]
        filled.append(metric_column(metric, [cells[place][group] for group, place in rows]))
        if at is None:
            continue
        gaps = [sampling.cells(by_panel - values[at], flag=False) for by_panel in values]
        moved = [gaps[place][group] if place != at else Cell(None) for group, place in rows]
        label, over = f"change from {panels.name(at)}", "Mean difference over shared conversations."
        filled.append(column(f"{metric}_moved", moved, label, "share", over))
        last = {len(panels.labels) - 1} - {at} or set(range(len(panels.labels)))
        usable = [i for i, (_, place) in enumerate(rows) if place in last and moved[i].value is not None]
        if usable:
            most = max(usable, key=lambda i: abs(value_of(moved[i])))
            who = f"{labels[rows[most][0]]}, {modes[rows[most][0]]}, by {panels.name(rows[most][1])}"
            differences.append(f"{REGISTRY[metric].label} {with_interval(moved[most], sign=True)} ({who})")
    shown = table(
        "scores",
        "Judged scores by judge",
        words("model", [labels[group] for group, _ in rows]),
        words("mode", [modes[group] for group, _ in rows]),
        words("judged_by", [panels.labels[place] for _, place in rows]),
        counts("conversations", [cell.n for cell in filled[0].cells], "n", "Conversations with a draft judge score."),
        *filled,
        caption=f"{counted(len(ballots.ids), 'conversation')}; {intervals_text(sampling.settings)}. Differences are "
        "over the conversations with a value under both and are not tested.",
    )
    if at is None:
        return shown, f"{panels.labels[0]} is the only judge."
    return shown, f"Largest differences from {panels.name(at)}: {'; '.join(differences)}." if differences else ""


def _orders_table(panels: _Panels) -> tuple[Table, str]:
    """The order of each mode's models under each panel, and which pairs are reversed in a sentence."""
    rows = list(_orders(panels))
    shown = table(
        "order",
        "Ranking of models by judge",
        words("metric"),
        words("mode"),
        words("judged_by"),
        counts("conversations", (), "n", "Conversations that all models have under all judges."),
        words("order", label="best first"),
        counts("turned", (), "pairs reversed", "Pairs of models whose order is the reverse of the reference."),
        counts("clearly", (), "significantly", "Reversals whose interval excludes 0 both times."),
        counts("pairs", (), "of pairs", "Pairs of models."),
        rows=rows,
        caption="Means over the conversations that all models of the mode have under all judges. A reversal is "
        "significant if the interval of the difference excludes 0 both times, with opposite signs.",
    )
    compared = [row for row in rows if row[5] is not None]
    turned = [f"{row[0]} by {row[2].partition(':')[0]} ({row[1]})" for row in compared if row[5]]
    if not turned:
        return shown, "The ranking of models is the same under all judges." if compared else ""
    sure = sum(row[6] for row in compared) or "none"
    return shown, f"The order of models differs for {listed(turned)}; {sure} of the reversals significantly."


def _orders(panels: _Panels) -> Iterator[tuple[Any, ...]]:
    """A row for each metric, mode with several models, and panel, over the conversations that all of them share."""
    ballots, at = panels.ballots, panels.reference
    members = {mode: [i for i, g in enumerate(ballots.groups) if g[2] == mode] for *_, mode in ballots.groups}
    for metric, mode in ((m, mode) for m in METRICS for mode, places in members.items() if len(places) > 1):
        tables = [by_panel[:, members[mode]] for by_panel in panels.values[metric]]
        shared = np.asarray(~np.isnan(np.stack(tables)).any(axis=(0, 2)))
        labels, n = [ballots.labels[place] for place in members[mode]], int(shared.sum())
        found = [_order(np.where(shared[:, None], one, np.nan), labels, panels.sampling) for one in tables] if n else []
        for place, judged_by in enumerate(panels.labels):
            order, ahead, clear = found[place] if found else (None, np.empty(0), np.empty(0, dtype=bool))
            turned = clearly = None
            if found and at is not None and place != at:
                other = ahead * found[at][1] < 0
                turned, clearly = int(other.sum()), int((other & clear & found[at][2]).sum())
            yield REGISTRY[metric].label, mode, judged_by, n, order, turned, clearly, len(ahead)


def _order(values: Floats, labels: Sequence[str], sampling: Sampling) -> tuple[str, Floats, NDArray[np.bool_]]:
    """ "a > b = c"; per pair of models which is ahead (1, 0, −1), and whether its interval leaves out 0."""
    first, second = np.tril_indices(len(labels), -1)
    ranks = competition_ranks(sampling.estimate(values).value)
    found = sampling.estimate(values[:, first] - values[:, second])
    # A difference that is the same in all conversations has no interval, and every resample repeats it.
    repeated = np.isnan(found.low) & (found.n > 1) & (sampling.weights.shape[1] > 1) & (found.value != 0)
    ordered = by_value(ranks, higher_is_better=False)
    text = labels[ordered[0]]
    for before, i in pairwise(ordered):
        text += f" {'=' if ranks[i] == ranks[before] else '>'} {labels[i]}"
    return text, np.sign(ranks[second] - ranks[first]), (found.low > 0) | (found.high < 0) | repeated
