"""People who answered the same questions as models: result files of the provider `human`, person by person.

A person is an annotator's id in the place of a model's name. Who answers about their own talk is marked as a retest:
they repeat their own labels rather than read somebody else.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from attunebench.analyses import common
from attunebench.analyses.common import Sampling
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Drill, Subject, Table, known, text
from attunebench.scores.table import Group, ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.multiple import adjust

METRICS = ("pairwise_accuracy", "binary_hp_accuracy", "binary_om_accuracy", "emotion_va", "composite")
RETEST = "retest"
_SHOWN_BY_CONVERSATION = ("pairwise_accuracy", "binary_hp_accuracy")


def analyse(subject: Subject) -> Analysis:
    """Per annotator, and per annotator and conversation, against the best and the average model there."""
    begun = common.begun("human-answers")
    people = _people(subject)
    if not people:
        return replace(
            begun, missing="No person answered: results with the provider `human` are scored like those of models."
        )
    study = _of_people(subject, people)
    models = study.with_groups([group for group in study.groups if group.kind != "human"])
    metrics = list(common.defined_metrics(study.with_groups(people), common.wanted_metrics(subject.settings, METRICS)))
    if not metrics:
        return replace(begun, missing="The answers of people hold no metric that is defined.")
    sampling = Sampling.of(study, subject.settings)
    retests = _retests(study, people)
    per_person = _by_person(study, people, models, metrics, retests, sampling)
    tables = (per_person, *(_by_conversation(study, people, models, m, retests) for m in _pictured(metrics)))
    return replace(
        begun,
        tables=tables,
        shows=_shows(per_person, people, models, len(study.ids)),
        cannot="A few annotators on a few conversations are no sample of people. The best model of a conversation is "
        "picked after the fact, so that it stands higher than any one model does: it is a hard opponent. A retest says "
        "how steady a person's own labels are, not how well one person reads another.",
        notes=(common.small_text(subject.settings),),
    )


def _people(subject: Subject) -> list[Group]:
    """The people of the mode at hand, else those of any: a mode says what a model was told, and people need none."""
    everybody = [group for group in subject.study.groups if group.kind == "human"]
    return [group for group in everybody if group.mode == common.mode_of(subject)] or everybody


def _of_people(subject: Subject, people: list[Group]) -> ScoreTable:
    """People and models over the conversations that a person answered."""
    models = [group for group in common.models_of(subject).groups if group.kind != "human"]
    study = subject.study.with_groups([*models, *people])
    answered = np.flatnonzero(study.with_groups(people).scored().any(axis=1))
    return study.with_conversations([study.ids[row] for row in answered])


def _pictured(metrics: list[str]) -> list[str]:
    return [metric_id for metric_id in metrics if metric_id in _SHOWN_BY_CONVERSATION] or metrics[:1]


def _retests(study: ScoreTable, people: list[Group]) -> NDArray[np.bool_]:
    """Which answers are of somebody about their own talk: (conversations, people)."""
    stated = {group.key for group in people if _says_retest(study, group)}
    return np.array(
        [[group.key in stated or _same(study.participant(one), group.model) for group in people] for one in study.ids],
        dtype=bool,
    )


def _same(participant: str | None, annotator: str) -> bool:
    return participant is not None and participant.strip().casefold() == annotator.strip().casefold()


def _says_retest(study: ScoreTable, group: Group) -> bool:
    """Whether all results of the group were made with a parameter `retest` that is true."""
    for entry in study.metadata[group.source].get("settings") or ():
        if (entry.get("provider"), entry.get("em_model"), entry.get("mode")) == group.key:
            variants = entry.get("variants") or ()
            return bool(variants) and all((v.get("parameters") or {}).get("retest") is True for v in variants)
    return False


def _by_person(
    study: ScoreTable,
    people: list[Group],
    models: ScoreTable,
    metrics: list[str],
    retests: NDArray[np.bool_],
    sampling: Sampling,
) -> Table:
    rows = []
    for metric_id in metrics:
        persons = study.with_groups(people).values(metric_id)
        best, average = _best(models, metric_id), common.mean_over_models(models.values(metric_id))
        against = [np.broadcast_to(other[:, None], persons.shape) for other in (best, average)]
        means = sampling.cells(persons, [common.drill_to(group, metric_id) for group in people], of=metric_id)
        sides = [sampling.cells(np.where(np.isnan(persons), np.nan, other), flag=False) for other in against]
        differences = _differences(persons, against, metric_id, sampling)
        for i, group in enumerate(people):
            name = text(group.label, mark=_retest_mark(retests[:, i], persons[:, i]))
            rows.append(
                (
                    name,
                    text(common.label_of(metric_id)),
                    Cell(means[i].n),
                    means[i],
                    sides[0][i],
                    differences[0][i],
                    sides[1][i],
                    differences[1][i],
                )
            )
    return Table(
        "people",
        "People and models on the same conversations",
        (
            Column("annotator", "annotator", "text"),
            Column("metric", "metric", "text"),
            Column("n", "conversations", "count"),
            Column("person", "person", "number", "The person's mean.", True),
            Column("best", "best model each", "number", "Mean of the best model of each conversation.", True),
            Column("minus_best", "person − best", "number", "Paired difference to that."),
            Column("average", "average model", "number", "Mean over all models of each conversation.", True),
            Column("minus_average", "person − average", "number", "Paired difference to that."),
        ),
        tuple(rows),
        caption=f"{common.sample_text(study)}, {common.counted(len(models.groups), 'model')}. “{RETEST}”: the person "
        f"answered about their own talk. {common.intervals_text(sampling.settings)}; p by sign-flip permutation, "
        f"corrected ({common.CORRECTIONS[common.plain_correction(sampling.settings)]}) over the {2 * len(people)} "
        "differences of a metric.",
        chart=Chart("dumbbells", "annotator", ("person", "best"), "People against the best model", "score"),
    )


def _best(models: ScoreTable, metric_id: str) -> Floats:
    """The best model's value in each conversation, chosen in each anew."""
    values = models.values(metric_id)
    found = np.full(len(values), np.nan)
    some = np.asarray(~np.isnan(values).all(axis=1))
    if values.shape[1] and some.any():
        found[some] = (np.nanmax if common.better(metric_id) else np.nanmin)(values[some], axis=1)
    return found


def _differences(persons: Floats, against: list[Floats], metric_id: str, sampling: Sampling) -> list[list[Cell]]:
    """Person minus best, person minus average, corrected over both and all people."""
    tests = [
        sampling.tests(f"human-answers {metric_id} {side}", persons, other, family=2 * persons.shape[1])
        for side, other in zip(("best", "average"), against, strict=True)
    ]
    corrected = adjust(np.stack([test.p for test in tests]), common.plain_correction(sampling.settings))
    return [sampling.difference_cells(test, corrected[side], persons, against[side]) for side, test in enumerate(tests)]


def _retest_mark(retest: NDArray[np.bool_], values: Floats) -> str:
    there = retest[~np.isnan(values)]
    if not there.any():
        return ""
    return RETEST if there.all() else f"{RETEST} in {int(there.sum())}"


def _by_conversation(
    study: ScoreTable, people: list[Group], models: ScoreTable, metric_id: str, retests: NDArray[np.bool_]
) -> Table:
    persons, values = study.with_groups(people).values(metric_id), models.values(metric_id)
    best = _best(models, metric_id)
    rows = []
    for row, conversation in enumerate(study.ids):
        for i, group in enumerate(people):
            if np.isnan(persons[row, i]):
                continue
            drill = Drill(group=group.key, metric=metric_id, conversations=(conversation,))
            rows.append(
                (
                    text(conversation, drill=drill),
                    text(group.label, mark=RETEST if retests[row, i] else ""),
                    Cell(known(persons[row, i]), drill=drill),
                    Cell(known(best[row])),
                    text(_holders(models, values[row], best[row])),
                    Cell(known(persons[row, i] - best[row]), small=True),
                )
            )
    unit, digits = common.unit_of(metric_id), common.digits_of(metric_id)
    return Table(
        f"conversations_{metric_id}",
        f"{common.label_of(metric_id)}, conversation by conversation",
        (
            Column("conversation", "conversation", "text"),
            Column("annotator", "annotator", "text"),
            Column("person", "person", unit, "The person's value.", True, digits),
            Column("best", "best model", unit, "The best model's value.", True, digits),
            Column("who", "which", "text", "The model that has it, or how many share it."),
            Column("difference", "difference", unit, "Person minus best model.", None, digits),
        ),
        tuple(rows),
        caption="One conversation each, so without interval; the best model is picked in each conversation anew.",
    )


def _holders(models: ScoreTable, values: Floats, best: float) -> str:
    names = [label for label, value in zip(models.labels, values, strict=True) if value == best]
    return "–" if not names else names[0] if len(names) == 1 else f"{len(names)} models"


def _shows(table: Table, people: list[Group], models: ScoreTable, conversations: int) -> str:
    who = common.counted(len(people), "person answered", "people answered")
    said = f"{who} {common.counted(conversations, 'conversation')}."
    if not models.groups:
        return f"{said} There is no model on the same conversations to hold them against."
    metric = str(table.rows[0][1].value)
    rows = [row for row in table.rows if row[1].value == metric and row[3].value is not None]
    top = max(rows, key=lambda row: common.value_of(row[3]))
    said += (
        f" On {metric} {top[0].value} has {common.with_interval(top[3])}, the best model of each conversation "
        f"{common.number(common.value_of(top[4]))}"
    )
    doubt = ": too few conversations for a claim." if top[5].small else f" ({common.p_text(top[5])})."
    return said + doubt
