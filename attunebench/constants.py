"""The names of the format, for import. What the codebook says is read from the one file that the package ships.

The two closed lists at the end are no codebook's: they are the types of `protocol.calls` and `conversations.schema`,
spelled out so that importing a name loads neither package (a test keeps them equal).
"""

from __future__ import annotations

from collections.abc import Mapping

from attunebench.codebook import default_codebook

_codebook = default_codebook()

BINARY_QUESTION_TEXT: Mapping[str, str] = {key: question.observer_text for key, question in _codebook.binary.items()}
"""Binary question ID → observer phrasing."""
BINARY_HP_QUESTION_TEXT: Mapping[str, str] = {key: question.text for key, question in _codebook.binary.items()}
"""Binary question ID → participant-facing phrasing."""
BINARY_CATEGORY: Mapping[str, str] = {key: question.category for key, question in _codebook.binary.items()}
PAIRWISE_QUESTION_TEXT: Mapping[str, str | None] = _codebook.pairwise
"""Pairwise question ID → participant-facing text; None for PW16, whose wording is not public here."""

PANAS_POSITIVE: tuple[str, ...] = _codebook.panas_positive
PANAS_NEGATIVE: tuple[str, ...] = _codebook.panas_negative
PANAS_ITEMS: tuple[str, ...] = _codebook.panas
VALENCE_AROUSAL: Mapping[str, tuple[float, float]] = _codebook.coordinates
PANAS_SIMILARITY: Mapping[str, Mapping[str, float]] = _codebook.similarity_matrix

Q1_OPTIONS: tuple[str, ...] = _codebook.q1_options
Q2_OPTIONS: tuple[str, ...] = _codebook.q2_options
Q3_OPTIONS: tuple[str, ...] = _codebook.q3_options
Q3_NEGATIVE: tuple[str, ...] = _codebook.q3_negative
FOLLOW_UP_OPTIONS: tuple[str, ...] = _codebook.follow_up_options
BRANCHES: tuple[str, ...] = tuple(_codebook.branches)

INTENSITY_WORDS: Mapping[str, int] = {"mild": 2, "moderate": 4, "intense": 6}
"""Word for the intensity of an emotion → its place on the scale 1–7."""

MODES = ("default", "verbose", "omniscient", "verbose_omniscient")
REPLY_VARIANTS = ("original", "alternate", "human")
