"""What a server cannot take, and the request without it: where it rejects a part, that part is given up (a concession)
and the rest stays. Pure: builds bodies and reads faults, and sends nothing."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from attunebench.backends.faults import Fault, means, rule_for
from attunebench.errors import ConfigurationError

if TYPE_CHECKING:
    from attunebench.backends.base import Request
    from attunebench.runner.settings import Structured

Concession = Literal["schema", "object", "temperature", "seed", "limit", "system", "compression", "stream"]
NOTES: Mapping[Concession, tuple[str, str]] = {  # what `Reply.notes` says of each concession
    "schema": ("response_format.json_schema", "not accepted"),
    "object": ("response_format.json_object", "not accepted"),
    "temperature": ("temperature", "not accepted"),
    "seed": ("seed", "not accepted"),
    "limit": ("max_tokens", "sent under its other name"),
    "system": ("system", "folded into the user message"),
    "compression": ("accept-encoding", "identity: compressed answers could not be read"),
    "stream": ("stream", "on: the server answers only by event stream"),
}

_REJECTING = frozenset((400, 404, 422, 500, 501))
"""Statuses that servers use for a parameter they do not take: also 404 (no route to a model that takes it) and 500."""
_PARAMETERS: tuple[Literal["temperature", "seed"], ...] = ("temperature", "seed")
_CEILING = re.compile(
    r"(?i)(?:at most|>) (\d+)(?: (?:completion|output) tokens|, which is the maximum allowed)"
    r"|max_tokens must be at most (\d+)"
)
_LOWERED = "lowered to "
_WINDOW = re.compile(r"(?:maximum|context|limit|window|allowed|<=|>)[^.;\d]{0,60}?(?<![\d.])(\d{3,})(?![\d.]*\d)", re.I)
_ANSWER = re.compile(r"completion|output|generat|max_(new_)?tokens|maxtokens|in total|requested", re.I)
_GROUPED = re.compile(r"(?<=\d)[,\u202f\u00a0_](?=\d{3}\b)")
_NUMBER = re.compile(r"(?<![\w.-])\d{2,9}(?![\w-]|\.\d)")
_SMALLEST_LIMIT = 64  # tokens: below this no answer fits, so a prompt that leaves less is too long


@dataclass(frozen=True, slots=True)
class Terms:
    """How requests are put: what the user wants, and what the server does not take. `ceiling`: tokens, this call's.
    `recalled`: what was given up is known from an earlier run alone, and has not been found true in this one yet."""

    structured: Structured = "auto"
    limit_names: tuple[str, str] = ("max_tokens", "max_completion_tokens")
    given_up: frozenset[Concession] = frozenset()
    ceiling: int | None = None
    recalled: bool = False

    def as_memory(self) -> dict[str, Any]:
        """What was learned of the server, for JSON; empty where it takes everything."""
        return {"given_up": sorted(self.given_up)} if self.given_up else {}

    @property
    def rung(self) -> Literal["schema", "object", "text"]:
        """The strongest constraint on the output that is still to be had."""
        if self.structured != "auto":
            return self.structured
        return "schema" if "schema" not in self.given_up else "object" if "object" not in self.given_up else "text"

    def body(self, request: Request) -> dict[str, Any]:
        """The request's body without the model's name."""
        limit = self.limit_names["limit" in self.given_up]
        messages = [{"role": message.role, "content": message.content} for message in request.messages]
        if "system" in self.given_up:
            # Before the first user message, for templates that know only user and assistant.
            system = [message["content"] for message in messages if message["role"] == "system"]
            messages = [message for message in messages if message["role"] != "system"]
            if messages and messages[0]["role"] == "user":
                system.append(messages.pop(0)["content"])
            messages.insert(0, {"role": "user", "content": "\n\n".join(system)})
        allowed = min(request.max_tokens, self.ceiling or request.max_tokens)
        body: dict[str, Any] = {"messages": messages, limit: allowed}
        for name in _PARAMETERS:
            if (value := getattr(request, name)) is not None and name not in self.given_up:
                body[name] = value
        if self.rung == "schema":
            schema = {"name": f"attunebench_{request.call.kind}", "strict": True, "schema": request.call.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif self.rung == "object":
            body["response_format"] = {"type": "json_object"}
        if "stream" in self.given_up:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return body

    def notes(self, request: Request) -> dict[str, Any]:
        """What was adapted of this request, for the record; not what it would not have had anyway."""
        lacked: set[Concession] = set() if self.structured == "auto" else {"schema", "object"}
        lacked |= {name for name in _PARAMETERS if getattr(request, name) is None}
        notes = dict(NOTES[part] for part in sorted(self.given_up - lacked))
        if self.ceiling and self.ceiling < request.max_tokens:
            notes["max_tokens"] = f"{_LOWERED}{self.ceiling}"
        return notes

    def learned(self, other: Terms) -> Terms:
        """These terms with what an answer has just confirmed of others; a memory that it did without is forgotten."""
        refuted = self.recalled and not other.recalled and not self.given_up <= other.given_up
        given_up = other.given_up if refuted else self.given_up | other.given_up
        return replace(self, given_up=given_up, ceiling=None, recalled=False)


def lowered_limit(notes: Mapping[str, Any]) -> int | None:
    """The limit in tokens that a reply with these notes had in place of the one asked for; None where there is none."""
    lowered = re.fullmatch(rf"{_LOWERED}(\d+)", str(notes.get("max_tokens", "")))
    return int(lowered[1]) if lowered else None


def first_terms(provider: str, structured: Structured, memory: Mapping[str, Any] | None) -> Terms:
    """The terms of a first request, with what `as_memory` kept of the server; anything else in it is ignored."""
    kept, known = (memory or {}).get("given_up"), get_args(Concession)
    given_up: frozenset[Concession] = frozenset(each for each in known if isinstance(kept, list) and each in kept)
    terms = Terms(structured, given_up=given_up, recalled=bool(given_up))
    return replace(terms, limit_names=terms.limit_names[::-1]) if provider == "openai" else terms


def adapted(terms: Terms, request: Request, fault: Fault) -> Terms | None:
    """The terms to try next by what this fault says, or None. ConfigurationError: the user insists on that part."""
    if not _may_adapt(fault):
        return None
    room = _room(_GROUPED.sub("", fault.message), request.max_tokens) if terms.ceiling is None else 0
    if _SMALLEST_LIMIT <= room < request.max_tokens:
        return replace(terms, ceiling=room)
    concession = _named(terms, terms.body(request), fault)
    if concession in ("schema", "object") and terms.structured != "auto":
        says = f": {fault.message}" if fault.message else ""
        raise ConfigurationError(f"The server does not accept --structured {terms.structured}; use auto instead{says}")
    return None if concession is None else replace(terms, given_up=terms.given_up | {concession})


def guessed(terms: Terms, fault: Fault, taken: Collection[str]) -> Terms | None:
    """The terms to try next after a rejection without a reason, twice the same; None where none are left."""
    if not _may_adapt(fault):
        return None
    rule, rung = rule_for(fault).name, terms.rung
    if terms.structured == "auto" and rung != "text" and rung not in taken and rule in ("rejected", "rejected call"):
        return replace(terms, given_up=terms.given_up | {rung})
    # What was remembered may have aged: before it stops the run, the request is put as if nothing were known.
    aged = terms.recalled and rule in ("rejected", "rejected call", "limit", "larger limit")
    return Terms(terms.structured, terms.limit_names) if aged else None


def _may_adapt(fault: Fault) -> bool:
    """Whether the fault may be about a part of the request, rather than about money or what stands in the prompt."""
    if fault.status not in _REJECTING and (fault.status or fault.line != "error body"):
        return False
    rule = rule_for(fault)
    return rule.outcome != "refused" and rule.name not in ("money", "key wanted")


def _named(terms: Terms, body: Mapping[str, Any], fault: Fault) -> Concession | None:
    """The part that the fault names, by its `param` where there is one."""
    for text in filter(None, (fault.param, fault.text)):
        if "response_format" in body and means("response format", text):
            return "schema" if terms.rung == "schema" else "object"
        if body["messages"][0]["role"] == "system" and means("no system role", text):
            return "system"
        for name in _PARAMETERS:
            if name in body and means(name, text):
                return name
    if "stream" not in body and means("streams only", fault.text):
        return "stream"
    if "limit" in terms.given_up or (means("too large", fault.text) and not means("unknown parameter", fault.text)):
        return None
    # It names what it does not know, or what it wants to have.
    limit = terms.limit_names[not means("unknown parameter", fault.text)]
    return "limit" if re.search(rf"\b{limit}\b", fault.text) else None


def _room(message: str, limit: int) -> int:
    """The tokens that are left for the answer, by the numbers of a sentence that speaks of prompt and answer, or 0."""
    if ceiling := _CEILING.search(message):
        return int(ceiling[1] or ceiling[2])
    numbers = {int(number) for number in _NUMBER.findall(message)}
    if not (_ANSWER.search(message) or limit in numbers):
        return 0
    # Any number may be the prompt, or prompt and limit together; of several readings that which is certain to fit.
    others = numbers - {limit}
    prompts = others | {number - limit for number in others}
    stated = {int(number) for number in _WINDOW.findall(message)} & others
    for windows in (stated or others, numbers & {limit}):  # a window may be as large as the limit
        pairs = [(window, prompt) for window in windows for prompt in prompts]
        if fits := [window - prompt for window, prompt in pairs if 0 < prompt < window < prompt + limit]:
            return min(fits)
    return 0
