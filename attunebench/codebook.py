"""What an ID of the data format means: question texts, options, branches, emotions and how near they are to each other.
Reads `annotation_codebook.json`, ours or a user's."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from attunebench.errors import DataError
from attunebench.files import shipped
from attunebench.jsonfile import read_json

FILE_NAME = "annotation_codebook.json"

_QUESTION_ID = re.compile(r"B\d+|PW\d+|general")
_PARTS = {
    "text": ("text", "questionText", "question"),
    "observerText": ("observerText", "observer_text"),
    "category": ("category",),
}
"""Part of a question in our file → the keys that other codebooks have for it."""
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
    return _codebook(*_shipped())


@cache
def _shipped() -> tuple[Mapping[str, Any], str, str]:
    """The content of our file, its digest and where it is."""
    path = shipped(FILE_NAME)
    return (*read_json(path), str(path))


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
    if not any("text" in entry or "observerText" in entry for entry in found.values()):
        raise DataError(f"{path} holds no question text with an ID such as B1, PW1 or general; is it a codebook?")
    merged, borrowed = _completed(_shipped()[0], found, _follow_up_in(raw))
    return _codebook(merged, sha256, str(path), borrowed)


def codebook_for(conversations_folder: str | Path) -> Path | None:
    """The codebook that belongs to a folder of conversations: in it, or up to two levels above it; None without one."""
    folder = Path(conversations_folder).resolve()
    if folder.is_file():
        folder = folder.parent
    for place in (folder, *folder.parents[:2]):
        if (place / FILE_NAME).is_file():
            return place / FILE_NAME
    return None


def _codebook(raw: Mapping[str, Any], sha256: str, origin: str, borrowed: tuple[str, ...] = ()) -> Codebook:
    """The codebook in a file of our own shape."""
    wide = {
        key: WideQuestion(entry["text"], entry["observerText"], tuple(entry["options"]))
        for key, entry in raw["conversationWideQuestions"].items()
    }
    items = raw["panas"]["items"]
    positive, negative = (
        tuple(entry["item"] for entry in items if entry["polarity"] == side) for side in ("positive", "negative")
    )
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
        panas_positive=positive,
        panas_negative=negative,
        coordinates={entry["item"]: (entry["valence"], entry["arousal"]) for entry in items},
        scales={name: Scale(**entry) for name, entry in raw["profileScales"].items()},
        sha256=sha256,
        origin=origin,
        borrowed=borrowed,
    )


# Codebooks of other shapes


def _completed(
    ours: Mapping[str, Any], found: Mapping[str, Mapping[str, str]], follow_up: list[str] | None
) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Our file with the texts of another one in it, and what that one lacks."""
    binary, pairwise, borrowed = [], [], []
    for entry in ours["binaryQuestions"]:
        given = dict(found.get(entry["id"], {}))
        if "text" in given:
            given.setdefault("observerText", given["text"])
        else:
            borrowed.append(entry["id"])
        if given.get("category") not in ours["branchMaps"]["category"]:
            given.pop("category", None)
        binary.append({**entry, **given})
    for entry in ours["pairwiseQuestions"]:
        text = found.get(entry["id"], {}).get("text")
        if text is None and entry["text"] is not None:
            borrowed.append(entry["id"])
        pairwise.append({**entry, "text": text or entry["text"]})
    borrowed += ["coordinates"] if follow_up else ["coordinates", "follow-up options"]
    wide = dict(ours["conversationWideQuestions"])
    if follow_up:
        wide[_FOLLOW_UP] = {**wide[_FOLLOW_UP], "options": follow_up}
    merged = {"binaryQuestions": binary, "pairwiseQuestions": pairwise, "conversationWideQuestions": wide}
    return {**ours, **merged}, tuple(borrowed)


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


def _questions_in(raw: Any) -> dict[str, dict[str, str]]:
    """ID → the parts of its question; the first mention of each part counts."""
    found: dict[str, dict[str, str]] = {}
    for key, value in _objects_in(raw):
        # A bare string of one word is no question: an ID may also be mapped to a category.
        is_text = isinstance(value, str) and len(value.split()) > 1
        entry = value if isinstance(value, dict) else {"text": value} if is_text else {}
        name = next((entry[k] for k in ("id", "questionId") if isinstance(entry.get(k), str)), key)
        if name is None or not _QUESTION_ID.fullmatch(name):
            continue
        for part, keys in _PARTS.items():
            texts = (entry[k].strip() for k in keys if isinstance(entry.get(k), str))
            if text := next(filter(None, texts), ""):
                found.setdefault(name, {}).setdefault(part, text)
    return found


def _follow_up_in(raw: Any) -> list[str] | None:
    for key, value in _objects_in(raw):
        options = value.get("options") if isinstance(value, dict) else value
        if key == _FOLLOW_UP and isinstance(options, list) and options and all(isinstance(o, str) for o in options):
            return options
    return None
