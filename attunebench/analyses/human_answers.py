"""People who answered the same questions as models: result files of the provider `human`, person by person.

A person is an annotator's id in place of a model's name. Whoever answers about their own conversation is marked as a
retest: they repeat their own labels rather than read somebody else.
"""

from __future__ import annotations

import numpy as np

from attunebench.analyses import base, verdicts
from attunebench.analyses.base import Subject, label_of
from attunebench.analyses.sampling import CORRECTIONS, Sampling, mean_over_models, plain_correction, with_correction
from attunebench.analyses.table import Analysis, Cell, Chart, Drill, Missing, Table, column, counts, known, table, words
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.contrasts import Mask

METRICS = ("pairwise_accuracy", "binary_hp_accuracy", "binary_om_accuracy", "emotion_va", "composite")
RETEST = "retest"
_SHOWN_BY_CONVERSATION = ("pairwise_accuracy", "binary_hp_accuracy")


def analyse(subject: Subject) -> Analysis:
    """Per annotator, and per annotator and conversation, against the best and the average model there."""
    everybody = [group for group in subject.study.groups if group.kind == "human"]
    # A mode says what a model was told, and people need none: those of the mode at hand, else all.
    people = [group for group in everybody if group.mode == base.mode_of(subject)] or everybody
    if not people:
        raise Missing("These scores contain no human answers (results with the provider `human`).")
    answered = subject.study.with_groups(people).scored().any(axis=1)
    study = subject.study.with_conversations([subject.study.ids[row] for row in np.flatnonzero(answered)])
    persons = study.with_groups(people)
    models = study.with_groups([group for group in base.models_of(subject).groups if group.kind != "human"])
    metrics = list(base.metrics_of(persons, subject.settings, METRICS))
    pictured = [metric_id for metric_id in metrics if metric_id in _SHOWN_BY_CONVERSATION] or metrics[:1]
    retests = _retests(persons)
    by_person, shows = _by_person(persons, models, metrics, retests, Sampling.of(study, subject.settings))
    head = f"{verdicts.counted(len(people), 'person', 'people')} answered "
    return Analysis(
        tables=(by_person, *(_by_conversation(persons, models, metric_id, retests) for metric_id in pictured)),
        shows=f"{head}{verdicts.counted(len(persons.ids), 'conversation')}. {shows}",
    )


def _retests(persons: ScoreTable) -> Mask:
    """Which answers are of somebody about their own conversation: (conversations, people).

    Also where all results of a person were made with a parameter `retest` that is true.
    """
    owners = np.array([(persons.participant(one) or "").strip().casefold() for one in persons.ids])
    names = np.array([group.model.strip().casefold() for group in persons.groups])
    variants = [base.variants_of(persons, group) for group in persons.groups]
    stated = [bool(of) and all((v.get("parameters") or {}).get("retest") is True for v in of) for of in variants]
    return np.asarray((owners[:, None] == names) | np.array(stated))


def _best(models: ScoreTable, metric_id: str) -> Floats:
    """The best model's value in each conversation, chosen in each anew; NaN without any."""
    sign = 1.0 if base.better(metric_id) else -1.0
    best = np.max(np.nan_to_num(sign * models.values(metric_id), nan=-np.inf), axis=1, initial=-np.inf)
    return np.asarray(np.where(np.isinf(best), np.nan, sign * best))


def _by_person(
    persons: ScoreTable, models: ScoreTable, metrics: list[str], retests: Mask, sampling: Sampling
) -> tuple[Table, str]:
    """A row for each metric and person, and what the first metric shows about the best of them."""
    settings, width = sampling.settings, len(persons.groups)
    own, best, average, minus_best, minus_average, names = (list[Cell]() for _ in range(6))
    for metric_id in metrics:
        values, differences = persons.values(metric_id), list[Cell]()
        opponents = {"best": _best(models, metric_id), "average": mean_over_models(models.values(metric_id))}
        for (name, other), means in zip(opponents.items(), (best, average), strict=True):
            side = np.where(np.isnan(values), np.nan, other[:, None])
            tests = sampling.tests(f"human-answers {metric_id} {name}", values, side, family=2 * width)
            differences += sampling.difference_cells(tests, np.full(width, np.nan), values, side)
            means += sampling.cells(side, flag=False)
        differences = with_correction(differences, settings)
        minus_best, minus_average = minus_best + differences[:width], minus_average + differences[width:]
        own += sampling.cells(values, [base.drill_to(group, metric_id) for group in persons.groups], of=metric_id)
        for label, retest, answered in zip(persons.labels, retests.T, ~np.isnan(values.T), strict=True):
            count = retest[answered].sum()
            mark = "" if not count else RETEST if count == answered.sum() else f"{RETEST} in {count}"
            names.append(Cell(label, mark=mark))
    made = table(
        "people",
        "People and models on the same conversations",
        words("annotator", names),
        words("metric", [label_of(metric_id) for metric_id in metrics for _ in range(width)]),
        counts("n", [cell.n for cell in own], "conversations"),
        column("person", own, meaning="The person's mean.", better=True),
        column("best", best, "best model", meaning="Mean of the best model of each conversation.", better=True),
        column("minus_best", minus_best, "person − best", meaning="Paired difference from the best model."),
        column("average", average, "average model", meaning="Mean over the models of a conversation.", better=True),
        column("minus_average", minus_average, "person − average", meaning="Paired difference from the average model."),
        caption=f"{verdicts.sample_text(persons)}, {verdicts.counted(len(models.groups), 'model')}. “{RETEST}”: the "
        f"person labelled their own conversation again. p by sign-flip "
        f"permutation, corrected ({CORRECTIONS[plain_correction(settings)]}) over the {2 * width} differences of a "
        "metric.",
        chart=Chart(
            *("dumbbells", "annotator", ("person", "best", "average"), "People and models", "mean"),
            across="metric",
            roles={"average": "reference"},
        ),
    )
    if not models.groups:
        return made, "No model has scores on these conversations."
    label, first = label_of(metrics[0]), base.best_first(own[:width])[0]
    who, opponent = persons.labels[first], "the best model of each conversation"
    verdict = verdicts.difference_sentence(who, opponent, label, minus_best[first], settings)
    return made, f"The best annotator on {label} scores {verdicts.with_interval(own[first])}. {verdict}"


def _by_conversation(persons: ScoreTable, models: ScoreTable, metric_id: str, retests: Mask) -> Table:
    values, others, best = persons.values(metric_id), models.values(metric_id), _best(models, metric_id)
    places = [(int(row), int(i)) for row, i in np.argwhere(~np.isnan(values))]
    drills = [Drill(persons.groups[i].key, metric_id, conversations=(persons.ids[row],)) for row, i in places]
    holders = [[models.labels[j] for j in np.flatnonzero(others[row] == best[row])] for row, _ in places]
    gaps = [Cell(known(values[row, i] - best[row]), small=True) for row, i in places]
    ids = [Cell(drill.conversations[0], drill=drill) for drill in drills if drill.conversations]
    own = [Cell(float(values[place]), drill=drill) for place, drill in zip(places, drills, strict=True)]
    unit, digits = base.unit_of(metric_id), base.digits_of(metric_id)
    return table(
        f"conversations_{metric_id}",
        f"{label_of(metric_id)}, conversation by conversation",
        words("conversation", ids),
        words("annotator", [Cell(persons.labels[i], mark=RETEST if retests[row, i] else "") for row, i in places]),
        column("person", own, "", unit, "The person's value.", better=True, digits=digits),
        column("best", [best[row] for row, _ in places], "best model", unit, "", better=True, digits=digits),
        words("who", [f"{len(of)} models" if len(of) > 1 else "".join(of) or "–" for of in holders], "which"),
        column("difference", gaps, "", unit, "Person minus best model.", digits=digits),
        caption="Each value is from one conversation and has no interval. The best model is chosen per conversation.",
    )
