"""One small Ray cluster of this machine for all tests of this folder. Without Ray they are skipped, and say so."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from factory import write_conversations

TURNS, CONVERSATIONS = 2, 6


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """The address of a cluster with room for two workers; this process is connected to it."""
    ray = pytest.importorskip("ray", reason="a run on a cluster needs Ray, the extra `ray`")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(
        "local",
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=100 * 2**20,
        logging_level=logging.ERROR,
        log_to_driver=False,
    )
    yield ray.get_runtime_context().gcs_address
    ray.shutdown()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_conversations(tmp_path / "data", CONVERSATIONS, seed=5, turns=TURNS)
