"""How judged scores change with who judges, and whether the order of models does.

A panel is a set of judges whose votes are taken; all panels are compared over the conversations that they share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attunebench.analyses.base import Settings, by_value, metric_column, value_of
from attunebench.analyses.sampling import Sampling
from attunebench.analyses.table import Cell, Filled, Table, column, counts, table, words
from attunebench.analyses.verdicts import counted, intervals_text, listed, with_interval
from attunebench.judges.ballots import METRICS, Ballots
from attunebench.metrics.registry import REGISTRY
from attunebench.statistics.bootstrap import Floats, resample_weights
from attunebench.statistics.ranks import competition_ranks


@dataclass(frozen=True, slots=True)
class Panel:
    """Judges whose votes are taken together. `ballots` differs where the votes are older ones that were replaced."""

    label: str
    judges: tuple[str, ...]
    ballots: Ballots
    reference: bool = False

    def values(self, metric: str, over: Ballots) -> Floats:
        """The metric under this panel for the conversations and groups of `over`: (conversations, groups)."""
        own = self.ballots.values(metric, self.judges)
        if self.ballots is over:
            return own
        rows = {name: row for row, name in enumerate(self.ballots.ids)}
        columns = {group: place for place, group in enumerate(self.ballots.groups)}
        moved = np.full((len(over.ids), len(over.groups)), np.nan)
        for i, name in enumerate(over.ids):
            for j, group in enumerate(over.groups):
                if name in rows and group in columns:
                    moved[i, j] = own[rows[name], columns[group]]
        return moved


def panels_of(ballots: Ballots, added: Sequence[str], before: Ballots | None) -> list[Panel]:
    """Each judge alone, the judges before, and all; the reference is those before, else all.

    Before means the judges that were not `added`, or, where votes were replaced, the votes as they were in `before`.
    """
    everybody = ballots.judges
    earlier = tuple(judge for judge in everybody if judge not in added)
    panels = [Panel(judge, (judge,), ballots) for judge in everybody]
    if before is not None and before.judges:
        panels.append(Panel(f"before: {listed(before.judges)}", before.judges, before, True))
    elif added and 0 < len(earlier) < len(everybody):
        # One judge who was there before is not shown a second time.
        panels = [panel for panel in panels if panel.judges != earlier]
        panels.append(Panel(f"before: {listed(earlier)}", earlier, ballots, True))
    if len(everybody) > 1:
        referenced = any(panel.reference for panel in panels)
        panels.append(Panel(f"all: {listed(everybody)}", everybody, ballots, not referenced))
    return panels


def scores_and_orders(ballots: Ballots, panels: Sequence[Panel], settings: Settings) -> tuple[tuple[Table, ...], str]:
    """Both judged metrics for every model, mode and panel, and the order of models by them; what both say."""
    clusters = ballots.people if settings.by_participant else None
    units = len(ballots.people) if clusters is None else int(clusters.max()) + 1
    weights = resample_weights(units, settings.resamples, np.random.default_rng(settings.seed))
    sampling = Sampling(weights, clusters, ballots.people, settings)
    values = {metric: [panel.values(metric, ballots) for panel in panels] for metric in METRICS}
    at = next((place for place, panel in enumerate(panels) if panel.reference), None)
    scores, said = _scores(ballots, panels, values, at, sampling)
    orders, more = _orders(ballots, panels, values, at, sampling)
    return (scores, orders) if orders.rows else (scores,), " ".join(filter(None, (said, more)))


def _scores(
    ballots: Ballots, panels: Sequence[Panel], values: dict[str, list[Floats]], at: int | None, sampling: Sampling
) -> tuple[Table, str]:
    """The scores, their difference from the reference panel (`at`), and the largest differences in a sentence."""
    groups = sorted(range(len(ballots.groups)), key=lambda g: (ballots.groups[g][2], ballots.labels[g]))
    rows = [(group, place) for group in groups for place in range(len(panels))]
    filled: list[Filled] = []
    said = []
    for metric in METRICS:
        cells = [sampling.cells(by_panel) for by_panel in values[metric]]
        if not filled:
            n = [cells[place][group].n for group, place in rows]
        filled.append(metric_column(metric, [cells[place][group] for group, place in rows]))
        if at is None:
            continue
        gaps = [sampling.cells(by_panel - values[metric][at], flag=False) for by_panel in values[metric]]
        moved = [gaps[place][group] if place != at else Cell(None) for group, place in rows]
        label = f"moved from {panels[at].label.partition(':')[0]}"
        filled.append(column(f"{metric}_moved", moved, label, "share", "Mean difference over shared conversations."))
        last = {len(panels) - 1} - {at} or set(range(len(panels)))
        usable = [i for i, (_, place) in enumerate(rows) if place in last and moved[i].value is not None]
        if usable:
            most = max(usable, key=lambda i: abs(value_of(moved[i])))
            group, place = rows[most]
            who = f"{ballots.labels[group]}, {ballots.groups[group][2]}, by {panels[place].label.partition(':')[0]}"
            said.append(f"{REGISTRY[metric].label} {with_interval(moved[most], sign=True)} ({who})")
    shown = table(
        "scores",
        "Judged scores by who judges",
        words("model", [ballots.labels[group] for group, _ in rows]),
        words("mode", [ballots.groups[group][2] for group, _ in rows]),
        words("judged_by", [panels[place].label for _, place in rows]),
        counts("conversations", n, "n", "Conversations with a value of the draft judge under these judges."),
        *filled,
        caption=f"{counted(len(ballots.ids), 'conversation')}; {intervals_text(sampling.settings)}. A difference is "
        "over the conversations that have a value under both, and is no test.",
    )
    if at is None:
        return shown, f"{panels[0].label} is the only judge."
    against = panels[at].label.partition(":")[0]
    return shown, f"Largest differences from {against}: {'; '.join(said)}." if said else ""


def _orders(
    ballots: Ballots, panels: Sequence[Panel], values: dict[str, list[Floats]], at: int | None, sampling: Sampling
) -> tuple[Table, str]:
    """The order of each mode's models under each panel, over the conversations that all of them share.

    A pair is turned where it stands the other way round than under the reference, and clearly so where the interval of
    its difference leaves out 0 both times.
    """
    rows: list[tuple[Any, ...]] = []
    for metric in METRICS:
        for mode in dict.fromkeys(group[2] for group in ballots.groups):
            members = [place for place, group in enumerate(ballots.groups) if group[2] == mode]
            if len(members) < 2:
                continue
            tables = [by_panel[:, members] for by_panel in values[metric]]
            shared = np.asarray(~np.isnan(np.stack(tables)).any(axis=(0, 2)))
            labels = [ballots.labels[place] for place in members]
            found = [_order(np.where(shared[:, None], one, np.nan), labels, sampling) for one in tables]
            for place, (panel, (order, ahead, clear)) in enumerate(zip(panels, found, strict=True)):
                if not shared.any():
                    rows.append((REGISTRY[metric].label, mode, panel.label, 0, None, None, None, 0))
                    continue
                turned = clearly = None
                if at is not None and place != at:
                    other = ahead * found[at][1] < 0
                    turned, clearly = int(other.sum()), int((other & clear & found[at][2]).sum())
                rows.append(
                    (REGISTRY[metric].label, mode, panel.label, int(shared.sum()), order, turned, clearly, len(ahead))
                )
    shown = table(
        "order",
        "The order of models by who judges",
        words("metric"),
        words("mode"),
        words("judged_by"),
        counts("conversations", (), "n", "Conversations that all models have under all judges."),
        words("order", label="best first"),
        counts("turned", (), "pairs reversed", "Pairs of models in the other order than in the reference."),
        counts("clearly", (), "significantly", "Of these, those whose interval leaves out 0 both times."),
        counts("pairs", (), "of pairs", "Pairs of models."),
        rows=rows,
        caption="Means over the conversations that all models of the mode have under all judges. A reversal is "
        "significant where the interval of the difference leaves out 0 both times, with opposite signs.",
    )
    compared = [row for row in rows if row[5] is not None]
    reversed_ = [f"{row[0]} by {row[2].partition(':')[0]} ({row[1]})" for row in compared if row[5]]
    if not reversed_:
        return shown, "The order of models is the same whoever judges." if compared else ""
    sure = sum(row[6] or 0 for row in compared)
    return (
        shown,
        f"The order of models differs for {listed(reversed_)}; {sure or 'none'} of the reversals significantly.",
    )


def _order(values: Floats, labels: Sequence[str], sampling: Sampling) -> tuple[str, Floats, NDArray[np.bool_]]:
    """ "a > b = c"; per pair of models which is ahead (1, 0, −1), and whether its interval leaves out 0."""
    pairs = [(i, j) for i in range(len(labels)) for j in range(i)]
    ranks = competition_ranks(sampling.estimate(values).value)
    ahead = np.array([np.sign(ranks[j] - ranks[i]) for i, j in pairs])
    found = sampling.estimate(np.stack([values[:, i] - values[:, j] for i, j in pairs], axis=1))
    # A difference that is the same in all conversations has no interval, and every resample repeats it.
    repeated = np.isnan(found.low) & (found.n > 1) & (sampling.weights.shape[1] > 1) & (found.value != 0)
    with np.errstate(invalid="ignore"):
        clear = (found.low > 0) | (found.high < 0) | repeated
    ordered = by_value(ranks, higher_is_better=False)
    text = labels[ordered[0]]
    for before, i in pairwise(ordered):
        text += f" {'=' if ranks[i] == ranks[before] else '>'} {labels[i]}"
    return text, ahead, np.asarray(clear)
