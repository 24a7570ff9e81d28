"""`run --config`: several models and judges in one file, one budget, and no key that a file could lead astray."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from factory import write_conversations
from keys import KEY, OPENROUTER_KEY, files_with_a_key

from attunebench.selftest.server import FakeServer, Status

if TYPE_CHECKING:
    from conftest import Command

PRICES = (1e-6, 1e-6)


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    return write_conversations(tmp_path / "data", 2, seed=3, turns=1)


def study(folder: Path, *lines: str, name: str = "study.toml") -> Path:
    path = folder / name
    path.write_text("\n".join(('conversations = "data"', 'output = "out"', *lines, "")), "utf-8")
    return path


def table(name: str, *lines: str, **values: str) -> str:
    return "\n".join((f"[[{name}]]", *(f'{key} = "{value}"' for key, value in values.items()), *lines))


def asked(server: FakeServer) -> Counter[str]:
    return Counter(each.model for each in server.asked if each.method == "POST")


def results(folder: Path) -> list[dict[str, object]]:
    return [json.loads(path.read_text("utf-8")) for path in folder.glob("[!_]*.json")]


def test_every_model_is_run_and_judged_and_the_folder_says_what_was_run(
    cli: Command, server: FakeServer, tmp_path: Path, talks: Path
) -> None:
    models = [table("models", 'modes = ["verbose"]', provider="local", model="a", base_url=server.url)]
    models += [table("models", "limit = 1", provider="local", model="b", base_url=server.url)]
    judges = [table("judges", provider="local", model=name, base_url=server.url) for name in ("j1", "j2")]
    file = study(tmp_path, "max-tokens = 512", *models, *judges)
    assert 0 == cli("run", "--config", file).status
    assert {"a": 10, "b": 5, "j1": 3, "j2": 3} == asked(server)
    made = results(tmp_path / "out")
    assert [("a", "verbose"), ("a", "verbose"), ("b", "default")] == sorted((r["em_model"], r["mode"]) for r in made)
    assert all(r["judge_models"] == ["j1", "j2"] and r["parameters"]["max_tokens"] == 512 for r in made)

    # What is written repeats the run, from wherever: everything is there, so nothing is asked.
    written = tmp_path / "out" / "_study.toml"
    before = len(server.asked)
    assert 0 == cli("run", "--config", written).status
    assert before == len(server.asked)
    assert 3 == len(results(tmp_path / "out"))


def test_options_that_are_typed_win_over_the_file(
    cli: Command, server: FakeServer, tmp_path: Path, talks: Path
) -> None:
    file = study(
        tmp_path, "max_tokens = 512", "limit = 2", table("models", "limit = 2", provider="baseline", model="majority")
    )
    own = ("local", "mine", "--base-url", server.url, "--limit", "1", "-o", "elsewhere")
    assert 0 == cli("run", *own, "--config", file).status
    assert {"mine": 5} == asked(server)
    assert 1 == len(results(tmp_path / "elsewhere"))
    assert not (tmp_path / "out").exists()
    assert {512} == {body["max_tokens"] for body in server.bodies}


def test_a_model_that_is_typed_is_run_as_the_file_describes_it(
    cli: Command, server: FakeServer, tmp_path: Path
) -> None:
    write_conversations(tmp_path / "data", 1, seed=3, turns=1)
    of_models = {"a": "max_tokens = 111", "b": "max_tokens = 222"}
    models = [table("models", of, provider="local", model=name, base_url=server.url) for name, of in of_models.items()]
    file = study(tmp_path, "max_tokens = 333", *models)
    assert 0 == cli("run", "local", "b", "--config", file).status
    assert 0 == cli("run", "local", "c", "--base-url", server.url, "--config", file).status
    assert {("b", 222), ("c", 333)} == {(body["model"], body["max_tokens"]) for body in server.bodies}


def test_a_model_that_is_typed_is_run_in_all_modes_that_the_file_has_for_it(
    cli: Command, tmp_path: Path, talks: Path
) -> None:
    each = [
        table("models", f'modes = ["{mode}"]', provider="baseline", model="majority") for mode in ("default", "verbose")
    ]
    file = study(tmp_path, *each, table("models", provider="baseline", model="lexicon"))
    assert 0 == cli("run", "baseline", "majority", "--config", file).status
    expected = {("majority", mode): 2 for mode in ("default", "verbose")}
    assert expected == Counter((made["em_model"], made["mode"]) for made in results(tmp_path / "out"))
    assert 0 == cli("run", "baseline", "majority", "--modes", "omniscient", "--config", file).status
    assert 6 == len(results(tmp_path / "out"))


def test_a_part_of_a_run_that_is_repeated_leaves_its_file_whole(cli: Command, tmp_path: Path, talks: Path) -> None:
    models = [table("models", provider="baseline", model=name) for name in ("majority", "lexicon")]
    assert 0 == cli("run", "--config", study(tmp_path, *models)).status
    written = tmp_path / "out" / "_study.toml"
    before = written.read_bytes()
    assert 0 == cli("run", "baseline", "lexicon", "--config", written).status
    assert before == written.read_bytes()


def test_one_budget_holds_over_all_models(cli: Command, tmp_path: Path) -> None:
    write_conversations(tmp_path / "data", 1, seed=3, turns=1)
    with FakeServer(prices=PRICES) as server:
        models = [table("models", provider="local", model=name, base_url=server.url) for name in ("a", "b", "c")]
        file = study(tmp_path, "max_tokens = 300", "price_in = 1", "price_out = 1", *models)
        assert 0 == cli("run", "--config", file, "-o", "free").status
        each = asked(server)["a"]
        cost = sum(float(r["api_cost"]) for r in results(tmp_path / "free")) / 3  # type: ignore[arg-type]
        server.asked.clear()
        # Enough for the first model and a part of the second.
        budget = 1.7 * cost
        ended = cli("run", "--config", file, "--max-cost", f"{budget:.6f}")
        assert 3 == ended.status
        made = asked(server)
        assert (each, True, 0) == (made["a"], made["b"] < each, made["c"])
        assert sum(float(r["api_cost"]) for r in results(tmp_path / "out")) <= budget  # type: ignore[arg-type]
        assert 0 == cli("run", "--config", file, "--max-cost", "1").status
        assert {"a": each, "b": each, "c": each} == asked(server)


def test_nothing_is_sent_or_written_where_a_later_model_cannot_be_paid_for(
    cli: Command, server: FakeServer, tmp_path: Path, talks: Path
) -> None:
    models = [table("models", provider="local", model=name, base_url=server.url) for name in ("a", "b")]
    models[0] += "\nprice_in = 1\nprice_out = 1"
    ended = cli("run", "--config", study(tmp_path, "max_cost = 1.0", *models))
    assert (2, []) == (ended.status, server.bodies)
    assert "b: " in ended.err
    assert 2 == cli("run", "local", "a", talks, "--base-url", server.url, "--max-cost", "1", "-o", "out").status
    assert not (tmp_path / "out").exists()


def test_a_model_that_fails_leaves_the_others_to_be_run(cli: Command, tmp_path: Path, talks: Path) -> None:
    no_such_model = Status(404, {"error": {"message": "The model a does not exist", "code": "model_not_found"}})
    with FakeServer(lambda each: no_such_model if each.model == "a" else None) as server:
        models = [table("models", provider="local", model=name, base_url=server.url) for name in ("a", "b")]
        assert 2 == cli("run", "--config", study(tmp_path, *models)).status
        assert ["b", "b"] == [r["em_model"] for r in results(tmp_path / "out")]


EM = 'provider = "local"\nmodel = "m"\n'


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("max_cots = 1", ("max_cots", "max_cost")),
        ("max-cots = 1", ("max-cots", "max_cost")),
        ("judge_modle = 'm'", ("judge_modle", "judge_model")),
        ("zzz = 1", ("zzz", "--help-all")),
        ('concurrency = "many"', ("concurrency", "'many'")),
        ("concurrency = true", ("concurrency",)),
        ("limit = 2.5", ("limit",)),
        ("modes = 3", ("modes",)),
        ("skip_invalid = 1", ("skip_invalid",)),
        ("conversations = 3", ("conversations",)),
        (f"[[model]]\n{EM}", ("model", "[[models]]")),
        ("models = 'm'", ("models", "[[models]]")),
        (f"[[models]]\n{EM}max_cost = 1", ("models[1].max_cost",)),
        (f"[[models]]\n{EM}temprature = 1", ("models[1].temprature", "temperature")),
        (f"{EM}[[judges]]\nmodel = 'j'", ("judges[1]", "provider")),
        (f"{EM}[[judges]]\n{EM}limit = 1", ("judges[1].limit",)),
        (f"{EM}limit = -1", ("limit",)),
        (f"{EM}shard = '3/2'", ("shard",)),
        (f"{EM}temperature = nan", ("temperature",)),
        (f"{EM}modes = 'defualt'", ("modes", "defualt")),
        ('provider = "opneai"\nmodel = "m"', ("provider", "opneai", "openai")),
        (f"[[models]]\n{EM}[[models]]\n{EM}", ("twice",)),
        ("[[models]]\nmodel = 'm'", ("provider",)),
        ("models = [", ("TOML",)),
        ("a" * 5000, ("TOML",)),
        ("limit" + ".a" * 20_000 + " = 1", ("limit",)),
        ("limit = " + "[" * 5000, ("TOML",)),
        ("#" * 2_000_000, ("TOML",)),
        (f"{EM}max-tokens = 5\nmax_tokens = 7", ("max_tokens", "twice")),
        (f'{EM}output = "a\\u0000b"', ("output", "null")),
        (f'{EM}output = "~nobody-of-this-name/x"', ("output", "home")),
    ],
)
def test_what_a_file_gets_wrong_is_named_in_one_sentence(
    cli: Command, tmp_path: Path, talks: Path, text: str, named: tuple[str, ...]
) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(text)
    ended = cli("run", "--config", file, "-d", talks)
    assert 2 == ended.status
    assert 1 == len(ended.err.strip().splitlines())
    for word in ("bad.toml", *named):
        assert word in ended.err


@pytest.mark.parametrize("key", ["api_key", "judge-api-key", "dry_run", "ray_address", "config", "folder"])
def test_what_is_for_the_command_line_alone_is_no_key(cli: Command, tmp_path: Path, talks: Path, key: str) -> None:
    ended = cli("run", "--config", study(tmp_path, f'{key} = "x"'))
    assert 2 == ended.status
    assert f": {key}: " in ended.err


@pytest.mark.parametrize(
    "text",
    [
        'provider = "{provider}"\nmodel = "m"\nbase_url = "{url}"',
        '[[models]]\nprovider = "{provider}"\nmodel = "m"\nbase_url = "{url}"',
        'provider = "{provider}"\nbase_url = "{url}"\n[[models]]\nmodel = "m"',
        'provider = "baseline"\nmodel = "majority"\n'
        '[[judges]]\nprovider = "{provider}"\nmodel = "m"\nbase_url = "{url}"',
        'provider = "baseline"\nmodel = "majority"\njudge_provider = "{provider}"\njudge_model = "m"\n'
        'judge_base_url = "{url}"',
    ],
)
@pytest.mark.parametrize("provider", ["openai", "openrouter", "prime", "azure"])
@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_the_key_of_a_named_provider_is_not_sent_to_an_address_in_a_file(
    cli: Command,
    monkeypatch: pytest.MonkeyPatch,
    server: FakeServer,
    tmp_path: Path,
    talks: Path,
    text: str,
    provider: str,
    more: tuple[str, ...],
) -> None:
    for name in ("OPENAI_API_KEY", "OPENROUTER_API_KEY", "PRIME_API_KEY", "AZURE_OPENAI_API_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")
    file = study(tmp_path, text.format(provider=provider, url=server.url))
    ended = cli("run", "--config", file, *more)
    assert (2, []) == (ended.status, server.asked)
    assert "base_url" in ended.err


def test_a_key_that_is_typed_goes_to_the_address_in_a_file(
    cli: Command, monkeypatch: pytest.MonkeyPatch, server: FakeServer, tmp_path: Path, talks: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", OPENROUTER_KEY)
    file = study(tmp_path, 'provider = "openai"', 'model = "m"', f'base_url = "{server.url}"')
    assert 0 == cli("run", "--config", file, "--api-key", KEY).status
    assert {f"Bearer {KEY}"} == {each.headers["authorization"] for each in server.asked}
    assert [] == files_with_a_key(tmp_path)


def test_a_typed_key_is_refused_where_it_could_go_to_several_addresses(
    cli: Command, server: FakeServer, tmp_path: Path, talks: Path
) -> None:
    models = [
        table("models", provider="openai", model="a"),
        table("models", provider="local", model="b", base_url=server.url),
    ]
    ended = cli("run", "--config", study(tmp_path, *models), "--api-key", KEY)
    assert (2, []) == (ended.status, server.asked)


@pytest.mark.parametrize(("environment", "expected"), [("", KEY), (OPENROUTER_KEY, OPENROUTER_KEY)])
def test_a_dotenv_beside_the_file_supplies_keys_that_the_environment_lacks_and_nothing_else(
    cli: Command,
    monkeypatch: pytest.MonkeyPatch,
    server: FakeServer,
    tmp_path: Path,
    talks: Path,
    environment: str,
    expected: str,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", environment)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_ORG_ID", "")
    lines = (
        f"OPENAI_API_KEY='{KEY}'",
        "OPENAI_BASE_URL=http://127.0.0.1:9/v1",
        "OPENAI_ORG_ID=theirs",
        "HOME=/nowhere",
    )
    (tmp_path / ".env").write_text("\n".join(lines))
    file = study(tmp_path, 'provider = "openai"', 'model = "m"')
    assert 0 == cli("run", "--config", file).status
    assert {f"Bearer {expected}"} == {each.headers["authorization"] for each in server.asked}
    assert not any("openai-organization" in each.headers for each in server.asked)
    (tmp_path / ".env").unlink()
    assert [] == files_with_a_key(tmp_path)


def test_a_dotenv_with_a_null_character_is_named(cli: Command, tmp_path: Path, talks: Path) -> None:
    (tmp_path / ".env").write_bytes(b"OPENAI_API_KEY=a\0b\n")
    ended = cli("run", "--config", study(tmp_path, EM))
    assert 2 == ended.status
    assert ".env" in ended.err
    assert "bug" not in ended.err


@pytest.mark.slow
def test_a_run_of_several_models_that_is_killed_resumes_where_it_was(tmp_path: Path) -> None:
    write_conversations(tmp_path / "data", 4, seed=3, turns=2)
    with FakeServer(lambda _: None) as server:
        models = [table("models", provider="local", model=name, base_url=server.url) for name in ("a", "b")]
        file = study(tmp_path, "concurrency = 2", *models)
        words = [sys.executable, "-m", "attunebench.cli.main", "run", "--config", str(file)]
        process = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 30
        while asked(server)["b"] < 8 and time.monotonic() < until:
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)
        assert -signal.SIGKILL == process.wait()
        before = asked(server)
        assert 0 < before["b"] < before["a"]
        assert 0 == subprocess.run(words, cwd=tmp_path, stderr=subprocess.DEVNULL, check=False).returncode
        after = asked(server)
        assert after["a"] == before["a"]
        assert after["a"] <= after["b"] <= after["a"] + 2
