"""What workers may take in all, and who gets which job: never more than was given, never a job lost or done twice."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunebench.errors import ConfigurationError, UsageError
from attunebench.runner.settings import ModelSettings, RunSettings, Shard
from attunebench.spreading.connecting import check_somebody_listens
from attunebench.spreading.desk import Desk, Life
from attunebench.spreading.on_ray import run_on_ray
from attunebench.spreading.shares import Money, share_of

EM = ModelSettings(provider="baseline", model="majority")


@given(st.integers(1, 300), st.integers(1, 40), st.floats(0.1, 1e6), st.floats(0.1, 1e9))
def test_the_shares_of_a_limit_are_the_limit(concurrency: int, workers: int, rpm: float, tpm: float) -> None:
    workers = min(workers, concurrency)
    settings = RunSettings(em=EM, concurrency=concurrency, rpm=rpm, tpm=tpm)
    shares = [share_of(settings, number, workers, None) for number in range(1, workers + 1)]
    calls = [share.concurrency for share in shares]
    assert concurrency == sum(calls)
    assert 1 <= min(calls) <= max(calls) <= min(calls) + 1
    assert rpm == pytest.approx(sum(share.rpm or 0.0 for share in shares))
    assert tpm == pytest.approx(sum(share.tpm or 0.0 for share in shares))


def test_no_limit_stays_none() -> None:
    share = share_of(RunSettings(em=EM), 1, 2, Money(None).take(2))
    assert (None, None, None) == (share.rpm, share.tpm, share.max_cost)


@given(st.floats(0.01, 1e4), st.lists(st.tuples(st.integers(1, 9), st.floats(0.0, 1.0), st.booleans()), max_size=30))
def test_however_workers_end_no_more_is_spent_than_was_given(
    bound: float, lives: list[tuple[int, float, bool]]
) -> None:
    money, spent = Money(bound), 0.0
    for of, share, dies in lives:
        part = money.take(of)
        assert part is not None
        spent += part * share
        if not dies:
            money.give_back(part, part * share)
    assert spent <= bound * (1 + 1e-9)


@given(st.integers(0, 30), st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["take", "end", "die"])), max_size=80))
def test_every_job_is_done_once_whoever_dies(jobs: int, moves: list[tuple[int, str]]) -> None:
    desk = Desk([f"job {number}" for number in range(jobs)])
    lives = {worker: Life(worker, 1) for worker in (1, 2, 3)}
    held: dict[int, list[int]] = {1: [], 2: [], 3: []}
    done: list[int] = []
    for life in lives.values():
        desk.begin(life)

    def move(worker: int, what: str) -> None:
        if what == "take" and (taken := desk.take(lives[worker])) is not None:
            assert f"job {taken[0]}" == taken[1]
            held[worker].append(taken[0])
        elif what == "end" and held[worker]:
            done.append(held[worker].pop(0))
            desk.tell(lives[worker], [("ended", (done[-1], None))])
        elif what == "die":
            before, lives[worker] = lives[worker], Life(worker, lives[worker].number + 1)
            left = sorted(held[worker])
            assert bool(left) <= desk.bury(before)  # what it was handed again and had not taken yet is unfinished too
            desk.begin(lives[worker])
            desk.tell(before, [("ended", (number, None)) for number in left])  # too late: it is done again
            held[worker] = []

    for worker, what in moves:
        move(worker, what)
    for worker in lives:
        for _ in range(jobs):
            move(worker, "take")
        while held[worker]:
            move(worker, "end")
    assert list(range(jobs)) == sorted(done)
    assert 0 == desk.waiting
    assert len(done) == len(desk.news())
    assert [] == desk.news()


def test_what_a_worker_has_begun_goes_to_its_successor_and_to_nobody_else() -> None:
    desk = Desk("ab")
    for worker in (1, 2):
        desk.begin(Life(worker, 1))
    assert (0, "a") == desk.take(Life(1, 1))
    assert desk.bury(Life(1, 1))
    assert (1, "b") == desk.take(Life(2, 1))
    assert desk.take(Life(2, 1)) is None
    assert desk.take(Life(1, 1)) is None
    desk.begin(Life(1, 2))
    assert (0, "a") == desk.take(Life(1, 2))


def test_a_desk_that_is_closed_hands_out_nothing() -> None:
    desk = Desk("a")
    desk.begin(Life(1, 1))
    desk.close()
    assert (None, 1) == (desk.take(Life(1, 1)), desk.waiting)


@pytest.mark.parametrize(
    ("more", "said"),
    [({"shard": Shard(1, 2)}, "both divide the run"), ({"workers": 0}, "one worker at least"), ({}, r"\[ray\]")],
)
def test_what_cannot_be_run_on_ray_is_said_before_anything_starts(
    more: dict[str, object], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    options = {name: more.pop(name) for name in ("workers",) if name in more}
    with pytest.raises(UsageError, match=said):
        run_on_ray([], RunSettings(em=EM, **more), **options)


def test_an_address_where_nobody_listens_is_one_sentence() -> None:
    with pytest.raises(ConfigurationError, match=r"no Ray cluster to be had at ray://127\.0\.0\.1:1 .*--ray-address"):
        check_somebody_listens("ray://127.0.0.1:1")
    check_somebody_listens("auto")
