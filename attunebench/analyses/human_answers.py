"""People who answered the same questions as models: result files of the provider `human`, person by person.

A person is an annotator's id in place of a model's name. Whoever answers about their own conversation is marked as a
retest: they repeat their own labels rather than read somebody else.
"""

from __future__ import annotations

import numpy as np

from attunebench.analyses import base, verdicts
from attunebench.analyses.base import Subject, label_of, value_of
from attunebench.analyses.sampling import CORRECTIONS, Sampling, mean_over_models, plain_correction
from attunebench.analyses.table import Analysis, Cell, Chart, Drill, Missing, Table, column, counts, known, table
from attunebench.comparison.pairing import Marks
from attunebench.scores.table import Group, ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.multiple import adjust

METRICS = ("pairwise_accuracy", "binary_hp_accuracy", "binary_om_accuracy", "emotion_va", "composite")
RETEST = "retest"
_SHOWN_BY_CONVERSATION = ("pairwise_accuracy", "binary_hp_accuracy")


def analyse(subject: Subject) -> Analysis:
    """Per annotator, and per annotator and conversation, against the best and the average model there."""
    everybody = [group for group in subject.study.groups if group.kind == "human"]
    # A mode says what a model was told, and people need none: those of the mode at hand, else all.
    people = [group for group in everybody if group.mode == base.mode_of(subject)] or everybody
    if not people:
        raise Missing("No person answered: results with the provider `human` are scored like those of models.")
    answered = subject.study.with_groups(people).scored().any(axis=1)
    study = subject.study.with_conversations([subject.study.ids[row] for row in np.flatnonzero(answered)])
    persons = study.with_groups(people)
    models = study.with_groups([group for group in base.models_of(subject).groups if group.kind != "human"])
    metrics = list(base.metrics_of(persons, subject.settings, METRICS))
    pictured = [metric_id for metric_id in metrics if metric_id in _SHOWN_BY_CONVERSATION] or metrics[:1]
    retests = _retests(persons)
    by_person = _by_person(persons, models, metrics, retests, Sampling.of(study, subject.settings))
    return Analysis(
        tables=(by_person, *(_by_conversation(persons, models, metric_id, retests) for metric_id in pictured)),
        shows=_shows(by_person, persons, models, subject),
        cannot="A few annotators on a few conversations are no sample of people. The best model of a conversation is "
        "chosen after the fact and scores higher than any one model does: it is a hard opponent. A retest says how "
        "stable a person's own labels are, not how well one person reads another.",
    )


def _retests(persons: ScoreTable) -> Marks:
    """Which answers are of somebody about their own conversation: (conversations, people)."""
    owners = np.array([(persons.participant(one) or "").strip().casefold() for one in persons.ids])
    names = np.array([group.model.strip().casefold() for group in persons.groups])
    stated = np.array([_states_retest(persons, group) for group in persons.groups])
    return np.asarray((owners[:, None] == names) | stated)


def _states_retest(study: ScoreTable, group: Group) -> bool:
    """Whether all results of the group were made with a parameter `retest` that is true."""
    for entry in study.metadata[group.source].get("settings") or ():
        if (entry.get("provider"), entry.get("em_model"), entry.get("mode")) == group.key:
            variants = entry.get("variants") or ()
            return bool(variants) and all((v.get("parameters") or {}).get("retest") is True for v in variants)
    return False


def _best(models: ScoreTable, metric_id: str) -> Floats:
    """The best model's value in each conversation, chosen in each anew; NaN without any."""
    sign = 1.0 if base.better(metric_id) else -1.0
    best = np.max(np.nan_to_num(sign * models.values(metric_id), nan=-np.inf), axis=1, initial=-np.inf)
    return np.asarray(np.where(np.isinf(best), np.nan, sign * best))


def _against(persons: ScoreTable, models: ScoreTable, metric_id: str, sampling: Sampling) -> list[list[Cell]]:
    """A cell per person: their mean, the best and the average model's, and the person minus each of them."""
    values = persons.values(metric_id)
    opponents = {"best": _best(models, metric_id), "average": mean_over_models(models.values(metric_id))}
    sides = {name: np.where(np.isnan(values), np.nan, other[:, None]) for name, other in opponents.items()}
    tests = [
        sampling.tests(f"human-answers {metric_id} {name}", values, side, family=2 * values.shape[1])
        for name, side in sides.items()
    ]
    corrected = adjust(np.stack([one.p for one in tests]), plain_correction(sampling.settings))
    return [
        sampling.cells(values, [base.drill_to(group, metric_id) for group in persons.groups], of=metric_id),
        *(sampling.cells(side, flag=False) for side in sides.values()),
        *(
            sampling.difference_cells(one, p, values, side)
            for one, p, side in zip(tests, corrected, sides.values(), strict=True)
        ),
    ]


def _by_person(
    persons: ScoreTable, models: ScoreTable, metrics: list[str], retests: Marks, sampling: Sampling
) -> Table:
    rows = list[tuple[Cell | str, ...]]()
    for metric_id in metrics:
        answered = ~np.isnan(persons.values(metric_id)).T
        marks = [_mark(retest[row]) for retest, row in zip(retests.T, answered, strict=True)]
        names = [Cell(label, mark=mark) for label, mark in zip(persons.labels, marks, strict=True)]
        columns = _against(persons, models, metric_id, sampling)
        rows += zip(names, [label_of(metric_id)] * len(names), *columns, strict=True)
    annotators, labels, person, best, average, minus_best, minus_average = zip(*rows, strict=True)
    family = f"({CORRECTIONS[plain_correction(sampling.settings)]}) over the {2 * len(persons.groups)} differences"
    return table(
        "people",
        "People and models on the same conversations",
        column("annotator", annotators, unit="text"),
        column("metric", labels, unit="text"),
        counts("n", [cell.n for cell in person], "conversations"),
        column("person", person, meaning="The person's mean.", better=True),
        column("best", best, "best model each", meaning="Mean of the best model of each conversation.", better=True),
        column("minus_best", minus_best, "person − best", meaning="Paired difference to that."),
        column("average", average, "average model", meaning="Mean over the models of a conversation.", better=True),
        column("minus_average", minus_average, "person − average", meaning="Paired difference to that."),
        caption=f"{verdicts.sample_text(persons)}, {verdicts.counted(len(models.groups), 'model')}. “{RETEST}”: about "
        f"the person's own conversation. {verdicts.intervals_text(sampling.settings)}; p by sign-flip permutation, "
        f"corrected {family} of a metric.",
        chart=Chart("dumbbells", "annotator", ("person", "best"), "People against the best model", "score"),
    )


def _mark(retest: Marks) -> str:
    return "" if not retest.any() else RETEST if retest.all() else f"{RETEST} in {retest.sum()}"


def _by_conversation(persons: ScoreTable, models: ScoreTable, metric_id: str, retests: Marks) -> Table:
    values, others, best = persons.values(metric_id), models.values(metric_id), _best(models, metric_id)
    conversations, annotators, own, who, gaps = list[Cell](), list[Cell](), list[Cell](), list[str](), list[Cell]()
    places = np.argwhere(~np.isnan(values))
    for row, i in places:
        drill = Drill(persons.groups[i].key, metric_id, conversations=(persons.ids[row],))
        holders = [models.labels[j] for j in np.flatnonzero(others[row] == best[row])]
        conversations.append(Cell(persons.ids[row], drill=drill))
        annotators.append(Cell(persons.labels[i], mark=RETEST if retests[row, i] else ""))
        own.append(Cell(float(values[row, i]), drill=drill))
        who.append(f"{len(holders)} models" if len(holders) > 1 else "".join(holders) or "–")
        gaps.append(Cell(known(values[row, i] - best[row]), small=True))
    unit, digits = base.unit_of(metric_id), base.digits_of(metric_id)
    return table(
        f"conversations_{metric_id}",
        f"{label_of(metric_id)}, conversation by conversation",
        column("conversation", conversations, unit="text"),
        column("annotator", annotators, unit="text"),
        column("person", own, "", unit, "The person's value.", better=True, digits=digits),
        column("best", best[places[:, 0]], "best model", unit, "The best model's value.", better=True, digits=digits),
        column("who", who, "which", "text", "The model that has it, or how many share it."),
        column("difference", gaps, "", unit, "Person minus best model.", digits=digits),
        caption="One conversation each, so without interval; the best model is chosen in each conversation anew.",
    )


def _shows(by_person: Table, persons: ScoreTable, models: ScoreTable, subject: Subject) -> str:
    people = verdicts.counted(len(persons.groups), "person", "people")
    head = f"{people} answered {verdicts.counted(len(persons.ids), 'conversation')}."
    if not models.groups:
        return f"{head} No model was scored on the same conversations."
    label = by_person.rows[0][1].value
    rows = [row for row in by_person.rows if row[1].value == label and row[3].value is not None]
    name, _, _, own, _, difference, *_ = max(rows, key=lambda row: value_of(row[3]))
    opponent = "the best model of each conversation"
    verdict = verdicts.difference_sentence(str(name.value), opponent, str(label), difference, subject.settings)
    return f"{head} The best of them on {label} scores {verdicts.with_interval(own)}. {verdict}"
