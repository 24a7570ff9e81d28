"""Scores files with the values that a test writes down, as the dicts that readers take: no conversation behind them."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Values = Mapping[str, Sequence[float] | np.ndarray]
"""Metric → a value for each conversation; NaN is undefined. A conversation that is NaN in all was not scored."""


def plain_scores(
    models: Mapping[str, Values | Mapping[str, Values]],
    *,
    people: Sequence[str] | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    observed: Mapping[str, Mapping[str, Any]] | None = None,
    labels: Mapping[str, str] | None = None,
    old: bool = False,
    **metadata: Any,
) -> dict[str, Any]:
    """Scores of models by name; a value is metric → values, or mode → these. "provider/model" names its provider.

    `people`: whose conversation each is; one each without. `settings`, `observed`: model → what its results state.
    `labels`: conversation id → something that its labels contain. `old`: a file that keeps no labels.
    """
    groups = [(name, mode, values) for name, given in models.items() for mode, values in _by_mode(given).items()]
    count = len(next(iter(groups[0][2].values())))
    ids = [f"c{row:03}" for row in range(count)]
    owners = list(people) if people is not None else [f"p{row}" for row in range(count)]
    document: dict[str, Any] = {
        "schema_version": "1.1",
        "format": "attunebench-scores",
        "metadata": {"ground_truth_sha256": "a" * 64, "registry_version": "1", **metadata},
        "conversations": [],
        "aggregates": [],
        "questions": [],
        "ground_truth": []
        if old
        else [_truth(i, who, (labels or {}).get(i)) for i, who in zip(ids, owners, strict=True)],
        "references": [],
        "left_out": {},
    }
    document["metadata"]["settings"] = []
    for name, mode, values in groups:
        provider, _, model = name.rpartition("/")
        key = {"provider": provider or "test", "em_model": model, "mode": mode}
        variant = {"n_results": count, **(settings or {}).get(name, {})}
        stated = {"models_reported": (observed or {}).get(name, {})}
        document["metadata"]["settings"].append({**key, "variants": [variant], "observed": stated})
        columns = np.array([list(map(float, column)) for column in values.values()])
        known = int((~np.isnan(columns)).any(axis=0).sum())
        document["aggregates"].append({**key, "metrics": {}, "n_conversations": known})
        for row, conversation in enumerate(ids):
            metrics = {metric: _none(column[row]) for metric, column in values.items()}
            if any(value is not None for value in metrics.values()):
                entry = {"conversationId": conversation, "participant_id": owners[row], "metrics": metrics, "turns": []}
                document["conversations"].append({**key, **entry})
    return copy.deepcopy(document)


def _by_mode(given: Any) -> Mapping[str, Values]:
    return given if isinstance(next(iter(given.values())), Mapping) else {"default": given}


def _truth(conversation: str, who: str, label: str | None) -> dict[str, Any]:
    state = {"positive": None, "negative": None, "items": {}}
    wide = {"q1": None, "q2": label, "q3": None, "follow_up": None, "four_branch": {}}
    about = {"conversationId": conversation, "source_file": f"{conversation}.json", "participant_id": who}
    unknown: dict[str, Any] = {"om_model": None, "topics": [], "subtopic": None, "attitude": None}
    told = {"demographics": {}, "diagnosis_groups": [], "computed_scores": {}}
    return {**about, **unknown, **told, "pre_panas": state, "post_panas": state, "wide": wide, "turns": []}


def _none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
