"""Reads the dict of scores.json (spec 5.3) into the groups of a report, or says in one sentence why it cannot.

The only file of the reports that knows how scores are laid out; computes nothing but counts.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from attunebench.analyses.base import Settings
from attunebench.constants import MODES
from attunebench.errors import DataError
from attunebench.judging import judges_named
from attunebench.metrics.registry import below_chance, no_reference
from attunebench.published import BY_SE
from attunebench.reports.model import PRIMARY_MODE, Estimate, Group, Reference

_REASONS = ("skipped", "duplicated", "missing")
_COUNTS = ("tp", "tn", "fp", "fn")
_Key = tuple[str, str, str]


def read_groups(scores: Mapping[str, Any]) -> tuple[Group, ...]:
    """The groups, the primary mode first and within a mode by falling Composite, undefined ones last.

    Raises DataError where the scores have no aggregates or these are not of the format.
    """
    aggregates = scores.get("aggregates")
    if not isinstance(aggregates, Sequence) or isinstance(aggregates, str) or not aggregates:
        raise DataError("The scores hold no aggregates, so there is nothing to report; run `attune-bench score` again.")
    metadata = mapping(scores.get("metadata"))
    ids: dict[_Key, set[str]] = defaultdict(set)
    for entry in _mappings(scores.get("conversations")):
        ids[_key(entry)].add(str(entry.get("conversationId")))
    groups = [_group(entry, metadata, ids) for entry in aggregates]
    return tuple(sorted(groups, key=_rank))


def read_references(scores: Mapping[str, Any]) -> tuple[Reference, ...]:
    """The references in the order of the scores; none where an older version made them."""
    references = []
    for entry in _mappings(scores.get("references")):
        if "id" in entry:
            values = _cells(entry)
            low = [metric for metric, estimate in values.items() if below_chance(metric, estimate.mean)]
            meaning = " ".join(filter(None, (str(entry.get("meaning", "")), no_reference(low))))
            values |= dict.fromkeys(low, Estimate())
            n = _count(entry.get("n_conversations")) or 0
            references.append(Reference(str(entry["id"]), str(entry.get("label", entry["id"])), meaning, n, values))
    return tuple(references)


def _cells(entry: Mapping[str, Any]) -> dict[str, Estimate]:
    return {str(metric): _cell(value) for metric, value in mapping(entry.get("metrics")).items()}


def participants_of(scores: Mapping[str, Any]) -> int | None:
    """How many different people the scored conversations are of; None where no conversation says."""
    people = (entry.get("participant_id") for entry in _mappings(scores.get("conversations")))
    return len({person for person in people if isinstance(person, str)}) or None


def settings_of(metadata: Mapping[str, Any]) -> Settings:
    """Settings with the seed, resamples and unit of resampling by which the scores were made, as far as they say."""
    made = mapping(metadata.get("intervals"))
    known = {name: made[name] for name in ("seed", "resamples") if type(made.get(name)) is int}
    return Settings(**known, by_participant=made.get("unit") == "participant")


def pooled_cell(pooled: Any, statistic: str) -> Estimate:
    """One statistic of a pooled block ("counts": their sum) and its counts (tp, tn, fp, fn); n is that sum, and 0 or a
    missing count makes it undefined."""
    block = mapping(pooled)
    counts = {name: count for name in _COUNTS if (count := _count(block.get(name))) is not None}
    total = sum(counts.values())
    if not total or len(counts) < len(_COUNTS):
        return Estimate()
    return Estimate(float(total) if statistic == "counts" else finite(block.get(statistic)), total, counts=counts)


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def finite(value: Any) -> float | None:
    """The value as a float if it is a finite number, else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) else None


def strings(value: Any) -> tuple[str, ...]:
    """The texts of a list; a single text is a list of one."""
    if isinstance(value, str):
        return (value,)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, Sequence) else ()


def _sequence(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    """The mappings of a list; none where it is no list."""
    return [entry for entry in _sequence(value) if isinstance(entry, Mapping)]


def _key(entry: Mapping[str, Any]) -> _Key:
    mode = str(entry.get("mode", PRIMARY_MODE))
    return str(entry.get("provider", "unknown")), str(entry.get("em_model", "unknown")), mode


def _group(entry: Any, metadata: Mapping[str, Any], ids: Mapping[_Key, set[str]]) -> Group:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("metrics"), Mapping) or "em_model" not in entry:
        raise DataError(
            "An entry of the scores' aggregates lacks its model or metrics; run `attune-bench score` again."
        )
    key = _key(entry)
    coverage = mapping(entry.get("coverage"))
    values = {str(metric): _cell(value) for metric, value in entry["metrics"].items()}
    made = next((entry for entry in _mappings(metadata.get("settings")) if _key(entry) == key), {})
    observed, settings = mapping(made.get("observed")), tuple(map(mapping, _sequence(made.get("variants"))))
    sample = mapping(coverage.get("sample"))
    reached, seed = _count(sample.get("reached")), _count(sample.get("seed"))
    judges = dict.fromkeys(judge for variant in settings for judge in judges_named(variant))
    return Group(
        *key,
        n=_count(entry.get("n_conversations")) or _count(coverage.get("scored")) or 0,
        participants=_count(entry.get("n_participants")),
        expected=_count(coverage.get("expected")),
        unscored={why: listed for why in _REASONS if (listed := strings(coverage.get(why)))},
        sample=None if reached is None or seed is None else (reached, seed),
        answered=values["answered_rate"].mean if "answered_rate" in values else None,
        incomplete=_count(entry.get("composite_incomplete")) or 0,
        judges=tuple(judges) or strings(metadata.get("judges")),
        settings=settings,
        conversations=frozenset(ids.get(key, ())),
        models_reported=_counts(observed.get("models_reported")),
        providers_reported=_counts(observed.get("providers_reported")),
        structured_used=_counts(observed.get("structured_used")),
        adapted={str(name): _counts(hows) for name, hows in mapping(observed.get("adapted")).items()},
        values=values,
        by_se=any(mapping(value).get("ci_method") == BY_SE for value in entry["metrics"].values()),
        pooled=mapping(entry.get("pooled")),
    )


def _cell(value: Any) -> Estimate:
    fields = mapping(value)
    low, high = finite(fields.get("ci_low")), finite(fields.get("ci_high"))
    if low == high:
        low = high = None  # of one value, as older versions wrote it: it could not be estimated
    return Estimate(
        mean=finite(fields.get("mean")),
        n=_count(fields.get("n")) or 0,
        se=finite(fields.get("se")),
        ci_low=low,
        ci_high=high,
    )


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _counts(value: Any) -> dict[str, int]:
    """Name → count; what is no count is left out."""
    return {str(name): known for name, raw in mapping(value).items() if (known := _count(raw)) is not None}


def _rank(group: Group) -> tuple[int, str, float, str, str]:
    mode = MODES.index(group.mode) if group.mode in MODES else len(MODES)
    composite = group.values["composite"].mean if "composite" in group.values else None
    return mode, group.mode, math.inf if composite is None else -composite, group.model, group.provider
