"""The small study of the snapshot by two workers of a real Ray cluster, against the kept live one."""

from __future__ import annotations

from pathlib import Path

import pytest
from snapshot_compare import differences, parts_of
from snapshot_models import SMALL
from snapshot_study import kept, ray, workshop

pytest.importorskip("ray", reason="a run on a cluster needs Ray, the extra `ray`")
pytestmark = pytest.mark.filterwarnings("ignore")


def test_two_workers_give_the_results_and_the_journal_of_a_live_run(cluster: str, tmp_path: Path) -> None:
    with workshop(SMALL, tmp_path) as at:
        found = differences(kept("live"), parts_of(ray(at, cluster)))
    assert not found, "\n".join(found)
