"""A key that was typed reaches the host it was meant for and no file."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from attunebench.cli.asking import judge_settings, model_settings
from attunebench.cli.running import run_again

KEY, OTHER = "mine-0123456789", "other-0123456789"
HERE, THERE = "http://here.example/v1", "http://there.example/v1"
EM = model_settings("local", "m", HERE, KEY)


@pytest.mark.parametrize(
    "typed",
    [
        ["--api-key", KEY, "--limit", "3"],
        ["--judge-api-key", KEY, "--limit", "3"],
        [f"--api-key={KEY}", "--limit", "3"],
        [f"--judge-api-key={KEY}", "--api-key", OTHER, "--limit", "3"],
        ["--limit", "3", "--api-key", KEY],
    ],
)
def test_the_command_to_go_on_with_holds_no_key(typed: list[str]) -> None:
    assert "attune-bench run local m 'my data' --limit 3" == run_again(["x", "run", "local", "m", "my data", *typed])


@pytest.mark.parametrize(
    ("provider", "base_url", "api_key", "expected"),
    [
        (None, None, None, ("local", HERE, KEY)),
        ("local", None, None, ("local", HERE, KEY)),
        (None, HERE, None, ("local", HERE, KEY)),
        (None, THERE, None, ("local", THERE, None)),
        (None, THERE, OTHER, ("local", THERE, OTHER)),
        (None, None, OTHER, ("local", HERE, OTHER)),
        ("openrouter", None, None, ("openrouter", None, None)),
        ("openrouter", None, OTHER, ("openrouter", None, OTHER)),
    ],
)
def test_a_judge_gets_the_runs_address_and_key_only_where_it_is_at_the_runs_own_host(
    provider: str | None, base_url: str | None, api_key: str | None, expected: tuple[str, str | None, str | None]
) -> None:
    judge = judge_settings(EM, "j", provider, base_url, api_key)
    secret = judge.api_key.get_secret_value() if isinstance(judge.api_key, SecretStr) else None
    assert expected == (judge.provider, judge.base_url, secret)
