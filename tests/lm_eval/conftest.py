"""Nothing is fetched here, and the framework's own tasks, thousands of files, are not looked through."""

from __future__ import annotations

import os

import pytest

# Libraries of the hub read it when they are first imported.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"


@pytest.fixture
def evaluate():
    """`simple_evaluate` with our tasks alone: (model, replies or arguments) → the framework's results."""
    import lm_eval
    from lm_eval.tasks import TaskManager

    from attunebench.harness.lm_eval.__main__ import TASKS

    def run(model, tasks=("attunebench",), *, metadata=None, apply_chat_template=True, **options):
        manager = TaskManager(include_path=str(TASKS), include_defaults=False, metadata=metadata)
        return lm_eval.simple_evaluate(
            model, tasks=list(tasks), task_manager=manager, apply_chat_template=apply_chat_template, **options
        )

    return run
