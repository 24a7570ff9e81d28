"""What Inspect AI finds by the entry point `inspect_ai`."""

from attunebench.harness.inspect_ai.baselines import baseline
from attunebench.harness.inspect_ai.scoring import attunebench_scorer, summary
from attunebench.harness.inspect_ai.solving import attunebench_solver
from attunebench.harness.inspect_ai.task import attunebench

__all__ = [
    "attunebench",
    "attunebench_scorer",
    "attunebench_solver",
    "baseline",
    "summary",
]
