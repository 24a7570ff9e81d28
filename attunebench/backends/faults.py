"""Whose fault a failed try is: one table, most specific row first, from what happened to the error that is raised, in a
sentence for the user; and how long a server asks to wait. `wording.ini` knows what servers' words mean; what a server
can do without is `negotiation`'s."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from configparser import ConfigParser
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from functools import cache
from importlib import resources
from typing import Any, Literal

from pydantic import TypeAdapter

from attunebench.backends.providers import PROVIDERS, THE_CLIENT, Endpoint
from attunebench.errors import AttuneBenchError, ConfigurationError, ItemError, RejectedError, TransientError, Trouble
from attunebench.text import printable

LONGEST_SENTENCE = 300  # characters of a server's own words that are passed on to the user
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
Line = Literal[
    "", "timeout", "unreachable", "connection", "unknown host", "proxy", "certificate", "no tls", "address", "client",
    "body", "encoding", "html", "error body",
]  # fmt: skip
"""What the line did where no status tells it."""
Outcome = Literal["stop", "retry", "skip", "item", "refused"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One failed try. `status`: of the response, or inside an error body under 200, else 0. `code`: the server's codes,
    and exhausted quotas. `parsed`: whether the body was JSON. `answered`: whether this backend has had an answer, so
    that its address is right; `known`: whether it or an earlier run had, so that key and model are, too."""

    status: int = 0
    line: Line = ""
    message: str = ""
    code: str = ""
    param: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    parsed: bool = True
    answered: bool = False
    known: bool = False
    reask: int = 0
    elapsed: float | None = None

    @property
    def wait(self) -> float | None:
        """Seconds that the server asks to wait, or None: in its headers, with those that a router passes on in the
        `metadata`, or in that. Times of reset, and a wait in the message alone, count only where it says that it is
        overrun."""
        headers, passed_on = self.headers, self.metadata.get("headers")
        if isinstance(passed_on, Mapping):
            headers = {str(name).lower(): str(value) for name, value in passed_on.items()} | dict(headers)
        milliseconds = number(headers.get("retry-after-ms", "") or headers.get("x-ms-retry-after-ms", ""))
        seconds = _until(headers.get("retry-after", ""), headers) if milliseconds is None else milliseconds / 1000
        if seconds is not None and seconds > 0:
            return seconds
        named = {name: unit for name, unit in WAIT_FIELDS.items() if name in self.metadata}
        waits = ((_until(str(self.metadata[name]), headers), unit) for name, unit in named.items())
        asked = next(filter(None, (_sensible(wait and wait * unit) for wait, unit in waits)), None)
        if asked is None and self.status in (429, 503):
            # What the sentence says is meant; of the headers it may be the wrong limit's.
            sentence = _SENTENCE.search(self.message)
            asked = (sentence and _sensible(_sum_of_parts(sentence[0]))) or _until_reset(headers)
        return asked

    @property
    def text(self) -> str:
        """All that the server said, for the patterns."""
        return f"{self.code} {self.param} {self.message}"


@dataclass(frozen=True, slots=True)
class Rule:
    """A row: when it applies, what follows, and the sentence; `{says}` is the server's words behind a colon, or "".
    `kind`: the sort of trouble, for who tries again. `doubtful`: the words may be misread or a mistake, so the same
    request goes out once more before it counts."""

    name: str
    applies: Callable[[Fault], bool]
    outcome: Outcome
    sentence: str
    kind: Trouble = "server"
    doubtful: bool = False


@cache
def _meanings() -> Mapping[str, re.Pattern[str]]:
    parser = ConfigParser(delimiters=("=",), comment_prefixes=("#",), empty_lines_in_values=False)
    parser.read_string(resources.files(__package__).joinpath("wording.ini").read_text(encoding="utf-8"))
    lines = {name: value.strip().replace("\n", "|") for name, value in parser.items("meanings")}
    return {name: re.compile(each, re.IGNORECASE | re.DOTALL) for name, each in lines.items()}


def means(meaning: str, text: str) -> bool:
    """Whether a server's words have this meaning of `wording.ini`."""
    return _meanings()[meaning].search(text) is not None


def _says(fault: Fault, meaning: str, *statuses: int) -> bool:
    """Whether the server says it under one of these statuses, or in an error body under 200 that has no status."""
    in_body = fault.status == 0 and fault.line == "error body"
    return (in_body or fault.status in statuses) and means(meaning, fault.text)


_RETRIED = frozenset((408, 409, 425, 429))
_NO_MONEY_CODES = frozenset(("1008", "1113", "30001"))  # MiniMax, Z.ai, SiliconFlow
_OWN = (frozenset(range(400, 500)) - _RETRIED - {401, 402, 404, 405, 407}) | {409, 500}
"""Statuses under which servers refuse one request for what stands in it; gateways have some of their own."""
SHORT_WAIT = 600.0  # seconds: a limit that ends so soon is a rate, whatever it is called


def _no_money(fault: Fault) -> bool:
    """Whether money or credit is gone. A rate that is called a quota, and a day's limit, are not that."""
    text = fault.text
    if _NO_MONEY_CODES.intersection(fault.code.split()) or means("money", text):
        return True
    may_be_quota = fault.status in (0, 400, 403, 429) and fault.wait is None and means("quota", text)
    return may_be_quota and not means("rate", text) and not means("day", text)


def _no_more_today(fault: Fault) -> bool:
    """Whether a day's limit is reached, and not a rate: Google's servers ask for a short wait beside it too."""
    if fault.status not in (0, 400, 403, 429, 503) or not means("day", fault.text):
        return False
    return means("day", fault.code) or fault.wait is None or fault.wait > SHORT_WAIT


def _rejected(fault: Fault) -> bool:
    return 400 <= fault.status < 500


RULES: tuple[Rule, ...] = (  # read from the top; the last row takes everything
    Rule("proxy", lambda f: f.status == 407 or (f.line == "proxy" and _rejected(f) and f.status not in _RETRIED),
         "stop",
         "The proxy on the way to {host} refused the connection ({status}): check the address, user and password in "
         "HTTP_PROXY, HTTPS_PROXY or ALL_PROXY, or name the host in NO_PROXY."),
    Rule("proxy's trouble", lambda f: f.line == "proxy", "retry",
         "The proxy on the way to {provider} at {host} did not connect{says}", "connect"),
    Rule("moderated", lambda f: (f.status == 403 and bool({"reasons", "flagged_input"} & set(f.metadata)))
         or _says(f, "content filter", 400, 403, 422), "refused",
         "{provider}'s moderation refused the request to {model}{says}"),
    Rule("wait for money", lambda f: f.status == 402 and f.wait is not None, "retry",
         "{provider} delays requests to {model} until earlier ones are settled (402){says}", "money"),
    Rule("money", lambda f: f.status == 402 or _no_money(f), "stop",
         "{provider} has no balance or quota left for your key ({key_state}){says}. "
         "Top it up or wait for the next period, then rerun the command: finished calls are kept."),
    Rule("day", _no_more_today, "stop", "{provider} accepts no more requests to {model} for today{says}. "
         "Rerun the command {after_the_day}: finished calls are kept."),
    Rule("too long", lambda f: _says(f, "context length", 400, 413, 422, 500), "item",
         "The prompt is too long for {model} at {provider}{says}"),
    Rule("too large", lambda f: f.status == 413 or (f.status == 429 and means("large request", f.text)), "item",
         "{provider} cannot accept a request of this size for {model}; a lower --max-tokens may help{says}"),
    Rule("redirect", lambda f: 300 <= f.status < 400, "stop",
         "The base URL {url} redirects to {location}, and a key is never sent after a redirect: "
         "give the final address with --base-url."),
    Rule("key wanted", lambda f: f.status == 401 or _says(f, "bad key", 400, 403), "stop",
         "{provider} at {url} did not accept the API key ({key_state}): {key_remedy}."),
    Rule("privacy", lambda f: f.status == 404 and means("privacy", f.text), "stop",
         "{provider} has no endpoint for {model} that your account's privacy settings allow{says}"),
    Rule("moderated in other words", lambda f: _says(f, "safety", *_OWN) and not means("account", f.text), "refused",
         "{provider}'s moderation refused the request to {model}{says}", doubtful=True),
    Rule("forbidden", lambda f: f.status == 403 and (not f.known or means("permission", f.text)), "stop",
         "{provider} at {url} does not allow {model} for this key ({key_state}){says}"),
    Rule("model", lambda f: f.parsed and _says(f, "missing model", 400, 404, 410, 422), "stop",
         "{provider} at {url} has no model {model}: check the name{says}"),
    Rule("path", lambda f: (f.status in (404, 405) and not f.known) or _says(f, "wrong path"), "stop",
         "There is no chat API at {url}/chat/completions: check the base URL (most end in /v1) and the model name "
         "{model}{says}"),
    Rule("page", lambda f: f.line == "html" and not f.answered, "retry",
         "{url}/chat/completions answers with a web page instead of JSON: check the base URL (most end in /v1){says}",
         "body"),
    Rule("host", lambda f: f.line == "unknown host" and not f.answered, "stop",
         "The host {host} of {provider} is unknown: check the base URL and the network connection."),
    Rule("certificate", lambda f: f.line == "certificate", "stop",
         "The certificate of {host} is not trusted; set SSL_CERT_FILE to the file of its authority{says}"),
    Rule("no tls", lambda f: f.line == "no tls" and not f.answered, "stop",
         "{host} does not use TLS at this address: is it http:// rather than https://{says}?"),
    Rule("address", lambda f: f.line == "address", "stop", "Requests to {url} cannot be made{says}"),
    Rule("client", lambda f: f.line == "client", "stop", "The HTTP client refused to send the request{says}"),
    Rule("rate", lambda f: f.status == 429 or _says(f, "rate limit", 503), "retry",
         "{provider} accepts no more requests to {model} for now{says}", "rate"),
    Rule("starting", lambda f: _says(f, "loading", 425, 500, 502, 503), "retry",
         "{provider} is still loading {model}{says}", "starting"),
    Rule("gateway", lambda f: f.status in (504, 524), "retry",
         "A gateway before {provider} gave up waiting for {model} ({status}{after}){says}", "gateway"),
    Rule("transient status", lambda f: f.status in _RETRIED or f.status >= 500, "retry",
         "{provider} answered {status} for {model}{says}"),
    Rule("too long in other words", lambda f: _says(f, "long input", 400, 413, 422), "item",
         "The request is too long for {model} at {provider}{says}", doubtful=True),
    Rule("larger limit", lambda f: (f.reask > 0 or f.answered) and _says(f, "token limit", 400, 422), "item",
         "{provider} accepts no larger limit of tokens for {model}{says}"),
    Rule("limit", lambda f: _says(f, "token limit", 400, 422), "stop",
         "{provider} does not accept this limit of tokens for {model}; give another --max-tokens{says}"),
    Rule("rejected call", lambda f: f.known and _rejected(f), "skip",
         "{provider} answers other requests to {model} but rejects this one ({status}){says}", doubtful=True),
    Rule("rejected", _rejected, "stop", "{provider} rejected the request to {model} ({status}){says}"),
    Rule("timeout", lambda f: f.line == "timeout", "retry", "{provider} at {host} did not answer in time{says}",
         "timeout"),
    Rule("unreachable", lambda f: f.line in ("unreachable", "unknown host", "no tls"), "retry",
         "Cannot connect to {provider} at {url}{says}", "connect"),
    Rule("connection", lambda f: f.line == "connection", "retry", "The connection to {provider} at {url} failed{says}",
         "line"),
    Rule("error body", lambda f: f.line == "error body", "retry",
         "{provider} sent an error instead of an answer{says}"),
    Rule("body", lambda _: True, "retry", "{provider} sent no complete answer for {model}{says}", "body"),
)  # fmt: skip


def rule_for(fault: Fault) -> Rule:
    """The row that applies."""
    return next(rule for rule in RULES if rule.applies(fault))


def error_for(fault: Fault, endpoint: Endpoint) -> AttuneBenchError:
    """The error to raise (transient, rejected, item or configuration), in a sentence without any part of the key."""
    rule, says = rule_for(fault), fault.message.strip().rstrip(".")
    variables = " or ".join(PROVIDERS[endpoint.provider].key_variables)
    remedy = f"check {variables}, or give --api-key" if variables else "give --api-key"
    after_the_day = f"when the provider's daily limit resets, by {wait_in_words(86400.0)} at the latest"
    if fault.wait is not None and fault.wait > SHORT_WAIT:
        after_the_day = f"after {wait_in_words(fault.wait)}"
    elif fault.metadata.get("violations"):
        after_the_day = "after midnight Pacific time, when Google resets daily limits"
    sentence = rule.sentence.format(
        provider=endpoint.provider, model=endpoint.model, url=endpoint.base_url, host=endpoint.host,
        status=fault.status, says=says and f": {says}", after_the_day=after_the_day,
        after=f" after {fault.elapsed:.0f} s" if fault.elapsed is not None else "",
        location=printable(fault.headers.get("location") or "another address", LONGEST_SENTENCE).split("?")[0],
        key_state="none was given" if endpoint.key_source == "none" else f"from {endpoint.key_source}",
        key_remedy="check the client's credentials" if endpoint.key_source == THE_CLIENT else remedy,
    )  # fmt: skip
    sentence += "" if sentence.endswith((".", "…", "!", "?")) else "."
    if rule.outcome == "retry":
        return TransientError(sentence, kind=rule.kind, retry_after=fault.wait, elapsed=fault.elapsed)
    if rule.outcome in ("item", "refused"):
        return ItemError(sentence, outcome="refused" if rule.outcome == "refused" else "unreadable")
    return RejectedError(sentence) if rule.outcome == "skip" else ConfigurationError(sentence)


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
