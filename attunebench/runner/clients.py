"""Those who are asked in a live run: the evaluated model and the judges, opened, remembered and priced, with one rate
limiter for each address.

Knows no conversation, and not what is asked for what.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attunebench.backends import open_backend
from attunebench.backends.base import Backend
from attunebench.journal import Hasher
from attunebench.runner.model_client import ModelClient
from attunebench.runner.pacing import RateLimiter
from attunebench.runner.pricing import FREE, KnownPrices, prices_of
from attunebench.runner.settings import ModelSettings, RunSettings

if TYPE_CHECKING:
    from attunebench.journal import Journal
    from attunebench.runner.budget import Budget
    from attunebench.runner.events import Observer

_RESERVE = 64
"""Descriptors for what is not a connection: files that are being written, name look-ups, second tries to connect."""


class Clients:
    """The evaluated model and the judges of `settings`; with `judges_only` the evaluated model is not asked.

    Opening tells of keys and addresses that are missing (ConfigurationError) before anything else is done. `enter` is
    called once the journal is there, `model_clients` when the work begins.
    """

    def __init__(self, settings: RunSettings, observer: Observer, *, judges_only: bool = False) -> None:
        self.settings = settings
        self._observer = observer
        self._journal: Journal | None = None
        self._models: Sequence[ModelSettings | None] = (None if judges_only else settings.em, *settings.judges)
        self.backends = [None if each is None else self._open(each) for each in self._models]
        """The evaluated model's (None where it is not asked), then the judges'."""
        self._hashers = {
            who: Hasher(
                provider=backend.provider,
                base_url=backend.base_url,
                model=backend.model,
                parameters=settings.request_parameters(judge=who > 0),
            )
            for who, backend in enumerate(self.backends)
            if backend is not None
        }

    @property
    def notes(self) -> list[str]:
        """Who pays, where a server says so: a sentence for each."""
        told = [f"At {each.provider} {each.payer}." for each in self.backends if each is not None and each.payer]
        return list(dict.fromkeys(told))

    def hashers(self) -> list[Hasher | None]:
        """What the journal tells requests by, for each model; None for one that is not asked or not kept."""
        kept = {who for who, hasher in self._hashers.items() if hasher.provider != "baseline"}
        return [self._hashers[who] if who in kept else None for who in range(len(self.backends))]

    async def enter(self, stack: AsyncExitStack, journal: Journal | None) -> None:
        """Open the backends anew with what the journal remembers of their servers; `stack` closes them."""
        self._journal = journal
        if journal is not None:
            self._fit_descriptors()
        for who, (model, backend) in enumerate(zip(self._models, self.backends, strict=True)):
            if model is None or backend is None:
                continue
            if journal is not None:
                place = (backend.provider, backend.base_url, backend.model)
                memory, taken = journal.terms(*place), journal.constraints_taken(*place)
                if memory or taken:
                    self.backends[who] = backend = self._open(model, memory, taken)
            stack.push_async_callback(backend.aclose)

    async def prices(self, *, to_show: bool = False) -> KnownPrices:
        """What those who are asked cost; `to_show`: for a sum that is only shown, so a server of the user's own, which
        bills nobody, is not asked. Raises what `prices_of` raises."""
        backends = [None if each is None or (to_show and each.provider == "local") else each for each in self.backends]
        known = await prices_of(self.settings, backends)
        return known if self._models[0] is not None else replace(known, prices=[FREE, *known.prices[1:]])

    def model_clients(self, budget: Budget) -> dict[int, ModelClient]:
        """By who is asked; models that are the same one behind the same address share one rate limiter."""
        settings, observer = self.settings, self._observer
        limiters: dict[tuple[str, str, str], RateLimiter] = {}
        clients = {}
        for who, hasher in self._hashers.items():
            backend = self.backends[who]
            assert backend is not None
            kept = backend.provider != "baseline"
            place = (backend.provider, backend.base_url, backend.model)
            if place not in limiters:
                limiters[place] = RateLimiter(
                    backend.model,
                    settings.concurrency,
                    observer=observer,
                    rpm=settings.rpm,
                    tpm=settings.tpm,
                    cautious=kept,
                )
            journal = self._journal if kept else None
            clients[who] = ModelClient(backend, settings, observer, limiters[place], budget, hasher, journal, who)
        return clients

    def _fit_descriptors(self) -> None:
        """Have no more calls under way than leave room to keep their replies. The journal is open by now."""
        wanted = self.settings.concurrency
        models = sum(each is not None and each.provider != "baseline" for each in self._models)
        fitting, limit = _calls_that_fit(wanted, models)
        if fitting < wanted:
            self.settings = self.settings.model_copy(update={"concurrency": fitting})
            self._observer.warned(
                f"This process may open {limit:,} files (`ulimit -n`), so at most {fitting:,} calls to a model are in "
                f"flight at once, not {wanted:,}."
            )

    def _open(
        self, model: ModelSettings, memory: Mapping[str, Any] | None = None, taken: Collection[str] = ()
    ) -> Backend:
        settings = self.settings
        return open_backend(
            model, structured=settings.structured, concurrency=settings.concurrency, memory=memory, taken=taken
        )


def _calls_that_fit(wanted: int, models: int) -> tuple[int, int]:
    """How many calls may be under way at once to each of so many models, at most `wanted` and at least 1; and the
    limit of open files, which is raised for them where that is allowed (0 where there is none).

    Where connections use up the descriptors, replies that are paid for cannot be written.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return wanted, 0
    limit, ceiling = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return wanted, 0
    taken = _RESERVE + 32  # where the system does not tell how many are open
    for folder in ("/dev/fd", "/proc/self/fd"):
        with suppress(OSError):
            taken = _RESERVE + sum(1 for _ in Path(folder).iterdir())
    needed = taken + wanted * models
    if limit < needed:
        raised = needed if ceiling == resource.RLIM_INFINITY else min(needed, ceiling)
        with suppress(ValueError, OSError):  # some systems allow less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, ceiling))
            limit = raised
    return min(wanted, max(1, (limit - taken) // max(1, models))), limit
