"""Are skills independent: do models that are good at one tend to be good at another?

Rank correlations over models, with what is needed to read them: intervals over conversations and models, a threshold
that was set beforehand, and how reproducible each ranking is, since noise alone draws a correlation towards 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from attunebench.analyses import base, verdicts
from attunebench.analyses.base import Settings, Subject
from attunebench.analyses.correlated import Correlated, Pair, correlated
from attunebench.analyses.sampling import CORRECTIONS, mean_of, plain_correction
from attunebench.analyses.table import Analysis, Chart, Filled, Missing, Table, column, counts, table, words
from attunebench.conversations.groups import GROUPS
from attunebench.scores.compatibility import judges_differ
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.correlation import FEWEST_MODELS

_CAPABILITIES: Mapping[str, tuple[str, ...]] = {
    "recognition": ("emotion_f1", "emotion_va"),
    "behaviour": ("binary_om_accuracy",),
    "preference": ("pairwise_accuracy",),
    "quality": ("draft_judge",),
    "preference (HP)": ("binary_hp_accuracy",),
}
_BESIDE, _JUDGED = "preference (HP)", "quality"


def analyse(subject: Subject) -> Analysis:
    """Correlations between capabilities and between primary metrics, reliabilities, and the same in subgroups."""
    study, settings = base.models_of(subject, least=3), subject.settings
    primary = base.defined_metrics(study, base.wanted_metrics(settings, base.CANONICAL))
    skills = _capabilities(study)
    judged = _CAPABILITIES[_JUDGED] if _JUDGED in skills else ()
    warnings = verdicts.comparability(study, judged)
    if judges_differ(study, "draft_judge"):  # models with different judges have no common order
        skills.pop(_JUDGED, None)
    if len(primary) < 2 and len(skills) < 2:
        raise Missing("Fewer than two skills are defined for these results.")
    whole = correlated(study, skills, settings, "capabilities") if len(skills) > 1 else None
    labelled = {base.label_of(metric_id): values for metric_id, values in primary.items()}
    metrics = correlated(study, labelled, settings, "metrics", tested=False) if len(primary) > 1 else None
    tables = [_capability_table(whole, settings)] if whole else []
    tables += [_matrix(metrics, settings)] if metrics else []
    tables.append(_reliability([one for one in (whole, metrics) if one], settings))
    tables += _subgroups(study, settings) if whole else []
    return Analysis(
        tables=tuple(tables),
        shows=_shows(whole, settings) if whole else "Fewer than two capabilities can be compared.",
        cannot=f"{len(study.groups)} models are few for a correlation, and models of one family are not independent. "
        "A weak correlation is no proof of independence where a ranking is not reproducible; the corrected one is "
        "rough then, and can reach its bound of 1.",
        warnings=warnings,
        notes=verdicts.judges_note(study, judged if _JUDGED in skills else ()),
    )


def _capabilities(study: ScoreTable) -> dict[str, Floats]:
    """Capability → values (conversations, models), of those that are defined."""
    values = {name: mean_of([study.values(m) for m in metrics]) for name, metrics in _CAPABILITIES.items()}
    return {name: found for name, found in values.items() if not np.isnan(found).all()}


def _rho(id: str, values: Iterable[Any], label: str, meaning: str, *, better: bool | None = None) -> Filled:
    return column(id, values, label, "number", meaning, better=better, digits=2)


def _pair_columns(pairs: Sequence[Pair], settings: Settings) -> tuple[Filled, Filled, Filled]:
    limit, alpha = f"{settings.threshold:g}", f"{settings.alpha:g}"
    meaning = (
        f"independent: the whole interval lies within ±{limit}. related: it lies beyond ±{limit}, and the corrected p "
        f"is at most {alpha}. too few models: no p over so few models can be that small. undecided: otherwise."
    )
    return (
        _rho("rho", [pair.rho for pair in pairs], "ρ", "Spearman over models, of their means."),
        words("verdict", [pair.verdict for pair in pairs], f"|ρ| < {limit}?", meaning),
        _rho("corrected", [p.corrected for p in pairs], "ρ corrected", "ρ over the root of both reliabilities."),
    )


def _tests_text(settings: Settings, *, tested: bool = True) -> str:
    method = CORRECTIONS[plain_correction(settings)]
    tests = f" p by permuting models, corrected ({method}) over the pairs of the table or subgroup." if tested else ""
    return f"{verdicts.intervals_text(settings)} and of models; none under {FEWEST_MODELS} models.{tests}"


def _sample(found: Correlated) -> str:
    return f"{verdicts.sample_text(found.study)}, {verdicts.counted(len(found.study.groups), 'model')}"


def _capability_table(whole: Correlated, settings: Settings) -> Table:
    pairs = whole.pairs
    rho, verdict, corrected = _pair_columns(pairs, settings)
    first, second = ([whole.reliability[name] for name in side] for side in zip(*(p[:2] for p in pairs), strict=True))
    return table(
        "capabilities",
        "Correlations between capabilities",
        words("a", [pair.a for pair in pairs], "capability"),
        words("b", [pair.b for pair in pairs], "with"),
        counts("models", [pair.models for pair in pairs]),
        rho,
        verdict,
        _rho("reliability_a", first, "reliability", "Split-half, of the first ranking.", better=True),
        _rho("reliability_b", second, "of the other", "Split-half, of the second ranking.", better=True),
        corrected,
        caption=f"{_sample(whole)}. recognition = mean of Emotion F1 and VA, behaviour = Binary OM, preference = "
        f"Pairwise ({_BESIDE} = Binary HP beside it), quality = draft judge. Threshold {settings.threshold:g}, set "
        f"beforehand. {_tests_text(settings)}",
    )


def _matrix(metrics: Correlated, settings: Settings) -> Table:
    cells = {(pair.a, pair.b): pair.rho for pair in metrics.pairs}
    cells |= {(b, a): cell for (a, b), cell in cells.items()} | {(a, a): cell for a, cell in metrics.itself.items()}
    names = list(metrics.itself)
    return table(
        "metrics",
        "Spearman matrix of the primary metrics",
        words("metric", names),
        *(_rho(f"with_{b}", [cells[a, b] for a in names], b, "Spearman's ρ over models.") for b in names),
        caption=f"{_sample(metrics)}. {_tests_text(settings, tested=False)}",
        chart=Chart(
            "matrix", "metric", tuple(f"with_{b}" for b in names), "Rank correlations over models", "Spearman's ρ"
        ),
    )


def _reliability(parts: list[Correlated], settings: Settings) -> Table:
    halves = [(name, half, part.reliability[name]) for part in parts for name, half in part.halves.items()]
    between = [half.half for _, half, _ in halves]
    return table(
        "reliability",
        "How reproducible each ranking is",
        words("ranking", [name for name, *_ in halves], "ranking by"),
        counts("n", [half.n for _, half, _ in halves], "conversations"),
        counts("models", [half.models for _, half, _ in halves]),
        _rho("reliability", [cell for *_, cell in halves], "", "Of the ranking over all conversations.", better=True),
        _rho("half", between, "between halves", "Spearman's ρ between rankings of random halves.", better=True),
        caption=f"Split-half over 1,000 random splits of the {settings.units}, stepped up to all of them after "
        "Spearman and Brown; in brackets the central 95 % of the splits, which is no confidence interval. 1: the other "
        "half would rank the models alike; 0: a ranking of nothing but noise.",
        chart=Chart("bars", "ranking", ("reliability",), "Reliability of rankings", "split-half reliability"),
    )


def _subgroups(study: ScoreTable, settings: Settings) -> list[Table]:
    """Capability correlations within diagnosis groups and topics; nothing where no subgroup is known."""
    rows: list[tuple[str, ScoreTable, Pair]] = []
    for kind, name, ids in _members(study, settings):
        part = study.with_conversations(ids)
        skills = _capabilities(part)
        if len(skills) > 1:
            found = correlated(part, skills, settings, f"capabilities {kind} {name}")
            rows += [(f"{kind}: {name}", part, pair) for pair in found.pairs]
    if not rows:
        return []
    subgroups, parts, pairs = zip(*rows, strict=True)
    return [
        table(
            "subgroups",
            "The same within subgroups",
            words("subgroup", subgroups),
            words("pair", [f"{pair.a} – {pair.b}" for pair in pairs], "capabilities"),
            counts("n", [len(part.ids) for part in parts], "conversations"),
            counts("participants", [len(set(part.clusters.tolist())) for part in parts]),
            *_pair_columns(pairs, settings),
            caption="Diagnoses are self-reported; a conversation can be in several groups. Topics with at least "
            f"{settings.small} conversations. {_tests_text(settings)}",
        )
    ]


def _members(study: ScoreTable, settings: Settings) -> list[tuple[str, str, list[str]]]:
    """(kind, name, ids): each diagnosis group that has two conversations, and each topic that is large enough."""
    diagnoses: dict[str, list[str]] = {name: [] for name in GROUPS}
    topics: dict[str, list[str]] = {}
    for fact in filter(None, study.truths()):
        for members, names in ((diagnoses, fact["diagnosis_groups"]), (topics, fact["topics"])):
            for name in names:
                members.setdefault(name, []).append(fact["conversationId"])
    found = [("diagnosis", name, ids) for name, ids in diagnoses.items() if len(ids) > 1]
    return found + [("topic", name, ids) for name, ids in sorted(topics.items()) if len(ids) >= settings.small]


def _shows(whole: Correlated, settings: Settings) -> str:
    pairs = [pair for pair in whole.pairs if _BESIDE not in pair[:2]]
    over = f"Over {len(whole.study.groups)} models and the threshold |ρ| < {settings.threshold:g}"
    if all(pair.verdict == "too few" for pair in pairs):
        return f"{over} no claim is possible: it takes {FEWEST_MODELS} models and {settings.small} conversations."
    named: dict[str, list[str]] = {"independent": [], "related": []}
    for pair in pairs:
        named.setdefault(pair.verdict, []).append(f"{pair.a} and {pair.b} (ρ {verdicts.with_interval(pair.rho, 2)})")
    sentence = f"{over}, of {verdicts.counted(len(pairs), 'pair')} of capabilities {len(named['independent'])} are "
    sentence += f"independent by the whole interval and {len(named['related'])} related."
    if not whole.decidable:
        sentence += f" So few models cannot give a corrected p of at most {settings.alpha:g}."
    for verdict in ("related", "independent"):
        sentence += f" {verdict.capitalize()}: {verdicts.listed(named[verdict])}." if named[verdict] else ""
    reliable = {name: half.reliability for name, half in whole.halves.items() if name != _BESIDE}
    least = min(reliable, key=lambda name: np.nan_to_num(reliable[name], nan=np.inf))
    return f"{sentence} The least reproducible ranking is that by {least} ({verdicts.number(reliable[least], 2)})."
