"""The scales on which judges rate drafts from 1 to 7, and how judges are named beside scores. Ratings on different
scales are never averaged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

JudgeScale = Literal["quality", "relative"]
"""What 1–7 mean: the quality of the draft, or the draft against the human-edited reply (4 = as good)."""
JUDGE_SCALES: tuple[JudgeScale, ...] = get_args(JudgeScale)
JUDGE_SCALE: JudgeScale = "quality"
"""The scale where nothing is said."""
UNNAMED_SCALE: JudgeScale = "relative"
"""The scale of votes and requests that name none: they are older than the other one."""


def scale_of(named: Any) -> JudgeScale:
    """The scale that a vote or request names."""
    return named if named in JUDGE_SCALES else UNNAMED_SCALE


def judge_label(judge: str, scale: JudgeScale) -> str:
    """A judge as it is named beside a score: "gpt-x (quality scale)"."""
    return f"{judge} ({scale} scale)"


def scales_named(settings: Mapping[str, Any]) -> set[JudgeScale]:
    """The scales of the votes behind results with these settings of a scores file."""
    scales = settings.get("judge_scales")
    if isinstance(scales, Mapping):
        return set(map(scale_of, scales.values()))
    return {UNNAMED_SCALE} if settings.get("judge_models") else set()


def judges_named(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The judges of results with these settings of a scores file, each with its scale; those that were set and have not
    voted by name alone."""
    named = settings.get("judge_models")
    judges = [str(judge) for judge in named] if isinstance(named, list) else []
    scales = settings.get("judge_scales")
    if not isinstance(scales, Mapping):  # written before there were two scales
        return tuple(judge_label(judge, UNNAMED_SCALE) for judge in judges)
    return tuple(judge_label(str(judge), scale_of(scale)) for judge, scale in scales.items()) or tuple(judges)
