"""Scores as arrays: what comparisons, analyses, figures and the HTML report compute with.

`read_study` reads one or more scores files; `Study` is what they hold. Knows how scores are laid out, so that nothing
above it does. Computes no statistic.
"""

from attunebench.study.loading import make_study, read_studies, read_studies_by_rules, read_study
from attunebench.study.schema import Group, Reference, Study, Turn

__all__ = ["Group", "Reference", "Study", "Turn", "make_study", "read_studies", "read_studies_by_rules", "read_study"]
