"""The task under the real Inspect: what it scores, what it does not, and that both are ours."""

from __future__ import annotations

import json
import math
import shutil

import pytest
from scripted_replies import baseline_replies, serving

from attunebench import ModelSettings, RunSettings, api
from attunebench.conversations.loading import demo_folder
from attunebench.harness.common import STORE
from attunebench.results.parsing import parse_result
from attunebench.scorer import score
from attunebench.selftest.server import FakeServer

inspect_model = pytest.importorskip("inspect_ai.model", reason="needs inspect_ai, the extra `inspect`")

WITHIN = 1e-9


def said(text, stop="stop", tokens=1):
    output = inspect_model.ModelOutput.from_content("mock", text, stop_reason=stop)
    output.usage = inspect_model.ModelUsage(input_tokens=tokens, output_tokens=tokens, total_tokens=2 * tokens)
    return output


def mock(answer):
    """Inspect's own mock model; `answer` makes an output (or raises) of the texts of a prompt."""

    def custom(messages, tools, tool_choice, config):
        return answer(tuple(message.text for message in messages))

    return inspect_model.get_model("mockllm/model", custom_outputs=custom, memoize=False)


def scores_of(conversations, results, **options):
    return score(conversations, map(parse_result, results), resamples=100, **options)


def rows(log):
    return {name: metric.value for name, metric in log.results.scores[0].metrics.items()}


def assert_equal(shown, metrics):
    """What Inspect shows is what `score` says, in every metric that is shown; and that is all of the main ones."""
    defined = [name for name in shown if name in metrics]
    assert {"composite", "emotion_tracking", "pairwise_accuracy", "answered_rate"} <= {*defined}
    for name in defined:
        assert pytest.approx(metrics[name]["mean"], abs=WITHIN) == shown[name], name
        assert metrics[name]["n"] == shown[f"{name}_n"]
        assert pytest.approx(metrics[name]["se"], abs=WITHIN) == shown[f"{name}_stderr"], name
    undefined = {name for name, metric in metrics.items() if metric["mean"] is None}
    assert not undefined & {*shown}


def test_the_same_replies_have_the_same_scores_as_by_run_and_score(evaluated, tmp_path):
    folder = tmp_path / "demo"
    folder.mkdir()
    for file in sorted(demo_folder().glob("*.json"))[::3]:
        shutil.copy(file, folder)
    replies = baseline_replies("lexicon", damaged=True)
    log = evaluated(
        mock(lambda prompt: said(replies[prompt] or "")), conversations=str(folder), max_reasks=0, structured="text"
    )
    with FakeServer(serving(replies)) as server:
        model = ModelSettings(provider="local", model="m", base_url=server.url)
        api.run(folder, RunSettings(em=model, output=tmp_path / "own", max_reasks=0, structured="text"))
    (own,) = api.score(tmp_path / "own", folder, resamples=100)["aggregates"]
    assert "success" == log.status
    assert 0.5 < rows(log)["answered_rate"] < 1
    assert_equal(rows(log), own["metrics"])


def test_what_is_asked_again_is_asked_as_a_run_asks_it(evaluated, talks, tmp_path):
    log = evaluated("baseline/lexicon", conversations=str(talks))
    settings = RunSettings(em=ModelSettings(provider="baseline", model="lexicon"), output=tmp_path / "own")
    api.run(talks, settings)
    own = {}
    for file in (tmp_path / "own").glob("[!_]*.json"):
        result = json.loads(file.read_text())
        own[result["conversationId"]] = result
    for sample in log.samples:
        result = sample.store[STORE]["result"]
        differing = {key for key in own[sample.id] if own[sample.id][key] != result.get(key)}
        # The engine alone tells them apart; by their hashes a run takes such a result for its own.
        assert differing <= {"run_timestamp", "duration_seconds", "api_cost", "providers_reported", "usage", "epoch"}


def test_a_line_that_fails_is_an_error_of_its_sample_and_no_wrong_answer(evaluated, talks):
    asked = []

    def answer(prompt):
        asked.append(prompt)
        if len(asked) == 3:
            raise RuntimeError("server down")
        return said("no answer")

    log = evaluated(mock(answer), conversations=str(talks), max_reasks=0)
    failed = [sample for sample in log.samples if sample.error]
    assert ("error", 1) == (log.status, len(failed))
    assert not failed[0].scores
    assert "server down" in failed[0].error.message
    assert STORE not in failed[0].store
    assert 3 == log.results.scores[0].metrics["composite_n"].value


def test_what_the_last_of_the_tries_met_is_named_and_not_their_end(evaluated, talks):
    from tenacity import Future, RetryError

    def answer(prompt):
        last = Future(2)
        last.set_exception(RuntimeError("server down"))
        raise RetryError(last)

    log = evaluated(mock(answer), {"limit": 1}, conversations=str(talks))
    assert "server down" in log.samples[0].error.message


def test_a_sample_that_is_tried_again_asks_for_the_rest_alone(evaluated, talks):
    asked = []

    def answer(prompt):
        asked.append(prompt)
        if len(asked) == 5:
            raise RuntimeError("server down")
        return said("words")

    of_inspect = {"retry_on_error": 1, "max_connections": 1, "max_samples": 1}
    log = evaluated(mock(answer), of_inspect, conversations=str(talks), max_reasks=0)
    assert "success" == log.status
    assert len({*asked}) + 1 == len(asked)


def test_refusals_cuts_and_silence_are_answers(evaluated, talks):
    outputs = [said("No.", "content_filter"), said('{"drafted', "max_tokens"), said("")]
    turn = iter(range(10**6))
    log = evaluated(mock(lambda _: outputs[next(turn) % 3]), conversations=str(talks), max_reasks=1)
    assert "success" == log.status
    assert all(sample.scores for sample in log.samples)
    assert rows(log)["refusal_rate"] > 0
    assert 0 == rows(log)["answered_items"] < rows(log)["expected_items"]


def test_a_sample_that_a_limit_ends_is_unscored(evaluated, talks):
    log = evaluated(mock(lambda _: said("words", tokens=100)), {"token_limit": 500}, conversations=str(talks))
    scores = [score for sample in log.samples for score in sample.scores.values()]
    assert all(sample.limit.type == "token" for sample in log.samples)
    assert all(math.isnan(score.value) and "ended before" in score.explanation for score in scores)


def test_epochs_count_as_one_conversation_and_are_told_apart(evaluated, talks):
    numbers = iter(range(10**6))
    model = mock(lambda _: said("" if next(numbers) % 2 else "A reply of one's own."))
    log = evaluated(model, {"epochs": 2}, conversations=str(talks), max_reasks=0)
    results = [sample.store[STORE]["result"] for sample in log.samples]
    own = scores_of(api.load_conversations(talks), results)["aggregates"][0]
    assert (8, 4) == (len(results), own["n_conversations"])
    assert {1, 2} == {result["epoch"] for result in results}
    assert_equal(rows(log), own["metrics"])


def test_errors_over_participants_are_those_of_score(evaluated, talks):
    log = evaluated("baseline/random", conversations=str(talks), cluster="participant")
    results = [sample.store[STORE]["result"] for sample in log.samples]
    loaded = api.load_conversations(talks)
    own, plain = (scores_of(loaded, results, cluster=cluster)["aggregates"][0] for cluster in ("participant", None))
    assert 2 == own["n_participants"]
    assert_equal(rows(log), own["metrics"])
    assert plain["metrics"]["composite"]["se"] != pytest.approx(rows(log)["composite_stderr"])


def test_modes_are_samples_of_their_own_and_never_averaged(evaluated, talks):
    log = evaluated("baseline/lexicon", {"limit": 4}, conversations=str(talks), modes="default,omniscient")
    assert 4 == len({sample.id for sample in log.samples})
    assert {"default.composite", "omniscient.composite"} <= {*rows(log)}
    assert "composite" not in rows(log)
    assert 2 == rows(log)["default.composite_n"] == rows(log)["omniscient.composite_n"]


def test_judges_rate_drafts_by_model_roles(evaluated, talks):
    roles = {"judge": "baseline/random", "judge_b": "baseline/majority"}
    log = evaluated("baseline/lexicon", {"model_roles": roles, "limit": 1}, conversations=str(talks))
    result = log.samples[0].store[STORE]["result"]
    assert ["random", "majority"] == result["judge_models"]
    assert {"random", "majority"} == {*result["turns"][0]["em_draft_binary_assessment_by_model"]}
    assert "draft_judge" in rows(log)


def test_a_judge_that_fails_owes_its_votes_and_costs_no_sample(evaluated, talks):
    def failing(prompt):
        raise RuntimeError("judge down")

    roles = {"judge": mock(failing)}
    log = evaluated("baseline/lexicon", {"model_roles": roles, "limit": 1}, conversations=str(talks))
    store = log.samples[0].store[STORE]
    assert "success" == log.status
    assert 1 == len(store["votes_owed"])
    assert ["model"] == store["result"]["judge_models"]


def test_no_label_is_in_a_sample(evaluated, talks):
    log = evaluated("baseline/lexicon", {"limit": 1}, conversations=str(talks))
    sample = log.samples[0]
    assert {"conversation", "mode", "participant"} == {*sample.metadata}
    assert "" == sample.target


def test_every_call_of_a_result_is_in_the_log(evaluated, talks):
    sample = evaluated("baseline/lexicon", {"limit": 1}, conversations=str(talks)).samples[0]
    asked = [event for event in sample.events if event.event == "model"]
    assert sample.store[STORE]["result"]["calls"]["made"] == len(asked)


@pytest.mark.parametrize("demo", [True, False])
def test_the_demonstration_says_that_it_is_one(talks, demo):
    from attunebench.harness.common import EXAMPLES, study_of
    from attunebench.harness.inspect_ai.task import notes_of

    study = study_of(ModelSettings(provider="inspect", model="none"), conversations=None if demo else str(talks))
    assert demo == any(EXAMPLES in note for note in notes_of(study))


def test_what_inspect_is_told_of_sampling_is_in_the_result(evaluated, talks):
    of_inspect = {"limit": 1, "temperature": 0.7, "max_tokens": 100, "top_p": 0.5, "seed": 3, "max_retries": 2}
    log = evaluated("baseline/lexicon", of_inspect, conversations=str(talks))
    parameters = log.samples[0].store[STORE]["result"]["parameters"]
    assert (0.7, 100, 0.5, 3) == tuple(parameters[name] for name in ("temperature", "max_tokens", "top_p", "seed"))
    assert "max_retries" not in parameters


def test_a_cut_reply_is_asked_for_with_four_times_the_limit(evaluated, talks):
    limits = set()

    def custom(messages, tools, tool_choice, config):
        limits.add(config.max_tokens)
        return said('{"drafted', "max_tokens")

    model = inspect_model.get_model("mockllm/model", custom_outputs=custom, memoize=False)
    evaluated(model, {"limit": 1, "max_tokens": 100}, conversations=str(talks))
    assert {100, 400} == limits


def test_a_wrong_argument_is_one_sentence():
    from attunebench.harness.inspect_ai.solving import PrerequisiteError
    from attunebench.harness.inspect_ai.task import attunebench

    with pytest.raises(PrerequisiteError, match="no mode silent"):
        attunebench(modes="silent")
    with pytest.raises(PrerequisiteError, match=r"cluster .city"):
        attunebench(cluster="city")
    with pytest.raises(PrerequisiteError, match=r"temperature.*hot"):
        attunebench(temperature="hot")


def test_a_log_is_scored_by_no_other_conversations(evaluated, talks, tmp_path):
    from inspect_ai import score as inspect_score

    from attunebench.harness.inspect_ai.solving import PrerequisiteError
    from attunebench.harness.inspect_ai.task import attunebench_scorer

    with pytest.raises(PrerequisiteError, match="There is no folder"):
        attunebench_scorer(conversations=str(tmp_path / "none"))
    log = evaluated("baseline/lexicon", {"limit": 1}, conversations=str(talks))
    with pytest.raises(PrerequisiteError, match="give its folder as conversations"):
        inspect_score(log, attunebench_scorer(), display="none")


def test_a_baseline_answers_nothing_but_the_benchmark():
    import asyncio

    from attunebench.harness.inspect_ai.solving import PrerequisiteError

    model = inspect_model.get_model("baseline/lexicon", memoize=False)
    with pytest.raises(PrerequisiteError):
        asyncio.run(model.generate("hello"))


class StatusError(Exception):
    """What clients of providers raise."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status_code = status


@pytest.mark.parametrize(("status", "message"), [(401, "bad key"), (429, "Insufficient balance, please recharge")])
def test_a_refused_key_and_spent_money_are_met_once_and_not_by_every_sample(evaluated, talks, status, message):
    asked = []

    def refused(prompt):
        asked.append(prompt)
        raise StatusError(status, message)

    log = evaluated(mock(refused), {"max_samples": 1}, conversations=str(talks))
    assert ("error", 4) == (log.status, len([sample for sample in log.samples if sample.error]))
    assert 3 == len([sample for sample in log.samples if "was not called" in sample.error.message])
    assert len(asked) <= 5


@pytest.mark.parametrize(
    ("status", "message", "calls", "refused"),
    [
        (400, "Content Exists Risk", 2, 1),
        (400, "content_filter", 1, 1),
        (422, "Range of input length: [1, 6144]", 2, 0),
    ],
)
def test_moderation_and_length_cost_their_own_call_alone(evaluated, talks, status, message, calls, refused):
    asked = []

    def answer(prompt):
        asked.append(prompt)
        if prompt == asked[0]:
            raise StatusError(status, message)
        return said("words")

    log = evaluated(mock(answer), {"limit": 1, "max_connections": 1}, conversations=str(talks), max_reasks=0)
    assert "success" == log.status
    counts = log.samples[0].store[STORE]["result"]["calls"]
    assert (calls, refused) == (asked.count(asked[0]), counts["refused"])


def test_a_rejection_without_a_reason_leaves_its_sample_unscored_and_no_other(evaluated, talks):
    asked = []

    def answer(prompt):
        asked.append(prompt)
        if prompt == asked[0]:
            raise StatusError(422, "The gateway dislikes this")
        return said("words")

    of_inspect = {"max_samples": 1, "max_connections": 1, "fail_on_error": False}
    log = evaluated(mock(answer), of_inspect, conversations=str(talks), max_reasks=0)
    assert 1 == len([sample for sample in log.samples if sample.error])
    assert 2 == asked.count(asked[0])


SCHEMAS = []


@inspect_model.modelapi(name="picky")
def picky():
    """A provider that takes schemas, of a model that does not."""

    class Picky(inspect_model.ModelAPI):
        async def generate(self, input, tools, tool_choice, config):
            SCHEMAS.append(config.response_schema)
            if config.response_schema is not None:
                raise StatusError(400, "response_format of type json_schema is not supported")
            return said("words")

    return Picky


def test_auto_does_without_a_schema_where_it_is_refused_and_says_so(evaluated, talks):
    log = evaluated("picky/model", {"max_connections": 1}, conversations=str(talks), max_reasks=0)
    result = log.samples[-1].store[STORE]["result"]
    assert "success" == log.status
    assert (["text"], {"response_format.json_schema": "not accepted"}) == (
        result["structured_used"],
        result["adapted"],
    )
    assert SCHEMAS[0].name.startswith("attunebench_")
    assert SCHEMAS[0].strict
    assert None is SCHEMAS[-1]


def test_a_schema_that_was_insisted_on_is_the_lines_trouble_where_it_is_refused(evaluated, talks):
    log = evaluated("picky/model", {"limit": 1}, conversations=str(talks), structured="schema")
    assert "not supported" in log.samples[0].error.message
