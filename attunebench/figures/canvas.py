"""How every figure looks: type, sizes, lines and the few shapes that several figures draw.

Print comes first: type of 7 points or more at the final size, ink only for data. Knows no analysis.
"""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attunebench.analyses.palette import OUTLINES, Style
from attunebench.figures.model import INCHES, Look
from attunebench.metrics.registry import REGISTRY
from attunebench.text import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from attunebench.figures.source import Points

Floats = NDArray[np.float64]

INK, FAINT, PALE = "#222222", "#6B6B6B", "#EDEFF2"
SMALL_TYPE, TYPE, HEADING = 7.0, 7.5, 8.5
ROW = 0.19
"""Inches of a row with a model's name."""
_FEWEST_ROWS = 4
_NARROW = 2.5
"""Inches of a panel under which its axis has few numbers."""
TALLEST = 9.4
"""Inches that a page leaves for a figure."""
REFERENCE_DASHES: Mapping[str, Any] = {"chance": (0, (4, 2)), "base rate": (0, (1, 1.5))}

_SETTINGS: Any = {
    "font.family": "DejaVu Sans",
    "font.size": TYPE,
    "axes.titlesize": 8.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": TYPE,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "text.color": INK,
    # Unhinted widths grow evenly with the resolution, so that a layout holds in every format.
    "text.hinting": "no_hinting",
    # A name with dollar signs is a name, not a formula.
    "text.parse_math": False,
    "xtick.labelsize": SMALL_TYPE,
    "ytick.labelsize": SMALL_TYPE,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "legend.fontsize": SMALL_TYPE,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "lines.linewidth": 1.1,
    "grid.color": "#DADDE2",
    "grid.linewidth": 0.5,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    # Text stays text: it can be searched, read out and mended.
    "svg.fonttype": "none",
    "svg.hashsalt": "attune-bench",
    "pdf.fonttype": 42,
}


@contextmanager
def drawing() -> Iterator[None]:
    """Our settings, whatever a user's own matplotlib is set to; both drawing and saving happen under them."""
    import matplotlib

    # Only the user's names can lack a glyph; a box in its place says that, a warning on stderr helps nobody.
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        yield


def new_figure(look: Look, height: float, title: str) -> Figure:
    """An empty figure as wide as asked for and `height` inches high, with its title on the left."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.03, h_pad=0.04, wspace=0.03, hspace=0.04)
    figure = Figure(figsize=(look.inches, min(height, TALLEST)), layout=layout)
    figure.suptitle(title, x=0.005, ha="left", fontsize=HEADING, fontweight="bold")
    return figure


def settle(figure: Figure) -> None:
    """Lay the figure out once and for all: the same in every format, and not again for each."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
    figure.set_layout_engine("none")


def rows_high(rows: int, each: float = ROW) -> float:
    """Inches of rows with names; a few rows get the room of four, so that headings and axes stay apart."""
    return max(rows, _FEWEST_ROWS) * each


def panels(figure: Figure, rows: int, columns: int, **more: Any) -> list[Axes]:
    """A grid of axes, row by row, with as few numbers on each as narrow ones have room for."""
    grid = figure.subplots(rows, columns, squeeze=False, **more)
    found: list[Axes] = [axes for row in grid for axes in row]
    for axes in found:
        axes.locator_params(axis="x", nbins=4 if figure.get_figwidth() / columns < _NARROW else 6)
    return found


def panel_title(axes: Axes, text: str, look: Look, across: int, *, names: float = 1.5, colour: str = INK) -> None:
    """A panel's title in lines that fit its width; `names` are the inches that the panels leave for names."""
    room = (look.inches - names) / across
    axes.set_title("\n".join(textwrap.wrap(text, max(10, int(room / 0.08)), break_long_words=False)), color=colour)


def marker_of(style: Style) -> Any:
    """A style's marker as matplotlib takes it."""
    outline = OUTLINES[style.marker]
    return np.array([*outline, outline[0]])


def dot(axes: Axes, x: float, y: float, style: Style, *, small: bool = False, size: float = 5.0) -> None:
    """One value: filled, or hollow where it is over too little for a claim."""
    axes.plot(
        [x],
        [y],
        linestyle="none",
        marker=marker_of(style),
        markersize=size,
        markerfacecolor="white" if small else style.colour,
        markeredgecolor=style.colour,
        markeredgewidth=0.9 if small else 0.3,
        zorder=4,
        clip_on=False,
    )


def interval_rows(
    axes: Axes, labels: Sequence[str], values: Points, styles: Mapping[str, Style], names: Mapping[str, str] | None
) -> None:
    """A row for each label from the top: its value with its interval. `names` None leaves the names out."""
    for row, label in enumerate(labels):
        style = styles[label]
        if not values.known[row]:
            axes.text(0.01, row, "–", transform=axes.get_yaxis_transform(), va="center", color=FAINT)
            continue
        if not np.isnan(values.low[row]):
            axes.plot([values.low[row], values.high[row]], [row, row], color=style.colour, linewidth=1.2, zorder=3)
        dot(axes, values.value[row], row, style, small=bool(values.small[row]))
    name_rows(axes, labels, names)
    axes.xaxis.grid(True)


def name_rows(axes: Axes, labels: Sequence[str], names: Mapping[str, str] | None) -> None:
    """The first label on top; without names the rows stand bare beside those that have them."""
    axes.set_ylim(len(labels) - 0.4, -0.6)
    shown = [names[label] for label in labels] if names is not None else []
    axes.set_yticks(range(len(labels)), shown if names is not None else [""] * len(labels))
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def span_of(*columns: Points, more: Iterable[float] = (), intervals: bool = True) -> tuple[float, float]:
    """The least and greatest of values, their intervals and more; (0, 1) without any."""
    drawn = [part for one in columns for part in ([one.value, one.low, one.high] if intervals else [one.value])]
    ends = np.concatenate([*drawn, np.array(list(more), dtype=np.float64)])
    ends = ends[~np.isnan(ends)]
    return (float(ends.min()), float(ends.max())) if ends.size else (0.0, 1.0)


def fit(
    axes: Axes,
    low: float,
    high: float,
    *,
    axis: str = "x",
    margin: float = 0.06,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> None:
    """Limits around what is drawn, within what is possible at all; a single value gets room on both sides."""
    room = (high - low) * margin or max(abs(high) * 0.1, 0.05)
    ends = max(low - room, min(bounds[0], low)), min(high + room, max(bounds[1], high))
    (axes.set_xlim if axis == "x" else axes.set_ylim)(*ends)


def unit_words(metric_id: str) -> str:
    """What a metric is counted in, for an axis."""
    card = REGISTRY[metric_id]
    if card.unit == "points":
        return f"points of {card.high:g}"
    if (card.low, card.high) == (0, 1):
        return "share" if card.unit == "share" else "0 to 1"
    return f"{card.low:g} to {card.high:g}".replace("-", "−")


def side_column(axes: Axes, points: float, heading: str, entries: Sequence[str]) -> None:
    """Words on the right of the rows, `points` off the axes, under a heading."""
    for row, entry in enumerate((heading, *entries), start=-1):
        if not entry:
            continue
        axes.annotate(
            entry,
            (1.0, row if row >= 0 else -0.7),
            xycoords=axes.get_yaxis_transform(),
            xytext=(points, 0),
            textcoords="offset points",
            va="center" if row >= 0 else "bottom",
            fontsize=SMALL_TYPE,
            color=INK if row >= 0 else FAINT,
            annotation_clip=False,
        )


def reference_lines(
    axes: Axes,
    values: Points,
    lines: Mapping[str, float],
    *,
    lengthwise: bool = False,
    within: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[list[str], str]:
    """Lines where they lie near the values, and limits around both. Upright, or level where `lengthwise`.

    A line so far off that the values would shrink to a knot becomes words for the axis instead. Returns the names of
    the lines that were drawn, for the legend, and those words ("" for none).
    """
    low, high = span_of(values)
    reach = 0.6 * (high - low) if high > low else 1.0
    near = {name: at for name, at in lines.items() if low - reach <= at <= high + reach}
    fit(axes, *span_of(values, more=near.values()), axis="y" if lengthwise else "x", bounds=within)
    for name, at in near.items():
        draw = axes.axhline if lengthwise else axes.axvline
        draw(at, color=FAINT, linewidth=0.9, linestyle=REFERENCE_DASHES.get(name, ":"), zorder=1)
    far = [
        f"{'◂ ' if at < low else ''}{name} {at:.{1 if abs(at) > 1.5 else 2}f}{' ▸' if at > high else ''}"
        for name, at in lines.items()
        if name not in near
    ]
    narrow = axes.figure.bbox.width / axes.figure.dpi < INCHES["double"]
    return list(near), ("\n" if narrow else ", ").join(far)


def line_legend(figure: Figure, names: Sequence[str], meanings: Mapping[str, str]) -> None:
    """Below the panels, what the reference lines are."""
    from matplotlib.lines import Line2D

    wanted = list(dict.fromkeys(names))
    columns = len(wanted) if figure.get_figwidth() >= INCHES["double"] else 1
    if wanted:
        handles = [
            Line2D([], [], color=FAINT, linewidth=0.9, linestyle=REFERENCE_DASHES.get(name, ":")) for name in wanted
        ]
        figure.legend(handles, [meanings.get(name, name) for name in wanted], loc="outside lower right", ncols=columns)


def model_legend(
    figure: Figure,
    labels: Sequence[str],
    styles: Mapping[str, Style],
    names: Mapping[str, str],
    *,
    columns: int,
    lines: bool = True,
) -> None:
    """Below the panels, each model's marker, with its line where there are `lines`."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D(
            [],
            [],
            color=styles[label].colour,
            linestyle=line_dash(styles[label]) if lines else "none",
            marker=marker_of(styles[label]),
            markersize=4.5,
            markeredgewidth=0.3,
        )
        for label in labels
    ]
    figure.legend(handles, [names[label] for label in labels], loc="outside lower left", ncols=columns)


def line_dash(style: Style) -> Any:
    """A style's dash as matplotlib takes it."""
    return (0, style.dash) if style.dash else "-"


def bar_rows(
    axes: Axes, labels: Sequence[str], values: Points, styles: Mapping[str, Style], names: Mapping[str, str] | None
) -> None:
    """As `interval_rows`, with a bar from 0 to each value."""
    for row, label in enumerate(labels):
        if values.known[row]:
            axes.barh(
                row, values.value[row], height=0.72, color=styles[label].colour, alpha=0.28, linewidth=0, zorder=2
            )
    interval_rows(axes, labels, values, styles, names)
    axes.axvline(0, color=FAINT, linewidth=0.6)


def dumbbell_rows(
    axes: Axes,
    labels: Sequence[str],
    before: Points,
    after: Points,
    styles: Mapping[str, Style],
    names: Mapping[str, str] | None,
) -> None:
    """A row for each label: a hollow circle for the one value, the label's own marker for the other, joined."""
    for row, label in enumerate(labels):
        if not (before.known[row] and after.known[row]):
            axes.text(0.01, row, "–", transform=axes.get_yaxis_transform(), va="center", color=FAINT)
            continue
        colour = styles[label].colour
        axes.plot([before.value[row], after.value[row]], [row, row], color=colour, linewidth=1.2, zorder=2)
        axes.plot(
            [before.value[row]],
            [row],
            marker="o",
            markersize=4.2,
            markerfacecolor="white",
            markeredgecolor=colour,
            markeredgewidth=0.9,
            zorder=3,
            clip_on=False,
        )
        dot(axes, after.value[row], row, styles[label])
    name_rows(axes, labels, names)
    axes.xaxis.grid(True)


def signed(value: float, digits: int = 1) -> str:
    """ "+1.2", "−0.4", "0.0", "–" for undefined."""
    return number(value, digits, sign=True).replace("-", "−")


def percent(value: float) -> str:
    """ "43", "–" for undefined."""
    return "–" if np.isnan(value) else f"{100 * value:.0f}"
