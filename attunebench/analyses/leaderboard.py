"""Composite and Pairwise per model with intervals, tiers and the ranks a model could have had: how real is a ranking?

The tables are those of `compare`.
"""

from __future__ import annotations

from attunebench.analyses.base import Subject, metrics_of, models_of
from attunebench.analyses.table import Analysis
from attunebench.comparison.leaderboard import leaderboard
from attunebench.comparison.ranking import tiers_of

METRICS = ("composite", "pairwise_accuracy")


def analyse(subject: Subject) -> Analysis:
    """The leaderboard of the models of a mode."""
    study, settings = models_of(subject, least=1), subject.settings
    metrics = metrics_of(study, settings, METRICS)
    return leaderboard(study, [tiers_of(study, metric_id, settings) for metric_id in metrics], settings)
