"""What judges say of drafts: how scores move with who judges, and how far judges agree. Reads results, asks nobody."""

from attunebench.judges.ballots import Ballots, read_ballots
from attunebench.judges.report import judge_report

__all__ = ["Ballots", "judge_report", "read_ballots"]
