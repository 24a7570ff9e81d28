"""A run on a Ray cluster: `--executor ray`.

Owns the desk and the workers as Ray's actors, the proof that they share the results folder, and what Ray's errors mean
in a sentence. Keys are handed to each worker with its work, and to nobody else.
"""

from __future__ import annotations

import os
import secrets
import signal
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from attunebench import __version__
from attunebench.api import quick_scores
from attunebench.backends.providers import NO_KEY, resolve
from attunebench.codebook import Codebook, default_codebook
from attunebench.conversations import Conversation, ConversationSet
from attunebench.errors import ConfigurationError, UsageError
from attunebench.eventloop import ending_signals
from attunebench.runner import ModelSettings, Observer, RunSettings, RunSummary, run_conversations
from attunebench.runner.shards import journal_name
from attunebench.spreading.connecting import connected, first_line, machines, ray_package
from attunebench.spreading.crowd import Crowd, Died
from attunebench.spreading.desk import Desk
from attunebench.spreading.shares import share_of
from attunebench.spreading.worker import Seen, Worker, appears, probe_name

if TYPE_CHECKING:
    from attunebench.runner.events import Stop
    from attunebench.runner.stint import Done, Gathered, Handed
    from attunebench.runner.work import Todo
    from attunebench.spreading.desk import Life, News
    from attunebench.spreading.worker import Refused

USUAL_WORKERS = 2
"""Workers where the cluster has fewer machines than that."""
ROOM_WITHIN = 30.0
"""Seconds that the first conversation waits for all workers to come up; who comes later joins in."""
_OF_HEADERS = {
    "OpenAI-Organization": "OPENAI_ORG_ID",
    "OpenAI-Project": "OPENAI_PROJECT_ID",
    "X-Prime-Team-ID": "PRIME_TEAM_ID",
}


def run_on_ray(
    conversations: Sequence[Conversation] | ConversationSet,
    settings: RunSettings,
    *,
    address: str | None = None,
    workers: int | None = None,
    codebook: Codebook | None = None,
    observer: Observer | None = None,
    run_again: str = "",
    interruptible: bool = False,
) -> RunSummary:
    """As `attunebench.run`, by workers on the Ray cluster at `address`, or at RAY_ADDRESS, or on this machine alone.

    `settings.output` is a folder that all machines share. Without `workers` there is one for each machine, two at
    least. Raises UsageError where Ray is missing or the folder is not shared, ConfigurationError where there is no such
    cluster or it cannot run the workers, and what `attunebench.run` raises.
    """
    if settings.shard is not None:
        raise UsageError("--shard and --executor ray both divide the run; give one of them.")
    if workers is not None and workers < 1:
        raise UsageError(f"--workers {workers}: there has to be one worker at least.")
    ray_package()
    settings = settings.model_copy(update={"output": settings.output.absolute()})
    return run_conversations(
        list(conversations),
        settings,
        codebook or default_codebook(),
        observer=observer,
        quick_scores=quick_scores,
        run_again=run_again,
        interruptible=interruptible,
        spread=OnRay(address, workers),
    )


class OnRay:
    """A `Spread` over the cluster at `address`."""

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self._address = address or os.environ.get("RAY_ADDRESS")
        self._workers = workers

    def __call__(self, handed: Handed, todos: Sequence[Todo], gathered: Gathered, *, interruptible: bool) -> Stop:
        """Have the jobs done, and return why that ended before its time."""
        settings = handed.settings
        most = min(settings.concurrency, len(todos))
        if self._workers is not None and self._workers > settings.concurrency:
            gathered.observer.warned(
                f"{settings.concurrency} calls at once keep no more workers than that busy; --concurrency allows more."
            )
        with (
            _interruptions(interruptible) as interruptions,
            connected(self._address, min(self._workers or USUAL_WORKERS, most)) as ray,
        ):
            workers = min(self._workers or max(USUAL_WORKERS, machines(ray)), most)
            with _probe(settings.output) as token:
                hands = RayHands(ray, handed, todos, workers, token)
                try:
                    hands.muster()
                    crowd = Crowd(
                        hands,
                        gathered,
                        workers=workers,
                        max_cost=settings.max_cost,
                        interruptions=lambda: len(interruptions),
                    )
                    return crowd.work()
                except ray.exceptions.RayError as error:
                    raise ConfigurationError(
                        f"The Ray cluster failed ({first_line(error)}); what was answered is kept, and the same "
                        "command goes on."
                    ) from error
                finally:
                    hands.leave()


class RayHands:
    """`crowd.Hands` on a cluster that is connected."""

    def __init__(self, ray: Any, handed: Handed, todos: Sequence[Todo], workers: int, token: str) -> None:
        self._ray = ray
        self._settings = handed.settings
        self._workers = workers
        self._token = token
        self._environment = _environment(handed.settings)
        bare = handed.settings.model_copy(update={"em": _bare(handed.settings.em), "judges": ()})
        self._handed = ray.put(replace(handed, settings=bare))
        self._desk = ray.remote(Desk).options(num_cpus=0).remote(list(todos))
        self._actors: dict[Life, Any] = {}
        self._looks: dict[Life, Any] = {}
        self._works: dict[Life, Any] = {}
        self._money: dict[Life, float | None] = {}
        self._ready: dict[int, tuple[Any, Any]] = {}
        self._nodes: dict[Life, str] = {}
        self._warnings: list[str] = []

    def muster(self) -> None:
        """Bring up the first workers, and see that all of them share the folder, before anything is paid for.

        Raises UsageError where one does not, ConfigurationError where none can run.
        """
        first = {number: self._bring_up(number) for number in range(1, self._workers + 1)}
        looks = [look for _, look in first.values()]
        up, late = self._ray.wait(looks, num_returns=len(looks), timeout=ROOM_WITHIN)
        for number, (_, look) in first.items():
            if look in up:
                self._checked(number, look)
        if late:
            self._warnings.append(
                f"The Ray cluster has room for {len(up)} of {self._workers} workers (each takes one CPU); others join "
                "when there is room."
            )
        self._ready = first

    def start(self, life: Life, money: float | None) -> None:
        """Have this life begin when its worker is up."""
        ready = self._ready.pop(life.worker) if life.worker in self._ready else self._bring_up(life.worker)
        self._actors[life], self._looks[life] = ready
        self._money[life] = money
        self._ray.get(self._desk.begin.remote(life))

    def ended(self, seconds: float) -> Sequence[Life]:
        """Those whose work is over; who has come up meanwhile is given its work."""
        for life in [life for life, look in self._looks.items() if self._ray.wait([look], timeout=0)[0]]:
            look = self._looks.pop(life)
            try:
                self._nodes[life] = self._checked(life.worker, look).node
            except Died:
                self._works[life] = look  # it is over before it began, and its outcome says how
                continue
            settings = share_of(_with_keys(self._settings), life.worker, self._workers, self._money[life])
            part = journal_name(settings, f"ray-{life.worker}")
            self._works[life] = self._actors[life].work.remote(
                self._handed, settings, self._environment, part, self._desk, life
            )
        refs = {work: life for life, work in self._works.items()}
        if not refs:
            time.sleep(seconds)
            return []
        over, _ = self._ray.wait(list(refs), num_returns=len(refs), timeout=seconds)
        return [refs[ref] for ref in over]

    def outcome(self, life: Life) -> Done | Refused:
        """How it ended. Raises Died, and what was a bug."""
        try:
            outcome: Done | Refused = self._result(self._works.pop(life))
            return outcome
        finally:
            self._ray.kill(self._actors.pop(life))

    def interrupt(self, lives: Sequence[Life]) -> int:
        """As Ctrl-C in each; a worker that does not say in time how many calls it has under way counts none."""
        told = [self._actors[life].interrupt.remote() for life in lives if life in self._works]
        done, _ = self._ray.wait(told, num_returns=len(told), timeout=2.0) if told else ([], [])
        count = 0
        for ref in done:
            with suppress(self._ray.exceptions.RayError):
                count += self._ray.get(ref)
        return count

    def end(self, lives: Sequence[Life]) -> None:
        """End them at once. Those that have not begun are forgotten."""
        for life in lives:
            if life in self._works:
                self._ray.kill(self._actors[life])
            else:
                self._looks.pop(life, None)
                self._ray.kill(self._actors.pop(life))

    def close(self) -> None:
        """Let the desk hand out nothing more."""
        self._ray.get(self._desk.close.remote())

    def bury(self, life: Life) -> bool:
        """Hear no more of this life; whether it leaves something unfinished."""
        unfinished: bool = self._ray.get(self._desk.bury.remote(life))
        return unfinished

    def news(self) -> Sequence[tuple[Life, News]]:
        """What all have told since the last time."""
        news: Sequence[tuple[Life, News]] = self._ray.get(self._desk.news.remote())
        return news

    def waiting(self) -> int:
        """Jobs that nobody has begun."""
        waiting: int = self._ray.get(self._desk.left.remote())
        return waiting

    def pending(self) -> Collection[Life]:
        """Those that are not up yet."""
        return self._looks.keys()

    def warnings(self) -> Sequence[str]:
        """What to say of the cluster, once."""
        warnings, self._warnings = self._warnings, []
        return warnings

    def leave(self) -> None:
        """Leave no process of this run behind."""
        for actor in [*self._actors.values(), *(actor for actor, _ in self._ready.values()), self._desk]:
            with suppress(Exception):
                self._ray.kill(actor)

    def _bring_up(self, worker: int) -> tuple[Any, Any]:
        # One CPU each, and as far from each other as there is room.
        options = {"num_cpus": 1, "max_restarts": 0, "max_concurrency": 3, "scheduling_strategy": "SPREAD"}
        actor = self._ray.remote(Worker).options(**options).remote()
        return actor, actor.look.remote(str(self._settings.output), self._token, worker)

    def _checked(self, worker: int, look: Any) -> Seen:
        seen: Seen = self._result(look)
        folder = self._settings.output
        problem = seen.problem
        if not problem and not appears(folder / probe_name(self._token, worker), self._token):
            problem = "does not write to the same one"
        if problem:
            raise UsageError(
                f"The output folder {folder} has to be one that all machines of the cluster share, and the worker on "
                f"{seen.node} {problem}; give a folder on shared storage with --output."
            )
        if seen.version != __version__:
            raise ConfigurationError(
                f"The worker on {seen.node} has attunebench {seen.version} and this is {__version__}; install the same "
                "version on all machines."
            )
        return seen

    def _result(self, ref: Any) -> Any:
        exceptions = self._ray.exceptions
        try:
            return self._ray.get(ref)
        except exceptions.RayTaskError as error:
            raise error.as_instanceof_cause() from error
        except (exceptions.RayActorError, exceptions.WorkerCrashedError, exceptions.ObjectLostError) as error:
            if "ModuleNotFoundError" in str(error) or "failed to be imported" in str(error):
                raise ConfigurationError(
                    "The workers of the cluster cannot import attunebench: install it with its extra `ray` into the "
                    "Python that Ray runs there."
                ) from error
            raise Died("its process is gone, or its machine.") from error


@contextmanager
def _probe(folder: Path) -> Iterator[str]:
    """The token that this process has written into the folder; it and the workers' answers are gone afterwards."""
    token = secrets.token_hex(8)
    (folder / probe_name(token)).write_text(token, encoding="ascii")
    try:
        yield token
    finally:
        for path in folder.glob(f"{probe_name(token)}*"):
            path.unlink(missing_ok=True)


@contextmanager
def _interruptions(wanted: bool) -> Iterator[list[float]]:
    """The times of the user's Ctrl-C so far, and of the first signal of another kind; none ends this process."""
    times: list[float] = []
    if not wanted or threading.current_thread() is not threading.main_thread():
        yield times
        return

    def note(number: int, _: object) -> None:
        if number == signal.SIGINT or not times:
            times.append(time.monotonic())

    before = {number: signal.signal(number, note) for number in ending_signals()}
    try:
        yield times
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _with_keys(settings: RunSettings) -> RunSettings:
    """The settings with keys and addresses as this process finds them, so that the workers' machines need none."""
    return settings.model_copy(
        update={"em": _resolved(settings.em), "judges": tuple(_resolved(judge) for judge in settings.judges)}
    )


def _resolved(model: ModelSettings) -> ModelSettings:
    if model.provider == "baseline":
        return model
    endpoint = resolve(model)
    key = endpoint.key.get_secret_value()
    return model.model_copy(
        update={"base_url": endpoint.base_url, "api_key": None if key == NO_KEY else SecretStr(key)}
    )


def _bare(model: ModelSettings) -> ModelSettings:
    return model.model_copy(update={"api_key": None})


def _environment(settings: RunSettings) -> dict[str, str]:
    """Whose account it is, for the environment of the workers: no key among it."""
    found = {}
    for model in (settings.em, *settings.judges):
        if model.provider != "baseline":
            for header, value in resolve(model).headers.items():
                found[_OF_HEADERS[header]] = value
    return found
