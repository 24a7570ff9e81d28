"""The one list of figures: what each is called, what it needs, and the function that draws it."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from attunebench.analyses.base import Settings
from attunebench.errors import UsageError
from attunebench.figures.model import LackingError, Look, Picture, Skipped
from attunebench.figures.source import Source
from attunebench.scores.table import ScoreTable


@dataclass(frozen=True, slots=True)
class Entry:
    """A figure: its name on the command line, its title, what scores must hold for it, and where it is drawn."""

    name: str
    title: str
    needs: str
    module: str

    def draw(self, source: Source) -> Sequence[Picture]:
        """The pictures of this figure. `LackingError` where the scores cannot give it."""
        module = importlib.import_module(f"attunebench.figures.{self.module}")
        drawer: Callable[[Source], Sequence[Picture]] = getattr(module, self.name.replace("-", "_"))
        return drawer(source)


_ENTRIES = (
    Entry("leaderboard", "Composite and Pairwise", "a model", "between"),
    Entry("turn-metrics", "Metrics turn by turn, per mode", "a model", "between"),
    Entry("post-metrics", "Metrics of the whole conversation, per mode", "a model", "between"),
    Entry("draft-metrics", "Drafted replies, per mode", "drafts that a judge scored", "between"),
    Entry("top-three", "First three in each metric", "two models", "between"),
    Entry("profiles", "Profile of each model", "a model", "between"),
    Entry("mode-differences", "Differences between modes", "two modes of a model", "between"),
    Entry("mode-ranks", "Ranks in each mode", "two modes of a model", "between"),
    Entry("win-rates", "Win rates between models", "two models", "between"),
    Entry("question-heatmap", "Accuracy by question", "scores that hold answers (version 1.1)", "within"),
    Entry("branch-errors", "Four Branch errors", "predicted branch scores", "within"),
    Entry("conversation-wide", "Answers about the whole conversation", "answers about the conversation", "within"),
    Entry("perspective-gap", "Perspective gap", "both binary blocks", "within"),
    Entry("turn-drift", "Drift over a conversation", "conversations of three turns", "within"),
    Entry("diagnosis-groups", "Groups of self-reported diagnoses", "scores that hold labels (version 1.1)", "within"),
    Entry("distributions", "Distributions over conversations", "a model", "within"),
    Entry("difficulty", "Difficulty of conversations", "a model", "within"),
    Entry("cost", "Composite against cost", "results that state their cost, time or tokens", "within"),
)
FIGURES: Mapping[str, Entry] = MappingProxyType({entry.name: entry for entry in _ENTRIES})
"""Name → entry, in the order in which they are drawn."""


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
    wanted = [entry(name) for name in only] or list(FIGURES.values())
    source = Source(study, settings or Settings(), look or Look())
    pictures: list[Picture] = []
    skipped: list[Skipped] = []
    for one in wanted:
        made = _drawn(one, source)
        if isinstance(made, Skipped):
            skipped.append(made)
        else:
            pictures += made
    return pictures, skipped


def _drawn(one: Entry, source: Source) -> Sequence[Picture] | Skipped:
    from attunebench.figures.canvas import drawing, settle

    try:
        with drawing():
            pictures = one.draw(source)
            for picture in pictures:
                settle(picture.figure)
            return pictures
    except LackingError as lacking:
        return Skipped(one.name, str(lacking))


def require_matplotlib() -> None:
    """UsageError that names the extra where matplotlib is not installed."""
    try:
        importlib.import_module("matplotlib")
    except ImportError:
        raise UsageError('Figures need matplotlib: pip install ".[analyses]" in the checkout of attunebench.') from None
