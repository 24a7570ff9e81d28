"""How long a server asks to wait."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunebench.backends.faults import Fault


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1m30s"}, 90.0),
        ({"retry-after-ms": "0", "retry-after": "7"}, None),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "0"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT", "date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:30 -0000", "date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, None),
    ],
)
def test_the_wait_is_read_from_the_headers(headers: dict[str, str], seconds: float | None) -> None:
    assert seconds == Fault(headers=headers).wait


NOW = "Wed, 21 Oct 2015 07:28:00 GMT"
EPOCH = 1445412480  # the same moment


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("6m0s", 360.0),
        ("7.66s", 7.66),
        ("500ms", 0.5),
        ("1h2m3s", 3723.0),
        ("2d", 172800.0),
        ("30", 30.0),
        ("1.5", 1.5),
        (str(EPOCH + 60), 60.0),
        (f"{EPOCH + 60}.5", 60.5),
        (str((EPOCH + 60) * 1000), 60.0),
        ("2015-10-21T07:28:30Z", 30.0),
        ("2015-10-21T07:28:30.123456789Z", 30.123456),
        ("2015-10-21T09:28:30+02:00", 30.0),
        ("Wed, 21 Oct 2015 07:28:30 GMT", 30.0),
        ("0", None),
        ("0s", None),
        (str(EPOCH - 60), None),
        ("2015-10-21T07:27:00Z", None),
        (str(EPOCH * 1000_000), None),
        ("soon", None),
        ("", None),
        ("m", None),
        ("5 apples", None),
        ("nan", None),
    ],
)
def test_a_reset_is_read_by_shape_and_size(value: str, seconds: float | None) -> None:
    found = Fault(429, headers={"x-ratelimit-reset": value, "date": NOW}).wait
    assert (seconds is None) == (found is None)
    assert seconds is None or pytest.approx(seconds) == found


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "9s"}, 9.0),
        (
            {
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-tokens": "9s",
                "x-ratelimit-remaining-tokens": "500",
            },
            1.0,
        ),
        (
            {
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-tokens": "9s",
                "x-ratelimit-remaining-tokens": "0",
            },
            9.0,
        ),
        ({"anthropic-ratelimit-tokens-reset": "9s", "anthropic-ratelimit-tokens-remaining": "0"}, 9.0),
        ({"ratelimit-reset": "5"}, 5.0),
        ({"x-ratelimit-reset": "30d"}, None),
        ({"x-ratelimit-reset": "9s", "retry-after": "2"}, 2.0),
        ({"x-ratelimit-limit": "9"}, None),
    ],
)
def test_of_several_limits_the_one_that_is_used_up_counts(headers: dict[str, str], seconds: float | None) -> None:
    assert seconds == Fault(429, headers=headers).wait


@pytest.mark.parametrize(("status", "seconds"), [(429, 9.0), (503, 9.0), (402, None), (500, None), (0, None)])
def test_a_reset_counts_only_where_the_server_says_that_it_is_overrun(status: int, seconds: float | None) -> None:
    assert seconds == Fault(status, headers={"x-ratelimit-reset": "9s"}).wait


@pytest.mark.parametrize(
    ("metadata", "seconds"),
    [
        ({"headers": {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str((EPOCH + 60) * 1000)}}, 60.0),
        ({"headers": {"Retry-After": 3}}, 3.0),
        ({"retryDelay": "34s"}, 34.0),
        ({"headers": None}, None),
        ({"headers": {"X-RateLimit-Reset": [1]}}, None),
        ({"retryDelay": 5}, 5.0),
        ({"retry_after": 7200}, 7200.0),
        ({"retry_after_ms": "7200000"}, 7200.0),
        ({"retryAfter": "2 hours"}, 7200.0),
        ({"retry_after": True}, None),
        ({"retry_after": "soon"}, None),
    ],
)
def test_a_wait_may_stand_in_the_body(metadata: dict[str, Any], seconds: float | None) -> None:
    assert seconds == Fault(429, headers={"date": NOW}, metadata=metadata).wait


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("2 hours", 7200.0), ("1 hour", 3600.0), ("PT2H", 7200.0), ("2:30:00", 9000.0), ("1 h, 30 min", 5400.0),
     ("hours", None), ("2 hours ago", None), ("P", None)],
)  # fmt: skip
def test_a_header_may_say_it_in_words(value: str, seconds: float | None) -> None:
    assert seconds == Fault(429, headers={"retry-after": value}).wait


@pytest.mark.parametrize(
    ("message", "seconds"),
    [("请在 39600 秒后重试", 39600.0), ("请3个小时后再试", 10800.0), ("5分钟后", 300.0), ("请稍后再试", None),
     ("Please retry your request in 45 minutes", 2700.0)],
)  # fmt: skip
def test_a_sentence_may_say_it_in_other_words(message: str, seconds: float | None) -> None:
    assert seconds == Fault(429, message=message).wait


@given(value=st.text(max_size=30), name=st.sampled_from(["retry-after", "retry-after-ms", "x-ratelimit-reset", "date"]))
def test_no_header_breaks_the_reading(value: str, name: str) -> None:
    found = Fault(429, headers={"x-ratelimit-reset-tokens": "5s", name: value}).wait
    assert found is None or found > 0
