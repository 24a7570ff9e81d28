"""Are skills independent: do models that are good at one tend to be good at another?

Rank correlations over models, with what is needed to read them: intervals over conversations and models, a threshold
that was set beforehand, and how reproducible each ranking is, since noise alone draws a correlation towards 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from attunebench.analyses import base, sampling, verdicts
from attunebench.analyses.base import NO_CORRELATION, Settings, Subject
from attunebench.analyses.sampling import cells_of
from attunebench.analyses.table import Analysis, Cell, Chart, Filled, Missing, Table, column, counts, table, words
from attunebench.analyses.within import View
from attunebench.conversations.groups import GROUPS
from attunebench.scores.compatibility import judges_differ
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.correlation import FEWEST_MODELS, SplitHalf, correlation_matrix, disattenuated, split_half
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
_ARENA = "arena rating"
_BESIDE_ARENA = ("composite", "pairwise_accuracy", "binary_hp_accuracy", "draft_judge")
"""Metrics that always stand beside ratings of an arena."""
_FEWEST_RATED = 3


class Correlated(NamedTuple):
    """Rankings by name with their split-half reliabilities, and their correlations with an entry for each pair.

    `clean`: without the noise of both rankings. `itself`: of each ranking with itself, None where it holds no
    difference. `decidable`: whether any pair could be found related, whatever the models do.
    """

    view: View
    halves: Mapping[str, SplitHalf]
    reliability: Mapping[str, Cell]
    itself: list[Cell]
    pairs: list[tuple[str, str]]
    models: list[int]
    rho: list[Cell]
    clean: list[Cell]
    verdicts: list[str]
    decidable: bool


def analyse(subject: Subject) -> Analysis:
    """Correlations between capabilities and between primary metrics, reliabilities, and the same in subgroups."""
    view = View.of_models(subject, least=3)
    study, settings = view.study, view.settings
    (rated, notes), no_order = _arena_ratings(subject, study), judges_differ(study, "draft_judge")
    beside = [m for m in _BESIDE_ARENA if rated and not (no_order and m == "draft_judge")]
    wanted = (*beside, *base.wanted_metrics(settings, base.CANONICAL))
    primary = base.defined_metrics(study, dict.fromkeys(wanted))
    skills = _capabilities(study)
    judged = _CAPABILITIES[_JUDGED] if _JUDGED in skills else ()
    warnings = verdicts.comparability(study, judged)
    if no_order:  # models with different judges cannot be ranked together
        skills.pop(_JUDGED, None)
    if len(primary) < 2 and len(skills) < 2:
        raise Missing("At least two skills must be defined in these results.")
    whole = _correlate(view, skills, "capabilities") if len(skills) > 1 else None
    labelled = rated | {base.label_of(metric_id): values for metric_id, values in primary.items()}
    metrics = _correlate(view, labelled, "metrics", tested=False) if len(labelled) > 1 else None
    tables = [_capability_table(whole)] if whole else []
    tables += [_matrix(metrics)] if metrics else []
    tables.append(_reliability([one for one in (whole, metrics) if one], settings))
    tables += [_subgroups(study, settings)] if whole else []
    return Analysis(
        tables=tuple(tables),
        shows=_shows(whole) if whole else "Fewer than two capabilities can be compared.",
        cannot=f"{len(study.groups)} models are few for a correlation, and models of one family are not independent. "
        "A weak correlation does not show independence if a ranking is not reproducible; the corrected correlation is "
        "then imprecise and can reach its bound of 1.",
        warnings=warnings,
        notes=(*verdicts.judges_note(study, judged if _JUDGED in skills else ()), *notes),
    )


def _arena_ratings(subject: Subject, study: ScoreTable) -> tuple[dict[str, Floats], tuple[str, ...]]:
    """Ratings of an arena as values (conversations, models) that are the same in each conversation, by their name, and
    a note that says whose they are; without ratings of three models or more just the note.

    An author is a model if it has its name, with the provider, or alone where only one provider has such a model.
    """
    models, most = Counter(model for _, model in {group.model_key for group in study.groups}), 0
    for title, ratings in subject.arena:
        values = np.full(len(study.groups), np.nan)
        for place, group in enumerate(study.groups):
            provider, model = group.model_key
            names = [f"{provider}:{model}", f"{provider}/{model}", f"{model} ({provider})", group.label]
            names += [model] if models[model] == 1 else []
            values[place] = next((ratings[name] for name in names if name in ratings), np.nan)
        rated = int((~np.isnan(values)).sum())
        if rated >= _FEWEST_RATED:
            note = f"{_ARENA}: {title}, of {rated} of {len(values)} models. The intervals of ratings do not enter."
            return {_ARENA: np.broadcast_to(values, (len(study.ids), len(values)))}, (note,)
        most = max(most, rated)
    note = f"The arena has ratings of {most} of these {len(study.groups)} models; {_FEWEST_RATED} are required."
    return {}, (note,) if subject.arena else ()


def _capabilities(study: ScoreTable) -> dict[str, Floats]:
    """Capability → values (conversations, models), of those that are defined."""
    values = {name: sampling.mean_of([study.values(m) for m in metrics]) for name, metrics in _CAPABILITIES.items()}
    return {name: found for name, found in values.items() if not np.isnan(found).all()}


def _correlate(view: View, rankings: Mapping[str, Floats], use: str, *, tested: bool = True) -> Correlated:
    """Correlate two rankings or more by their values (conversations, models); `use` names the chance."""
    settings, clusters, names, values = view.settings, view.clusters, list(rankings), np.stack(list(rankings.values()))
    rng = settings.rng(f"independence {use}")
    matrix = correlation_matrix(values, view.resampling, rng=rng)
    halves = {n: split_half(of, rng=settings.rng(f"split-half {n}"), clusters=clusters) for n, of in rankings.items()}
    reliable, lowest, highest = np.array([(half.reliability, half.low, half.high) for half in halves.values()]).T
    small = bool(view.small(np.zeros((len(view.study.ids), 1)))[0])
    at = np.triu_indices(len(names), 1)
    places = list(zip(*at, strict=True))
    rho, low, high, n = matrix.rho[at], matrix.low[at], matrix.high[at], matrix.n[at]
    p = least = np.full(len(places), np.nan)
    if tested:
        means, rng = [view.estimate(one).value for one in values], settings.rng(f"independence orders {use}")
        draws = permutations_needed(len(p), settings.alpha)
        p = np.array([spearman_p(means[a], means[b], rng=rng, permutations=draws) for a, b in places])
        least = np.array([least_spearman_p(int(models)) for models in n])
    beyond, one_order = sampling.beyond_reach(least, settings, together=False), low == high
    corrected = adjust(p, sampling.plain_correction(settings))
    lower, upper = np.where(one_order, np.nan, np.stack([low, high]))  # all resamples of the models repeat it
    cells = cells_of(rho, lower, upper, None, small, p=p, p_corrected=corrected, units=2 * one_order)
    clean = np.array([disattenuated(rho[i], reliable[a], reliable[b]) for i, (a, b) in enumerate(places)])
    return Correlated(
        view,
        halves,
        dict(zip(names, cells_of(reliable, lowest, highest, small=small), strict=True)),
        cells_of(np.diag(matrix.rho)),
        [(names[a], names[b]) for a, b in places],
        n.tolist(),
        # Its n stands where it is not that of all models.
        [replace(cell, n=int(of) if of < matrix.n.max() else None) for cell, of in zip(cells, n, strict=True)],
        cells_of(clean, small=small),
        [_verdict(*one, settings) for one in zip(low, high, cells, beyond, strict=True)],
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
    related = max(low, -high) >= settings.threshold and sampling.claimed(rho, settings)
    return "related" if related else "undecided"


# Tables


def _rho(id: str, values: Iterable[Any], label: str, meaning: str, *, better: bool | None = None) -> Filled:
    return column(id, values, label, "number", meaning, better=better, digits=2)


def _pair_columns(parts: Iterable[Correlated], settings: Settings) -> tuple[Filled, Filled, Filled]:
    limit, listed = f"{settings.threshold:g}", list(parts)
    meaning = (
        f"independent: the whole interval is within ±{limit}. related: it is outside ±{limit}, and the corrected p is "
        f"at most {settings.alpha:g}. too few models: p cannot be that small with so few models. undecided: otherwise."
    )
    return (
        _rho("rho", [cell for one in listed for cell in one.rho], "ρ", "Spearman's ρ over models, of their means."),
        words("verdict", [verdict for one in listed for verdict in one.verdicts], f"|ρ| < {limit}?", meaning),
        _rho(
            "corrected",
            [c for one in listed for c in one.clean],
            "ρ corrected",
            "ρ divided by the square root of the product of both reliabilities.",
        ),
    )


def _doubt(settings: Settings, *, tested: bool = True) -> str:
    method = sampling.CORRECTIONS[sampling.plain_correction(settings)]
    tests = f" p by permuting models, corrected ({method}) over the pairs of the table or subgroup." if tested else ""
    return f"Intervals resample models too; fewer than {FEWEST_MODELS} models have none.{tests}"


def _capability_table(whole: Correlated) -> Table:
    settings, sides = whole.view.settings, list(zip(*whole.pairs, strict=True))
    rho, verdict, corrected = _pair_columns([whole], settings)
    first, second = ([whole.reliability[name] for name in side] for side in sides)
    limits = {
        **NO_CORRELATION,
        f"−{settings.threshold:g}": -settings.threshold,
        f"{settings.threshold:g}": settings.threshold,
    }
    return table(
        "capabilities",
        "Correlations between capabilities",
        words("a", sides[0], "capability"),
        words("b", sides[1], "with"),
        counts("models", whole.models),
        rho,
        verdict,
        _rho("reliability_a", first, "reliability", "Split-half reliability of the first ranking.", better=True),
        _rho(
            "reliability_b", second, "other reliability", "Split-half reliability of the second ranking.", better=True
        ),
        corrected,
        caption=f"{whole.view.sample}. recognition = mean of Emotion F1 and VA, behaviour = Binary OM, preference = "
        f"Pairwise ({_BESIDE} = Binary HP, shown for comparison), quality = draft judge. Threshold "
        f"{settings.threshold:g}, fixed in advance. {_doubt(settings)}",
        chart=Chart("intervals", "b", ("rho",), "Rank correlations between skills", "Spearman's ρ over models", limits),
    )


def _matrix(metrics: Correlated) -> Table:
    names = list(metrics.halves)
    cells = dict(zip(metrics.pairs, metrics.rho, strict=True))
    cells |= {(b, a): cell for (a, b), cell in cells.items()}
    cells |= {(a, a): cell for a, cell in zip(names, metrics.itself, strict=True)}
    return table(
        "metrics",
        "Spearman matrix of the primary metrics",
        words("metric", names),
        *(_rho(f"with_{b}", [cells[a, b] for a in names], b, "Spearman's ρ over models.") for b in names),
        caption=f"{metrics.view.sample}. {_doubt(metrics.view.settings, tested=False)}",
        chart=Chart(
            *("matrix", "metric", tuple(f"with_{name}" for name in names), "Rank correlations over models"),
            *("Spearman's ρ", NO_CORRELATION),
        ),
    )


def _reliability(parts: list[Correlated], settings: Settings) -> Table:
    halves = [
        (name, half, part.reliability[name]) for part in parts for name, half in part.halves.items() if name != _ARENA
    ]
    return table(
        "reliability",
        "Reproducibility of each ranking",
        words("ranking", (), "ranking by"),
        counts("n", (), "conversations"),
        counts("models"),
        _rho("reliability", (), "", "Reliability of the ranking over all conversations.", better=True),
        _rho("half", (), "between halves", "Spearman's ρ between rankings of random halves.", better=True),
        rows=[(name, half.n, half.models, reliability, half.half) for name, half, reliability in halves],
        caption=f"Split-half over 1,000 random splits of the {settings.units}, extrapolated to all of them by "
        "the Spearman–Brown formula; in brackets the central 95 % of splits, which is not a confidence interval. 1: "
        "both halves rank the models identically; 0: the ranking is noise.",
        chart=Chart("bars", "ranking", ("reliability",), "Reliability of rankings", "split-half reliability"),
    )


def _subgroups(study: ScoreTable, settings: Settings) -> Table:
    """Capability correlations within diagnosis groups that have two conversations, and within topics that are large
    enough; without a row where no subgroup is known."""
    diagnoses: dict[str, list[str]] = {name: [] for name in GROUPS}
    topics: dict[str, list[str]] = {}
    for fact in filter(None, study.truths()):
        for members, names in ((diagnoses, fact["diagnosis_groups"]), (topics, fact["topics"])):
            for name in {*names}:
                members.setdefault(name, []).append(fact["conversationId"])
    chosen = {f"diagnosis: {name}": ids for name, ids in diagnoses.items() if len(ids) > 1}
    chosen |= {f"topic: {name}": ids for name, ids in sorted(topics.items()) if len(ids) >= settings.small}
    parts: dict[str, Correlated] = {}
    for name, ids in chosen.items():
        part = study.with_conversations(ids)
        if len(skills := _capabilities(part)) > 1:
            use = f"capabilities {name.replace(':', '', 1)}"
            parts[name] = _correlate(View.of_study(part, settings), skills, use)
    rows = [(name, one, pair) for name, one in parts.items() for pair in one.pairs]
    return table(
        "subgroups",
        "Correlations within subgroups",
        words("subgroup", [name for name, *_ in rows]),
        words("pair", [" – ".join(pair) for *_, pair in rows], "capabilities"),
        counts("n", [len(one.view.study.ids) for _, one, _ in rows], "conversations"),
        counts("participants", [len(set(one.view.people.tolist())) for _, one, _ in rows]),
        *_pair_columns(parts.values(), settings),
        caption="Diagnoses are self-reported; a conversation can be in several groups. Topics with at least "
        f"{settings.small} conversations. {_doubt(settings)}",
        chart=Chart(
            *("intervals", "subgroup", ("rho",), "Correlations within subgroups", "Spearman's ρ over models"),
            lines=NO_CORRELATION,
            across="pair",
        ),
    )


def _shows(whole: Correlated) -> str:
    settings, study = whole.view.settings, whole.view.study
    found = zip(whole.pairs, whole.rho, whole.verdicts, strict=True)
    pairs = [(pair, rho, verdict) for pair, rho, verdict in found if _BESIDE not in pair]
    if all(verdict == "too few" for *_, verdict in pairs):
        return f"No claim is possible: at least {FEWEST_MODELS} models and {settings.small} conversations are required."
    independent, related = (
        [f"{' and '.join(pair)} (ρ {verdicts.with_interval(rho, 2)})" for pair, rho, of in pairs if of == verdict]
        for verdict in ("independent", "related")
    )
    reliable = {name: half.reliability for name, half in whole.halves.items() if name != _BESIDE}
    least = min(reliable, key=lambda name: np.nan_to_num(reliable[name], nan=np.inf))
    return verdicts.sentences(
        f"Of {verdicts.counted(len(pairs), 'pair')} of skills, {len(independent)} are independent (the whole interval "
        f"within ±{settings.threshold:g}) and {len(related)} are related, over {len(study.groups)} models.",
        "" if whole.decidable else f"So few models cannot give a corrected p of at most {settings.alpha:g}.",
        f"Related: {verdicts.listed(related)}." if related else "",
        f"Independent: {verdicts.listed(independent)}." if independent else "",
        f"The ranking by {least} is the least reproducible ({verdicts.number(reliable[least], 2)}).",
    )
