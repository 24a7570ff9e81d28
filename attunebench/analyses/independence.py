"""Are skills independent: do models that are good at one tend to be good at another?

Rank correlations over models, with what is needed to read them: intervals over conversations and models, a threshold
that was set beforehand, and how reproducible each ranking is, since noise alone draws a correlation towards 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from attunebench.analyses import base, verdicts
from attunebench.analyses.base import Settings, Subject
from attunebench.analyses.sampling import (
    CORRECTIONS,
    Sampling,
    beyond_reach,
    cells_of,
    claimed,
    mean_of,
    plain_correction,
)
from attunebench.analyses.table import (
    NOT_ESTIMABLE,
    Analysis,
    Cell,
    Chart,
    Filled,
    Missing,
    Table,
    column,
    counts,
    table,
    words,
)
from attunebench.conversations.groups import GROUPS
from attunebench.scores.compatibility import judges_differ
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.correlation import (
    FEWEST_MODELS,
    SplitHalf,
    correlation_matrix,
    disattenuated,
    split_half,
)
from attunebench.statistics.multiple import adjust
from attunebench.statistics.permutation import permutations_needed
from attunebench.statistics.rank_tests import least_spearman_p, spearman_p

_CAPABILITIES: Mapping[str, tuple[str, ...]] = {
    "recognition": ("emotion_f1", "emotion_va"),
    "behaviour": ("binary_om_accuracy",),
    "preference": ("pairwise_accuracy",),
    "quality": ("draft_judge",),
    "preference (HP)": ("binary_hp_accuracy",),
}
_BESIDE, _JUDGED = "preference (HP)", "quality"
Tables = Mapping[str, Floats]
"""Ranking → the values that it ranks models by, (conversations, models)."""


class Pair(NamedTuple):
    """Two rankings: their correlation over `models`, the same without the noise of both, and what follows from it."""

    a: str
    b: str
    models: int
    rho: Cell
    corrected: Cell
    verdict: str


class Correlated(NamedTuple):
    """Rankings by name, with their split-half reliabilities and their correlations pair by pair.

    `itself`: the correlation of each ranking with itself, None where it holds no difference. `decidable`: whether any
    pair could be found related, whatever the models do.
    """

    study: ScoreTable
    halves: Mapping[str, SplitHalf]
    reliability: Mapping[str, Cell]
    itself: Mapping[str, Cell]
    pairs: Sequence[Pair]
    decidable: bool

    @property
    def sample(self) -> str:
        return f"{verdicts.sample_text(self.study)}, {verdicts.counted(len(self.study.groups), 'model')}"


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
    whole = _correlated(study, skills, settings, "capabilities") if len(skills) > 1 else None
    labelled = {base.label_of(metric_id): values for metric_id, values in primary.items()}
    metrics = _correlated(study, labelled, settings, "metrics", tested=False) if len(primary) > 1 else None
    tables = [_capability_table(whole, settings)] if whole else []
    tables += [_matrix(metrics, settings)] if metrics else []
    tables.append(_reliability([one for one in (whole, metrics) if one], settings))
    tables += [_subgroups(study, settings)] if whole else []
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


# Rankings and how they correlate


def _correlated(study: ScoreTable, tables: Tables, settings: Settings, use: str, *, tested: bool = True) -> Correlated:
    """Correlate two rankings or more; `use` names the chance."""
    sampling, values, names = Sampling.of(study, settings), np.stack(list(tables.values())), list(tables)
    rng, clusters = settings.rng(f"independence {use}"), sampling.clusters
    matrix = correlation_matrix(values, sampling.resampling, rng=rng)
    halves = {n: split_half(tables[n], rng=settings.rng(f"split-half {n}"), clusters=clusters) for n in names}
    reliable, lowest, highest = np.array([(half.reliability, half.low, half.high) for half in halves.values()]).T
    small = len(study.ids) < settings.small or len(set(study.clusters.tolist())) < 2
    at = np.triu_indices(len(names), 1)
    p = least = np.full(len(at[0]), np.nan)
    if tested:
        means, rng = [sampling.estimate(one).value for one in values], settings.rng(f"independence orders {use}")
        draws = permutations_needed(len(p), settings.alpha)
        p = np.array([spearman_p(means[a], means[b], rng=rng, permutations=draws) for a, b in zip(*at, strict=True)])
        least = np.array([least_spearman_p(int(models)) for models in matrix.n[at]])
    low, high, models = matrix.low[at], matrix.high[at], matrix.n[at].tolist()
    one_order = low == high  # of the models, which all resamples repeat
    lower, upper = np.where(one_order, np.nan, np.stack([low, high]))
    corrected_p = adjust(p, plain_correction(settings))
    cells = cells_of(matrix.rho[at], lower, upper, None, small, p=p, p_corrected=corrected_p)
    rhos = [  # its n stands where it is not that of all models
        replace(cell, n=n if n < matrix.n.max() else None, mark=NOT_ESTIMABLE if alike else "")
        for cell, n, alike in zip(cells, models, one_order, strict=True)
    ]
    clean = [disattenuated(matrix.rho[a, b], reliable[a], reliable[b]) for a, b in zip(*at, strict=True)]
    beyond = beyond_reach(least, settings, together=False)
    found = [_verdict(*one, settings) for one in zip(low, high, rhos, beyond, strict=True)]
    sides = ([names[place] for place in side] for side in at)
    return Correlated(
        study,
        halves,
        dict(zip(names, cells_of(reliable, lowest, highest, small=small), strict=True)),
        dict(zip(names, cells_of(np.diag(matrix.rho)), strict=True)),
        list(map(Pair, *sides, models, rhos, cells_of(np.array(clean), small=small), found)),
        not beyond.all(),
    )


def _verdict(low: float, high: float, rho: Cell, beyond: bool, settings: Settings) -> str:
    """Only an interval that lies within ±threshold, or beyond it, decides.

    Few models can stand in the same order by chance, and every resample of them does too: to call two rankings
    related takes the corrected test as well, which very few models cannot pass.
    """
    if rho.small or np.isnan(low):
        return "too few"
    if -settings.threshold < low and high < settings.threshold:
        return "independent"
    if beyond:
        return "too few models"
    return "related" if max(low, -high) >= settings.threshold and claimed(rho, settings) else "undecided"


# Tables


def _rho(id: str, values: Iterable[Any], label: str, meaning: str, *, better: bool | None = None) -> Filled:
    return column(id, values, label, "number", meaning, better=better, digits=2)


def _pair_columns(pairs: Sequence[Pair], settings: Settings) -> tuple[Filled, Filled, Filled]:
    limit = f"{settings.threshold:g}"
    meaning = (
        f"independent: the whole interval lies within ±{limit}. related: it lies beyond ±{limit}, and the corrected p "
        f"is at most {settings.alpha:g}. too few models: no p over so few can be that small. undecided: otherwise."
    )
    return (
        _rho("rho", [pair.rho for pair in pairs], "ρ", "Spearman over models, of their means."),
        words("verdict", [pair.verdict for pair in pairs], f"|ρ| < {limit}?", meaning),
        _rho("corrected", [p.corrected for p in pairs], "ρ corrected", "ρ over the root of both reliabilities."),
    )


def _doubt(settings: Settings, *, tested: bool = True) -> str:
    method = CORRECTIONS[plain_correction(settings)]
    tests = f" p by permuting models, corrected ({method}) over the pairs of the table or subgroup." if tested else ""
    return f"{verdicts.intervals_text(settings)} and of models; none under {FEWEST_MODELS} models.{tests}"


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
        caption=f"{whole.sample}. recognition = mean of Emotion F1 and VA, behaviour = Binary OM, preference = "
        f"Pairwise ({_BESIDE} = Binary HP beside it), quality = draft judge. Threshold {settings.threshold:g}, set "
        f"beforehand. {_doubt(settings)}",
    )


def _matrix(metrics: Correlated, settings: Settings) -> Table:
    cells = {(pair.a, pair.b): pair.rho for pair in metrics.pairs}
    cells |= {(b, a): cell for (a, b), cell in cells.items()} | {(a, a): cell for a, cell in metrics.itself.items()}
    names, ids = list(metrics.itself), tuple(f"with_{name}" for name in metrics.itself)
    columns = [[cells[a, b] for a in names] for b in names]
    return table(
        "metrics",
        "Spearman matrix of the primary metrics",
        words("metric", names),
        *(_rho(*named, "Spearman's ρ over models.") for named in zip(ids, columns, names, strict=True)),
        caption=f"{metrics.sample}. {_doubt(settings, tested=False)}",
        chart=Chart("matrix", "metric", ids, "Rank correlations over models", "Spearman's ρ"),
    )


def _reliability(parts: list[Correlated], settings: Settings) -> Table:
    halves = [(name, half, part.reliability[name]) for part in parts for name, half in part.halves.items()]
    return table(
        "reliability",
        "How reproducible each ranking is",
        words("ranking", (), "ranking by"),
        counts("n", (), "conversations"),
        counts("models"),
        _rho("reliability", (), "", "Of the ranking over all conversations.", better=True),
        _rho("half", (), "between halves", "Spearman's ρ between rankings of random halves.", better=True),
        rows=[(name, half.n, half.models, reliability, half.half) for name, half, reliability in halves],
        caption=f"Split-half over 1,000 random splits of the {settings.units}, stepped up to all of them after "
        "Spearman and Brown; in brackets the central 95 % of the splits, which is no confidence interval. 1: the other "
        "half would rank the models alike; 0: a ranking of nothing but noise.",
        chart=Chart("bars", "ranking", ("reliability",), "Reliability of rankings", "split-half reliability"),
    )


def _subgroups(study: ScoreTable, settings: Settings) -> Table:
    """Capability correlations within diagnosis groups and topics; without a row where no subgroup is known."""
    rows: list[tuple[str, ScoreTable, Pair]] = []
    for kind, name, ids in _members(study, settings):
        part = study.with_conversations(ids)
        skills = _capabilities(part)
        if len(skills) > 1:
            found = _correlated(part, skills, settings, f"capabilities {kind} {name}")
            rows += [(f"{kind}: {name}", part, pair) for pair in found.pairs]
    pairs = [pair for *_, pair in rows]
    return table(
        "subgroups",
        "The same within subgroups",
        words("subgroup", [subgroup for subgroup, *_ in rows]),
        words("pair", [f"{pair.a} – {pair.b}" for pair in pairs], "capabilities"),
        counts("n", [len(part.ids) for _, part, _ in rows], "conversations"),
        counts("participants", [len(set(part.clusters.tolist())) for _, part, _ in rows]),
        *_pair_columns(pairs, settings),
        caption="Diagnoses are self-reported; a conversation can be in several groups. Topics with at least "
        f"{settings.small} conversations. {_doubt(settings)}",
    )


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
    independent, related = (
        [f"{p.a} and {p.b} (ρ {verdicts.with_interval(p.rho, 2)})" for p in pairs if p.verdict == verdict]
        for verdict in ("independent", "related")
    )
    sentence = f"{over}, of {verdicts.counted(len(pairs), 'pair')} of capabilities {len(independent)} are "
    sentence += f"independent by the whole interval and {len(related)} related."
    if not whole.decidable:
        sentence += f" So few models cannot give a corrected p of at most {settings.alpha:g}."
    sentence += f" Related: {verdicts.listed(related)}." if related else ""
    sentence += f" Independent: {verdicts.listed(independent)}." if independent else ""
    reliable = {name: half.reliability for name, half in whole.halves.items() if name != _BESIDE}
    least = min(reliable, key=lambda name: np.nan_to_num(reliable[name], nan=np.inf))
    return f"{sentence} The least reproducible ranking is that by {least} ({verdicts.number(reliable[least], 2)})."
