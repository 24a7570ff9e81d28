"""The solver: a conversation's calls put to the model through Inspect; and the baselines as models of Inspect. A
model's refusal, empty or truncated reply is its answer; a network error ends the sample with Inspect's own error, so
that it may be retried and is not scored; a judge's failure leaves a pending vote."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from logging import getLogger
from typing import Any

import anyio
import inspect_ai
from inspect_ai import model as inspect_models
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.model import GenerateConfig, Model, ModelOutput, ModelUsage, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import JSONSchema, LimitExceededError, span

from attunebench.backends.base import Reply, Request
from attunebench.backends.baselines import BaselineBackend
from attunebench.backends.faults import Fault, Rule, rule_for
from attunebench.backends.negotiation import NOTES
from attunebench.errors import AttuneBenchError, ConfigurationError, ItemError, TransientError
from attunebench.harness.common import STORE, Study, model_named, study_of
from attunebench.protocol.calls import Usage
from attunebench.protocol.endings import canonical
from attunebench.runner.job import Ask, Job
from attunebench.runner.settings import RunSettings
from attunebench.text import encodable, printable

_logger = getLogger(__name__)
_NO_SCHEMA = frozenset(("baseline", "mockllm", "hf", "none", "transformer_lens", "nnterp"))  # these ignore a schema
_REJECTING = frozenset((None, 400, 404, 422, 500, 501))
_FORMAT = re.compile(r"response_format|json_schema|structured output|output_config|output_format|grammar|guided", re.I)
_LINE = {"max_retries", "timeout", "attempt_timeout", "stream_idle_timeout", "max_connections", "adaptive_connections"}
_LINE |= {"cache", "cache_prompt", "batch", "fail_on_refusal", "max_tool_output"}
_OURS = {"max_tokens", "temperature", "seed", "response_schema"}
"""What of Inspect's configuration changes no answer, and what of it stands among our own parameters."""
_REQUEST: ContextVar[Request] = ContextVar("attunebench_request")  # the one being made: baselines are given it


@contextmanager
def sentences() -> Iterator[None]:
    """Raises PrerequisiteError, which Inspect shows without a traceback, for an error of ours in this block."""
    try:
        yield
    except AttuneBenchError as error:
        raise PrerequisiteError(f"attunebench: {error}") from None


@solver(name="attunebench_solver")
def attunebench_solver(**arguments: Any) -> Solver:
    """Put all calls of a sample's conversation to the model; `arguments` as the task takes them."""
    with sentences():
        return ConversationSolver(study_of(model_named("none"), **arguments))


@dataclass(eq=False)
class ConversationSolver:
    """Asks for the samples of one task, one model at a time or several."""

    study: Study
    schemaless: set[str] = field(default_factory=set)  # models whose provider was found to refuse schemas
    closed: dict[str, str] = field(default_factory=dict)
    """Models that failed for their key, money or name, and the error: more calls would fail alike."""
    jobs: dict[str, Job] = field(default_factory=dict)
    """By the uuid of their sample, until it ends: a retry of a sample asks only for what is still open."""

    async def __call__(self, state: TaskState, generate: Generate) -> TaskState:
        """Do a sample's job, and leave its result in its store."""
        models, study = self.asked()
        if (name := str(models[0])) in self.closed:
            raise ConfigurationError(f"{name} was not called: it refused an earlier call ({self.closed[name]}).")
        conversation = study.conversation(state.metadata["conversation"])
        job = self.jobs.setdefault(state.uuid, study.job(conversation, state.metadata["mode"]))
        await self.do(job, study, models)
        del self.jobs[state.uuid]
        engine = {"name": "inspect_ai", "version": inspect_ai.__version__, "model": name}
        result = {**study.result(job, epoch=state.epoch), "engine": engine}
        state.store.set(STORE, {"result": result, "votes_owed": list(job.owed)})
        return state

    def asked(self) -> tuple[list[Model], Study]:
        """The models of the running evaluation, the evaluated one first, and the study under their settings."""
        models = [get_model()]
        for role, bound in inspect_models.model_roles().items():
            if role.startswith("judge"):
                models += bound if isinstance(bound, list) else [bound]
        em, *judges = (model_named(str(model)) for model in models)
        # The evaluated model's configuration is what the task and the command line say; Inspect has it nowhere else.
        config = models[0]._resolve_config(None)
        limit = {} if config.max_tokens is None else {"max_tokens": config.max_tokens}
        further = config.model_dump(exclude_none=True, exclude=_LINE | _OURS, mode="json")
        sampling = {"temperature": config.temperature, "seed": config.seed, **limit}
        return models, self.study.under(further, em=em, judges=tuple(judges), **sampling)

    async def do(self, job: Job, study: Study, models: list[Model]) -> None:
        """Ask until nothing of the job is open. Raises the first error, once calls in flight are done."""
        failed: list[Exception] = []

        async def pursue(asked: Ask) -> None:
            if failed:  # nothing more is bought for a sample that cannot be finished
                return
            call, model = asked.call, models[asked.who]
            outcome: Reply | ItemError
            try:
                async with span(f"{call.id}{f' (re-prompt {asked.number})' if asked.number else ''}"):
                    outcome = await self.reply(model, asked, study.settings, job.context)
            except ItemError as error:
                outcome = error
            except LimitExceededError:
                raise
            except Exception as error:
                if asked.who:
                    job.owe(asked, str(error))
                    _logger.warning(f"No vote from {model} on {call.needs}: {error}")
                    return
                failed.append(error)
                # No other prompt would help: the key, the money, the model's name.
                if getattr(error, "status_code", None) == 404 or _rule_behind(error).outcome == "stop":
                    self.closed[str(model)] = printable(str(error), 200)
                return
            for further in job.add(asked, study.entry(asked, outcome)):
                group.start_soon(pursue, further)

        async with anyio.create_task_group() as group:
            for asked in job.open:
                group.start_soon(pursue, asked)
        if failed:
            raise failed[0]

    async def reply(self, model: Model, asked: Ask, settings: RunSettings, context: Any) -> Reply:
        """The reply to one ask: without a schema where the provider refuses that, and an error that may be this
        request's own counts when it occurs twice. Raises ItemError where there can be no reply."""
        wanted, name, heard = settings.structured, str(model), False
        while True:
            able = model_named(name).provider not in _NO_SCHEMA and name not in self.schemaless
            constrained = wanted == "schema" or (wanted == "auto" and able)
            try:
                output = await _generate(model, asked, settings, context, constrained=constrained)
                break
            except LimitExceededError:
                raise
            except Exception as error:
                # Inspect's own error after its last try does not name the cause.
                tried = getattr(error, "last_attempt", None)
                met = (tried and tried.exception()) or error
                rule, about_schema = _rule_behind(met), constrained and rejects_schema(met)
                if about_schema and wanted == "auto":
                    self.schemaless.add(name)
                elif rule.doubtful and not heard and not about_schema:
                    heard = True
                elif rule.outcome in ("item", "refused"):
                    outcome = "refused" if rule.outcome == "refused" else "unreadable"
                    raise ItemError(printable(str(met), 300), outcome=outcome) from None
                else:
                    raise met from None
        how = "schema" if constrained else "text"
        return read_output(output, structured=how, schema_refused=name in self.schemaless)


async def _generate(model: Model, asked: Ask, settings: RunSettings, context: Any, *, constrained: bool) -> ModelOutput:
    call, request = asked.call, asked.request(settings, context)
    _REQUEST.set(request)
    config = GenerateConfig(max_tokens=request.max_tokens)
    if asked.who:  # a role does not inherit how the evaluated model is sampled
        own = model.config
        config.temperature = request.temperature if own.temperature is None else own.temperature
        config.seed = request.seed if own.seed is None else own.seed
    if constrained:
        schema = JSONSchema.model_validate(call.schema)
        name = f"attunebench_{call.kind}"
        config.response_schema = inspect_models.ResponseSchema(name=name, json_schema=schema, strict=True)
    kinds = {role: getattr(inspect_models, f"ChatMessage{role.title()}") for role in ("system", "user", "assistant")}
    return await model.generate([kinds[each.role](content=each.content) for each in request.messages], config=config)


def rejects_schema(error: BaseException) -> bool:
    """Whether a provider's error is about the schema that was sent along."""
    return getattr(error, "status_code", None) in _REJECTING and _FORMAT.search(str(error)) is not None


def _rule_behind(error: BaseException) -> Rule:
    """The rule for a provider's error, by the same table as in a run."""
    status, code = getattr(error, "status_code", None), getattr(error, "code", None)
    number = next((each for each in (status, code) if isinstance(each, int)), 0)
    word = code if isinstance(code, str) else ""
    return rule_for(Fault(status=number, message=str(error), code=word, answered=True, known=True))


def read_output(output: ModelOutput, *, structured: str, schema_refused: bool = False) -> Reply:
    """An output in Inspect as a backend's reply. TransientError: it has no choice; ItemError: too long a prompt."""
    if output.empty:
        raise TransientError("The provider answered without a choice.")
    said, stop, usage = encodable(output.message.text), output.stop_reason, output.usage
    if stop == "model_length" and not (usage and usage.output_tokens):
        raise ItemError(f"Too long for the model: {printable(said, 300)}")
    parts = [] if isinstance(output.message.content, str) else output.message.content
    thoughts = [part.summary if part.redacted else part.reasoning for part in parts if part.type == "reasoning"]
    # A refusal may be in a field of the provider's own, with the stop reason unchanged.
    declined = stop == "content_filter" or output.error or any(part.type == "text" and part.refusal for part in parts)
    usage = usage or ModelUsage()
    # Inspect counts cached tokens apart from the others; here they are among a prompt's tokens.
    cached, written = usage.input_tokens_cache_read, usage.input_tokens_cache_write
    prompt = usage.input_tokens + (cached or 0) + (written or 0)
    counts = (prompt, cached, usage.output_tokens, usage.reasoning_tokens)
    ended, refusal = None if stop == "unknown" else canonical(stop), output.error or said or "content_filter"
    reasoning = encodable("\n".join(filter(None, thoughts))) or None
    counted, notes = Usage(*counts) if output.usage else Usage(), dict([NOTES["schema"]] if schema_refused else [])
    refused, cost = refusal if declined else None, usage.total_cost
    reply = Reply(said or None, ended, refused, reasoning, counted, cost, output.model)
    return replace(reply, latency=output.time, structured=structured, notes=notes)


@inspect_models.modelapi(name="baseline")
class Baseline(inspect_models.ModelAPI):
    """The provider `baseline`, offline and without a key: random, majority, no-change, lexicon and oracle."""

    def __init__(self, model_name: str, config: GenerateConfig | None = None, **_: Any) -> None:
        super().__init__(model_name, config=config or GenerateConfig())
        with sentences():
            self._backend = BaselineBackend(model_name)

    async def generate(self, input: Any, tools: Any, tool_choice: Any, config: GenerateConfig) -> ModelOutput:
        """The baseline's answer to the request under way. Raises PrerequisiteError outside the benchmark's task."""
        request = _REQUEST.get(None)
        if request is None:
            raise PrerequisiteError("The baselines of attunebench answer only the task attunebench/attunebench.")
        output = ModelOutput.from_content(self.model_name, (await self._backend.complete(request)).text or "")
        output.usage = ModelUsage()
        return output
