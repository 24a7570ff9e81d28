"""The benchmark as tasks of lm-evaluation-harness: that framework asks, and this package plans, reads and scores.

The tasks are YAML files in a folder that `lm_eval --include_path` takes. Only `task` imports the framework.
"""

from pathlib import Path


def include_path() -> Path:
    """The folder of the task files, for `--include_path`."""
    return Path(__file__).resolve().parent / "tasks"
