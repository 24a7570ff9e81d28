"""What an ID of the data format means: question texts, options, branches, emotions and how near they are to each other.

Reads `annotation_codebook.json`, ours or a user's. Knows no conversation, prompt or metric.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from attunebench.errors import DataError
from attunebench.jsonfile import read_json

FILE_NAME = "annotation_codebook.json"

_QUESTION_ID = re.compile(r"B\d+|PW\d+|general")
_TEXT_KEYS = ("text", "questionText", "question")
_OBSERVER_KEYS = ("observerText", "observer_text")
_FOLLOW_UP = "q3_followUp_whatFeltOff"


@dataclass(frozen=True, slots=True)
class BinaryQuestion:
    """A yes/no question about a reply. `text` addresses the participant, `observer_text` speaks about HP and OM."""

    text: str
    observer_text: str
    category: str


@dataclass(frozen=True, slots=True)
class WideQuestion:
    """A question about the whole conversation in both stances; `options` in the order of the scale."""

    text: str
    observer_text: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch of the Four Branch model."""

    label: str
    definition: str


@dataclass(frozen=True, slots=True)
class Scale:
    """A scale of the participant profile: `range` and `meaning` are words for people ("0-25", "higher is …")."""

    label: str
    range: str
    meaning: str


@dataclass(frozen=True, eq=False)
class Codebook:
    """A complete codebook: every ID of the format is there, whoever supplied it.

    `binary`, `pairwise`: ID → question, in the order of the format; a pairwise text is None where nobody knows it.
    `wide`: `q1_lookingFor` … → question. `branches`: name → definition. `scales`: profile score → scale.
    `study_branches`, `category_branches`: the two maps onto the branches (a category without a branch maps to None).
    `panas_positive`, `panas_negative`: display names ("Proud"). `coordinates`: display name → (valence, arousal), 0–1.
    `sha256`: of the bytes of the file at `origin`. `borrowed`: what that file lacks and ours supplied: question IDs,
    `coordinates`, `follow-up options`.
    """

    binary: Mapping[str, BinaryQuestion]
    pairwise: Mapping[str, str | None]
    wide: Mapping[str, WideQuestion]
    q1_options: tuple[str, ...]
    q2_options: tuple[str, ...]
    q3_options: tuple[str, ...]
    q3_negative: tuple[str, ...]
    follow_up_options: tuple[str, ...]
    branches: Mapping[str, Branch]
    study_branches: Mapping[str, str]
    category_branches: Mapping[str, str | None]
    panas_positive: tuple[str, ...]
    panas_negative: tuple[str, ...]
    coordinates: Mapping[str, tuple[float, float]]
    scales: Mapping[str, Scale]
    sha256: str
    origin: str
    borrowed: tuple[str, ...] = ()

    @property
    def panas(self) -> tuple[str, ...]:
        """The twenty items in display form, positive before negative."""
        return self.panas_positive + self.panas_negative

    @cached_property
    def display_names(self) -> Mapping[str, str]:
        """Lower-case item name → display form."""
        return {item.lower(): item for item in self.panas}

    @cached_property
    def similarity_matrix(self) -> Mapping[str, Mapping[str, float]]:
        """Display name → display name → similarity in [0, 1], rounded to four digits; 1.0 on the diagonal."""
        return similarity_matrix(self.coordinates)


def similarity(a: tuple[float, float], b: tuple[float, float]) -> float:
    """How near two points of the valence-arousal unit square are: 1 at the same place, 0 at opposite corners.

    1 − Euclidean distance / √2, rounded to four digits (spec: constants.json, "similarity").
    """
    return round(1 - math.dist(a, b) / math.sqrt(2), 4)


def similarity_matrix(coordinates: Mapping[str, tuple[float, float]]) -> dict[str, dict[str, float]]:
    """`similarity` of every pair of names."""
    return {a: {b: similarity(here, there) for b, there in coordinates.items()} for a, here in coordinates.items()}


@cache
def default_codebook() -> Codebook:
    """The codebook that the package ships: the same object at every call."""
    path = _shipped_path()
    raw, sha256 = read_json(path)
    return _ours(raw, sha256, str(path))


def load_codebook(path: str | Path) -> Codebook:
    """The codebook in `path`, of any shape that gives its questions IDs; what it lacks is taken from ours and named.

    A question that has `text` alone is worded the same for both stances. The literal options of q1, q2 and q3 belong
    to the data format and are always ours. Raises DataError: no such file, no JSON, or no question ID in it.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"There is no codebook at {path}; give the path of an {FILE_NAME}.")
    raw, sha256 = read_json(path)
    ours = default_codebook()
    if sha256 == ours.sha256:
        return replace(ours, origin=str(path))
    found = _questions_in(raw)
    if not any(entry.text or entry.observer_text for entry in found.values()):
        raise DataError(f"{path} holds no question text with an ID such as B1, PW1 or general; is it a codebook?")
    return _completed(ours, found, _follow_up_in(raw), sha256, str(path))


def codebook_for(conversations_folder: str | Path) -> Path | None:
    """The codebook that belongs to a folder of conversations: in it, or up to two levels above it; None without one."""
    folder = Path(conversations_folder).resolve()
    if folder.is_file():
        folder = folder.parent
    for place in (folder, *folder.parents[:2]):
        if (place / FILE_NAME).is_file():
            return place / FILE_NAME
    return None


def _shipped_path() -> Path:
    packaged = resources.files("attunebench") / "_data" / FILE_NAME
    if isinstance(packaged, Path) and packaged.is_file():
        return packaged
    # An editable install does not see files that the wheel takes from outside the package: look in the checkout.
    checkout = Path(__file__).resolve().parent.parent / FILE_NAME
    if checkout.is_file():
        return checkout
    raise DataError(f"The package lacks its {FILE_NAME}; install attunebench again.")


def _ours(raw: Mapping[str, Any], sha256: str, origin: str) -> Codebook:
    wide = {
        key: WideQuestion(entry["text"], entry["observerText"], tuple(entry["options"]))
        for key, entry in raw["conversationWideQuestions"].items()
    }
    items = raw["panas"]["items"]
    return Codebook(
        binary={
            entry["id"]: BinaryQuestion(entry["text"], entry["observerText"], entry["category"])
            for entry in raw["binaryQuestions"]
        },
        pairwise={entry["id"]: entry["text"] for entry in raw["pairwiseQuestions"]},
        wide=wide,
        q1_options=wide["q1_lookingFor"].options,
        q2_options=wide["q2_emotionClarity"].options,
        q3_options=wide["q3_modelFit"].options,
        q3_negative=tuple(raw["conversationWideQuestions"]["q3_modelFit"]["negativeOptions"]),
        follow_up_options=wide[_FOLLOW_UP].options,
        branches={name: Branch(**entry) for name, entry in raw["fourBranch"]["branches"].items()},
        study_branches=raw["branchMaps"]["study"],
        category_branches=raw["branchMaps"]["category"],
        panas_positive=tuple(entry["item"] for entry in items if entry["polarity"] == "positive"),
        panas_negative=tuple(entry["item"] for entry in items if entry["polarity"] == "negative"),
        coordinates={entry["item"]: (entry["valence"], entry["arousal"]) for entry in items},
        scales={name: Scale(**entry) for name, entry in raw["profileScales"].items()},
        sha256=sha256,
        origin=origin,
    )


@dataclass(slots=True)
class _Found:
    """What a foreign codebook says about one ID; the first mention of each part counts."""

    text: str | None = None
    observer_text: str | None = None
    category: str | None = None


def _completed(
    ours: Codebook, found: Mapping[str, _Found], follow_up: tuple[str, ...] | None, sha256: str, origin: str
) -> Codebook:
    borrowed: list[str] = []
    categories = set(ours.category_branches)
    binary: dict[str, BinaryQuestion] = {}
    for question_id, own in ours.binary.items():
        given = found.get(question_id, _Found())
        if given.text is None:
            borrowed.append(question_id)
        binary[question_id] = BinaryQuestion(
            text=given.text or own.text,
            observer_text=given.observer_text or given.text or own.observer_text,
            category=given.category if given.category in categories else own.category,
        )
    pairwise: dict[str, str | None] = {}
    for question_id, own_text in ours.pairwise.items():
        text = found.get(question_id, _Found()).text
        if text is None and own_text is not None:
            borrowed.append(question_id)
        pairwise[question_id] = text or own_text
    borrowed += ["coordinates"] if follow_up else ["coordinates", "follow-up options"]
    options = follow_up or ours.follow_up_options
    return replace(
        ours,
        binary=binary,
        pairwise=pairwise,
        wide={**ours.wide, _FOLLOW_UP: replace(ours.wide[_FOLLOW_UP], options=options)},
        follow_up_options=options,
        sha256=sha256,
        origin=origin,
        borrowed=tuple(borrowed),
    )


def _objects_in(raw: Any) -> Iterator[tuple[str | None, Any]]:
    """Every value below `raw` with the key it stands under (None in a list), in document order."""
    stack: list[tuple[str | None, Any]] = [(None, raw)]
    while stack:
        key, value = stack.pop()
        yield key, value
        if isinstance(value, dict):
            stack.extend(reversed(value.items()))
        elif isinstance(value, list):
            stack.extend((None, entry) for entry in reversed(value))


def _questions_in(raw: Any) -> dict[str, _Found]:
    found: dict[str, _Found] = {}
    for key, value in _objects_in(raw):
        question_id = key
        if isinstance(value, dict):
            question_id = next((value[k] for k in ("id", "questionId") if isinstance(value.get(k), str)), key)
        if question_id is None or not _QUESTION_ID.fullmatch(question_id):
            continue
        entry = _entry(value)
        if entry is None:
            continue
        known = found.setdefault(question_id, entry)
        known.text = known.text or entry.text
        known.observer_text = known.observer_text or entry.observer_text
        known.category = known.category or entry.category
    return found


def _entry(value: Any) -> _Found | None:
    """What stands under an ID. A bare string of one word is no question (an ID may also be mapped to a category)."""
    if isinstance(value, str):
        return _Found(text=value.strip()) if len(value.split()) > 1 else None
    if not isinstance(value, dict):
        return None
    return _Found(
        text=_first_text(value, _TEXT_KEYS),
        observer_text=_first_text(value, _OBSERVER_KEYS),
        category=_first_text(value, ("category",)),
    )


def _first_text(value: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((value[k].strip() for k in keys if isinstance(value.get(k), str) and value[k].strip()), None)


def _follow_up_in(raw: Any) -> tuple[str, ...] | None:
    for key, value in _objects_in(raw):
        if key != _FOLLOW_UP:
            continue
        options = value.get("options") if isinstance(value, dict) else value
        if isinstance(options, list) and options and all(isinstance(option, str) for option in options):
            return tuple(options)
    return None
