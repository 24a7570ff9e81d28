"""Files of predicted profiles → predictions: which belong to a model, and what each says.

A file that somebody has edited is read like a reply: an answer that is none of the trait's is not answered. Knows no
profile of anybody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attunebench.conversations.traits import Trait
from attunebench.errors import DataError
from attunebench.profiles.task import ProfileTask
from attunebench.protocol.calls import PREDICTED_PROFILE
from attunebench.protocol.read.traits import trait_answer
from attunebench.runner.files import read_object

Answer = str | frozenset[str] | float
"""One of a trait's answers, a set of them for groups, a number for scales and age, or `traits.CANNOT_TELL`."""


@dataclass(frozen=True, slots=True)
class Predictions:
    """What one model said. `answers`: conversation id → trait id → answer; a trait that is missing was not answered.

    `twice`: conversations of which several files claim to hold the prediction; none of them is taken.
    """

    answers: Mapping[str, Mapping[str, Answer]]
    twice: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read_predictions(folder: Path, provider: str, model: str, traits: tuple[Trait, ...]) -> Predictions:
    """The predictions of a model in a folder. DataError where there is no such folder, or none of this model in it."""
    if not folder.is_dir():
        raise DataError(f"There is no folder {folder}; name the one that predict-profile wrote to with -o.")
    found: dict[str, Mapping[str, Answer]] = {}
    files: dict[str, list[str]] = {}
    others: set[str] = set()
    task = ProfileTask(traits)
    for name, content in _objects(folder):
        identity = task.identity_of(content)
        if identity is None:
            continue
        if identity[1:3] != (provider, model):
            others.add(f"{identity[1]} {identity[2]}")
            continue
        files.setdefault(identity[0], []).append(name)
        found[identity[0]] = answers_in(content, traits)
    if not found:
        there = f"there are those of {', '.join(sorted(others)[:5])}" if others else "it has none at all"
        raise DataError(f"{folder} has no predicted profiles of {provider} {model}; {there}.")
    twice = {name: tuple(names) for name, names in files.items() if len(names) > 1}
    return Predictions({name: answers for name, answers in found.items() if name not in twice}, twice)


def answers_in(content: Mapping[str, Any], traits: tuple[Trait, ...]) -> dict[str, Answer]:
    """The answers of one file's content, by trait id."""
    given = content.get(PREDICTED_PROFILE)
    given = given if isinstance(given, dict) else {}
    read = {trait.id: trait_answer(trait, given[trait.id]) for trait in traits if trait.id in given}
    return {
        name: frozenset(answer) if isinstance(answer, list) else answer
        for name, answer in read.items()
        if answer is not None
    }


def _objects(folder: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for path in sorted(folder.glob("*.json")):
        if not path.name.startswith("_") and (content := read_object(path)) is not None:
            yield path.name, content
