"""The Ray executor (`--executor ray`): each shard is a plain run, as a Ray task in a process of its own. Keys are an
argument of the tasks, which Ray writes to no file."""

from __future__ import annotations

import asyncio
import io
import logging
import os
import secrets
import shutil
import socket
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext, redirect_stdout, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from attunebench import eventloop
from attunebench._version import __version__
from attunebench.backends.providers import PROVIDERS, Endpoint
from attunebench.codebook import Codebook
from attunebench.conversations.schema import Conversation
from attunebench.errors import AttuneBenchError, ConfigurationError, DataError, UsageError
from attunebench.journal import claim
from attunebench.runner.budget import Budget, Cost
from attunebench.runner.clients import RunExecutor
from attunebench.runner.events import Observer, RunSummary, Stop
from attunebench.runner.files import SkippedFile
from attunebench.runner.order import share_of
from attunebench.runner.run import Run, run_by, run_conversations
from attunebench.runner.settings import RunSettings, Shard
from attunebench.runner.work import ConversationWork
from attunebench.text import printable

DEATHS = 3  # workers of a shard that may die in a row without an answered call
TAKEN_WITHIN = 60.0  # seconds until the driver, which may be busy, has noticed a worker's file
SEEN_WITHIN = 10.0  # seconds until a machine sees what another one writes: network file systems take a few
LOCKED_WITHIN = 120.0  # seconds that a network file system may keep the locks of a machine that is gone
_SPENT: dict[str, Any] = {"model": Cost(), "judges": Cost(), "wasted": Cost(), "lost": 0, "replayed": 0}
"""What a budget has counted that all workers have spent together."""
_VARIABLES = {header: variable for each in PROVIDERS.values() for header, variable in each.headers.items()}


def run_on_ray(
    conversations: Sequence[Conversation],
    settings: RunSettings,
    codebook: Codebook,
    *,
    address: str | None = None,
    workers: int | None = None,
    observer: Observer | None = None,
    interruptible: bool = False,
    **options: Any,
) -> RunSummary:
    """As `run_conversations` (whose `options` it takes), in shards on the Ray cluster at `address`, at RAY_ADDRESS, or
    on this machine alone. All machines share `settings.output`. Without `workers` there is one for each machine, two at
    least. Raises UsageError (no Ray, a folder that is not shared), ConfigurationError (no cluster, or workers that
    cannot run) and what a run raises."""
    if settings.shard is not None:
        raise UsageError("--shard and --executor ray both divide the run; give one of them.")
    if settings.em.client is not None:
        raise UsageError("A `client` serves one process: a run with one cannot use Ray.")
    try:
        ray: Any = import_module("ray")
    except ImportError as error:
        raise UsageError('--executor ray needs Ray: pip install ".[ray]" in the checkout of attunebench.') from error
    settings = settings.model_copy(update={"output": settings.output.absolute()})
    run_shard = partial(run_conversations, conversations, codebook=codebook, **options)
    cluster = ray, address or os.environ.get("RAY_ADDRESS"), workers
    opened = partial(OnRay, run_shard=run_shard, cluster=cluster, interruptible=interruptible)
    return run_by(opened, conversations, settings, codebook, observer=observer)[0]


def _forwarding(put: Callable[..., Any]) -> Any:
    """A worker's observer, which forwards events with what was spent so far."""
    budget = Budget()

    def tell(what: str, *about: Any) -> None:
        nonlocal budget
        if what == "started":
            budget = about[0].spending
        elif what != "pacing":
            put({name: getattr(budget, name) for name in _SPENT}, what, about)

    return SimpleNamespace(**{name: partial(tell, name) for name in vars(Observer) if not name.startswith("_")})


def _run_shard(
    handed: Any, settings: RunSettings, queue: Any, probe: Path, life: str, version: str
) -> tuple[Stop, int, float]:
    """Runs in a worker: find the driver's `probe`, wait until the driver has removed a file from it, and run the shard.
    Why it stopped early, the pending votes, and USD as --max-cost counts them."""
    node, shared = socket.gethostname(), False
    if version != __version__:
        there = f"has attunebench {__version__} and the command has {version}"
        raise ConfigurationError(f"The worker on {node} {there}; install the same version on all machines.")
    with suppress(OSError):
        if _becomes(probe, SEEN_WITHIN, there=True):
            (probe / life).touch()
            shared = _becomes(probe / life, TAKEN_WITHIN, there=False)
    if not shared:
        raise UsageError(
            f"All machines of the cluster must share the output folder {settings.output}, but the worker on {node} "
            "sees another one or cannot write to it. Name a folder on shared storage with --output."
        )
    run, environment = handed
    os.environ.update(environment)
    queue.qsize()  # connects, so that events are sent at once
    try:
        observer = _forwarding(lambda *news: queue.actor.put_nowait.remote((settings.shard, life, *news)))
        summary: RunSummary = run(settings, observer=observer, interruptible=True)
        return summary.stopped, summary.votes_owed, summary.spending.spent
    finally:
        queue.qsize()  # all events are in the queue by now


def _becomes(path: Path, seconds: float, *, there: bool) -> bool:
    until = time.monotonic() + seconds
    while path.exists() != there:
        if time.monotonic() > until:
            return False
        with suppress(OSError), os.scandir(path.parent) as entries:
            next(entries, None)  # makes a network file system refresh
        time.sleep(0.1)
    return True


class OnRay(RunExecutor):
    """Runs `run_shard` for all shards on a cluster (Ray, address, workers)."""

    keeps = False

    def __init__(
        self, settings: RunSettings, observer: Observer, run_shard: Any, cluster: Any, *, interruptible: bool
    ) -> None:
        super().__init__(settings, observer)
        self._ray, self._address, self._workers = cluster
        self._run_shard, self._interruptible = run_shard, interruptible
        self._probe = settings.output / f".attunebench-probe-{secrets.token_hex(8)}"
        self._left = settings.max_cost
        self._closed, self._stops = False, 0
        self._failure: AttuneBenchError | None = None
        self._tasks: dict[Shard, Any] = {}
        self._deaths: Counter[Shard] = Counter()  # in a row, without an answered call
        self._spent: dict[str, dict[str, Any]] = {}  # by worker, as in `_SPENT`
        self._heard: set[str] = set()

    async def execute(self, run: Run) -> Stop:
        """Run all shards. Raises what a worker raises, and ConfigurationError where workers keep dying."""
        if not run.work.todos:
            return ""
        ray, settings, em = self._ray, self.settings, self.settings.em
        keyed, environment = self._with_keys()
        chosen = cast(ConversationWork, run.work).chosen
        most = min(settings.concurrency, len(chosen))
        with ExitStack() as stack:
            if not ray.is_initialized():  # a program's own connection is kept
                _connect(ray, self._address, min(self._workers or 2, most), stack)
            machines = sum(bool(node["Alive"] and node["Resources"].get("CPU")) for node in ray.nodes())
            of = min(self._workers or max(2, machines), most)
            # The lock on "shard 0" keeps out a second such run but not the shards.
            stack.enter_context(claim(settings.output, em.provider, em.model, settings.modes, f"0-of-{of}"))
            self._probe.mkdir()
            self._queue = import_module("ray.util.queue").Queue(actor_options={"num_cpus": 0})
            task = ray.remote(num_cpus=1, max_retries=0, scheduling_strategy="SPREAD")(_run_shard)
            handed = ray.put((self._run_shard, environment))
            self._start = partial(task.remote, handed, queue=self._queue, probe=self._probe, version=__version__)
            try:
                stopped = await self._do_all(run, keyed, [Shard(1 + i, of) for i in range(of)])
            except ray.exceptions.RayError as error:
                raise ConfigurationError(
                    f"The Ray cluster failed ({printable(str(error), 200)}); answers are kept, and the same command "
                    "resumes."
                ) from error
            finally:
                self._closed = True
                if self._left is not None and settings.max_cost is not None:
                    run.budget.spent = settings.max_cost - self._left  # whoever did not report counts in full
                self._cancel(force=True)
                self._queue.shutdown(force=True)
                shutil.rmtree(self._probe, ignore_errors=True)
            if not stopped:
                jobs = ((each.conversation_id, mode) for each in chosen for mode in settings.modes)
                done = {(name, mode) for name, mode in jobs if f"{name} ({mode})" not in run.summary.skipped}
                run.work.made.update(done.intersection(run.work.todos))  # also what a dying worker could not report
                SkippedFile(settings.output, em.provider, em.model).join_shards(done)
            return stopped

    async def _do_all(self, run: Run, settings: RunSettings, shards: list[Shard]) -> Stop:
        """Run until all shards are done or nothing more may be sent; why it stopped early. Each shard gets a part of
        --max-cost. Those whose part was too small, or whose worker died, continue with what is left, as long as calls
        are answered."""
        stops: dict[Shard, Stop | None] = {}
        with eventloop.on_interruption(self._interrupt) if self._interruptible else nullcontext():
            while True:
                answered, money = run.summary.calls, self._left and self._left / len(shards)
                self._left = self._left and 0.0
                doing = asyncio.gather(*(self._do(run, share_of(settings, shard, money)) for shard in shards))
                while not doing.done():
                    await asyncio.wait([doing], timeout=0.2)
                    for proof in self._probe.iterdir():  # so its worker knows that it has been seen
                        proof.unlink()
                    for news in self._queue.get_nowait_batch(self._queue.qsize()):
                        self._hear(run, *news)
                stops.update(zip(shards, await doing, strict=True))
                if self._failure is not None:
                    raise self._failure
                if self._stops or "outage" in stops.values():
                    return "interrupted" if self._stops else "outage"
                shards = [shard for shard in shards if stops[shard] in (None, "max-cost")]
                if not (shards and self._left and run.summary.calls > answered):
                    return "max-cost" if shards else ""

    async def _do(self, run: Run, settings: RunSettings) -> Stop | None:
        """Run a shard, on another worker if one dies; why it stopped early, None if it was not finished."""
        errors, died_at, shard = self._ray.exceptions, float("-inf"), cast(Shard, settings.shard)
        while not self._over:
            life = f"{shard.name}-{secrets.token_hex(4)}"
            self._tasks[shard] = task = self._start(settings=settings, life=life)
            try:
                stopped, run.owed[shard.name,], spent = await task
                if self._left is not None:
                    self._left += max(0.0, (settings.max_cost or 0.0) - spent)
                return cast(Stop, stopped)
            except errors.RayTaskError as error:
                if isinstance(error.cause, DataError) and time.monotonic() - died_at < LOCKED_WITHIN:
                    await asyncio.sleep(1.0)  # the locks of the dead worker, most likely
                elif isinstance(error.cause, AttuneBenchError):
                    self._fail(error.cause)
                elif "failed to import" in str(error.cause):
                    where = "install it with its extra `ray` into the Python that Ray runs there"
                    self._fail(ConfigurationError(f"The workers of the cluster cannot import attunebench: {where}."))
                elif not self._over:  # else it was cancelled before its run handled Ctrl-C
                    raise error.cause from error
            except errors.RayError:
                died_at = time.monotonic()
                if not self._over and not self._replaces(shard):
                    break
        return None

    def _replaces(self, shard: Shard) -> bool:
        """Whether another worker continues at once after the death of this shard's."""
        self._deaths[shard] += 1
        died = f"The worker of shard {shard} died (its process is gone, or its machine)"
        if self._deaths[shard] >= DEATHS:
            kept = "Answers are kept; check the cluster and rerun the command."
            self._fail(ConfigurationError(f"{died}, {DEATHS} times in a row without an answered call. {kept}"))
        elif self._left is not None:
            self._observer.warned(f"{died}. Its part of --max-cost counts as spent; the shard waits for what is left.")
        else:
            self._observer.warned(f"{died}. Another one resumes from its journal.")
        return self._left is None

    @property
    def _over(self) -> bool:
        return self._closed or self._stops > 0 or self._failure is not None

    def _fail(self, error: AttuneBenchError) -> None:
        if self._failure is None:
            self._failure = error
            self._cancel()

    def _interrupt(self) -> None:
        self._stops += 1
        self._cancel()
        if self._stops == 2:
            # Ray drops a cancellation that comes soon after another one. Workers still running after 5 s are killed.
            for seconds, force in ((1.0, False), (2.0, False), (5.0, True)):
                asyncio.get_running_loop().call_later(seconds, partial(self._cancel, force=force))

    def _cancel(self, *, force: bool = False) -> None:
        for task in self._tasks.values():
            with suppress(Exception):
                self._ray.cancel(task, force=force)

    def _with_keys(self) -> tuple[RunSettings, dict[str, str]]:
        environment, models = dict.fromkeys(_VARIABLES.values(), ""), dict(self.settings.models)
        for who, endpoint in self._endpoints.items():
            if isinstance(endpoint, Endpoint):  # no baseline
                environment |= {_VARIABLES[header]: value for header, value in endpoint.headers.items()}
                environment |= {"OPENAI_API_VERSION": endpoint.api_version} if endpoint.api_version else {}
                key = None if endpoint.key_source == "none" else endpoint.key
                models[who] = models[who].model_copy(update={"base_url": endpoint.base_url, "api_key": key})
        em, *judges = models.values()
        return self.settings.model_copy(update={"em": em, "judges": tuple(judges)}), environment

    def _hear(self, run: Run, shard: Shard, life: str, spent: Any, what: str, about: tuple[Any, ...]) -> None:
        summary, budget = run.summary, run.budget
        self._spent[life] = spent  # also of workers that have died
        for name, nothing in _SPENT.items():
            setattr(budget, name, sum((each[name] for each in self._spent.values()), nothing))
        if what in ("answered", "warned"):
            said = about[0].id if what == "answered" else about[0]
            if said in self._heard:  # workers repeat warnings, and a shard's second worker reports answers again
                return
            self._heard.add(said)
        if what == "answered":
            call, record = about
            self._deaths[shard] = 0
            summary.add(record, self.settings.asked(call.who).model)
        elif what == "written":
            run.work.made.add(about[:2])
            summary.skipped.pop(f"{about[0]} ({about[1]})", None)
        elif what == "skipped":
            summary.skipped[f"{about[0]} ({about[1]})"] = about[2]
        elif what == "interrupted" and not self._stops:
            return  # it was cancelled because another one failed
        getattr(self._observer, what)(*about)


def _connect(ray: Any, address: str | None, workers: int, stack: ExitStack) -> None:
    new: dict[str, Any] = {}
    try:
        if address and address != "local":
            host, _, port = address.rpartition("://")[2].rpartition(":")
            if host and port.isdigit():  # if nothing listens there, Ray's client ends this process
                socket.create_connection((host.strip("[]"), int(port)), timeout=10.0).close()
        else:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            new = {"num_cpus": workers, "include_dashboard": False, "object_store_memory": 200 * 2**20}
        ray.init(address or "local", logging_level=logging.ERROR, log_to_driver=False, **new)
    except Exception as error:
        raise ConfigurationError(
            f"There is no Ray cluster {f'at {address}' if address else 'on this machine'} "
            f"({printable(str(error), 200)}); see `ray status`, or give another address with --ray-address."
        ) from error
    # Ray prints long messages of its own to stdout when a worker dies, whatever its logging level.
    stack.enter_context(redirect_stdout(io.StringIO()))
    stack.callback(ray.shutdown)
