"""Where people have several conversations, whoever takes these as independent is told so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from plain_scores import plain_scores
from planted_studies import QUICK, made

from attunebench.analyses.verdicts import shared_people_text
from attunebench.comparison import compare
from attunebench.scores.loading import score_table
from attunebench.scores.table import ScoreTable

BY_PEOPLE = replace(QUICK, by_participant=True)


def study(each: int) -> ScoreTable:
    """Two equal models on 40 conversations, `each` of a participant."""
    chance = np.random.default_rng(3)
    models = {name: {"composite": chance.normal(60, 5, size=40)} for name in ("one", "two")}
    return score_table(plain_scores(models, people=[f"p{row // each}" for row in range(40)]))


def test_several_conversations_of_people_are_told_unless_people_are_the_unit() -> None:
    assert "20 of 20 participants have several conversations" in shared_people_text(study(2), QUICK)
    assert "" == shared_people_text(study(2), BY_PEOPLE)
    assert "" == shared_people_text(study(1), QUICK)


def test_analyses_note_it_and_a_comparison_warns() -> None:
    assert any("several conversations" in note for note in made("distributions", study(2)).notes)
    assert not any("several conversations" in note for note in made("distributions", study(1)).notes)
    assert any("several conversations" in warning for warning in compare(study(2), QUICK).warnings)
    assert not any("several conversations" in warning for warning in compare(study(2), BY_PEOPLE).warnings)
