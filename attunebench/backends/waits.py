"""How long a server asks to wait before the next try, in the ways in which headers say so."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds from the headers `retry-after-ms` or `retry-after` (a number, or an HTTP date), names in lower case.

    A date counts against the response's own clock, since ours may be wrong. None where nothing is asked, where it
    cannot be read, or where it is no wait at all: the caller's own backoff holds then.
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000 if milliseconds > 0 else None
    asked = headers.get("retry-after", "")
    seconds = _number(asked)
    if seconds is None:
        until, now = _date(asked), _date(headers.get("date", "")) or datetime.now(timezone.utc)
        seconds = (until - now).total_seconds() if until else 0.0
    return seconds if seconds > 0 else None


def _number(text: str) -> float | None:
    try:
        number = float(text.strip())
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=timezone.utc)
