"""A run on a Ray cluster (`--executor ray`): each shard is a plain run, as a Ray task in a process of its own.

Owns the connection to the cluster, the proof that all workers share the results folder, what each shard may take of the
limits, and what happens when a worker dies. Keys are an argument of the tasks, which Ray writes to no file.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from attunebench import eventloop
from attunebench._version import __version__
from attunebench.backends.providers import resolve
from attunebench.errors import AttuneBenchError, ConfigurationError, DataError, UsageError
from attunebench.journal import claim
from attunebench.runner.budget import Budget
from attunebench.runner.estimate import estimate_run
from attunebench.runner.events import Observer, RunPlan, RunSummary, Stop
from attunebench.runner.files import prepare_folder
from attunebench.runner.order import order_words, sample_words, stratified_order
from attunebench.runner.pricing import known_prices
from attunebench.runner.run import run_conversations
from attunebench.runner.scales import settled
from attunebench.runner.settings import ModelSettings, RunSettings, Shard
from attunebench.runner.shards import share_of
from attunebench.runner.skipped import SkippedFile

if TYPE_CHECKING:
    from attunebench.codebook import Codebook
    from attunebench.conversations.schema import Conversation
    from attunebench.runner.run import QuickScores

DEATHS = 3  # workers of a shard that may die in a row without an answered call
POLL = 0.2  # seconds between two looks at the workers
ROOM_WITHIN = 30.0  # seconds that the first call waits for all workers to start
SEEN_WITHIN = 10.0  # seconds until a machine sees what another one writes: network file systems take a few
LEAVE_WITHIN = 5.0  # seconds that workers have to end after a second Ctrl-C
LOCKED_WITHIN = 120.0  # seconds that a network file system may keep the locks of a machine that is gone
_VARIABLES = {
    "OpenAI-Organization": "OPENAI_ORG_ID",
    "OpenAI-Project": "OPENAI_PROJECT_ID",
    "X-Prime-Team-ID": "PRIME_TEAM_ID",
}


def run_on_ray(
    conversations: Sequence[Conversation],
    settings: RunSettings,
    codebook: Codebook,
    *,
    address: str | None = None,
    workers: int | None = None,
    observer: Observer | None = None,
    quick_scores: QuickScores | None = None,
    run_again: str = "",
    interruptible: bool = False,
) -> RunSummary:
    """As `run_conversations`, in shards on the Ray cluster at `address`, at RAY_ADDRESS, or on this machine alone.

    `settings.output` is a folder that all machines share. Without `workers` there is one for each machine, two at
    least. Raises UsageError where Ray is missing or the folder is not shared, ConfigurationError where there is no such
    cluster or it cannot run the workers, and what `run_conversations` raises.
    """
    if settings.shard is not None:
        raise UsageError("--shard and --executor ray both divide the run; give one of them.")
    try:
        ray: Any = import_module("ray")
    except ImportError as error:
        raise UsageError('--executor ray needs Ray: pip install ".[ray]" in the checkout of attunebench.') from error
    observer, began = observer or Observer(), time.monotonic()
    settings = settled(settings.model_copy(update={"output": settings.output.absolute()}), observer.warned)
    run = partial(run_conversations, conversations, codebook=codebook, quick_scores=quick_scores, run_again=run_again)
    chosen = stratified_order(conversations, settings.order_seed)[: settings.limit]
    estimate = estimate_run(conversations, settings, codebook)
    if not estimate.jobs:  # asks nothing, and says so
        return run(settings, observer=observer)
    prices = known_prices(settings)
    plan = RunPlan(
        jobs=estimate.jobs + estimate.complete,
        complete=estimate.complete,
        calls=estimate.calls,
        order=order_words(len(chosen), len(conversations), settings.order_seed),
        prompt_tokens=estimate.prompt_tokens,
        price=estimate.price(prices.prices, settings.max_tokens),
        price_source=prices.source,
    )
    keyed, environment = _with_keys(settings)
    prepare_folder(settings.output)
    observer.started(plan)
    most = min(settings.concurrency, len(chosen))
    with _connected(ray, address or os.environ.get("RAY_ADDRESS"), min(workers or 2, most)):
        machines = sum(bool(node["Alive"] and node["Resources"].get("CPU")) for node in ray.nodes())
        shards = _Shards(ray, keyed, plan, observer, min(workers or max(2, machines), most))
        summary = shards.run(ray.put((run, environment)), interruptible, chosen, len(conversations))
    summary.seconds = time.monotonic() - began
    observer.finished(summary)
    return summary


def _with_keys(settings: RunSettings) -> tuple[RunSettings, dict[str, str]]:
    """The settings with keys and addresses as this process finds them, and whose account it is, as an environment."""
    environment = dict.fromkeys(_VARIABLES.values(), "")

    def resolved(model: ModelSettings) -> ModelSettings:
        if model.provider == "baseline":
            return model
        endpoint = resolve(model)
        environment.update({_VARIABLES[header]: value for header, value in endpoint.headers.items()})
        key = None if endpoint.key_source == "none" else endpoint.key
        return model.model_copy(update={"base_url": endpoint.base_url, "api_key": key})

    models = {"em": resolved(settings.em), "judges": tuple(map(resolved, settings.judges))}
    return settings.model_copy(update=models), environment


@contextmanager
def _connected(ray: Any, address: str | None, workers: int) -> Iterator[None]:
    """Connected to the cluster at the address, or to a new one on this machine; a program's own connection is kept."""
    if ray.is_initialized():
        yield
        return
    quiet = {"logging_level": logging.ERROR, "log_to_driver": False}
    try:
        if address and address != "local":
            host, _, port = address.rpartition("://")[2].rpartition(":")
            if host and port.isdigit():  # where nobody listens Ray's own client would end this process
                socket.create_connection((host.strip("[]"), int(port)), timeout=10.0).close()
            ray.init(address, **quiet)
        else:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            ray.init("local", num_cpus=workers, include_dashboard=False, object_store_memory=200 * 2**20, **quiet)
    except Exception as error:
        raise ConfigurationError(
            f"There is no Ray cluster {f'at {address}' if address else 'on this machine'} ({_reason(error)}); see `ray "
            "status`, or give another address with --ray-address."
        ) from error
    # Ray prints long messages of its own to stdout when a worker dies, whatever it is told of logging.
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        try:
            yield
        finally:
            ray.shutdown()


def _reason(error: BaseException) -> str:
    """The first line of an error's text; its class where it says nothing."""
    return next((line.strip().rstrip(".") for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _appears(path: Path, seconds: float) -> bool:
    """Whether the file is there within so many seconds."""
    until = time.monotonic() + seconds
    while not path.exists():
        if time.monotonic() > until:
            return False
        with suppress(OSError), os.scandir(path.parent) as entries:
            next(entries, None)  # has a network file system look again
        time.sleep(0.1)
    return True


class _Teller:
    """A worker's observer: hands on what it hears, with what was spent so far."""

    def __init__(self, put: Callable[..., Any]) -> None:
        self._put = put
        self._spending: Budget | None = None

    def __getattr__(self, name: str) -> Any:
        def tell(*about: Any) -> None:
            if name == "started":
                self._spending = about[0].spending
            self._put(self._spending, name, about)

        return tell


def _run_shard(handed: Any, settings: RunSettings, queue: Any, probe: Path, answer: Path, version: str) -> RunSummary:
    """What a worker does: read the driver's `probe`, wait until the driver has read `answer`, and run the shard."""
    node, problem = socket.gethostname(), ""
    if version != __version__:
        raise ConfigurationError(
            f"The worker on {node} has attunebench {__version__} and the command has {version}; install the same "
            "version on all machines."
        )
    try:
        if not _appears(probe, SEEN_WITHIN):
            problem = "does not see what was written to it"
        else:
            answer.touch()
            if not _appears(Path(f"{answer}-read"), ROOM_WITHIN + SEEN_WITHIN):
                problem = "does not write to the same one"
    except OSError as error:
        problem = f"cannot write to it ({error.strerror or error})"
    if problem:
        raise UsageError(
            f"The output folder {settings.output} has to be one that all machines of the cluster share, and the worker "
            f"on {node} {problem}; give a folder on shared storage with --output."
        )
    run, environment = handed
    os.environ.update(environment)
    try:
        teller = _Teller(lambda *news: queue.actor.put_nowait.remote((settings.shard, answer.name, *news)))
        summary: RunSummary = run(settings, observer=cast(Observer, teller), interruptible=True)
        return summary
    finally:
        queue.qsize()  # all that was told is in the queue by now


@dataclass(eq=False, slots=True)
class _Part:
    """A shard, and the task that does it now, whose worker has `proven` the folder by the file `answer`."""

    shard: Shard
    task: Any = None
    answer: Path = Path()
    proven: bool = False
    money: float | None = None
    deaths: int = 0
    died_at: float = float("-inf")
    summary: RunSummary | None = None


class _Shards:
    """One run in `number` shards on a connected cluster. `settings` hold the keys, `plan` tells of the whole run."""

    def __init__(self, ray: Any, settings: RunSettings, plan: RunPlan, observer: Observer, number: int) -> None:
        self._ray, self._settings, self._plan, self._observer = ray, settings, plan, observer
        self._parts = {shard: _Part(shard) for shard in (Shard(1 + i, number) for i in range(number))}
        self._alive: list[_Part] = []
        self._probe = settings.output / f".attunebench-probe-{secrets.token_hex(8)}"
        self._left = settings.max_cost
        self._stops = 0
        self._under_way: dict[str, int] = {}
        self._failure: AttuneBenchError | None = None
        self._summed = RunSummary(settings.output, plan.spending)
        self._spending: dict[str, Budget] = {}
        self._heard: set[str] = set()

    def run(self, handed: Any, interruptible: bool, chosen: Sequence[Conversation], n_all: int) -> RunSummary:
        """The run and its summary. Raises what a worker raises, and ConfigurationError where workers keep dying."""
        ray, settings, em = self._ray, self._settings, self._settings.em
        self._queue = import_module("ray.util.queue").Queue(actor_options={"num_cpus": 0})
        task = ray.remote(num_cpus=1, max_retries=0, scheduling_strategy="SPREAD")(_run_shard)
        self._start = partial(task.remote, handed, queue=self._queue, probe=self._probe, version=__version__)
        # "Shard 0" of the division keeps a second such run out, and lets the shards in.
        with claim(settings.output, em.provider, em.model, settings.modes, f"0-of-{len(self._parts)}"):
            try:
                self._probe.touch()
                eventloop.run(self._work(interruptible))
            except ray.exceptions.RayError as error:
                raise ConfigurationError(
                    f"The Ray cluster failed ({_reason(error)}); answers are kept, and the same command resumes."
                ) from error
            finally:
                self._cancel(force=True)
                self._queue.shutdown(force=True)
                for path in self._probe.parent.glob(f"{self._probe.name}*"):
                    path.unlink(missing_ok=True)
            summary = self._summary(n_all)
            if not summary.stopped:
                jobs = ((each.conversation_id, mode) for each in chosen for mode in settings.modes)
                done = {job for job in jobs if "{} ({})".format(*job) not in summary.skipped}
                SkippedFile(settings.output, em.provider, em.model).join_shards(done)
        return summary

    async def _work(self, interruptible: bool) -> None:
        """Until all shards are done, or nothing more is to be sent.

        With --max-cost each shard gets a part of it. Those whose part was too small, or whose worker died, go on with
        what is left, as long as that buys something.
        """
        parts, patience = list(self._parts.values()), ROOM_WITHIN
        with eventloop.on_interruption(self._interrupt) if interruptible else nullcontext():
            while parts:
                answered, money = self._summed.calls, self._left and self._left / len(parts)
                self._left = self._left and 0.0
                for part in parts:
                    part.money = money
                    self._begin(part)
                await self._have_done(patience)
                if self._failure is not None:
                    raise self._failure
                goes_on = self._left and not self._stopped and self._summed.calls > answered
                parts, patience = self._unfinished if goes_on else [], 0.0

    async def _have_done(self, patience: float) -> None:
        """Until no task is left. None sends anything before all have proven the folder, or so many seconds are over."""
        until = time.monotonic() + patience
        while self._alive:
            await asyncio.sleep(POLL)
            tasks = [part.task for part in self._alive]
            ended, _ = self._ray.wait(tasks, num_returns=len(tasks), timeout=0, fetch_local=False)
            for news in self._queue.get_nowait_batch(self._queue.qsize()):
                self._hear(*news)
            for part in [part for part in self._alive if part.task in ended]:
                self._alive.remove(part)
                self._conclude(part)
            unproven = [part for part in self._alive if not part.proven]
            late = [part for part in unproven if not part.answer.exists()]
            if late and time.monotonic() < until:
                continue
            for part in [part for part in unproven if part not in late]:
                Path(f"{part.answer}-read").touch()
                part.proven = True
            if late and patience:
                patience = 0.0
                self._observer.warned(
                    f"The Ray cluster has room for {len(self._alive) - len(late)} of {len(self._parts)} workers (each "
                    "takes one CPU); the other shards start when there is room."
                )

    def _begin(self, part: _Part) -> None:
        part.answer = self._probe.with_name(f"{self._probe.name}-{part.shard.name}-{secrets.token_hex(4)}")
        part.task = self._start(settings=share_of(self._settings, part.shard, part.money), answer=part.answer)
        part.proven, part.summary = False, None
        self._alive.append(part)

    def _conclude(self, part: _Part) -> None:
        """The part's task is over: with a summary, with an error, or because its worker died."""
        errors, over = self._ray.exceptions, bool(self._stops) or self._failure is not None
        try:
            part.summary = summary = self._ray.get(part.task)
            if self._left is not None and part.money is not None:
                self._left += max(0.0, part.money - summary.spending.spent)
        except errors.RayTaskError as error:
            if isinstance(error.cause, DataError) and time.monotonic() - part.died_at < LOCKED_WITHIN and not over:
                self._begin(part)  # the locks of the dead worker, most likely
            elif isinstance(error.cause, AttuneBenchError):
                self._fail(error.cause)
            elif "failed to import" in str(error.cause):
                where = "install it with its extra `ray` into the Python that Ray runs there"
                self._fail(ConfigurationError(f"The workers of the cluster cannot import attunebench: {where}."))
            elif not over:  # else it was cancelled before its run took that as Ctrl-C
                raise error.cause from error
        except errors.RayError:
            if not over:
                self._replace(part)

    def _replace(self, part: _Part) -> None:
        """The worker of this part is dead."""
        part.deaths, part.died_at = part.deaths + 1, time.monotonic()
        died = f"The worker of shard {part.shard} died (its process is gone, or its machine)"
        if part.deaths >= DEATHS:
            kept = "What was answered is kept; check the cluster and repeat the command."
            self._fail(ConfigurationError(f"{died}, {DEATHS} times in a row without an answered call. {kept}"))
        elif self._left is not None:
            self._observer.warned(f"{died}. Its part of --max-cost counts as spent; the shard waits for what is left.")
        else:
            self._observer.warned(f"{died}. Another one resumes from its journal.")
            self._begin(part)

    def _fail(self, error: AttuneBenchError) -> None:
        """Have all workers end, and raise this then."""
        if self._failure is None:
            self._failure = error
            self._cancel()

    def _interrupt(self) -> None:
        """As Ctrl-C in every worker: the first lets calls under way finish, the second ends them."""
        self._stops += 1
        self._cancel()
        if self._stops == 2:
            for seconds in (1.0, 2.0):  # Ray drops a cancellation that comes soon after another
                asyncio.get_running_loop().call_later(seconds, self._cancel)
            asyncio.get_running_loop().call_later(LEAVE_WITHIN, partial(self._cancel, force=True))

    def _cancel(self, *, force: bool = False) -> None:
        for part in self._alive:
            with suppress(Exception):
                self._ray.cancel(part.task, force=force)

    def _hear(self, shard: Shard, life: str, spending: Budget | None, what: str, about: tuple[Any, ...]) -> None:
        """Count what a worker's observer was told, and tell the run's."""
        summed, settings = self._summed, self._settings
        if spending is not None:
            self._spending[life] = spending
            self._plan.spending.become(self._spending.values())
        if what == "started":
            for note in about[0].notes:
                self._hear(shard, life, None, "warned", (note,))
            return
        if what in ("answered", "warned"):
            said = about[0].id if what == "answered" else about[0]
            if said in self._heard:  # all workers warn of the same, and a second one of a shard tells what it finds
                return
            self._heard.add(said)
        if what == "answered":
            call, record = about
            self._parts[shard].deaths = 0
            summed.add(record, (settings.em if call.judge is None else settings.judges[call.judge]).model)
        elif what == "written":
            summed.written += 1
            summed.skipped.pop(f"{about[0]} ({about[1]})", None)
        elif what == "skipped":
            summed.skipped[f"{about[0]} ({about[1]})"] = about[2]
        elif what == "interrupted":
            self._under_way[life] = about[0]
            about = (sum(self._under_way.values()), about[1])
        if what not in ("pacing", "finished") and (what != "interrupted" or self._stops):
            getattr(self._observer, what)(*about)

    @property
    def _stopped(self) -> Stop:
        outage = any(part.summary and part.summary.stopped == "outage" for part in self._parts.values())
        return "interrupted" if self._stops else "outage" if outage else ""

    @property
    def _unfinished(self) -> list[_Part]:
        parts = self._parts.values()
        return [part for part in parts if part.summary is None or part.summary.stopped == "max-cost"]

    def _summary(self, n_all: int) -> RunSummary:
        """What all shards have done together."""
        summary, plan, settings = self._summed, self._plan, self._settings
        summary.stopped = self._stopped or ("max-cost" if self._unfinished else "")
        ended = [part.summary for part in self._parts.values() if part.summary]
        # A worker that dies may leave a result of which it could not tell.
        unreached = max(0, plan.jobs - plan.complete - summary.written - len(summary.skipped))
        summary.unreached = unreached if summary.stopped else 0
        reached = plan.jobs - len(summary.skipped) - summary.unreached
        summary.jobs, summary.complete_before, summary.written = plan.jobs, plan.complete, reached - plan.complete
        summary.votes_owed = sum(each.votes_owed for each in ended)
        summary.whole = max((each.whole for each in ended), default=(0, 0))
        if summary.stopped and (done := reached // len(settings.modes)):
            summary.sample = sample_words(done, n_all, settings.order_seed)
        return summary
