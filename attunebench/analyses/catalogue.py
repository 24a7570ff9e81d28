"""The one list of analyses: what each is called and asks. Each is a module of its own, imported when it is made.

A module `attunebench/analyses/<name with underscores>.py` has `def analyse(subject: Subject) -> Analysis`.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from attunebench.analyses.model import Analysis, Subject
from attunebench.errors import UsageError


@dataclass(frozen=True, slots=True)
class Entry:
    """An analysis: its name on the command line, its title, and the question that it asks in plain words."""

    name: str
    title: str
    question: str

    @property
    def module(self) -> str:
        return f"attunebench.analyses.{self.name.replace('-', '_')}"


_ENTRIES = (
    Entry("leaderboard", "Composite and Pairwise", "How much of the ranking is real?"),
    Entry("discrimination", "Discrimination of each metric", "Which metrics tell models apart?"),
    Entry(
        "independence", "Independence of skills", "Does a model that is good at one skill tend to be good at another?"
    ),
    Entry("group-tiers", "Group tiers", "Who is in the top tier turn by turn, and who over the whole talk?"),
    Entry("leaders", "Leaders per metric", "Who is best at what, and by how much is that certain?"),
    Entry(
        "win-rates", "Pairwise win rates", "In how many talks does one model foresee preferences better than another?"
    ),
    Entry("modes", "Modes", "Do reasons or knowledge of the person change the scores?"),
    Entry(
        "perspective-gap", "Perspective gap", "Is a model better at what a reply did than at what the person wanted?"
    ),
    Entry("turn-drift", "Turn drift", "Do models get worse, or better, as a talk goes on?"),
    Entry("affect-gap", "Clinical affect gap", "Are feelings read less well where a diagnosis was told?"),
    Entry("for-whom", "Topics, attitudes, demographics", "Where is a model good for whom?"),
    Entry("question-heatmap", "Agreement by question", "Which of the 36 questions does which model answer right?"),
    Entry("risk-panel", "Risk panel", "How well are judgement, risk, safety and alarm seen?"),
    Entry("branch-errors", "Four Branch errors", "Which branch of emotional intelligence is foreseen worst?"),
    Entry("conversation-wide", "Questions about the whole talk", "Which answers about the whole talk are foreseen?"),
    Entry("panas-items", "PANAS items", "For which feelings is the state after the talk foreseen worst?"),
    Entry("mood-path", "Mood path and recovery", "Does a model follow the person's mood, and recover after a misread?"),
    Entry("emotion-confusion", "Confusion between emotions", "Which emotions are taken for which?"),
    Entry("distributions", "Distributions and variance", "Does the score depend more on the model or on the talk?"),
    Entry("personalisation", "Personalisation", "What does a model gain by reading this person, over base rates?"),
    Entry("human-answers", "Human answers", "How do people do at the same task?"),
    Entry("label-sets", "Second label sets", "Does the ranking hold under other annotators' labels?"),
    Entry("cost", "Cost and run time", "What do a model's scores cost in money and time?"),
)
ANALYSES: Mapping[str, Entry] = MappingProxyType({entry.name: entry for entry in _ENTRIES})
"""Name → entry, in the order in which they are shown."""


def entry(name: str) -> Entry:
    """The entry of a name; UsageError names the nearest ones where there is none."""
    found = ANALYSES.get(name.strip().lower().replace("_", "-"))
    if found is not None:
        return found
    near = difflib.get_close_matches(name.strip().lower(), ANALYSES, n=3, cutoff=0.5)
    hint = f"Did you mean {' or '.join(near)}?" if near else "`attune-bench analyze list` names them."
    raise UsageError(f"There is no analysis {name!r}. {hint}")


def analyse(name: str, subject: Subject) -> Analysis:
    """Make one analysis. An analysis that these scores cannot give has `missing` and no table; it never raises."""
    made: Analysis = importlib.import_module(entry(name).module).analyse(subject)
    return made
