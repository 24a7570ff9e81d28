"""A scores file of every released format is read: what it lacks is missing, never 0."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from attunebench.reports import render
from attunebench.scores import read_scores
from attunebench.scores.loading import load_scores

HISTORIC = Path(__file__).parents[1] / "historic"


def test_version_1_0_has_values_and_neither_labels_nor_answers():
    study = load_scores(HISTORIC / "scores-1.0.json")
    assert ["noisy", "oracle"] == sorted(group.model for group in study.groups)
    values = study.values("emotion_va")
    assert (3, 2) == values.shape
    assert 1 == np.isnan(values[:, study.labels.index("oracle")]).sum()
    assert (6, 2) == study.turn_values("emotion_va").shape
    assert ((), ()) == (study.questions, study.references)
    assert (None, None, None) == study.truths()
    assert (6, 0, 2) == study.right("binary_om").shape
    assert [[]] * 6 == study.tags(study.groups[0])
    assert np.isnan(study.entry_values(lambda entry: entry.get("api_cost"))).all()


def test_version_1_0_is_reported():
    for format in ("terminal", "markdown", "csv", "json"):
        text = render(read_scores(HISTORIC / "scores-1.0.json"), format=format)
        assert "oracle" in text
        assert "Base rate" not in text
