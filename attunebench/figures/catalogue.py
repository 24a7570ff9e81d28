"""The one list of figures: what each is called, what it needs, and the function that draws it."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from attunebench.analyses.base import Settings
from attunebench.analyses.table import Missing
from attunebench.errors import UsageError
from attunebench.figures import between, within
from attunebench.figures.drawing import Picture, drawing, settle
from attunebench.figures.source import Look, Source
from attunebench.scores.table import ScoreTable


@dataclass(frozen=True, slots=True)
class Skipped:
    """A figure that these scores cannot give, and why, in a sentence."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A figure: its name on the command line, its title, what scores must hold for it, and what draws its pictures,
    which raises Missing where the scores cannot give it."""

    name: str
    title: str
    needs: str
    draw: Callable[[Source], Iterator[Picture]]


_LABELLED = "scores that hold labels (version 1.1)"
_ENTRIES = (
    Entry("leaderboard", "Composite and Pairwise", "a model", between.leaderboard),
    Entry(
        "turn-metrics",
        "Metrics turn by turn, per mode",
        "a model",
        between.per_mode("turn-metrics", "Turn by turn", between.TURN),
    ),
    Entry(
        "post-metrics",
        "Metrics of the whole conversation, per mode",
        "a model",
        between.per_mode("post-metrics", "Whole conversation", between.POST),
    ),
    Entry(
        "draft-metrics",
        "Drafted replies, per mode",
        "drafts that a judge scored",
        between.per_mode("draft-metrics", "Drafted replies", between.DRAFT),
    ),
    Entry("top-three", "First three in each metric", "two models", between.top_three),
    Entry("profiles", "Profile of each model", "a model", between.profiles),
    Entry("mode-differences", "Differences between modes", "two modes of a model", between.mode_differences),
    Entry("mode-ranks", "Ranks in each mode", "two modes of a model", between.mode_ranks),
    Entry("win-rates", "Win rates between models", "two models", between.win_rates),
    Entry(
        "question-heatmap", "Accuracy by question", "scores that hold answers (version 1.1)", within.question_heatmap
    ),
    Entry("branch-errors", "Four Branch errors", "predicted branch scores", within.branch_errors),
    Entry(
        "conversation-wide",
        "Answers about the whole conversation",
        "answers about the conversation",
        within.conversation_wide,
    ),
    Entry("perspective-gap", "Perspective gap", "both binary blocks", within.perspective_gap),
    Entry("turn-drift", "Drift over a conversation", "conversations of three turns", within.turn_drift),
    Entry("diagnosis-groups", "Groups of self-reported diagnoses", _LABELLED, within.diagnosis_groups),
    Entry("distributions", "Distributions over conversations", "a model", within.distributions),
    Entry("difficulty", "Difficulty of conversations", "a model", within.difficulty),
    Entry("cost", "Composite against cost", "results that state their cost, time or tokens", within.cost),
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
    source = Source(study, replace(settings or Settings(), metrics=()), look or Look())
    pictures: list[Picture] = []
    skipped: list[Skipped] = []
    for one in wanted:
        made = _pictures(one, source)
        if isinstance(made, Skipped):
            skipped.append(made)
        else:
            pictures += made
    return pictures, skipped


def _pictures(one: Entry, source: Source) -> list[Picture] | Skipped:
    try:
        with drawing():
            made = list(one.draw(source))
            for picture in made:
                settle(picture.figure)
            return made
    except Missing as missing:
        return Skipped(one.name, str(missing))


def require_matplotlib() -> None:
    """UsageError that names the extra where matplotlib is not installed."""
    try:
        importlib.import_module("matplotlib")
    except ImportError:
        raise UsageError('Figures need matplotlib: pip install ".[analyses]" in the checkout of attunebench.') from None
