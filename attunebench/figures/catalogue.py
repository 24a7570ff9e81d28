"""Draws the figures of the list, or says why these scores cannot give one.

A function of one of these modules, named as the figure, gives its sheets or heat maps; it raises Missing where the
scores cannot give them.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from attunebench.analyses.base import Settings
from attunebench.analyses.table import Analysis, Missing
from attunebench.analyses.verdicts import sample_text
from attunebench.errors import UsageError
from attunebench.figures import between, people, within
from attunebench.figures.drawing import compose, drawing, settle
from attunebench.figures.heat import heat_map
from attunebench.figures.sheets import FIGURES, Entry, HeatMap, Page, Sheet
from attunebench.figures.source import Look, Source, Styled
from attunebench.scores.table import ScoreTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDE = "Drawn two columns wide to keep its texts readable."


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure that was drawn. `id` is its file name without an ending; `caption` is in sentences, of 60 words at most,
    and `methods` has what it has no room for."""

    id: str
    title: str
    figure: Figure
    caption: tuple[str, ...]
    methods: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """A figure that these scores cannot give, and why, in a sentence."""

    name: str
    reason: str


def entry(name: str) -> Entry:
    """The entry of a name; UsageError names the nearest ones where there is none."""
    found = FIGURES.get(name.strip().lower().replace("_", "-"))
    if found is not None:
        return found
    near = difflib.get_close_matches(name.strip().lower(), FIGURES, n=3, cutoff=0.5)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(FIGURES)}."
    raise UsageError(f"There is no figure {name!r}. {hint}")


def draw(
    study: ScoreTable, settings: Settings | None = None, look: Look | None = None, only: Iterable[str] = ()
) -> tuple[list[Picture], list[Skipped]]:
    """Draw all figures, or those named, of the study; and say of those that it cannot give why not.

    Needs matplotlib: UsageError without it. `settings.mode` None draws each mode where a figure is of one mode each,
    and the primary mode elsewhere.
    """
    require_matplotlib()
    source = Source(study, replace(settings or Settings(), metrics=()), look or Look())
    pictures: list[Picture] = []
    skipped: list[Skipped] = []
    for one in [entry(name) for name in only] or FIGURES.values():
        made = _pictures(source, one)
        if isinstance(made, Skipped):
            skipped.append(made)
        else:
            pictures += made
    return pictures, skipped


def _pictures(source: Source, one: Entry) -> list[Picture] | Skipped:
    name = one.name.replace("-", "_")
    sheets = next(getattr(module, name) for module in (between, within, people) if hasattr(module, name))
    try:
        with drawing():
            return [_picture(source, one, sheet) for sheet in sheets(source)]
    except Missing as missing:
        return Skipped(one.name, str(missing))


def _picture(source: Source, one: Entry, sheet: Sheet | HeatMap) -> Picture:
    of = f"{source.mode} mode" if sheet.of is None else sheet.of
    title = ", ".join(filter(None, (one.title, of)))
    made = source.analysis(one.analysis) if one.analysis else Analysis()
    level = f"{100 * source.settings.level:g} % bootstrap intervals."
    sample = sample_text(source.models()) if sheet.sample is None else sheet.sample
    return picture(source, one, sheet, title, made, f"{sample}; {level}")


def picture(source: Styled, one: Entry, sheet: Sheet | HeatMap, title: str, made: Analysis, sample: str) -> Picture:
    """The figure of a sheet, with what its caption and its methods say."""
    if isinstance(sheet, HeatMap):
        figure, labels = heat_map(source, title, sheet)
    else:
        figure, labels = compose(source, title, sheet.panels, Page(**{**one.page, **sheet.page}))
    settle(figure)
    note = _WIDE if figure.get_figwidth() > source.look.inches else ""
    more = (note, one.details, *(table.caption for table in sheet.tables), *sheet.notes, made.shows, made.cannot)
    methods = (*filter(None, more), *source.shortened(labels))
    return Picture(sheet.id or one.name, title, figure, (one.lead, sample), methods)


def require_matplotlib() -> None:
    """UsageError that names the extra where matplotlib is not installed."""
    try:
        importlib.import_module("matplotlib")
    except ImportError:
        raise UsageError('Figures need matplotlib: pip install ".[analyses]" in the checkout of attunebench.') from None
