"""Are skills independent: do models that are good at one tend to be good at another?

Rank correlations over models, with what is needed to read them: intervals over conversations and models, a threshold
that was set beforehand, and how reproducible each ranking is, since noise alone draws a correlation towards 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np

from attunebench.analyses import common
from attunebench.analyses.correlated import Correlated, correlated
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Settings, Subject, Table, known, text
from attunebench.conversations.groups import GROUPS
from attunebench.scores.compatibility import judges_differ
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.correlation import FEWEST_MODELS
from attunebench.statistics.rank_tests import least_spearman_p
from attunebench.statistics.reliability import SplitHalf

_CAPABILITIES: Mapping[str, tuple[str, ...]] = {
    "recognition": ("emotion_f1", "emotion_va"),
    "behaviour": ("binary_om_accuracy",),
    "preference": ("pairwise_accuracy",),
    "quality": ("draft_judge",),
    "preference (HP)": ("binary_hp_accuracy",),
}
_BESIDE = "preference (HP)"
_JUDGED = "quality"


def analyse(subject: Subject) -> Analysis:
    """Correlations between capabilities and between primary metrics, reliabilities, and the same in subgroups."""
    begun = common.begun("independence")
    study, settings = common.models_of(subject), subject.settings
    if len(study.groups) < 3:
        return replace(begun, missing="A correlation over models needs three of them; fewer were scored here.")
    primary = common.defined_metrics(study, common.wanted_metrics(settings, common.CANONICAL))
    skills = _capabilities(study)
    warnings = common.comparability(study, ("draft_judge",) if _JUDGED in skills else ())
    if judges_differ(study, "draft_judge"):  # an order of models by different judges is none
        skills.pop(_JUDGED, None)
    if len(primary) < 2 and len(skills) < 2:
        return replace(begun, missing="Fewer than two skills are defined for these results.")
    tables: list[Table] = []
    whole = None
    if len(skills) > 1:
        whole = correlated(study, skills, settings, "capabilities")
        tables.append(_pairs(whole, settings))
    if len(primary) > 1:
        labelled = {common.label_of(m): table for m, table in primary.items()}
        metrics = correlated(study, labelled, settings, "metrics", tested=False)
        tables += [_matrix(metrics, settings), _reliability([one for one in (whole, metrics) if one], settings)]
    elif whole:
        tables.append(_reliability([whole], settings))
    if whole:
        tables += _subgroups(study, settings)
    return replace(
        begun,
        tables=tuple(tables),
        shows=_shows(whole, len(study.groups), settings) if whole else "Fewer than two capabilities can be compared.",
        cannot=f"{len(study.groups)} models are few for a correlation, and models of one family are no independent "
        "draws. A weak correlation is no proof of independence where a ranking is not reproducible; the corrected one "
        "is rough then, and can reach its bound of 1.",
        warnings=warnings,
        notes=(common.small_text(settings), *((common.judges_text(study),) if _JUDGED in skills else ())),
    )


def _capabilities(study: ScoreTable) -> dict[str, Floats]:
    """Capability → values (conversations, models), of those that are defined."""
    found = {}
    for name, metric_ids in _CAPABILITIES.items():
        table = common.mean_of([study.values(metric_id) for metric_id in metric_ids])
        if not np.isnan(table).all():
            found[name] = table
    return found


def _pairs(whole: Correlated, settings: Settings) -> Table:
    rows = []
    for a, b in combinations(range(len(whole.names)), 2):
        rows.append(
            (
                text(whole.names[a]),
                text(whole.names[b]),
                Cell(int(whole.matrix.n[a, b])),
                whole.cell(a, b),
                text(whole.verdict(a, b, settings)),
                _reliable(whole.halves[a], whole.small),
                _reliable(whole.halves[b], whole.small),
                Cell(known(whole.corrected(a, b)), small=whole.small),
            )
        )
    return Table(
        "capabilities",
        "Correlations between capabilities",
        (
            Column("a", "capability", "text"),
            Column("b", "with", "text"),
            Column("models", "models", "count"),
            Column("rho", "ρ", "number", "Spearman over models, of their means.", None, 2),
            _verdict_column(settings),
            Column("reliability_a", "reliability", "number", "Split-half, of the first ranking.", True, 2),
            Column("reliability_b", "of the other", "number", "Split-half, of the second ranking.", True, 2),
            Column("corrected", "ρ corrected", "number", "ρ over the root of both reliabilities, at most 1.", None, 2),
        ),
        tuple(rows),
        caption=f"{_sample(whole)}. recognition = mean of Emotion F1 and VA, behaviour = Binary OM, preference = "
        f"Pairwise ({_BESIDE} = Binary HP beside it), quality = draft judge. Threshold {settings.threshold:g}, set "
        f"beforehand. {_intervals(settings)}",
    )


def _verdict_column(settings: Settings) -> Column:
    threshold = f"{settings.threshold:g}"
    return Column(
        "verdict",
        f"|ρ| < {threshold}?",
        "text",
        f"independent: the whole interval lies within ±{threshold}. related: it lies beyond ±{threshold}, and the "
        f"corrected p is at most {settings.alpha:g}. too few models: no p over so few models can be that small. "
        "undecided: otherwise.",
    )


def _sample(whole: Correlated) -> str:
    return (
        f"{common.counted(whole.conversations, 'conversation')} of "
        f"{common.counted(whole.participants, 'participant')}, {common.counted(int(whole.matrix.n.max()), 'model')}"
    )


def _intervals(settings: Settings, *, tested: bool = True) -> str:
    said = f"{common.intervals_text(settings)} and of models together; none under {FEWEST_MODELS} models."
    if tested:
        method = common.CORRECTIONS[common.plain_correction(settings)]
        said += f" p by permuting models, corrected ({method}) over the pairs of the table or subgroup."
    return f"{said} A ranking without any difference has no correlation."


def _reliable(half: SplitHalf, small: bool) -> Cell:
    return Cell(known(half.reliability), known(half.low), known(half.high), small=small)


def _matrix(metrics: Correlated, settings: Settings) -> Table:
    rows = tuple(
        (
            text(name),
            *(
                Cell(known(metrics.matrix.rho[a, a])) if a == b else metrics.cell(a, b)
                for b in range(len(metrics.names))
            ),
        )
        for a, name in enumerate(metrics.names)
    )
    columns = tuple(
        Column(f"with_{name}", name, "number", "Spearman's ρ over models.", None, 2) for name in metrics.names
    )
    return Table(
        "metrics",
        "Spearman matrix of the primary metrics",
        (Column("metric", "metric", "text"), *columns),
        rows,
        caption=f"{_sample(metrics)}. {_intervals(settings, tested=False)}",
        chart=Chart("matrix", "metric", tuple(c.id for c in columns), "Rank correlations over models", "Spearman's ρ"),
    )


def _reliability(parts: list[Correlated], settings: Settings) -> Table:
    rows = tuple(
        (
            text(name),
            Cell(half.n),
            Cell(half.models),
            _reliable(half, part.small),
            Cell(known(half.half)),
        )
        for part in parts
        for name, half in zip(part.names, part.halves, strict=True)
    )
    return Table(
        "reliability",
        "How reproducible each ranking is",
        (
            Column("ranking", "ranking by", "text"),
            Column("n", "conversations", "count"),
            Column("models", "models", "count"),
            Column("reliability", "reliability", "number", "Of the ranking over all conversations.", True, 2),
            Column("half", "between halves", "number", "Spearman's ρ between the rankings of random halves.", True, 2),
        ),
        rows,
        caption=f"Split-half over 1,000 random splits of the {settings.units}, stepped up to all of them after "
        "Spearman and Brown; in brackets the central 95 % of the splits, which is no confidence interval. 1: the other "
        "half would rank the models alike; 0: a ranking of nothing but noise.",
        chart=Chart("bars", "ranking", ("reliability",), "Reliability of rankings", "split-half reliability"),
    )


def _subgroups(study: ScoreTable, settings: Settings) -> list[Table]:
    """Capability correlations within diagnosis groups and topics; nothing where no subgroup is known."""
    rows = []
    for kind, name, ids in _members(study, settings):
        part = study.with_conversations(ids)
        skills = _capabilities(part)
        if len(skills) < 2:
            continue
        found = correlated(part, skills, settings, f"capabilities {kind} {name}")
        for a, b in combinations(range(len(found.names)), 2):
            rows.append(
                (
                    text(f"{kind}: {name}"),
                    text(f"{found.names[a]} – {found.names[b]}"),
                    Cell(found.conversations),
                    Cell(found.participants),
                    found.cell(a, b),
                    text(found.verdict(a, b, settings)),
                    Cell(known(found.corrected(a, b)), small=found.small),
                )
            )
    if not rows:
        return []
    return [
        Table(
            "subgroups",
            "The same within subgroups",
            (
                Column("subgroup", "subgroup", "text"),
                Column("pair", "capabilities", "text"),
                Column("n", "conversations", "count"),
                Column("participants", "participants", "count"),
                Column("rho", "ρ", "number", "Spearman over models, of their means in the subgroup.", None, 2),
                _verdict_column(settings),
                Column("corrected", "ρ corrected", "number", "For the reliability in the subgroup.", None, 2),
            ),
            tuple(rows),
            caption="Diagnoses are those that participants told of themselves; a conversation can be in several "
            f"groups. Topics with at least {settings.small} conversations. {_intervals(settings)}",
        )
    ]


def _members(study: ScoreTable, settings: Settings) -> list[tuple[str, str, list[str]]]:
    """(kind, name, ids): each diagnosis group that has two conversations, and each topic that is large enough."""
    diagnoses: dict[str, list[str]] = {name: [] for name in GROUPS}
    topics: dict[str, list[str]] = {}
    for fact in study.truths():
        if fact is not None:
            for group in fact["diagnosis_groups"]:
                diagnoses.setdefault(group, []).append(fact["conversationId"])
            for topic in fact["topics"]:
                topics.setdefault(topic, []).append(fact["conversationId"])
    found = [("diagnosis", name, ids) for name, ids in diagnoses.items() if len(ids) > 1]
    return found + [("topic", name, ids) for name, ids in sorted(topics.items()) if len(ids) >= settings.small]


def _shows(whole: Correlated, models: int, settings: Settings) -> str:
    main = [i for i, name in enumerate(whole.names) if name != _BESIDE]
    pairs = list(combinations(main, 2))
    if not pairs:
        return "Fewer than two of the four capabilities can be compared."
    verdicts = {pair: whole.verdict(*pair, settings) for pair in pairs}
    over = f"Over {models} models and the threshold |ρ| < {settings.threshold:g}"
    if all(verdict == "too few" for verdict in verdicts.values()):
        return (
            f"{over} nothing can be claimed: {FEWEST_MODELS} models and {settings.small} conversations are the least."
        )
    counts = {v: [pair for pair in pairs if verdicts[pair] == v] for v in ("independent", "related", "undecided")}
    said = (
        f"{over}, of {common.counted(len(pairs), 'pair')} of capabilities {len(counts['independent'])} are independent "
        f"with the whole interval, {len(counts['related'])} related, {len(counts['undecided'])} undecided."
    )
    if whole.beyond_reach(settings)[np.triu_indices(len(whole.names), 1)].all():
        tests = math.comb(len(whole.names), 2)
        least = min(1.0, least_spearman_p(models) * (1 if settings.correction == "bh" else tests))
        said = (
            f"{models} models cannot decide this: the smallest possible p, corrected over "
            f"{common.counted(tests, 'pair')}, is {common.number(least)}, so no two capabilities can be found related; "
            f"{len(counts['independent'])} of {common.counted(len(pairs), 'pair')} are independent: their "
            "whole interval lies within the threshold."
        )
    for verdict in ("related", "independent"):
        if counts[verdict]:
            said += f" {verdict.capitalize()}: {common.listed([_named(whole, pair) for pair in counts[verdict]])}."
    below = sum(abs(whole.matrix.rho[pair]) < settings.threshold for pair in pairs)
    said += f" By the estimate alone {below} lie below the threshold."
    return said + _least_reliable(whole, main)


def _named(whole: Correlated, pair: tuple[int, int]) -> str:
    a, b = pair
    return f"{whole.names[a]} and {whole.names[b]} (ρ {common.with_interval(whole.cell(a, b), 2)})"


def _least_reliable(whole: Correlated, main: list[int]) -> str:
    known_ = [i for i in main if not np.isnan(whole.halves[i].reliability)]
    if not known_:
        return ""
    least = min(known_, key=lambda i: whole.halves[i].reliability)
    value = common.number(whole.halves[least].reliability, 2)
    return f" The least reproducible ranking is that by {whole.names[least]} (reliability {value})."
