"""The models that a run calls: backends, prices, what the journal knows of their servers, rate limiters."""

from __future__ import annotations

from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from attunebench.backends import open_backend
from attunebench.backends.base import Backend
from attunebench.backends.providers import Endpoint
from attunebench.journal import Hasher, Journal
from attunebench.runner.budget import Budget
from attunebench.runner.events import Observer
from attunebench.runner.model_client import ModelClient
from attunebench.runner.pacing import RateLimiter
from attunebench.runner.pricing import FREE, KnownPrices, prices_of
from attunebench.runner.settings import ModelSettings, RunSettings

Place = tuple[str, str, str]
"""(provider, address, model)"""
_RESERVE = 64  # descriptors for anything but connections: files being written, name look-ups, second tries to connect


class Clients:
    """The evaluated model (`who` 0) and the judges (from 1) of `settings`; with `judges_only` the former is not called.
    Raises ConfigurationError for missing keys and addresses. `enter` comes first, then `model_clients`."""

    def __init__(self, settings: RunSettings, observer: Observer, *, judges_only: bool = False) -> None:
        self.settings, self._observer = settings, observer
        self._journal: Journal | None = None
        self._models = dict(enumerate((settings.em, *settings.judges)))
        if judges_only:
            del self._models[0]
        # By who is asked: 0 is the evaluated model, judges count from 1.
        self.backends = {who: self._open(model) for who, model in self._models.items()}
        self._hashers = {who: hasher_of(place_of(each), settings, judge=who > 0) for who, each in self.backends.items()}

    @property
    def notes(self) -> list[str]:
        return list({f"At {each.provider} {each.payer}.": None for each in self.backends.values() if each.payer})

    def hashers(self) -> dict[int, Hasher]:
        return {who: hasher for who, hasher in self._hashers.items() if hasher.provider != "baseline"}

    async def enter(self, stack: AsyncExitStack, journal: Journal | None) -> None:
        """Reopen the backends with what the journal knows of their servers; `stack` closes them."""
        self._journal = journal
        if journal is not None:
            self._fit_descriptors()
        for who, backend in self.backends.items():
            if journal is not None:
                place = place_of(backend)
                memory, taken = journal.terms(*place), journal.constraints_taken(*place)
                if memory or taken:
                    self.backends[who] = self._open(self._models[who], memory=memory, taken=taken)
            stack.push_async_callback(self.backends[who].aclose)

    async def prices(self, *, to_show: bool = False) -> KnownPrices:
        """What the models cost; `to_show`: only for display, so a local server, which is free, is not asked."""
        asked = {who: each for who, each in self.backends.items() if not (to_show and each.provider == "local")}
        known = await prices_of(self.settings, [asked.get(who) for who in range(1 + len(self.settings.judges))])
        return known if 0 in self.backends else replace(known, prices=[FREE, *known.prices[1:]])

    def model_clients(self, budget: Budget) -> dict[int, ModelClient]:
        """By `who`; entries for the same model at the same address share one rate limiter."""
        settings, observer, clients = self.settings, self._observer, {}
        limiters: dict[Place, RateLimiter] = {}
        for who, backend in self.backends.items():
            kept, place = backend.provider != "baseline", place_of(backend)
            if place not in limiters:
                rpm, tpm = settings.rpm, settings.tpm
                limiters[place] = RateLimiter(
                    backend.model, settings.concurrency, observer=observer, rpm=rpm, tpm=tpm, cautious=kept
                )
            journal, hasher = self._journal if kept else None, self._hashers[who]
            clients[who] = ModelClient(backend, settings, observer, limiters[place], budget, hasher, journal, who)
        return clients

    def _fit_descriptors(self) -> None:
        """Lower the concurrency until file descriptors are left for keeping replies: paid replies must be written."""
        try:
            import resource
        except ImportError:  # Windows has no such limit
            return
        wanted = self.settings.concurrency
        models = max(1, sum(each.provider != "baseline" for each in self._models.values()))
        limit, ceiling = resource.getrlimit(resource.RLIMIT_NOFILE)
        taken = _RESERVE + 32  # where the system does not say how many are open
        with suppress(OSError):
            taken = _RESERVE + sum(1 for _ in Path("/dev/fd").iterdir())
        needed = taken + wanted * models
        if limit == resource.RLIM_INFINITY or limit >= needed:
            return
        raised = needed if ceiling == resource.RLIM_INFINITY else min(needed, ceiling)
        with suppress(ValueError, OSError):  # some systems allow less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, ceiling))
            limit = raised
        fitting = max(1, (limit - taken) // models)
        if fitting < wanted:
            self.settings = self.settings.model_copy(update={"concurrency": fitting})
            self._observer.warned(
                f"This process may open {limit:,} files (`ulimit -n`), so at most {fitting:,} calls to a model are in "
                f"flight at once, not {wanted:,}."
            )

    def _open(self, model: ModelSettings, **known: Any) -> Backend:
        return open_backend(model, structured=self.settings.structured, concurrency=self.settings.concurrency, **known)


def place_of(each: Backend | Endpoint) -> Place:
    return each.provider, each.base_url, each.model


def hasher_of(place: Place, settings: RunSettings, *, judge: bool) -> Hasher:
    provider, base_url, model = place
    parameters = settings.request_parameters(judge=judge)
    return Hasher(provider=provider, base_url=base_url, model=model, parameters=parameters)
