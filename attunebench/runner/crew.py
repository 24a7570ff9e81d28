"""Those who are asked in a run, and what they share: backends with what was learned of their servers, one line for each
address, the money, the journal.

Owns how models are opened, remembered, priced and put to work. Knows no conversation, and not what is asked for what.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attunebench.backends import open_backend
from attunebench.backends.base import Backend
from attunebench.backends.prices import Prices
from attunebench.codebook import Codebook
from attunebench.eventloop import on_interruption
from attunebench.journal import Journal, is_shared
from attunebench.runner.asking import Asker, hasher
from attunebench.runner.budget import Budget, Purse, check_bound
from attunebench.runner.descriptors import calls_that_fit
from attunebench.runner.engine import Engine, Job
from attunebench.runner.events import Observer
from attunebench.runner.pacing import Pace
from attunebench.runner.pricing import KnownPrices, prices_of
from attunebench.runner.settings import ModelSettings, RunSettings
from attunebench.runner.spending import Spending
from attunebench.runner.watchdog import Watchdog

if TYPE_CHECKING:
    from attunebench.journal import Hasher


class Crew:
    """The evaluated model and the judges of `settings`, opened; with `judges_only` the evaluated model is not asked.

    Opening tells of keys and addresses that are missing (ConfigurationError) before anything else is done. Then, in
    this order: `settle_in`, `set_prices` where something is to be asked, `engine`, `work`.
    """

    def __init__(
        self, settings: RunSettings, codebook: Codebook, observer: Observer, *, judges_only: bool = False
    ) -> None:
        self.journal: Journal | None = None
        self.spending = Spending()
        self.prices = KnownPrices()
        self._budget = Budget()
        self._settings = settings
        self._codebook = codebook
        self._observer = observer
        self._models: Sequence[ModelSettings | None] = (None if judges_only else settings.em, *settings.judges)
        self.backends = [None if each is None else self._open(each) for each in self._models]
        """The evaluated model's (None where it is not asked), then the judges'."""

    @property
    def costs(self) -> bool:
        """Whether anybody costs something to ask again: what is built in does not."""
        return any(each.provider != "baseline" for each in self._models if each is not None)

    async def settle_in(
        self,
        stack: AsyncExitStack,
        folder: Path,
        part: str | None = None,
        *,
        asking: bool = True,
        patience: float = 1.0,
    ) -> None:
        """Open the journal of the folder, where it is needed, and the backends with what it remembers of them.

        `part` names the file of its own that a part of a run gets, whose lock it waits for `patience` seconds; without
        `asking` nothing is going to be kept. Raises DataError for a journal that cannot be used.
        """
        if self.costs:
            journal = Journal.open(folder, shard=part, patience=patience) if asking else Journal.snapshot(folder)
            self.journal = stack.enter_context(journal)
            self._fit_descriptors()
            for path in self.journal.unread:
                if not is_shared(path):
                    self._observer.warned(
                        f"Another process is writing to {path} at this moment, so it is not read: replies of this run "
                        "that an earlier one has left in it would be asked for again."
                    )
        for number, (model, backend) in enumerate(zip(self._models, self.backends, strict=True)):
            if model is not None and backend is not None:
                self.backends[number] = opened = self._remembering(model, backend)
                stack.push_async_callback(opened.aclose)

    def _fit_descriptors(self) -> None:
        """Have no more calls under way than leave room to keep their replies. The journal is open by now."""
        wanted = self._settings.concurrency
        models = sum(each is not None and each.provider != "baseline" for each in self._models)
        fitting, limit = calls_that_fit(wanted, models)
        if fitting < wanted:
            self._settings = self._settings.model_copy(update={"concurrency": fitting})
            self._observer.warned(
                f"This process may open {limit:,} files (`ulimit -n`), so at most {fitting:,} calls to a model are in "
                f"flight at once, not {wanted:,}."
            )

    def hasher(self) -> Hasher:
        """Hashes the requests to the evaluated model."""
        backend = self.backends[0]
        assert backend is not None, "the evaluated model is not asked"
        return hasher(backend, self._settings, judge=False)

    async def set_prices(self) -> None:
        """Learn what those who are asked cost. Raises what `check_bound` and `prices_of` raise."""
        known = await prices_of(self._settings, self.backends)
        if self.backends[0] is None:
            known = replace(known, prices=[Prices(0.0, 0.0), *known.prices[1:]])
        check_bound(self._settings, known.prices)
        self.prices = known

    async def listed_prices(self) -> KnownPrices:
        """What those who are asked cost, for a sum that is only shown. A server of the user's own bills nobody, and is
        not asked."""
        billing = [None if each is None or each.provider == "local" else each for each in self.backends]
        known = await prices_of(self._settings, billing)
        return known if self.backends[0] else replace(known, prices=[Prices(0.0, 0.0), *known.prices[1:]])

    @property
    def spent(self) -> float:
        """USD so far as the bound of --max-cost counts them, what is unknown at its worst case."""
        return self._budget.spent

    @property
    def payers(self) -> list[str]:
        """Who pays, where a server says so: a sentence for each."""
        told = [f"At {each.provider} {each.payer}." for each in self.backends if each is not None and each.payer]
        return list(dict.fromkeys(told))

    def engine(self, jobs: Iterator[Job], done: Callable[[Job], Awaitable[None]]) -> Engine:
        """An engine that has these jobs done by these models; `done` is called once for each that ended."""
        self._budget = budget = Budget(self._settings.max_cost, self.prices.prices)
        self._watchdog = Watchdog(self._observer, lambda: engine.waiting_for())
        model, *judges = self._askers(Purse(budget), self._watchdog.touch)
        engine = Engine(
            jobs,
            model,
            [judge for judge in judges if judge is not None],
            workers=2 * self._settings.concurrency,
            done=done,
            observer=self._observer,
            may_open=budget.may_open,
            patience=self._settings.total_timeout,
        )
        return engine

    async def work(self, engine: Engine, *, interruptible: bool) -> None:
        """Run the engine of `engine()` to its end. `interruptible` takes Ctrl-C: once lets calls under way finish (as
        SIGTERM and SIGHUP do), twice stops them. Raises what the engine raises."""
        async with self._watchdog:
            with on_interruption(engine.interrupt) if interruptible else nullcontext():
                await engine.run()

    def _open(
        self, model: ModelSettings, memory: Mapping[str, Any] | None = None, taken: Collection[str] = ()
    ) -> Backend:
        structured, concurrency = self._settings.structured, self._settings.concurrency
        return open_backend(model, structured=structured, concurrency=concurrency, memory=memory, taken=taken)

    def _remembering(self, model: ModelSettings, backend: Backend) -> Backend:
        """The backend with what an earlier run learned of its server."""
        if self.journal is None:
            return backend
        place = (backend.provider, backend.base_url, backend.model)
        memory, taken = self.journal.terms(*place), self.journal.constraints_taken(*place)
        return self._open(model, memory, taken) if memory or taken else backend

    def _askers(self, purse: Purse, touch: Callable[[], None]) -> list[Asker | None]:
        """One asker for each model; models that are the same one behind the same address share one line."""
        settings = self._settings
        paces: dict[tuple[str, str, str], Pace] = {}
        askers: list[Asker | None] = []
        for number, backend in enumerate(self.backends):
            if backend is None:
                askers.append(None)
                continue
            line = (backend.provider, backend.base_url, backend.model)
            if line not in paces:
                paces[line] = Pace(
                    backend.model,
                    settings.concurrency,
                    observer=self._observer,
                    rpm=settings.rpm,
                    tpm=settings.tpm,
                    cautious=backend.provider != "baseline",
                )
            askers.append(
                Asker(
                    backend,
                    settings,
                    self._codebook,
                    self._observer,
                    pace=paces[line],
                    purse=purse,
                    spending=self.spending,
                    journal=self.journal if backend.provider != "baseline" else None,
                    who=number,
                    touch=touch,
                )
            )
        return askers
