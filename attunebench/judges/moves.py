"""How judged scores move with who judges, and whether the order of models does.

A panel is a set of judges whose votes are taken; all panels are compared over the conversations that they share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from attunebench.analyses import common
from attunebench.analyses.common import Sampling
from attunebench.analyses.model import Cell, Column, Settings, Table, text
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
        table = np.full((len(over.ids), len(over.groups)), np.nan)
        for i, name in enumerate(over.ids):
            for j, group in enumerate(over.groups):
                if name in rows and group in columns:
                    table[i, j] = own[rows[name], columns[group]]
        return table


def panels_of(ballots: Ballots, added: Sequence[str], before: Ballots | None) -> list[Panel]:
    """Each judge alone, the judges before, and all; the reference is those before, else all.

    Before means the judges that were not `added`, or, where votes were replaced, the votes as they were in `before`.
    """
    everybody = ballots.judges
    earlier = tuple(judge for judge in everybody if judge not in added)
    panels = [Panel(judge, (judge,), ballots) for judge in everybody]
    if before is not None and before.judges:
        panels.append(Panel(f"before: {common.listed(before.judges)}", before.judges, before, True))
    elif added and 0 < len(earlier) < len(everybody):
        # One judge who was there before is not shown a second time.
        panels = [panel for panel in panels if panel.judges != earlier]
        panels.append(Panel(f"before: {common.listed(earlier)}", earlier, ballots, True))
    if len(everybody) > 1:
        referenced = any(panel.reference for panel in panels)
        panels.append(Panel(f"all: {common.listed(everybody)}", everybody, ballots, not referenced))
    return panels


def sampling_of(ballots: Ballots, settings: Settings) -> Sampling:
    """How means over the conversations get their intervals; with at least one conversation."""
    people = ballots.people
    clusters = people if settings.by_participant else None
    units = len(people) if clusters is None else int(clusters.max()) + 1
    weights = resample_weights(units, settings.resamples, np.random.default_rng(settings.seed))
    return Sampling(weights, clusters, people, settings)


def reference_of(panels: Sequence[Panel]) -> Panel | None:
    """The panel that the others are compared with; None where there is one panel alone."""
    return next((panel for panel in panels if panel.reference), None)


def scores_table(ballots: Ballots, panels: Sequence[Panel], sampling: Sampling) -> Table:
    """Both judged metrics for every model, mode and panel, with the difference from the reference."""
    reference = reference_of(panels)
    values = {(metric, panel.label): panel.values(metric, ballots) for metric in METRICS for panel in panels}
    cells = {key: sampling.cells(table) for key, table in values.items()}
    moved: dict[tuple[str, str], list[Cell]] = {}
    if reference is not None:
        for (metric, label), table in values.items():
            if label != reference.label:
                moved[metric, label] = sampling.cells(table - values[metric, reference.label], flag=False)
    rows = []
    for group, label in sorted(enumerate(ballots.labels), key=lambda each: (ballots.groups[each[0]][2], each[1])):
        for panel in panels:
            shown = [text(label), text(ballots.groups[group][2]), text(panel.label)]
            shown.append(Cell(cells[METRICS[0], panel.label][group].n))
            for metric in METRICS:
                shown.append(cells[metric, panel.label][group])
                if reference is not None:
                    shown.append(moved[metric, panel.label][group] if panel is not reference else Cell(None))
            rows.append(tuple(shown))
    return Table(
        "scores",
        "Judged scores by who judges",
        _score_columns(reference),
        tuple(rows),
        caption=f"{common.counted(len(ballots.ids), 'conversation')}; {common.intervals_text(sampling.settings)}. A "
        "difference is over the conversations that have a value under both, and is no test.",
    )


def _score_columns(reference: Panel | None) -> tuple[Column, ...]:
    columns = [
        Column("model", "model", "text"),
        Column("mode", "mode", "text"),
        Column("judged_by", "judged by", "text"),
        Column("conversations", "n", "count", "Conversations with a value of the draft judge under these judges."),
    ]
    for metric in METRICS:
        card = REGISTRY[metric]
        columns.append(Column(metric, card.label, "share", card.meaning, True))
        if reference is not None:
            columns.append(
                Column(
                    f"{metric}_moved",
                    f"moved from {reference.label.partition(':')[0]}",
                    "share",
                    "Mean difference over shared conversations.",
                )
            )
    return tuple(columns)


@dataclass(frozen=True, slots=True)
class Order:
    """The order of a mode's models under a panel, over `n` conversations that all of them have under all panels.

    `turned`: of `pairs` pairs of models, those in the other order than in the reference, and `clearly` those of them
    whose interval leaves out 0 both times; None for the reference itself and where there is none.
    """

    metric: str
    mode: str
    panel: Panel
    said: str = ""
    n: int = 0
    pairs: int = 0
    turned: int | None = None
    clearly: int | None = None


def orders_of(ballots: Ballots, panels: Sequence[Panel], sampling: Sampling) -> list[Order]:
    """The orders by both metrics in every mode with two models or more, panel by panel."""
    found = []
    for metric in METRICS:
        tables = [panel.values(metric, ballots) for panel in panels]
        for mode in dict.fromkeys(group[2] for group in ballots.groups):
            members = [place for place, group in enumerate(ballots.groups) if group[2] == mode]
            if len(members) > 1:
                labels = [ballots.labels[place] for place in members]
                of_mode = [table[:, members] for table in tables]
                found += _orders(metric, mode, panels, of_mode, labels, sampling)
    return found


def _orders(
    metric: str,
    mode: str,
    panels: Sequence[Panel],
    tables: Sequence[Floats],
    labels: Sequence[str],
    sampling: Sampling,
) -> list[Order]:
    shared = np.asarray(~np.isnan(np.stack(tables)).any(axis=(0, 2)))
    if not shared.any():
        return [Order(metric, mode, panel) for panel in panels]
    pairs = [(i, j) for i in range(len(labels)) for j in range(i)]
    ranks, ahead, clear = [], [], []
    for table in tables:
        table = np.where(shared[:, None], table, np.nan)
        ranks.append(competition_ranks(sampling.estimate(table).value))
        ahead.append(np.array([np.sign(ranks[-1][j] - ranks[-1][i]) for i, j in pairs]))
        found = sampling.estimate(np.stack([table[:, i] - table[:, j] for i, j in pairs], axis=1))
        # A difference that is the same in all conversations has no interval, and every resample repeats it.
        repeated = np.isnan(found.low) & (found.n > 1) & (sampling.weights.shape[1] > 1) & (found.value != 0)
        with np.errstate(invalid="ignore"):
            clear.append((found.low > 0) | (found.high < 0) | repeated)
    at = next((place for place, panel in enumerate(panels) if panel.reference), None)
    orders = []
    for place, panel in enumerate(panels):
        order = Order(metric, mode, panel, _in_words(ranks[place], labels), int(shared.sum()), len(pairs))
        if at is not None and place != at:
            turned = ahead[place] * ahead[at] < 0
            clearly = turned & clear[place] & clear[at]
            order = replace(order, turned=int(turned.sum()), clearly=int(clearly.sum()))
        orders.append(order)
    return orders


def _in_words(ranks: Floats, labels: Sequence[str]) -> str:
    """ "a > b = c"."""
    ordered = common.by_value(ranks, higher_is_better=False)
    said = labels[ordered[0]]
    for position, i in enumerate(ordered[1:]):
        said += f" {'=' if ranks[i] == ranks[ordered[position]] else '>'} {labels[i]}"
    return said


def order_table(orders: Sequence[Order]) -> Table:
    """The orders as a table."""
    columns = (
        Column("metric", "metric", "text"),
        Column("mode", "mode", "text"),
        Column("judged_by", "judged by", "text"),
        Column("conversations", "n", "count", "Conversations that all models have under all judges."),
        Column("order", "best first", "text"),
        Column("turned", "pairs turned", "count", "Pairs of models in the other order than in the reference."),
        Column("clearly", "clearly", "count", "Of these, those whose interval leaves out 0 both times."),
        Column("pairs", "of pairs", "count", "Pairs of models."),
    )
    rows = [
        (
            text(REGISTRY[order.metric].label),
            text(order.mode),
            text(order.panel.label),
            Cell(order.n),
            Cell(order.said or None),
            Cell(order.turned),
            Cell(order.clearly),
            Cell(order.pairs),
        )
        for order in orders
    ]
    return Table(
        "order",
        "The order of models by who judges",
        columns,
        tuple(rows),
        caption="Means over the conversations that all models of the mode have under all judges. A pair is turned "
        "clearly where the interval of its difference leaves out 0 both times, with opposite signs.",
    )
