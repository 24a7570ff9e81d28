"""The small study by every executor that needs no further package: what the kept live run computed."""

from __future__ import annotations

from pathlib import Path

import pytest
from snapshot_compare import differences, parts_of, read
from snapshot_models import SMALL
from snapshot_study import ALLOWED, SMALL_ARCHIVE, VARIANTS, kept, live, plain, reparsed, score, workshop

_RANKED = (
    r"^analyses\.json/analyses/(group-tiers|leaderboard)/tables/\w+/rows/0/(\w+_)?(rank|tier|p_best|apart)(/\w+)?: "
)
_ALONE = {_RANKED + r"was .*, is (null|gone)$": "since 0.2.0 a model alone has no rank and no tier"}


@pytest.mark.slow
def test_a_live_run_its_scores_and_its_analyses_are_as_kept(tmp_path: Path) -> None:
    with workshop(SMALL, tmp_path) as at:
        made = live(at)
        score(at, made)
    found = differences(read(SMALL_ARCHIVE)["live"], parts_of(made), allowed=_ALONE)
    assert not found, "\n".join(found)


@pytest.mark.slow
def test_a_run_on_text_alone_is_as_kept(tmp_path: Path) -> None:
    with workshop(SMALL, tmp_path) as at:
        found = differences(kept("plain"), parts_of(plain(at)))
    assert not found, "\n".join(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_an_executor_gives_what_a_live_run_gives(name: str, tmp_path: Path) -> None:
    with workshop(SMALL, tmp_path) as at:
        found = differences(kept("live"), parts_of(VARIANTS[name](at)), allowed=ALLOWED.get(name))
    assert not found, "\n".join(found)


@pytest.mark.slow
def test_results_that_lost_answers_are_read_again_from_the_journal(tmp_path: Path) -> None:
    with workshop(SMALL, tmp_path) as at:
        found = differences(kept("live"), parts_of(reparsed(at, live(at))))
    assert not found, "\n".join(found)
