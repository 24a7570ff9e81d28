"""The one list of analyses: what each is called and asks. Each is a module of its own, imported when it is made.

A module `attunebench/analyses/<name with underscores>.py` has `def analyse(subject: Subject) -> Analysis`.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from attunebench.analyses.base import Subject
from attunebench.analyses.table import Analysis, Missing, legend
from attunebench.analyses.verdicts import shared_people_text, small_text
from attunebench.errors import StatisticsError, UsageError


@dataclass(frozen=True, slots=True)
class Entry:
    """An analysis: its name on the command line, its title, and the question that it asks in plain words.

    `rule` says in a sentence or two how it is made. `published`: what the published study found on its 200
    conversations and eleven models, for orientation alone; "" where it gives no figure.
    """

    name: str
    title: str
    question: str
    rule: str
    published: str = ""

    @property
    def module(self) -> str:
        return f"attunebench.analyses.{self.name.replace('-', '_')}"


_ENTRIES = (
    Entry(
        "leaderboard",
        "Composite and Pairwise",
        "How much of the ranking is real?",
        "Means over the conversations that all models have, tiers from corrected pairwise tests, ranks over resamples.",
        "Composites within about 4 points; 35 of 55 pairs differ significantly, 47 of 55 on Pairwise.",
    ),
    Entry(
        "discrimination",
        "Discrimination of each metric",
        "On which metrics do models differ significantly?",
        "Pairs of models that differ significantly on each metric, raw and corrected, in that order.",
        "Preference alignment and response quality distinguish models far better than emotion labels.",
    ),
    Entry(
        "independence",
        "Independence of skills",
        "Does a model that is good at one skill tend to be good at another?",
        "Rank correlations over models between primary metrics and between four capabilities, with intervals "
        "over conversations and models, beside the reliability of each ranking; the threshold of |ρ| is fixed "
        "beforehand.",
        "Rankings largely independent.",
    ),
    Entry(
        "composite-variants",
        "Composite by other formulas",
        "Does the ranking depend on the formula of the Composite?",
        "As published; the follow-up only where something felt off; the three pillars with equal weights; the draft "
        "judge as a third equal term of evaluation quality, where drafts were judged. Values, differences and ranks "
        "beside the published formula, over the same conversations.",
        "One published figure implies that the draft judge once entered evaluation quality.",
    ),
    Entry(
        "group-tiers",
        "Group tiers",
        "Which models are in the top tier turn by turn, and which conversation-wide?",
        "Tiers on `turn_level_average` and on `conversation_wide_average`.",
        "One model alone is in the top tier of both.",
    ),
    Entry(
        "leaders",
        "Leaders per metric",
        "Which model is best on each metric, and how certain is that?",
        "The best on each metric, marked only where it differs significantly from all others.",
        "No model leads everywhere: the best in Pairwise (0.646) is the lowest in Binary HP (0.767).",
    ),
    Entry(
        "win-rates",
        "Pairwise win rates",
        "In how many conversations does one model predict preferences better than another?",
        "Share of common conversations in which one model's `pairwise_accuracy` is higher; a tie counts half.",
    ),
    Entry(
        "modes",
        "Modes",
        "Do reasons or knowledge of the person change the scores?",
        "Verbose − Default and Omniscient − Default over the conversations that a model has in both; shifts of rank.",
        "Mostly within 1 to 2 points; knowing the profile does not help; two ranks or more only for two models.",
    ),
    Entry(
        "perspective-gap",
        "Perspective gap",
        "Is a model better at what a reply did than at what the person wanted?",
        "Binary OM − Binary HP of each conversation, paired; by question and category too, and beside base rates.",
        "All 11 models better on OM, by 3.0 to 7.6 points, p < 0.001 each.",
    ),
    Entry(
        "turn-drift",
        "Turn drift",
        "Do models get worse, or better, as a conversation goes on?",
        "Thirds of a conversation (turn k of T ≥ 3 is in third ⌊3(k − 1)/T⌋), pooled, per conversation, and over the "
        "same questions only.",
        "Binary OM 86.6 % early, 83.2 % late, 9 of 11 models; Emotion VA peaks in the middle.",
    ),
    Entry(
        "affect-gap",
        "Clinical affect gap",
        "Are feelings read less well where people report a diagnosis?",
        "Groups of self-reported diagnoses; VA beside what it is made of: neutral turns, false alarms, tags, VA where "
        "something was felt.",
        "Emotion VA 0.310 without and 0.202 with any diagnosis, 11 of 11 models.",
    ),
    Entry(
        "for-whom",
        "Topics, attitudes, demographics",
        "Where is a model good for whom?",
        "Each subgroup against all other conversations, per model, corrected; small ones flagged.",
    ),
    Entry(
        "question-heatmap",
        "Agreement by question",
        "Which of the 36 questions does which model answer right?",
        "Share of right answers per question with base rates and Matthews correlation.",
    ),
    Entry(
        "risk-panel",
        "Risk panel",
        "How well are judgement, risk, safety and alarm recognised?",
        "B14, B17, B18, B20 and PW12: sensitivity and specificity with Wilson intervals, beside how rare each is.",
    ),
    Entry(
        "branch-errors",
        "Four Branch errors",
        "Which branch of emotional intelligence is predicted worst?",
        "Mean absolute error in points of the scale 1 to 7.",
        "Understanding is the hardest branch, perceiving the easiest.",
    ),
    Entry(
        "conversation-wide",
        "Questions about the whole conversation",
        "Which answers about the whole conversation are predicted?",
        "Q1 to Q3 and the follow-up; the follow-up also over only the conversations in which something felt off, "
        "where it is asked; false alarms.",
        "Two models near zero on the follow-up.",
    ),
    Entry(
        "panas-items",
        "PANAS items",
        "For which feelings is the state after the conversation predicted worst?",
        "Error and bias of each predicted item, against predicting no change.",
    ),
    Entry(
        "mood-path",
        "Mood path and recovery",
        "Does a model follow the person's mood, and recover after a misread?",
        "The person's and the predicted affect over the turns; accuracy after a misread against after a hit.",
    ),
    Entry(
        "emotion-confusion",
        "Confusion between emotions",
        "Which emotions are taken for which?",
        "The matching of `emotion_va`: which felt item was paired with which predicted one, what was missed "
        "or invented.",
    ),
    Entry(
        "distributions",
        "Distributions and variance",
        "Does the score depend more on the model or on the conversation?",
        "Quantiles over conversations; variance components of conversation, model and residual.",
        "Conversation difficulty explains more variance than the model does.",
    ),
    Entry(
        "personalisation",
        "Personalisation",
        "What does a model gain by reading this person, over base rates?",
        "Gain over the base rates of the other conversations, paired.",
    ),
    Entry(
        "human-answers",
        "Human answers",
        "How do people do at the same task?",
        "Results of provider `human`, per annotator, against the best model of each conversation; a "
        "participant's own repeat is marked as a retest.",
        "Three annotators, seven conversations: Pairwise up to 0.722 against 0.665 for the best model.",
    ),
    Entry(
        "label-sets",
        "Second label sets",
        "Does the ranking hold under other annotators' labels?",
        "The same results scored on other labels (`--other-labels`): rankings under each, and how the labels agree.",
    ),
    Entry(
        "rules",
        "Released rules",
        "What do the rules of the released scorer change in scores and ranks?",
        "The same results scored with `--rules attunebench` and `--rules released` (`-s` for both files): Composite, "
        "pillars and canonical metrics by both, the paired difference, and ranks.",
    ),
    Entry(
        "cost",
        "Cost and run time",
        "What do a model's scores cost in money and time?",
        "USD, tokens and seconds per conversation, where results state them.",
    ),
)
ANALYSES: Mapping[str, Entry] = MappingProxyType({entry.name: entry for entry in _ENTRIES})
"""Name → entry, in the order in which they are shown."""
_BY_PEOPLE = frozenset(("affect-gap", "for-whom"))
"""Always by participant, as what they compare are facts about people."""


def entry(name: str) -> Entry:
    """The entry of a name; UsageError names the nearest ones where there is none."""
    found = ANALYSES.get(name.strip().lower().replace("_", "-"))
    if found is not None:
        return found
    near = difflib.get_close_matches(name.strip().lower(), ANALYSES, n=3, cutoff=0.5)
    hint = f"Did you mean {' or '.join(near)}?" if near else "`attune-bench analyze list` names them."
    raise UsageError(f"There is no analysis {name!r}. {hint}")


def analyse(name: str, subject: Subject) -> Analysis:
    """Make one analysis. An analysis that these scores cannot give has `missing` and no table; it never raises.

    A table without a row says nothing, and is left out.
    """
    chosen = entry(name)
    about = Analysis(chosen.name, chosen.title, chosen.question)
    try:
        made: Analysis = importlib.import_module(chosen.module).analyse(subject)
    except (Missing, StatisticsError) as error:
        return replace(about, missing=str(error))
    if made.missing:
        return replace(about, missing=made.missing, warnings=made.warnings, notes=made.notes)
    tables = tuple(table for table in made.tables if table.rows)
    alike = shared_people_text(subject.study, subject.settings) if tables and chosen.name not in _BY_PEOPLE else ""
    more = (small_text(subject.settings) if tables else "", *legend(tables), alike)
    notes = tuple(dict.fromkeys((*made.notes, *filter(None, more))))
    return replace(about, shows=made.shows, cannot=made.cannot, tables=tables, warnings=made.warnings, notes=notes)
