"""Where a model is reached and with which key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from keys import KEY
from pydantic import SecretStr

from attunebench.backends import open_backend
from attunebench.backends.providers import NO_KEY, PROVIDERS, Endpoint, resolve
from attunebench.errors import ConfigurationError, UsageError
from attunebench.runner.settings import ModelSettings


def settings(provider: str, key: str | None = None, base_url: str | None = None) -> ModelSettings:
    return ModelSettings(
        provider=provider, model="m", base_url=base_url, api_key=None if key is None else SecretStr(key)
    )


def at(endpoint: Endpoint) -> tuple[str, str, str]:
    return endpoint.base_url, endpoint.key.get_secret_value(), endpoint.key_source


@pytest.mark.parametrize(
    ("provider", "environment", "expected"),
    [
        ("openrouter", {"OPENROUTER_API_KEY": "k"}, ("https://openrouter.ai/api/v1", "k", "OPENROUTER_API_KEY")),
        ("openai", {"OPENAI_API_KEY": "k"}, ("https://api.openai.com/v1", "k", "OPENAI_API_KEY")),
        ("openai", {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://x/v1/"}, ("http://x/v1", "k", "OPENAI_API_KEY")),
        ("prime", {"PRIME_API_KEY": "k"}, ("https://api.pinference.ai/api/v1", "k", "PRIME_API_KEY")),
        (
            "prime",
            {"PRIME_API_KEY": "k", "RLVR_PRIME_API_KEY": "first"},
            ("https://api.pinference.ai/api/v1", "first", "RLVR_PRIME_API_KEY"),
        ),
    ],
)
def test_address_and_key_come_from_the_provider_and_its_own_variables(
    provider: str, environment: dict[str, str], expected: tuple[str, str, str], tmp_path: Path
) -> None:
    assert expected == at(resolve(settings(provider), {"HOME": str(tmp_path), **environment}))


def test_a_given_key_and_address_win_over_the_environment() -> None:
    environment = {"OPENAI_API_KEY": "other", "OPENAI_BASE_URL": "http://other/v1"}
    assert ("http://x/v1", "k", "--api-key") == at(resolve(settings("openai", "k", "http://x/v1"), environment))


def test_local_needs_an_address_and_no_key() -> None:
    with pytest.raises(UsageError, match="--base-url"):
        resolve(settings("local"), {})
    assert ("http://x/v1", NO_KEY, "none") == at(resolve(settings("local", base_url="http://x/v1"), {}))


@pytest.mark.parametrize("provider", ["openrouter", "prime", "local"])
def test_what_is_openai_s_is_not_read_for_another_provider(provider: str, tmp_path: Path) -> None:
    environment = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://x/v1", "HOME": str(tmp_path)}
    if provider == "local":
        assert NO_KEY == resolve(settings(provider, base_url="http://y/v1"), environment).key.get_secret_value()
    else:
        with pytest.raises(ConfigurationError, match="No API key"):
            resolve(settings(provider), environment)


@pytest.mark.parametrize(
    ("provider", "named"),
    [
        ("openrouter", "OPENROUTER_API_KEY"),
        ("openai", "OPENAI_API_KEY"),
        ("prime", "RLVR_PRIME_API_KEY or PRIME_API_KEY"),
    ],
)
def test_a_missing_key_is_told_with_what_was_tried(provider: str, named: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=f"{named}.*--api-key"):
        resolve(settings(provider), {"HOME": str(tmp_path)})


@pytest.mark.parametrize(
    "url", ["http://x/v1", "http://x/v1/", "http://x/v1/chat/completions", "http://x/v1/chat/completions/"]
)
def test_an_address_is_taken_as_people_paste_it(url: str) -> None:
    assert "http://x/v1" == resolve(settings("local", base_url=url), {}).base_url


def test_an_unknown_provider_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=", ".join(PROVIDERS)):
        open_backend(settings("anthropic"))


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000/v1",
        "ftp://x/v1",
        "http://",
        "http://[::1",
        "http://x:99999/",
        "a b",
        "http://xn--a/",
        "http://\ud800",
    ],
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="base URL"):
        resolve(settings("local", base_url=url), {})


@pytest.mark.parametrize(
    "url", ["http://me:secret@x/v1", "http://x/v1?key=secret", "http://x/v1#secret", "secret@x", "x #secret"]
)
def test_an_address_that_may_hold_a_secret_is_refused_unseen(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        resolve(settings("local", base_url=url), {})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("[::1]", True),
        ("0.0.0.0", True),
        ("my.localhost", True),
        ("192.168.0.1", False),
        ("localhost.example", False),
        ("127.0.0.1.example", False),
    ],
)
def test_this_machine_is_known_by_its_names(host: str, expected: bool) -> None:
    endpoint = resolve(settings("local", base_url=f"http://{host}:8000/v1"), {})
    assert expected is endpoint.is_this_machine


def test_no_repr_shows_the_key() -> None:
    endpoint = resolve(settings("openai", KEY), {})
    assert KEY not in f"{endpoint!r} {endpoint} {settings('openai', KEY)!r} {open_backend(settings('openai', KEY))!r}"


def prime_home(home: Path, content: str) -> dict[str, str]:
    (home / ".prime").mkdir()
    (home / ".prime" / "config.json").write_text(content, encoding="utf-8")
    return {"HOME": str(home)}


def test_prime_reads_its_own_file(tmp_path: Path) -> None:
    content = {"api_key": "k", "team_id": "team-1", "inference_url": "https://elsewhere/v1"}
    endpoint = resolve(settings("prime"), prime_home(tmp_path, json.dumps(content)))
    assert ("https://elsewhere/v1", "k", "~/.prime/config.json") == at(endpoint)
    assert {"X-Prime-Team-ID": "team-1"} == endpoint.headers
    assert "team team-1 pays" == endpoint.payer


@pytest.mark.parametrize("team", ["téam", "a\nb"])
def test_a_team_that_no_header_can_carry_is_refused(team: str, tmp_path: Path) -> None:
    environment = {"PRIME_API_KEY": "k", "PRIME_TEAM_ID": team, "HOME": str(tmp_path)}
    with pytest.raises(ConfigurationError, match="X-Prime-Team-ID"):
        resolve(settings("prime"), environment)
