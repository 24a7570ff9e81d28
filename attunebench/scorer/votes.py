"""Judged scores of a group are on one scale: where its results hold votes on both, those on the default scale count.

What is left out is noted, so that reports can say it. Computes no metric.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attunebench.judging import JUDGE_SCALE, JudgeScale
from attunebench.metrics.draft import JUDGED
from attunebench.metrics.registry import Rules, cards_of
from attunebench.scorer.kept import Group, Kept

_VALUE = re.compile(rf'"({"|".join(map(re.escape, sorted(JUDGED)))})": [-+.\deE]+')


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Results of one group whose votes on `scale` do not count, since those on another scale do."""

    group: Group
    scale: JudgeScale
    n_results: int

    def as_json(self) -> dict[str, Any]:
        provider, em_model, mode = self.group
        return {
            "provider": provider,
            "em_model": em_model,
            "mode": mode,
            "judge_scale": self.scale,
            "n_results": self.n_results,
        }


def of_one_scale(found: Sequence[Kept], rules: Rules) -> tuple[list[Kept], list[LeftOut]]:
    """The scored results with judged scores on one scale in each group, and what that leaves out."""
    scales: dict[Group, set[JudgeScale]] = {}
    for one in found:
        scales.setdefault(one.group, set()).update(_scales(one))
    kept, left = [], Counter[tuple[Group, JudgeScale]]()
    for one in found:
        others = _scales(one) - {JUDGE_SCALE} if len(scales[one.group]) > 1 else set()
        for scale in {*one.votes_left_out, *others}:
            left[one.group, scale] += 1
        kept.append(_without_votes(one, rules) if others else one)
    return kept, [LeftOut(group, scale, count) for (group, scale), count in sorted(left.items())]


def _scales(one: Kept) -> set[JudgeScale]:
    return set(one.settings.get("judge_scales", {}).values())


def _without_votes(one: Kept, rules: Rules) -> Kept:
    """As if no judge had been set."""
    numbers = one.numbers.copy()
    numbers[[column for column, metric_id in enumerate(cards_of(rules)) if metric_id in JUDGED]] = np.nan
    text = one.entry if isinstance(one.entry, str) else json.dumps(one.entry)
    text = _VALUE.sub(r'"\1": null', text)
    entry = text if isinstance(one.entry, str) else json.loads(text)
    return replace(one, numbers=numbers, entry=entry, judges=(), settings={**one.settings, "judge_scales": {}})
