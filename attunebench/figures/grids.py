"""Every metric of a level as a panel, with a row for each model in the order of the Composite; one figure per mode."""

from __future__ import annotations

from collections.abc import Sequence

from attunebench.analyses import common
from attunebench.figures import canvas
from attunebench.figures.model import LackingError, Picture
from attunebench.figures.source import Source, means, n_text
from attunebench.metrics.registry import REGISTRY, cards_of
from attunebench.scores.table import ScoreTable

_PANELS = 3
"""Panels beside each other; two where the figure is one column wide."""
TURN = (*(m for m in common.CANONICAL if REGISTRY[m].level == "turn"), "kendall_tau")
POST = tuple(
    m
    for card in common.CANONICAL
    if REGISTRY[card].level == "conversation" and card != "composite"
    for m in ((card, "q3_follow_up_asked") if card == "q3_follow_up" else (card,))
)
"""The follow-up is asked where something felt off alone, so that its value there always goes with it."""
DRAFT = ("draft_judge", "draft_binary_alignment")


def turn_metrics(source: Source) -> list[Picture]:
    """The metrics of single turns."""
    return _per_mode(source, "turn-metrics", "Turn by turn", TURN)


def post_metrics(source: Source) -> list[Picture]:
    """The metrics of whole talks."""
    return _per_mode(source, "post-metrics", "Over the whole talk", POST)


def draft_metrics(source: Source) -> list[Picture]:
    """What judges made of drafted replies, with the judges named."""
    return _per_mode(source, "draft-metrics", "Drafted replies", DRAFT)


def _per_mode(source: Source, name: str, heading: str, metrics: Sequence[str]) -> list[Picture]:
    found = []
    for mode in source.modes:
        study = source.models(mode)
        defined = tuple(common.defined_metrics(study, metrics))
        if defined:
            several = len(source.modes) > 1
            found.append(
                _grid(source, study, f"{name}-{mode}" if several else name, f"{heading}, {mode} mode", defined)
            )
    if not found:
        raise LackingError(f"None of {common.listed([common.label_of(m) for m in metrics])} is defined here.")
    return found


def _grid(source: Source, study: ScoreTable, name: str, title: str, metrics: Sequence[str]) -> Picture:
    across = min(_PANELS if source.look.wide else 2, len(metrics))
    down = -(-len(metrics) // across)
    labels = study.labels
    order = common.by_value(means(study, "composite", source.settings).value)
    height = 0.55 + down * (0.62 + canvas.rows_high(len(labels), 0.175))
    figure = canvas.new_figure(source.look, height, title)
    boxes = canvas.panels(figure, down, across)
    drawn: list[str] = []
    for at, (axes, metric_id) in enumerate(zip(boxes, metrics, strict=False)):
        values = means(study, metric_id, source.settings).take(order)
        chosen = [labels[i] for i in order]
        canvas.interval_rows(axes, chosen, values, source.styles, source.names if at % across == 0 else None)
        lines = references(study, metric_id)
        named, far = canvas.reference_lines(axes, values, lines, within=canvas.bounds(metric_id))
        drawn += named
        canvas.panel_title(axes, common.label_of(metric_id), source.look, across)
        worse = "" if common.better(metric_id) else "\nlower is better"
        axes.set_xlabel(f"{canvas.unit_words(metric_id)}, {n_text(values.n, '')}{worse}" + (f"\n{far}" if far else ""))
    for axes in boxes[len(metrics) :]:
        axes.set_axis_off()
    canvas.line_legend(
        figure, drawn, {"chance": "chance (blind guessing)", "base rate": "base rate of the other talks"}
    )
    return Picture(name, title, figure, _caption(source, study, metrics, labels))


def _caption(source: Source, study: ScoreTable, metrics: Sequence[str], labels: Sequence[str]) -> tuple[str, ...]:
    judged = (common.judges_text(study),) if set(metrics) & set(DRAFT) else ()
    return (
        "Mean per model with its interval, models in the order of the Composite; n counts conversations in which the "
        "metric is defined. Each panel has its own axis.",
        f"{common.sample_text(study)}. {common.intervals_text(source.settings)}. Nothing is controlled for.",
        *judged,
        "Hollow: too few conversations for a claim; no line: the interval is not estimable (the same value "
        "in all conversations). Overlapping intervals are no test of a difference: conversations "
        "are the same for all models, and `compare` tests the pairs.",
        *source.shortened(labels),
    )


def references(study: ScoreTable, metric_id: str) -> dict[str, float]:
    """Chance where the metric has one, and the mean of the base rate where the scores hold it."""
    chance = cards_of(study.rules)[metric_id].chance
    lines = {} if chance is None else {"chance": chance}
    reference = common.reference_of(study, common.BASE_RATE)
    if reference is not None and metric_id in reference.values:
        base = common.mean_of(list(reference.values[metric_id][:, None])).item()
        if base == base:
            lines["base rate"] = base
    return lines
