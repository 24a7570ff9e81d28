"""How long a server asks to wait before the next try, in the ways in which headers and error bodies say so.

Reads and judges by shape and size; whether and how long anybody really waits is the caller's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

LONGEST_SENSIBLE = 7 * 86400.0
"""Seconds: a reset further away than this is misread, and none."""
UNSURE = 120.0
"""Seconds at most for a reset of which nobody says that it is the one to wait for."""
_RESET = re.compile(r"^(x-)?ratelimit-reset|^(x-ratelimit-|anthropic-ratelimit-).*reset")
_EPOCH_SECONDS, _EPOCH_MILLISECONDS = 1e9, 1e11
_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
_PART = r"(\d+(?:\.\d+)?) ?(ms|days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)(?![a-z])"
_DURATION = rf"(?:{_PART},? ?(?:and )?)+"
_SAID = re.compile(
    r"\b(retry|again|wait|resets?|retrying|available|back)\b"
    rf"( (your request|again|after|in|for|at least|about|another))* ?{_DURATION}",
    re.I,
)
_CLOCK = re.compile(r"(\d{1,3}):(\d\d):(\d\d)")
_SAID_IN_CHINESE = re.compile(r"(\d+(?:\.\d+)?) ?(毫秒|秒|分钟|个?小时|天)[钟之]?(?:后|以后)")
_CHINESE_UNITS = {"毫秒": 0.001, "秒": 1.0, "分钟": 60.0, "小时": 3600.0, "个小时": 3600.0, "天": 86400.0}
WAIT_FIELDS: Mapping[str, float] = {
    "retryDelay": 1.0, "retry_after": 1.0, "retry_after_seconds": 1.0, "retryAfter": 1.0, "retry_after_ms": 0.001,
}  # fmt: skip
"""Fields of an error's body that say how long to wait, and their unit where it is not said."""


def asked_wait(status: int, headers: Mapping[str, str], metadata: Mapping[str, Any], message: str = "") -> float | None:
    """Seconds to wait before a try after this status, or None where nothing is asked.

    `headers` with names in lower case; `metadata` is the error body's, where routers pass on the headers of the
    provider behind them. The times at which limits are reset, and a wait that stands in the `message` alone, count only
    where the server says that it is overrun.
    """
    passed_on = metadata.get("headers")
    if isinstance(passed_on, Mapping):
        headers = {str(name).lower(): str(value) for name, value in passed_on.items()} | dict(headers)
    asked = retry_after(headers)
    if asked is None:
        asked = _in_fields(metadata)
    if asked is None and status in (429, 503):
        # What the sentence says is meant; of the headers it may be the wrong limit's.
        said = _in_sentence(message)
        return _until_reset(headers) if said is None else said
    return asked


def _in_fields(fields: Mapping[str, Any]) -> float | None:
    """Seconds from a field of the error's body."""
    for name, unit in WAIT_FIELDS.items():
        if isinstance(said := fields.get(name), str | int | float) and not isinstance(said, bool):
            number = _number(str(said))
            seconds = _in_words(str(said)) if number is None else number * unit
            if seconds is not None and 0 < seconds <= LONGEST_SENSIBLE:
                return seconds
    return None


def _in_sentence(message: str) -> float | None:
    """Seconds from a sentence such as "Please try again in 7m12s" or "wait 39600 seconds", or None."""
    seconds = 0.0
    if said := _SAID.search(message):
        seconds = _sum_of_parts(said[0])
    elif chinese := _SAID_IN_CHINESE.search(message):
        seconds = float(chinese[1]) * _CHINESE_UNITS[chinese[2]]
    return seconds if 0 < seconds <= LONGEST_SENSIBLE else None


def _in_words(text: str) -> float | None:
    """Seconds from a value such as `2h30m`, `PT2H`, `2:30:00` or "2 hours"; None where it is no duration."""
    text = text.strip()
    if clock := _CLOCK.fullmatch(text):
        return int(clock[1]) * 3600.0 + int(clock[2]) * 60.0 + int(clock[3])
    text = re.sub(r"^p?(\d+d)?t?", r"\1", text, flags=re.I)
    return _sum_of_parts(text) if re.fullmatch(_DURATION, text, re.I) else None


def _sum_of_parts(text: str) -> float:
    parts = re.findall(_PART, text.lower())
    return sum(float(number) * (0.001 if unit == "ms" else _UNITS[unit[0]]) for number, unit in parts)


def wait_in_words(seconds: float) -> str:
    """The moment after so many seconds as the user's clock shows it, with date and zone."""
    return f"{(datetime.now() + timedelta(seconds=seconds)).astimezone():%Y-%m-%d %H:%M %Z}".rstrip()


def day_ends_at(zone: str) -> float:
    """Seconds until the next midnight in this time zone; a whole day where this system knows no time zones."""
    try:
        now = datetime.now(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError):
        return 86400.0
    return (datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), now.tzinfo) - now).total_seconds()


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds from `retry-after-ms` or `retry-after` (a number, a time, a date); None where there is no wait."""
    milliseconds = _number(headers.get("retry-after-ms", "") or headers.get("x-ms-retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000 if milliseconds > 0 else None
    seconds = _until(headers.get("retry-after", ""), headers)
    return seconds if seconds is not None and seconds > 0 else None


def _until_reset(headers: Mapping[str, str]) -> float | None:
    """Seconds until a limit is reset, from headers such as `x-ratelimit-reset-tokens`: of several the one that is used
    up; where none says so, the longest up to `UNSURE`, since the day's limit is listed beside the minute's."""
    waits: dict[bool, list[float]] = {True: [], False: []}
    for name in filter(_RESET.match, headers):
        seconds = _until(headers[name], headers)
        if seconds is not None and 0 < seconds <= LONGEST_SENSIBLE:
            waits[_number(headers.get(name.replace("reset", "remaining"), "")) == 0].append(seconds)
    if waits[True] or len(waits[False]) < 2:
        return max(waits[True] or waits[False], default=None)
    return min(max(waits[False]), UNSURE)


def _until(value: str, headers: Mapping[str, str]) -> float | None:
    """Seconds until a moment, or those of a duration, by the server's clock where it shows it."""
    number, now = _number(value), _moment(headers.get("date", "")) or datetime.now(timezone.utc)
    if number is None:
        if (seconds := _in_words(value)) is not None:
            return seconds
        moment = _moment(value)
        return (moment - now).total_seconds() if moment else None
    if number < _EPOCH_SECONDS:
        return number
    return number / (1000 if number >= _EPOCH_MILLISECONDS else 1) - now.timestamp()


def _number(text: str) -> float | None:
    try:
        number = float(text.strip())
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _moment(text: str) -> datetime | None:
    # Python before 3.11 reads neither a Z nor fractions of any other length than its own.
    iso = re.sub("[Zz]$", "+00:00", re.sub(r"\.\d+", "", text.strip()))
    for read, said in ((datetime.fromisoformat, iso), (parsedate_to_datetime, text)):
        with suppress(ValueError, TypeError, IndexError, OverflowError):
            date = read(said)
            return date if date.tzinfo else date.replace(tzinfo=timezone.utc)
    return None
