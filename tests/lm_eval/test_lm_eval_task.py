"""The tasks in the real framework: it shows what `attune-bench score` gives on the same replies."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("lm_eval", reason="lm-evaluation-harness is not installed (extra `harness`)")

from lm_eval.api.model import LM
from scripted_replies import baseline_replies, own_scores, prompt_of, serving
from tiny_causal import CHATML, NO_SYSTEM, tiny_causal

import attunebench
from attunebench.conversations.loading import demo_folder
from attunebench.errors import DataError, UsageError
from attunebench.harness.lm_eval.__main__ import TASKS
from attunebench.harness.lm_eval.task import METRICS
from attunebench.runner.files import result_name
from attunebench.runner.order import stratified_order
from attunebench.selftest.behaviours import Answer, Status
from attunebench.selftest.server import FakeServer

# The framework's dependencies warn of each other's plans.
pytestmark = pytest.mark.filterwarnings("default")


class Scripted(LM):
    """Says to each prompt what it is told to; a list is what it says one time after the other."""

    tokenizer_name = "scripted"

    def __init__(self, replies):
        super().__init__()
        self.replies = replies
        self.asked = []

    def apply_chat_template(self, chat_history, add_generation_prompt=True):
        return json.dumps(chat_history)

    def generate_until(self, requests, disable_tqdm=False):
        said = []
        for request in requests:
            prompt = prompt_of(json.loads(request.args[0]))
            reply = self.replies[prompt]
            said.append(reply[self.asked.count(prompt)] if isinstance(reply, list) else reply)
            self.asked.append(prompt)
        return said

    def loglikelihood(self, requests):
        raise NotImplementedError

    def loglikelihood_rolling(self, requests):
        raise NotImplementedError


def assert_shown(expected, results, task="attunebench"):
    """Every metric that needs no judge: value, standard error and n."""
    shown, scores = results["results"][task], results["configs"][task]["scores"]
    for card in METRICS:
        found = expected["metrics"][card.id]
        assert_same(found["mean"], shown[f"{card.id},none"], card.id)
        assert_same(found["se"], shown[f"{card.id}_stderr,none"], card.id)
        assert found["n"] == scores["metrics"][card.id]["n"], card.id
        assert found["ci_low"] == pytest.approx(scores["metrics"][card.id]["ci_low"], abs=1e-9), card.id
    assert expected["coverage"]["scored"] / expected["coverage"]["expected"] == shown["coverage,none"]


def assert_same(expected, found, what):
    if expected is None:
        assert math.isnan(found), what
    else:
        assert expected == pytest.approx(found, abs=1e-9), what


def result_files(results, folder, task="attunebench"):
    """The results in the logged samples as result files."""
    folder.mkdir(exist_ok=True)
    for sample in results["samples"][task]:
        for result in sample["results"]:
            name = result_name((result["conversationId"], "lm-eval", "m", result["mode"]))
            (folder / f"{result['epoch']}-{name}").write_text(json.dumps(result), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("baseline", "mode", "metadata"),
    [
        ("lexicon", "default", {}),
        ("random", "verbose_omniscient", {"cluster": "participant", "panas_strategy": "delta"}),
    ],
)
def test_a_model_with_awkward_replies_has_the_scores_of_our_own_path(evaluate, tmp_path, baseline, mode, metadata):
    strategy = metadata.get("panas_strategy", "absolute")
    replies = baseline_replies(baseline, mode, strategy=strategy, damaged=True)
    task = "attunebench" if mode == "default" else f"attunebench_{mode}"
    limit = None if mode == "default" else 5
    results = evaluate(Scripted(replies), [task], metadata=metadata, bootstrap_iters=0, limit=limit)
    expected = own_scores(replies, tmp_path, mode, metadata.get("cluster"), panas_strategy=strategy, limit=limit)
    assert_shown(expected, results, task)
    assert (limit or 12) == results["results"][task]["sample_len"]
    assert 0 < results["results"][task]["empty_replies,none"]


def test_a_limit_takes_the_first_conversations_of_the_run_order(evaluate, tmp_path):
    replies = baseline_replies("lexicon")
    results = evaluate(Scripted(replies), limit=3)
    order = stratified_order(list(attunebench.load_conversations(demo_folder())), 0)
    first = [conversation.conversation_id for conversation in order[:3]]
    assert first == [sample["doc"]["conversation_id"] for sample in results["samples"]["attunebench"]]
    assert_shown(own_scores(replies, tmp_path, limit=3), results)


def test_one_conversation_has_no_standard_error(evaluate):
    results = evaluate(Scripted(baseline_replies("lexicon")), limit=1)
    assert math.isnan(results["results"]["attunebench"]["composite_stderr,none"])
    assert 1 == results["configs"]["attunebench"]["scores"]["metrics"]["composite"]["n"]


def test_repeats_are_epochs_and_a_conversation_counts_once(evaluate, tmp_path):
    several = [baseline_replies(name) for name in ("random", "majority", "oracle")]
    replies = {prompt: [each[prompt] for each in several] for prompt in several[0]}
    results = evaluate(Scripted(replies), metadata={"repeats": 3}, limit=4)
    assert 12 == results["results"]["attunebench"]["results,none"]
    files = result_files(results, tmp_path / "results")
    scores = attunebench.score(files, demo_folder())["aggregates"][0]
    assert 4 == scores["n_conversations"]
    assert_shown(scores, results)


def test_the_tag_runs_every_mode(evaluate):
    replies = {}
    for mode in ("default", "verbose", "omniscient", "verbose_omniscient"):
        replies.update(baseline_replies("majority", mode))
    results = evaluate(Scripted(replies), ["attunebench_all"], limit=1)
    tasks = {f"attunebench{rest}" for rest in ("", "_verbose", "_omniscient", "_verbose_omniscient")}
    assert tasks == set(results["results"])
    assert {task: {task.partition("_")[2] or "default"} for task in tasks} == {
        task: {result["mode"] for sample in results["samples"][task] for result in sample["results"]} for task in tasks
    }


def test_no_label_stands_in_the_log(evaluate):
    results = evaluate(Scripted(baseline_replies("majority")), limit=1)
    (sample,) = results["samples"]["attunebench"]
    assert "" == sample["target"]
    assert {"conversation_id", "mode", "position", "calls"} == set(sample["doc"])
    assert len(sample["doc"]["calls"]) == len(sample["resps"])


def test_the_frameworks_cache_of_requests_is_passed_over(evaluate, tmp_path):
    """It knows a task by its name, whichever conversations that had."""
    replies = baseline_replies("lexicon")
    one = tmp_path / "one"
    one.mkdir()
    source = sorted(demo_folder().glob("*.json"))[0]
    (one / source.name).write_bytes(source.read_bytes())
    evaluate(Scripted(replies), metadata={"conversations": str(one)}, cache_requests=True)
    model = Scripted(replies)
    evaluate(model, limit=1, cache_requests=True)
    asked = json.loads(source.read_text(encoding="utf-8"))["conversationId"]
    first = stratified_order(list(attunebench.load_conversations(demo_folder())), 0)[0]
    assert asked != first.conversation_id
    assert any(first.turns[0].user_message in prompt[1] for prompt in model.asked)


def test_predictions_alone_can_be_had(evaluate):
    results = evaluate(Scripted(baseline_replies("majority")), limit=1, predict_only=True)
    assert "bypass,none" in results["results"]["attunebench"]


@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        ({"conversations": "no/such/folder"}, DataError),
        ({"cluster": "country"}, UsageError),
        ({"panas_strategy": "relative"}, UsageError),
        ({"repeats": 0}, UsageError),
    ],
)
def test_what_does_not_exist_is_named(evaluate, metadata, error):
    (value,) = metadata.values()
    with pytest.raises(error, match=str(value)):
        evaluate(Scripted({}), metadata=metadata)


def test_what_no_result_can_come_of_is_refused_before_anything_is_asked(evaluate):
    model = Scripted(baseline_replies("majority"))
    with pytest.raises(UsageError, match="temperature"):
        evaluate(model, gen_kwargs="temperature=hot")
    assert [] == model.asked


def test_a_user_instruction_stands_before_ours(evaluate):
    told = {}
    for (system, user), reply in baseline_replies("majority").items():
        told["Think briefly.\n\n" + system, user] = reply
    results = evaluate(Scripted(told), limit=1, system_instruction="Think briefly.")
    assert 1 == results["results"]["attunebench"]["answered_rate,none"]


def test_examples_are_named_where_the_numbers_are(evaluate):
    results = evaluate(Scripted(baseline_replies("majority")), limit=1)
    assert "attunebench (examples)" == results["results"]["attunebench"]["alias"]
    assert "no human data" in results["configs"]["attunebench"]["metadata"]["examples"]


@pytest.mark.parametrize("template", [None, CHATML, NO_SYSTEM])
def test_hf_has_the_scores_of_our_own_path(evaluate, tmp_path, template):
    folder = tiny_causal(tmp_path / "model", template, positions=128)
    results = evaluate(
        "hf",
        model_args={"pretrained": str(folder), "max_length": 128},
        apply_chat_template=template is not None,
        device="cpu",
        batch_size=32,
        gen_kwargs="max_gen_toks=16",
        limit=1,
    )
    samples = results["samples"]["attunebench"]
    system = next(iter(baseline_replies("majority")))[0]
    prompts = [arguments[0] for sample in samples for arguments in sample["arguments"]]
    assert all(system.strip() in prompt for prompt in prompts)
    by_call = {
        call: reply
        for sample in samples
        for call, (reply,) in zip(sample["doc"]["calls"], sample["resps"], strict=True)
    }
    assert any(by_call.values())
    replies = {prompt: by_call.get(call) for prompt, call in calls_of_demo().items()}
    assert_shown(own_scores(replies, tmp_path / "results", limit=1), results)


def calls_of_demo():
    return {
        tuple(message.content for message in call.messages): call.id
        for call in attunebench.plan_calls(attunebench.load_conversations(demo_folder()))
    }


def test_a_chat_server_has_the_scores_of_our_own_path(evaluate, tmp_path):
    replies = baseline_replies("random", damaged=True)
    with FakeServer(serving(replies)) as server:
        results = evaluate("local-chat-completions", model_args=server_arguments(server.url), limit=4)
        assert [{"max_tokens": 4096, "temperature": 0}] * len(server.bodies) == [
            {name: body[name] for name in ("max_tokens", "temperature")} for body in server.bodies
        ]
    assert_shown(own_scores(replies, tmp_path, limit=4), results)


def server_arguments(url, concurrent=4):
    return {"model": "scripted", "base_url": f"{url}/chat/completions", "num_concurrent": concurrent, "max_retries": 1}


def test_after_a_kill_the_cache_answers_what_was_answered(evaluate, tmp_path):
    """The framework writes its cache in a thread of its own, so that the last answers before a kill can be lost."""
    replies, running = baseline_replies("lexicon"), []
    kill_at, good = 60, serving(replies)

    def until_killed(asked):
        if asked.number == kill_at:
            os.kill(running[0].pid, signal.SIGKILL)
        return good(asked)

    with FakeServer(until_killed) as server:
        program = (
            "import lm_eval\n"
            "from lm_eval.tasks import TaskManager\n"
            f"tasks = TaskManager(include_path={str(TASKS)!r}, include_defaults=False)\n"
            f"lm_eval.simple_evaluate('local-chat-completions', {server_arguments(server.url)!r}, ['attunebench'],"
            f" limit=5, task_manager=tasks, apply_chat_template=True, use_cache={str(tmp_path / 'cache')!r})\n"
        )
        running.append(subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL))
        assert -signal.SIGKILL == running[0].wait(120)
        before = len(server.bodies)
        server.script = good
        results = evaluate(
            "local-chat-completions",
            model_args=server_arguments(server.url),
            limit=5,
            use_cache=str(tmp_path / "cache"),
        )
        calls = sum(len(sample["doc"]["calls"]) for sample in results["samples"]["attunebench"])
        assert kill_at <= before < calls
        assert len(server.bodies) - before < calls
        asked = len(server.bodies)
        evaluate(
            "local-chat-completions",
            model_args=server_arguments(server.url),
            limit=5,
            use_cache=str(tmp_path / "cache"),
        )
        assert asked == len(server.bodies)
    assert_shown(own_scores(replies, tmp_path / "results", limit=5), results)


def test_a_server_that_fails_ends_the_evaluation_and_is_no_answer(evaluate):
    from requests import HTTPError

    script = [Answer(text="{}"), Status(500, {"error": {"message": "broken"}})]
    with FakeServer(script) as server, pytest.raises(HTTPError, match="500"):
        evaluate("local-chat-completions", model_args=server_arguments(server.url, concurrent=1), limit=1)


def test_the_folder_of_a_checkout_is_a_folder_of_task_files():
    """`lm_eval --tasks attunebench` there, as typed: a folder of that name stands for the task files in it."""
    from lm_eval.tasks import TaskManager
    from lm_eval.tasks._yaml_loader import load_yaml

    package = Path(attunebench.__file__).parent
    configs = [load_yaml(file, resolve_func=True) for file in package.glob("*.yaml")]
    loaded = TaskManager(include_defaults=False).load(configs)
    assert ["attunebench"] == list(loaded["tasks"])


def test_the_command_as_typed(tmp_path):
    replies = baseline_replies("lexicon")
    with FakeServer(serving(replies)) as server:
        arguments = [f"{name}={value}" for name, value in server_arguments(server.url).items()]
        folder = subprocess.run(
            [sys.executable, "-m", "attunebench.harness.lm_eval"], capture_output=True, text=True, check=True
        ).stdout.strip()
        done = subprocess.run(
            [
                *(Path(sys.executable).with_name("lm_eval"), "run", "--model", "local-chat-completions"),
                *("--model_args", ",".join(arguments), "--include_path", folder, "--tasks", "attunebench"),
                *("--apply_chat_template", "--limit", "2", "--log_samples", "--output_path", tmp_path / "out"),
            ],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )
    assert 0 == done.returncode, done.stderr
    assert "attunebench (examples)" in done.stdout
    assert "--max-reasks 0" in done.stderr
    (shown,) = (json.loads(file.read_text(encoding="utf-8")) for file in tmp_path.glob("out/*/results_*.json"))
    (logged,) = tmp_path.glob("out/*/samples_attunebench_*.jsonl")
    samples = [json.loads(line) for line in logged.read_text(encoding="utf-8").splitlines()]
    files = result_files({"samples": {"attunebench": samples}}, tmp_path / "results")
    scores = attunebench.score(files, demo_folder())["aggregates"][0]
    assert_shown(scores, shown)
    assert_shown(own_scores(replies, tmp_path / "own", limit=2), shown)
