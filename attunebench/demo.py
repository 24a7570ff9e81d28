"""The demonstration: the bundled conversations, every built-in baseline, scored. Offline, in seconds.

It runs the same code as a real run does, so that it is also the installation's self-test.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from attunebench import api
from attunebench.backends.baselines import BASELINES
from attunebench.conversations import demo_folder
from attunebench.runner import ModelSettings, RunSettings
from attunebench.scores import Scores

SEED = 0


def run_demo(folder: Path, *, now: datetime | None = None) -> Scores:
    """Run every baseline on the demonstration conversations, with results in `folder`, and score them all.

    A folder that holds the results already is only scored again. Raises DataError where it cannot be written.
    """
    conversations = api.load_conversations(demo_folder())
    for name in BASELINES:
        em = ModelSettings(provider="baseline", model=name)
        api.run(conversations, RunSettings(em=em, output=folder, seed=SEED))
    return api.score(folder, demo_folder(), seed=SEED, now=now)
