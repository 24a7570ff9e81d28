"""How long a server asks to wait, in the ways in which headers and error bodies say so, by shape and size."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import Any

from pydantic import TypeAdapter

LONGEST_SENSIBLE = 7 * 86400.0  # seconds: a reset further away than this is misread, and none
UNSURE = 120.0  # seconds at most for a reset of which nobody says that it is the one to wait for
WAIT_FIELDS: Mapping[str, float] = {
    "retryDelay": 1.0, "retry_after": 1.0, "retry_after_seconds": 1.0, "retryAfter": 1.0, "retry_after_ms": 0.001,
}  # fmt: skip
"""Fields of an error's body that say how long to wait, and their unit where it is not said."""
_RESET = re.compile(r"^(x-)?ratelimit-reset|^(x-ratelimit-|anthropic-ratelimit-).*reset")
_EPOCH = 1e9  # from here on a number is a moment rather than a duration
_UNITS = {
    "ms|毫秒": 0.001, "days?|d|天": 86400.0, "hours?|hrs?|h|个?小时": 3600.0, "minutes?|mins?|m|分钟": 60.0,
    "seconds?|secs?|s|秒": 1.0,
}  # fmt: skip
_PART = r"(\d+(?:\.\d+)?) ?(?:{})(?![a-z])"
_DURATION = rf"(?:{_PART.format('|'.join(_UNITS))},? ?(?:and )?)+"
_SENTENCE = re.compile(
    r"\b(retry|again|wait|resets?|retrying|available|back)\b"
    rf"( (your request|again|after|in|for|at least|about|another))* ?{_DURATION}|{_DURATION}[钟之]?以?后",
    re.I,
)
_MOMENT, _SPAN = TypeAdapter(datetime), TypeAdapter(timedelta)


def asked_wait(status: int, headers: Mapping[str, str], metadata: Mapping[str, Any], message: str = "") -> float | None:
    """Seconds to wait before a try after this status, or None where nothing is asked. `headers` with names in lower
    case; `metadata` is the error body's, with the headers that a router passes on. Times of reset, and a wait in the
    `message` alone, count only where the server says that it is overrun.
    """
    passed_on = metadata.get("headers")
    if isinstance(passed_on, Mapping):
        headers = {str(name).lower(): str(value) for name, value in passed_on.items()} | dict(headers)
    fields = ((_until(str(metadata[name]), headers), unit) for name, unit in WAIT_FIELDS.items() if name in metadata)
    waits = (_sensible(seconds * unit) for seconds, unit in fields if seconds is not None)
    asked = retry_after(headers) or next(filter(None, waits), None)
    if asked is None and status in (429, 503):
        # What the sentence says is meant; of the headers it may be the wrong limit's.
        sentence = _SENTENCE.search(message)
        asked = (sentence and _sensible(_sum_of_parts(sentence[0]))) or _until_reset(headers)
    return asked


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds from `retry-after-ms` or `retry-after` (a number, a time, a date); None where there is no wait."""
    milliseconds = number(headers.get("retry-after-ms", "") or headers.get("x-ms-retry-after-ms", ""))
    seconds = _until(headers.get("retry-after", ""), headers) if milliseconds is None else milliseconds / 1000
    return seconds if seconds is not None and seconds > 0 else None


def wait_in_words(seconds: float) -> str:
    """The moment after so many seconds as the user's clock shows it, with date and zone."""
    return f"{(datetime.now() + timedelta(seconds=seconds)).astimezone():%Y-%m-%d %H:%M %Z}".rstrip()


def _until_reset(headers: Mapping[str, str]) -> float | None:
    """Seconds until a limit is reset, from headers such as `x-ratelimit-reset-tokens`."""
    # Of several the one that is used up; else the longest up to `UNSURE`, as a day's limit is listed beside a minute's.
    waits = [
        (number(headers.get(name.replace("reset", "remaining"), "")) == 0, seconds)
        for name in filter(_RESET.match, headers)
        if (seconds := _sensible(_until(headers[name], headers))) is not None
    ]
    is_used_up, seconds = max(waits, default=(True, None))
    return seconds if seconds is None or is_used_up or len(waits) == 1 else min(seconds, UNSURE)


def _sensible(seconds: float | None) -> float | None:
    return seconds if seconds is not None and 0 < seconds <= LONGEST_SENSIBLE else None


def _until(value: str, headers: Mapping[str, str]) -> float | None:
    """Seconds until a moment, by the server's clock, or those of a duration: `2h30m`, `PT2H`, `2:30:00`, "2 hours"."""
    seconds = number(value)
    if seconds is not None and seconds < _EPOCH:
        return seconds
    if seconds is None:
        with suppress(ValueError):
            return _SPAN.validate_python(value.strip()).total_seconds()
        if re.fullmatch(_DURATION, value.strip(), re.I):
            return _sum_of_parts(value)
    moment, now = _moment(value), _moment(headers.get("date", "")) or datetime.now(timezone.utc)
    return (moment - now).total_seconds() if moment else None


def _sum_of_parts(text: str) -> float:
    parts = ((re.findall(_PART.format(unit), text, re.I), seconds) for unit, seconds in _UNITS.items())
    return sum(float(each) * seconds for numbers, seconds in parts for each in numbers)


def number(value: Any) -> float | None:
    """A number, which some servers write as a text; None for anything else."""
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        with suppress(ValueError, OverflowError):
            return known if math.isfinite(known := float(value)) else None
    return None


def _moment(text: str) -> datetime | None:
    """A time in ISO's form, as a header's date, or in seconds or milliseconds since 1970."""
    for read in (_MOMENT.validate_python, parsedate_to_datetime):
        with suppress(ValueError, TypeError, IndexError, OverflowError):
            moment = read(text.strip())
            return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    return None
