"""Which fault meets which call: decided by seed, scenario and call alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunebench.selftest.faults import FAULTS, refused
from attunebench.selftest.plans import ONE_KILL, SCENARIOS, Scenario, call_key, fate, request_key, strikes

SCENARIO = st.sampled_from(list(SCENARIOS.values()))


@given(SCENARIO, st.integers(0, 1000), st.text())
def test_a_fate_is_the_same_each_time_and_names_faults_that_exist(scenario: Scenario, seed: int, call: str) -> None:
    met = fate(scenario, seed, call)
    assert met == fate(scenario, seed, call)
    assert set(met) <= {"", *(name for family in FAULTS.values() for name in family)}


@given(st.integers(0, 1000))
def test_another_seed_gives_other_fates(seed: int) -> None:
    def fates(number: int) -> list[tuple[str, ...]]:
        return [fate(SCENARIOS["bodies"], number, str(call)) for call in range(50)]

    assert fates(seed) != fates(seed + 1)


@given(SCENARIO, st.integers(0, 1000), st.integers(260, 1000))
def test_all_strikes_come_before_a_run_is_over(scenario: Scenario, seed: int, calls: int) -> None:
    after = strikes(scenario, seed, calls)
    assert len(scenario.events) + 1 == len(after)
    assert sum(after) + scenario.margin < calls


@given(st.integers(0, 1000), st.integers(1, 100))
def test_one_kill_may_come_at_any_answer(seed: int, calls: int) -> None:
    assert 0 <= strikes(ONE_KILL, seed, calls)[0] < calls


def test_no_call_meets_more_unusable_answers_than_there_are_reasks() -> None:
    for scenario in SCENARIOS.values():
        for call in range(300):
            assert sum(name in FAULTS["model"] for name in fate(scenario, 0, str(call))[:-1]) <= 2, scenario.name


def test_the_number_of_requests_is_promised_only_where_it_is_sure() -> None:
    assert {"picky", "money", "dead call", "Ctrl-C", "kills", "everything"} == {
        scenario.name for scenario in SCENARIOS.values() if not scenario.counted
    }
    assert replace(SCENARIOS["kills"], events=()).counted


def test_a_request_is_named_by_all_that_is_paid_for() -> None:
    keys = {request_key("m", "p", 1), request_key("n", "p", 1), request_key("m", "q", 1), request_key("m", "p", 2)}
    assert 4 == len(keys)
    assert call_key("m", "p") != call_key("n", "p")


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"response_format": {"type": "json_schema"}}, "json_schema"),
        ({"response_format": {"type": "json_object"}}, "json_object"),
        ({"temperature": 0}, "temperature"),
        ({"max_tokens": 1}, "max_completion_tokens"),
        ({"messages": [{"role": "system", "content": "x"}]}, "System role"),
    ],
)
def test_a_picky_server_names_what_it_does_not_take(body: dict[str, object], named: str) -> None:
    refusal = refused(body)
    assert refusal is not None
    assert named in refusal.body["error"]["message"]


def test_a_picky_server_takes_a_plain_request() -> None:
    assert refused({"messages": [{"role": "user", "content": "x"}], "max_completion_tokens": 1}) is None
