"""What each provider is: its address, where its key is found, which headers it wants. A variable or file that belongs
to one provider is never read for another, so a key cannot reach a host that it was not made for."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from pydantic import HttpUrl, SecretStr, TypeAdapter

from attunebench.errors import ConfigurationError, UsageError

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from attunebench.runner.settings import ModelSettings

NO_KEY = "no-key-needed"  # sent to servers that need no key: some of them want to see one all the same
THE_CLIENT = "the given client"  # the source of a key that a client of the user's has
_PRIME_CONFIG = "~/.prime/config.json"


@dataclass(frozen=True, slots=True)
class Provider:
    """A way to reach models. `key_variables`: environment variables tried for the key, in this order, none where it
    needs no key; `headers`: sent where the variable is set; `variables`: others that are read."""

    name: str
    description: str
    base_url: str | None = None
    key_variables: tuple[str, ...] = ()
    base_url_variable: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    variables: tuple[str, ...] = ()


# Name → provider, in the order in which they are shown to users.
PROVIDERS: Mapping[str, Provider] = {provider.name: provider for provider in (
    Provider("openrouter", "OpenRouter", "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    Provider("openai", "OpenAI", "https://api.openai.com/v1", ("OPENAI_API_KEY",), "OPENAI_BASE_URL",
             {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}),
    Provider("prime", "Prime Intellect", "https://api.pinference.ai/api/v1", ("RLVR_PRIME_API_KEY", "PRIME_API_KEY"),
             headers={"X-Prime-Team-ID": "PRIME_TEAM_ID"}),
    Provider("azure", "Azure OpenAI, MODEL being the deployment; needs OPENAI_API_VERSION", None,
             ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"), "AZURE_OPENAI_ENDPOINT",
             variables=("OPENAI_API_VERSION", "AZURE_OPENAI_DEPLOYMENT")),
    Provider("local", "any OpenAI-compatible server, at --base-url"),
    Provider("baseline", "built in, offline; MODEL is the baseline's name"),
)}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model at an address. The key shows in no repr; `key_source` says where it was found ("--api-key", a variable,
    a file, "none"); `payer` says whose money it is where the provider knows several, else None; `api_version` is
    Azure's."""

    provider: str
    model: str
    base_url: str
    key: SecretStr
    key_source: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    payer: str | None = None
    api_version: str | None = None

    @property
    def credentials(self) -> dict[str, str]:
        """The headers that say whose request it is: for this endpoint alone."""
        key = self.key.get_secret_value()
        if self.api_version and key.count(".") != 2:  # a token of Entra's has three parts, a key has one
            return {**self.headers, "api-key": key}
        return {**self.headers, "Authorization": f"Bearer {key}"}

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).hostname or ""

    @property
    def is_this_machine(self) -> bool:
        """Whether the host is this machine by its name or address, so that no proxy stands between."""
        with suppress(ValueError):
            return ip_address(self.host).is_loopback or self.host == "0.0.0.0"
        return self.host == "localhost" or self.host.endswith(".localhost")


def provider_named(name: str) -> Provider:
    """The provider of that name. Raises UsageError that names those there are."""
    if name not in PROVIDERS:
        raise UsageError(f"There is no provider {name!r}; choose one of {', '.join(PROVIDERS)}.")
    return PROVIDERS[name]


def resolve(settings: ModelSettings, environment: Mapping[str, str] | None = None) -> Endpoint:
    """Where and with which key the model is reached. UsageError: provider or address; ConfigurationError: values."""
    provider, values = _with_values(settings, environment)
    key, source = _key(provider, settings, values)
    headers = {header: values[variable] for header, variable in provider.headers.items() if variable in values}
    for name, value in headers.items():
        if not value.isascii() or not value.isprintable():
            raise ConfigurationError(f"The value for the header {name} contains characters that a header cannot have.")
    payer, version = None, values.get("OPENAI_API_VERSION")
    if provider.name == "prime":
        payer = f"team {values['PRIME_TEAM_ID']} pays" if headers else "the personal wallet pays"
    if provider.name == "azure" and not version:
        raise ConfigurationError("The provider azure requires the API version: set OPENAI_API_VERSION.")
    base_url = _base_url(provider, settings, values)
    return Endpoint(provider.name, settings.model, base_url, SecretStr(key), source, headers, payer, version)


def served_by(client: AsyncOpenAI, settings: ModelSettings) -> Endpoint:
    """The endpoint that a client of the user's asks. Raises UsageError: unknown provider."""
    parts = urlsplit(str(client.base_url))
    base_url = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"
    key = SecretStr(client.api_key or NO_KEY)
    return Endpoint(provider_named(settings.provider).name, settings.model, base_url, key, THE_CLIENT)


def unsent(settings: ModelSettings, environment: Mapping[str, str] | None = None) -> Endpoint:
    """As `resolve`, for those who send nothing themselves: without a key, and `local` may have the address ""."""
    provider, values = _with_values(settings, environment)
    nowhere = provider.name == "local" and not (settings.base_url or "").strip()
    base_url = "" if nowhere else _base_url(provider, settings, values)
    return Endpoint(provider.name, settings.model, base_url, SecretStr(NO_KEY), "none")


def _with_values(settings: ModelSettings, environment: Mapping[str, str] | None) -> tuple[Provider, Mapping[str, str]]:
    """The provider, and what its own variables and its settings file say; nothing that is blank."""
    environment = os.environ if environment is None else environment
    provider = provider_named(settings.provider)
    if provider.name == "baseline":
        raise UsageError("The provider baseline is built in and has no address.")
    names = (*provider.key_variables, provider.base_url_variable, *provider.headers.values(), *provider.variables)
    values = {name: environment.get(name) for name in names}
    if provider.name == "prime":
        home, raw = environment.get("HOME") or environment.get("USERPROFILE"), dict[str, Any]()
        with suppress(OSError, ValueError, RuntimeError, RecursionError):  # a missing or broken file says nothing
            path = (Path(home) if home else Path.home()) / ".prime" / "config.json"
            raw = json.loads(path.read_text(encoding="utf-8-sig"))
        raw = raw if isinstance(raw, dict) else {}
        # Where a variable is not set, the file's field counts; the address has no variable.
        values |= {_PRIME_CONFIG: raw.get("api_key"), provider.base_url_variable: raw.get("inference_url")}
        values["PRIME_TEAM_ID"] = (values["PRIME_TEAM_ID"] or "").strip() or raw.get("team_id")
    texts = {name: value.strip() for name, value in values.items() if isinstance(value, str)}
    return provider, {name: text for name, text in texts.items() if text}


def _key(provider: Provider, settings: ModelSettings, values: Mapping[str, str]) -> tuple[str, str]:
    """The key and where it was found; a blank one counts as none."""
    given = settings.api_key.get_secret_value().strip() if settings.api_key else ""
    sources = {"--api-key": given, **{name: values.get(name) for name in (*provider.key_variables, _PRIME_CONFIG)}}
    source, key = next(((source, key) for source, key in sources.items() if key), ("", ""))
    if not key and provider.key_variables:
        tried = " or ".join(provider.key_variables)
        file = f" (there is none in {_PRIME_CONFIG} either)" if provider.name == "prime" else ""
        raise ConfigurationError(f"No API key for {provider.name}: set {tried}, or give --api-key{file}.")
    if not key.isascii() or any(character.isspace() or not character.isprintable() for character in key):
        raise ConfigurationError(
            f"The API key from {source} contains a space, line break or non-ASCII character; copy it again."
        )
    return (key, source) if key else (NO_KEY, "none")


def _base_url(provider: Provider, settings: ModelSettings, values: Mapping[str, str]) -> str:
    """The address without a final slash. One that may hold a secret is refused unseen."""
    azure = provider.name == "azure"
    url = (settings.base_url or "").strip() or values.get(provider.base_url_variable) or provider.base_url
    if not url:
        how = f"set {provider.base_url_variable}, or give --base-url" if azure else "give --base-url"
        example = "https://my-resource.openai.azure.com" if azure else "http://localhost:8000/v1"
        raise UsageError(f"The provider {provider.name} needs the server's address: {how}, such as {example}.")
    if any(sign in url for sign in "@?#"):
        raise ConfigurationError("The base URL contains a user name, a query or a fragment (@, ? or #); use --api-key.")
    try:
        if url.partition("://")[2][:1] in ("", "/") or any(map(str.isspace, url)):
            raise ValueError(url)
        TypeAdapter(HttpUrl).validate_python(url)
    except ValueError:
        raise ConfigurationError(f"{url!r} is not a base URL: it must look like http://localhost:8000/v1.") from None
    url = url.rstrip("/").removesuffix("/chat/completions")
    if azure and "/openai/" not in url:
        deployment = values.get("AZURE_OPENAI_DEPLOYMENT") or settings.model
        return f"{url.removesuffix('/openai')}/openai/deployments/{quote(deployment, safe='')}"
    return url
