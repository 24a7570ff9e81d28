"""Ways to get replies (see `base`): `open_backend` finds the one that a model's settings ask for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any
from unicodedata import category

from attunebench.backends.providers import Endpoint, provider_named, resolve, served_by
from attunebench.errors import UsageError

if TYPE_CHECKING:
    from attunebench.backends.base import Backend
    from attunebench.runner.settings import ModelSettings, Structured


def endpoint_of(settings: ModelSettings) -> Endpoint | Backend:
    """Whom these settings ask, with no SDK loaded for it; a baseline is its own backend. Raises UsageError (unknown
    provider or baseline, no usable model name, no address) and ConfigurationError."""
    if not settings.model.strip() or any(category(character) in ("Cc", "Cs") for character in settings.model):
        raise UsageError(f"The model's name {settings.model!a} is empty or contains control characters.")
    if settings.client is not None:
        return served_by(settings.client, settings)
    if provider_named(settings.provider).name == "baseline":
        from attunebench.backends.baselines import BaselineBackend

        return BaselineBackend(settings.model)
    return resolve(settings)


def open_backend(
    settings: ModelSettings, *, structured: Structured = "auto", concurrency: int = 16,
    memory: Mapping[str, Any] | None = None, taken: Collection[str] = (),
) -> Backend:  # fmt: skip
    """The backend for one model, which sends nothing yet. `concurrency`: how many calls may be under way at once;
    `memory`: what `Backend.learned` gave for the same provider, address and model in an earlier run; `taken`: how the
    output was constrained in requests that were answered then. A `settings.client` is used as it is and stays open.
    Raises as `endpoint_of`, and ConfigurationError for a proxy or certificates that cannot be used."""
    endpoint = endpoint_of(settings)
    if not isinstance(endpoint, Endpoint):
        return endpoint
    from attunebench.backends.chat import ChatBackend

    return ChatBackend(endpoint, structured, concurrency, memory, taken, settings.client)
