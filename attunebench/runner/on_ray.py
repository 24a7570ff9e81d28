"""The Ray executor (`--executor ray`): each shard is a plain run, as a Ray task in a process of its own.

Owns the connection to the cluster, the proof that all workers share the results folder, what is left of the money, and
what happens when a worker dies. Keys are an argument of the tasks, which Ray writes to no file.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stdout, suppress
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
from attunebench.runner.budget import Budget, Cost
from attunebench.runner.clients import Clients
from attunebench.runner.events import Observer, RunSummary, Stop
from attunebench.runner.files import SkippedFile, prepare_folder
from attunebench.runner.order import share_of
from attunebench.runner.run import Run, run_conversations
from attunebench.runner.scales import settled
from attunebench.runner.settings import ModelSettings, RunSettings, Shard, check_judges
from attunebench.runner.task import BENCHMARK
from attunebench.runner.work import ConversationWork

if TYPE_CHECKING:
    from attunebench.codebook import Codebook
    from attunebench.conversations.schema import Conversation

DEATHS = 3  # workers of a shard that may die in a row without an answered call
ROOM_WITHIN = 30.0  # seconds that the first call waits for all workers to start
SEEN_WITHIN = 10.0  # seconds until a machine sees what another one writes: network file systems take a few
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
    interruptible: bool = False,
    **options: Any,
) -> RunSummary:
    """As `run_conversations`, in shards on the Ray cluster at `address`, at RAY_ADDRESS, or on this machine alone.

    `settings.output` is a folder that all machines share. Without `workers` there is one for each machine, two at
    least. `options` are those of `run_conversations`. Raises UsageError where Ray is missing or the folder is not
    shared, ConfigurationError where there is no such cluster or it cannot run the workers, and what a run raises.
    """
    if settings.shard is not None:
        raise UsageError("--shard and --executor ray both divide the run; give one of them.")
    if settings.em.client is not None:
        raise UsageError("A `client` serves one process: a run with one cannot use Ray.")
    try:
        ray: Any = import_module("ray")
    except ImportError as error:
        raise UsageError('--executor ray needs Ray: pip install ".[ray]" in the checkout of attunebench.') from error
    observer = observer or Observer()
    settings = settled(settings.model_copy(update={"output": settings.output.absolute()}), observer.warned)
    check_judges(settings)
    work = _AllShards(conversations, settings, codebook, BENCHMARK)
    run_shard = partial(run_conversations, conversations, codebook=codebook, **options)
    cluster = ray, address or os.environ.get("RAY_ADDRESS"), workers
    executor = OnRay(settings, observer, work, run_shard, cluster, interruptible=interruptible)
    return eventloop.run(Run(work, settings, codebook, observer, keeps=False).by(executor))


class _AllShards(ConversationWork):
    """The work of all shards, each of which takes possession of its part itself."""

    def enter(self, stack: ExitStack) -> str | None:
        prepare_folder(self._settings.output)
        self.look()
        return None


class _Teller:
    """A worker's observer: hands on what it hears, with what was spent so far."""

    def __init__(self, put: Callable[..., Any]) -> None:
        self._put = put
        self._budget = Budget()

    def __getattr__(self, name: str) -> Any:
        def tell(*about: Any) -> None:
            if name == "started":
                self._budget = about[0].spending
            elif name not in ("pacing", "finished"):
                spent = self._budget
                self._put((spent.model, spent.judges, spent.wasted, spent.lost, spent.replayed), name, about)

        return tell


def _run_shard(
    handed: Any, settings: RunSettings, queue: Any, probe: Path, answer: Path, version: str
) -> tuple[Stop, int, float]:
    """What a worker does: read the driver's `probe`, wait until the driver has read `answer`, and run the shard.

    Returns why it ended before its time, the votes that are owed, and USD as --max-cost counts them.
    """
    node, problem = socket.gethostname(), ""
    if version != __version__:
        there = f"has attunebench {__version__} and the command has {version}"
        raise ConfigurationError(f"The worker on {node} {there}; install the same version on all machines.")
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
            f"All machines of the cluster have to share the output folder {settings.output}, and the worker on {node} "
            f"{problem}; give a folder on shared storage with --output."
        )
    run, environment = handed
    os.environ.update(environment)
    try:
        teller = _Teller(lambda *news: queue.actor.put_nowait.remote((settings.shard, answer.name, *news)))
        summary: RunSummary = run(settings, observer=cast(Observer, teller), interruptible=True)
        return summary.stopped, summary.votes_owed, summary.spending.spent
    finally:
        queue.qsize()  # all that was told is in the queue by now


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


@dataclass(eq=False, slots=True)
class _Part:
    """A shard, and the task that does it now: it has `proven` the folder by the file `answer`, and returns `ended`."""

    shard: Shard
    settings: Any = None
    task: Any = None
    answer: Path = Path()
    proven: bool = False
    deaths: int = 0
    died_at: float = float("-inf")
    ended: tuple[Stop, int, float] | None = None


class OnRay(Clients):
    """Has `run_shard` do all shards of `work` on a cluster (Ray, address, workers): a `runner.run.Executor`."""

    def __init__(
        self,
        settings: RunSettings,
        observer: Observer,
        work: _AllShards,
        run_shard: Callable[..., RunSummary],
        cluster: tuple[Any, str | None, int | None],
        *,
        interruptible: bool,
    ) -> None:
        super().__init__(settings, observer)
        self._ray, self._address, self._workers = cluster
        self._work, self._run_shard, self._interruptible = work, run_shard, interruptible
        self._parts: dict[Shard, _Part] = {}
        self._alive: list[_Part] = []
        self._probe = settings.output / f".attunebench-probe-{secrets.token_hex(8)}"
        self._left = settings.max_cost
        self._stops = 0
        self._failure: AttuneBenchError | None = None
        self._under_way: dict[str, int] = {}
        self._spent: dict[str, tuple[Cost, Cost, Cost, int, int]] = {}
        self._heard: set[str] = set()

    async def execute(self, run: Run) -> Stop:
        """Have all shards done. Raises what a worker raises, and ConfigurationError where workers keep dying."""
        if not run.work.todos:
            return ""
        ray, settings, em = self._ray, self.settings, self.settings.em
        keyed, environment = _with_keys(settings)
        most = min(settings.concurrency, len(self._work.chosen))
        with _connected(ray, self._address, min(self._workers or 2, most)), ExitStack() as stack:
            machines = sum(bool(node["Alive"] and node["Resources"].get("CPU")) for node in ray.nodes())
            of = min(self._workers or max(2, machines), most)
            self._parts = {shard: _Part(shard) for shard in (Shard(1 + i, of) for i in range(of))}
            # "Shard 0" of the division keeps a second such run out, and lets the shards in.
            stack.enter_context(claim(settings.output, em.provider, em.model, settings.modes, f"0-of-{of}"))
            self._probe.touch()
            self._queue = import_module("ray.util.queue").Queue(actor_options={"num_cpus": 0})
            task = ray.remote(num_cpus=1, max_retries=0, scheduling_strategy="SPREAD")(_run_shard)
            handed = ray.put((self._run_shard, environment))
            self._start = partial(task.remote, handed, queue=self._queue, probe=self._probe, version=__version__)
            try:
                stopped = await self._do_all(run, keyed)
            except ray.exceptions.RayError as error:
                raise ConfigurationError(
                    f"The Ray cluster failed ({_reason(error)}); answers are kept, and the same command resumes."
                ) from error
            finally:
                self._cancel(force=True)
                self._queue.shutdown(force=True)
                for path in self._probe.parent.glob(f"{self._probe.name}*"):
                    path.unlink(missing_ok=True)
            if not stopped:
                jobs = {(each.conversation_id, mode) for each in self._work.chosen for mode in settings.modes}
                done = {(name, mode) for name, mode in jobs if f"{name} ({mode})" not in run.summary.skipped}
                run.work.made.update(done.intersection(run.work.todos))  # also what a dying worker could not tell of
                SkippedFile(settings.output, em.provider, em.model).join_shards(done)
            return stopped

    async def _do_all(self, run: Run, settings: RunSettings) -> Stop:
        """Until all shards are done, or nothing more is to be sent; returns why it ends before its time.

        With --max-cost each shard gets a part of it. Those whose part was too small, or whose worker died, go on with
        what is left, as long as that buys something.
        """
        parts, patience = list(self._parts.values()), ROOM_WITHIN
        with eventloop.on_interruption(self._interrupt) if self._interruptible else nullcontext():
            while True:
                answered, money = run.summary.calls, self._left and self._left / len(parts)
                self._left = self._left and 0.0
                for part in parts:
                    part.settings = share_of(settings, part.shard, money)
                    self._begin(part)
                await self._wait(run, patience)
                if self._failure is not None:
                    raise self._failure
                ended = {part.shard.name: part.ended for part in self._parts.values() if part.ended}
                run.owed.update({(name,): owed for name, (_, owed, _) in ended.items()})
                if self._stops or any(stopped == "outage" for stopped, _, _ in ended.values()):
                    return "interrupted" if self._stops else "outage"
                parts = [part for part in parts if part.ended is None or part.ended[0] == "max-cost"]
                if not (parts and self._left and run.summary.calls > answered):
                    return "max-cost" if parts else ""
                patience = 0.0

    async def _wait(self, run: Run, patience: float) -> None:
        """Until no task is left. None sends anything before all have proven the folder, or so many seconds are over."""
        until = time.monotonic() + patience
        while self._alive:
            await asyncio.sleep(0.2)
            tasks = [part.task for part in self._alive]
            ended, _ = self._ray.wait(tasks, num_returns=len(tasks), timeout=0, fetch_local=False)
            for news in self._queue.get_nowait_batch(self._queue.qsize()):
                self._hear(run, *news)
            for part in [part for part in self._alive if part.task in ended]:
                self._alive.remove(part)
                self._conclude(part)
            unproven = [part for part in self._alive if not part.proven]
            late = [part for part in unproven if not part.answer.exists()]
            patience = patience if late else 0.0
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
        part.task, part.proven, part.ended = self._start(settings=part.settings, answer=part.answer), False, None
        self._alive.append(part)

    def _conclude(self, part: _Part) -> None:
        """The part's task is over: it was done, or ended with an error, or its worker died."""
        errors, over = self._ray.exceptions, bool(self._stops) or self._failure is not None
        try:
            part.ended = _, _, spent = self._ray.get(part.task)
            if self._left is not None:
                self._left += max(0.0, (part.settings.max_cost or 0.0) - spent)
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
            # Ray drops a cancellation that comes soon after another one. Who is still there after 5 s is killed.
            for seconds, force in ((1.0, False), (2.0, False), (5.0, True)):
                asyncio.get_running_loop().call_later(seconds, partial(self._cancel, force=force))

    def _cancel(self, *, force: bool = False) -> None:
        for part in self._alive:
            with suppress(Exception):
                self._ray.cancel(part.task, force=force)

    def _hear(self, run: Run, shard: Shard, life: str, spent: Any, what: str, about: tuple[Any, ...]) -> None:
        """Count what a worker's observer was told, and tell the run's."""
        summary, budget = run.summary, run.budget
        self._spent[life] = spent
        model, judges, wasted, lost, replayed = zip(*self._spent.values(), strict=True)
        budget.model, budget.judges, budget.wasted = (sum(each, Cost()) for each in (model, judges, wasted))
        budget.lost, budget.replayed = sum(lost), sum(replayed)
        if what in ("answered", "warned"):
            said = about[0].id if what == "answered" else about[0]
            if said in self._heard:  # all workers warn of the same, and a second one of a shard tells what it finds
                return
            self._heard.add(said)
        if what == "answered":
            call, record = about
            self._parts[shard].deaths = 0
            summary.add(record, (self.settings.em if call.judge is None else self.settings.judges[call.judge]).model)
        elif what == "written":
            run.work.made.add(about[:2])
            summary.skipped.pop(f"{about[0]} ({about[1]})", None)
        elif what == "skipped":
            summary.skipped[f"{about[0]} ({about[1]})"] = about[2]
        elif what == "interrupted":
            self._under_way[life] = about[0]
            about = (sum(self._under_way.values()), about[1])
        if what != "interrupted" or self._stops:
            getattr(self._observer, what)(*about)


def _with_keys(settings: RunSettings) -> tuple[RunSettings, dict[str, str]]:
    """The settings with keys and addresses as this process finds them, and whose account it is, as an environment."""
    environment = dict.fromkeys(_VARIABLES.values(), "")

    def resolved(model: ModelSettings) -> ModelSettings:
        if model.provider == "baseline":
            return model
        endpoint = resolve(model)
        environment.update({_VARIABLES[header]: value for header, value in endpoint.headers.items()})
        if endpoint.api_version:
            environment["OPENAI_API_VERSION"] = endpoint.api_version
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
