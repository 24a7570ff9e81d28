"""What users get wrong: one sentence, exit status 2, nothing written or lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from factory import make_conversation, write_conversations


def refused(ended, *words: str) -> None:
    """Exit status 2, one line on stderr that has all the words, nothing on stdout, no traceback."""
    assert 2 == ended.status, ended
    assert "" == ended.out
    assert 1 == len(ended.err.strip().splitlines()), ended.err
    for word in words:
        assert word in ended.err, ended.err


def conversation_file(folder: Path, name: str = "conversation_1.json", **changes: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(json.dumps({**make_conversation(1), **changes}))
    return path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("run baseline majority empty", "empty *.json"),
        ("run baseline majority nowhere", "nowhere"),
        ("run baseline majority", "--conversations"),
        ("run baseline majority broken", "conversation_99.json --skip-invalid"),
        ("run baseline majority turnless", "turns"),
        ("run baseline majority twice", "conversation_1.json conversation_2.json"),
        ("run opnai gpt data", "opnai openrouter"),
        ("run baseline magic data", "magic majority"),
        ("run openrouter some/model data", "OPENROUTER_API_KEY --api-key"),
        ("run local m data", "--base-url"),
        ("run baseline majority data --structured xml", "--structured xml"),
        ("run baseline majority data --modes omniscient --panas-strategy blind_delta", "blind_delta"),
        ("run baseline majority data --call-timeout inf", "--call-timeout"),
        (f"run baseline majority data --max-tokens {'9' * 20}", "--max-tokens"),
        (f"run baseline majority data --seed {'9' * 40}", "--seed"),
        (f"run baseline majority data --order-seed {'9' * 40}", "--order-seed"),
        ("report --explain emotion_vaa", "emotion_va"),
        ("report", "scores.json attune-bench score"),
        ("score --ground-truth data", "results"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(cli, data: Path, words: str, said: str) -> None:
    Path("empty").mkdir()
    conversation_file(Path("broken")).with_name("conversation_99.json").write_text("{oops")
    conversation_file(Path("turnless"), turns=[])
    conversation_file(conversation_file(Path("twice")).parent, "conversation_2.json")
    refused(cli(*words.split()), *said.split())
    assert [] == [*Path("results").glob("*.json")]


def test_an_output_folder_that_cannot_be_written(cli, data: Path) -> None:
    Path("taken").write_text("a file of mine")
    refused(cli("run", "baseline", "majority", data, "-o", "taken"), "taken", "use another one")
    assert "a file of mine" == Path("taken").read_text()


def test_a_results_folder_of_another_dataset(cli, data: Path, tmp_path: Path) -> None:
    other = write_conversations(tmp_path / "other", 2, seed=99)
    cli("run", "baseline", "majority", data, "-q")
    refused(cli("score", "--ground-truth", other), "results", "other")
    assert not Path("scores.json").exists()


def test_a_scores_file_of_a_newer_schema(cli, data: Path) -> None:
    cli("run", "baseline", "majority", data, "-q")
    cli("score", "--ground-truth", data)
    scores = json.loads(Path("scores.json").read_text())
    Path("newer.json").write_text(json.dumps({**scores, "schema_version": "99.0"}))
    refused(cli("report", "--scores", "newer.json"), "newer.json", "99.0")


def test_scores_are_not_written_over_a_file_that_is_none(cli, data: Path) -> None:
    cli("run", "baseline", "majority", data, "-q")
    Path("thesis.json").write_text('{"chapter": 1}')
    refused(cli("score", "--ground-truth", data, "-o", "thesis.json"), "thesis.json")
    assert '{"chapter": 1}' == Path("thesis.json").read_text()


def test_any_seed_that_fits_64_bits_goes_into_a_scores_file(cli, data: Path) -> None:
    assert cli("run", "baseline", "majority", data).status == 0
    ended = cli("score", "-d", data, "--resamples", "5", "--seed", str(2**63 - 1))
    assert ended.status == 0, ended.err
    assert cli("report").status == 0


@pytest.mark.parametrize(("option", "value"), [("--seed", str(2**63)), ("--resamples", "1000001")])
def test_what_a_scores_file_cannot_hold_is_refused_before_scoring(cli, data: Path, option: str, value: str) -> None:
    ended = cli("score", "-d", data, option, value)
    assert ended.status == 2
    assert option in ended.err
    assert "bug" not in ended.err


def test_other_settings_are_named_and_nothing_is_overwritten(cli, data: Path) -> None:
    cli("run", "baseline", "random", data, "-q", "--seed", "1")
    before = {path: path.read_bytes() for path in Path("results").glob("[!.]*")}
    refused(cli("run", "baseline", "random", data, "-q", "--seed", "2"), "seed (1 there, 2 now)", "--replace")
    assert before == {path: path.read_bytes() for path in Path("results").glob("[!.]*")}


def test_replace_makes_results_of_other_settings_anew(cli, data: Path) -> None:
    cli("run", "baseline", "random", data, "-q", "--seed", "1")
    assert 0 == cli("run", "baseline", "random", data, "-q", "--seed", "2", "--replace").status
    assert {2} == {json.loads(path.read_text())["parameters"]["seed"] for path in Path("results").glob("*.json")}


def test_skip_invalid_goes_on_and_names_what_is_left_out(cli, data: Path) -> None:
    (data / "conversation_99.json").write_text("{oops")
    ended = cli("run", "baseline", "majority", data, "--skip-invalid")
    assert 1 == ended.status
    assert "conversation_99.json" in ended.err
    assert 3 == len(list(Path("results").glob("*.json")))


@pytest.mark.parametrize("command", ["run", "score", "report", "demo", "validate", "prompts", "doctor"])
def test_every_command_has_help(cli, command: str) -> None:
    ended = cli(command, "--help")
    assert 0 == ended.status
    assert "Usage:" in ended.out
