"""The solver: a conversation's calls put to the model through Inspect, as many at once as Inspect lets through.

Owns what becomes of trouble. What the line does ends the sample with Inspect's own error, so that Inspect may retry it
and nobody scores it; what the model does is an answer. A judge's trouble is an owed vote and never costs the sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from logging import getLogger
from typing import Any

import anyio
import inspect_ai
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    ResponseSchema,
    get_model,
    model_roles,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import JSONSchema, LimitExceededError, span

from attunebench import api
from attunebench.backends.base import Reply, Request
from attunebench.errors import ConfigurationError, ItemError
from attunebench.harness.common import Session
from attunebench.harness.inspect_ai.baselines import UNDER_WAY
from attunebench.harness.inspect_ai.logs import STORE
from attunebench.harness.inspect_ai.outputs import read_output, rejects_schema, rule_behind, takes_schema
from attunebench.harness.inspect_ai.study import Choices, Study, model_named, study_of
from attunebench.harness.inspect_ai.trouble import sentences
from attunebench.journal import Entry
from attunebench.protocol.calls import Call, Message
from attunebench.runner.replay import Ask
from attunebench.runner.walk import Open, Walk
from attunebench.text import printable

JUDGES = "judge"
"""Models of roles whose name begins so rate the drafts."""

_logger = getLogger(__name__)
_MESSAGES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
_CONFIGURATION = frozenset((401, 402, 404))
_STOPS = frozenset(("money", "day", "key wanted", "forbidden"))
"""Statuses, and rules of the table of faults, that no other prompt would cure: the key, the money, the model's name."""
_LINE = {"max_retries", "timeout", "attempt_timeout", "stream_idle_timeout", "max_connections", "adaptive_connections"}
_LINE |= {"cache", "cache_prompt", "batch", "fail_on_refusal", "max_tool_output"}
_OURS = {"max_tokens", "temperature", "seed", "response_schema"}
"""What of Inspect's configuration changes no answer, and what of it stands among our own parameters."""


@solver(name="attunebench_solver")
def attunebench_solver(**arguments: Any) -> Solver:
    """Put all calls of a sample's conversation to the model; `arguments` as the task takes them."""
    with sentences():
        asking = _Asking(study_of(Choices.of(**arguments)))

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001 (it asks one thread of talk)
        await asking.sample(state)
        return state

    return solve


@dataclass(slots=True)
class _Crew:
    """The evaluated model and its judges, and the session in which they are asked."""

    models: tuple[Model, ...]
    session: Session
    config: Mapping[str, Any]


@dataclass(slots=True)
class _Asking:
    """Asks for the samples of one task, one model at a time or several."""

    study: Study
    crews: dict[tuple[str, ...], _Crew] = field(default_factory=dict)
    schemaless: set[str] = field(default_factory=set)
    """Models whose provider was found to refuse schemas."""
    closed: dict[str, str] = field(default_factory=dict)
    """Models that answered with trouble of key, money or name, and what it was: more calls would meet the same."""
    known: dict[str, dict[tuple[str, int], Entry]] = field(default_factory=dict)
    """What a sample had when it failed, by its uuid: a retry of it asks for the rest."""

    async def sample(self, state: TaskState) -> None:
        """Walk through a sample's conversation and leave result and replies in its store."""
        crew = self.crew()
        if (name := str(crew.models[0])) in self.closed:
            raise ConfigurationError(f"{name} was not asked: it refused an earlier call ({self.closed[name]}).")
        conversation = self.study.conversation(state.metadata["conversation"])
        entries = self.known.pop(state.uuid, {})

        def known(call: Call, ask: Ask) -> Entry | None:
            return entries.get((call.id, ask.number))

        walk = crew.session.walk(conversation, state.metadata["mode"], known)
        work = _Sample(self, crew, walk, entries)
        try:
            await work.run()
        except Exception:
            self.known[state.uuid] = entries
            raise
        finally:
            state.store.set(STORE, {"replies": [_compact(entry) for entry in entries.values()]})
        result = crew.session.result(walk, epoch=state.epoch, quick_scores=api.quick_scores)
        result["parameters"] = {**result["parameters"], **crew.config}
        result["engine"] = {"name": "inspect_ai", "version": inspect_ai.__version__, "model": str(crew.models[0])}
        state.store.set(STORE, {**state.store.get(STORE), "result": result, "votes_owed": work.owed})

    def crew(self) -> _Crew:
        """Who is asked in the running evaluation."""
        judges: list[Model] = []
        for role, bound in model_roles().items():
            if role.startswith(JUDGES):
                judges += bound if isinstance(bound, list) else [bound]
        models = (get_model(), *judges)
        names = tuple(map(str, models))
        # The evaluated model's configuration is what the task and the command line say; Inspect tells it nowhere else.
        config = models[0]._resolve_config(None)
        key = (*names, str(config))
        if key not in self.crews:
            sampling = {"temperature": config.temperature, "seed": config.seed}
            if config.max_tokens is not None:
                sampling["max_tokens"] = config.max_tokens
            em, *others = map(model_named, names)
            others_set = config.model_dump(exclude_none=True, exclude=_LINE | _OURS, mode="json")
            self.crews[key] = _Crew(models, self.study.session(em, others, **sampling), others_set)
        return self.crews[key]


@dataclass(slots=True)
class _Sample:
    """One walk under way. `entries`: what came back so far; `owed`: judges' calls that the line kept."""

    asking: _Asking
    crew: _Crew
    walk: Walk
    entries: dict[tuple[str, int], Entry]
    owed: list[str] = field(default_factory=list)
    _taken: set[tuple[str, int]] = field(default_factory=set)
    _failed: Exception | None = None

    async def run(self) -> None:
        """Ask until nothing is open. Raises the first trouble, when what was under way then is done."""
        async with anyio.create_task_group() as group:
            self._start(group)
        if self._failed is not None:
            raise self._failed

    def _start(self, group: Any) -> None:
        """Send what is open and was not sent."""
        if self._failed is not None:  # nothing more is bought for a sample that cannot be finished
            return
        for asked in self.walk.open:
            key = (asked.call.id, asked.ask.number)
            if key not in self._taken:
                self._taken.add(key)
                group.start_soon(self._pursue, group, asked)

    async def _pursue(self, group: Any, asked: Open) -> None:
        try:
            entry = await self._ask(asked)
        except LimitExceededError:
            raise
        except Exception as trouble:
            error = _behind(trouble)
            if asked.who:
                self.owed.append(asked.call.id)
                _logger.warning(f"No vote from {self.crew.models[asked.who]} on {asked.call.needs}: {error}")
            else:
                self._failed = self._failed or error
                if getattr(error, "status_code", None) in _CONFIGURATION or rule_behind(error).name in _STOPS:
                    self.asking.closed[str(self.crew.models[0])] = printable(str(error), 200)
            return
        self.entries[(entry.call_id, entry.ask)] = entry
        self.walk.add(entry)
        self._start(group)

    async def _ask(self, asked: Open) -> Entry:
        settings, ask = self.crew.session.settings, asked.ask
        UNDER_WAY.set(
            Request(
                call=asked.call,
                messages=ask.messages,
                max_tokens=ask.max_tokens,
                temperature=settings.temperature,
                seed=settings.seed,
                timeout=settings.call_timeout,
                reask=ask.number,
                conversation=self.walk.job.conversation,
            )
        )
        began = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        name = asked.call.id if not asked.ask.number else f"{asked.call.id} (reask {asked.ask.number})"
        reply, trouble = None, None
        async with span(name):
            try:
                reply = await self._reply(asked)
            except ItemError as error:
                trouble = error
        seconds = reply.latency if reply is not None else None
        return self.crew.session.entry(asked, reply, error=trouble, sent_at=began, seconds=seconds)

    async def _reply(self, asked: Open) -> Reply:
        """The reply to one ask; without a schema where the provider refuses that. Raises ItemError where there can be
        none."""
        model, messages = self.crew.models[asked.who], _messages(asked.ask.messages)
        constrained, refused = self._constrains(model), False
        try:
            output = await self._output(asked, messages, constrained)
        except Exception as error:
            if not (constrained and self.asking.study.choices.structured == "auto" and rejects_schema(error)):
                raise
            self.asking.schemaless.add(str(model))
            constrained, refused = False, True
            output = await self._output(asked, messages, constrained)
        refused = refused or str(model) in self.asking.schemaless
        return read_output(output, structured="schema" if constrained else "text", schema_refused=refused)

    async def _output(self, asked: Open, messages: list[ChatMessage], constrained: bool) -> ModelOutput:
        """What Inspect's model says; an error that may be this request's own is heard twice before it counts."""
        try:
            return await self._generate(asked, messages, constrained)
        except LimitExceededError:
            raise
        except Exception as error:
            said = _behind(error)
            if not rule_behind(said).doubtful or (constrained and rejects_schema(said)):
                _raise_own(said)
                raise
        try:
            return await self._generate(asked, messages, constrained)
        except LimitExceededError:
            raise
        except Exception as error:
            _raise_own(_behind(error))
            raise

    def _constrains(self, model: Model) -> bool:
        wanted = self.asking.study.choices.structured
        able = takes_schema(model_named(str(model)).provider) and str(model) not in self.asking.schemaless
        return wanted == "schema" or (wanted == "auto" and able)

    async def _generate(self, asked: Open, messages: list[ChatMessage], constrained: bool) -> ModelOutput:
        model, settings, call = self.crew.models[asked.who], self.crew.session.settings, asked.call
        config = GenerateConfig(max_tokens=asked.ask.max_tokens)
        if asked.who:  # a role does not inherit how the evaluated model is sampled
            own = model.config
            config.temperature = settings.temperature if own.temperature is None else own.temperature
            config.seed = settings.seed if own.seed is None else own.seed
        if constrained:
            schema = JSONSchema.model_validate(call.schema)
            config.response_schema = ResponseSchema(name=f"attunebench_{call.kind}", json_schema=schema, strict=True)
        return await model.generate(messages, config=config)


def _behind(trouble: Exception) -> Exception:
    """What the last of Inspect's tries met: its own error for the end of them names nothing of it."""
    tried = getattr(trouble, "last_attempt", None)
    met = tried.exception() if tried is not None else None
    return met if isinstance(met, Exception) else trouble


def _raise_own(error: Exception) -> None:
    """Raises ItemError where an error says that its request can never be answered, for its length or its contents."""
    outcome = rule_behind(error).outcome
    if outcome in ("item", "refused"):
        raise ItemError(printable(str(error), 300), outcome="refused" if outcome == "refused" else "unreadable")


def _messages(messages: Sequence[Message]) -> list[ChatMessage]:
    return [_MESSAGES[message.role](content=message.content) for message in messages]


def _compact(entry: Entry) -> dict[str, Any]:
    """An entry for the log, where its prompt stands already: who said what to which ask."""
    reply = entry.reply
    said: dict[str, Any] = {"call": entry.call_id, "ask": entry.ask, "model": entry.model}
    if reply is None:
        return {**said, "error": entry.error, "outcome": entry.error_outcome}
    kept = {name: getattr(reply, name) for name in ("text", "finish_reason", "refusal", "structured") if reply}
    return {**said, **{name: value for name, value in kept.items() if value is not None}}
