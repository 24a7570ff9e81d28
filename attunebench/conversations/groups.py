"""Which groups of diagnoses a conversation counts under, from the names that its participant gave: free text, so a
group takes every name with one of its parts in it. Diagnoses are self-reported."""

from __future__ import annotations

from collections.abc import Iterable

NONE = "none"
"""Said to have none. Somebody who did not tell is in no group at all."""
ANY = "any"
ANXIETY_DEPRESSION = "anxiety or depression"
ASD_ADHD = "ASD or ADHD"
OTHER = "other"
GROUPS = (NONE, ANXIETY_DEPRESSION, ASD_ADHD, OTHER, ANY)
"""In the order in which reports show them."""

UNTOLD = frozenset(("", "n/a", "prefer not to say", "prefer not to answer", "prefer not to disclose"))
"""Answers that tell nothing, in lower case."""
_NO_DIAGNOSIS = frozenset(("none", "no", "none of the above", "no diagnosis"))
_PARTS = {
    ANXIETY_DEPRESSION: ("anxi", "depress"),
    ASD_ADHD: ("autis", "asperger", "adhd", "attention deficit", "attention-deficit"),
}
_ABBREVIATIONS = {"asd": ASD_ADHD}


def named_groups(diagnoses: Iterable[str]) -> tuple[str, ...]:
    """The groups of the diagnoses that are told, in alphabetical order; () where there are none or nothing is told."""
    named = {diagnosis.strip().casefold() for diagnosis in diagnoses} - UNTOLD - _NO_DIAGNOSIS
    return tuple(sorted({group for name in named for group in _groups_of(name)}))


def diagnosis_groups(diagnoses: Iterable[str]) -> tuple[str, ...]:
    """All groups of a conversation in the order of `GROUPS`: `none`, or those named and `any`; () is untold."""
    told = tuple(diagnoses)
    found = set(named_groups(told))
    if found:
        found.add(ANY)
    elif {diagnosis.strip().casefold() for diagnosis in told} & _NO_DIAGNOSIS:
        found.add(NONE)
    return tuple(group for group in GROUPS if group in found)


def _groups_of(diagnosis: str) -> list[str]:
    """The groups of one diagnosis in lower case; a name may hold several ("ADHD and anxiety")."""
    found = [group for group, parts in _PARTS.items() if any(part in diagnosis for part in parts)]
    return found or [_ABBREVIATIONS.get(diagnosis, OTHER)]
