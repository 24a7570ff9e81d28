"""The thin shell around scoring: two folders in, out comes the content of `scores.json` or the file. Prints nothing."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path

from attunebench.conversations.loading import ConversationSet, load_conversations
from attunebench.errors import DataError, UsageError
from attunebench.judging import JudgeScale
from attunebench.metrics.registry import Rules
from attunebench.results.folder import Findings, read_result, read_results, result_files
from attunebench.results.schema import Result
from attunebench.scorer.assembling import Ground, Unknown, assemble
from attunebench.scorer.closeness import DraftScores, Progress, draft_scores
from attunebench.scorer.encoder import BertScoreSettings, load_encoder, require_libraries
from attunebench.scorer.groups import Ci
from attunebench.scorer.kept import Kept
from attunebench.scorer.pool import Outcome, Scorers, Task, processes_for
from attunebench.scorer.scoring import Cluster, resampling_of, score
from attunebench.scores import Scores, refuse_foreign, write_scores
from attunebench.scores.checks import read_before_written


def score_folders(
    results: str | Path,
    ground_truth: str | Path,
    *,
    seed: int = 0,
    resamples: int = 10_000,
    cluster: Cluster | None = None,
    ci: Ci = "percentile",
    rules: Rules = "attunebench",
    skip_invalid: bool = False,
    now: datetime | None = None,
    bertscore: BertScoreSettings | None = None,
    progress: Progress | None = None,
    judge_scale: JudgeScale | None = None,
) -> Scores:
    """Score the result files under one folder on the conversations under another.

    `skip_invalid` leaves out conversation files that are invalid and names them in `left_out`; otherwise they are a
    DataError, as is a folder in which nothing can be scored. `now` is the time that `metadata.created` states.
    `bertscore` also compares drafts by BERTScore, with the model of these settings, and tells `progress` of it; raises
    UsageError or DataError where that model is not to be had, before anything is scored. `judge_scale` as for `score`.
    """
    _require_bertscore(bertscore, rules)
    truth = load_conversations(ground_truth, skip_invalid=skip_invalid)
    findings = Findings()
    drafts = _drafts(truth, result_files(results, Findings()), bertscore, progress)
    with _no_collection():
        scores = score(
            truth.conversations,
            read_results(results, findings),
            seed=seed,
            resamples=resamples,
            cluster=cluster,
            ci=ci,
            rules=rules,
            skipped=findings.skipped,
            drafts=drafts,
            judge_scale=judge_scale,
        )
    return _finished(scores, results, ground_truth, truth, findings, now)


def score_to_file(
    results: str | Path,
    ground_truth: str | Path,
    output: str | Path,
    *,
    seed: int = 0,
    resamples: int = 10_000,
    cluster: Cluster | None = None,
    ci: Ci = "percentile",
    rules: Rules = "attunebench",
    skip_invalid: bool = False,
    now: datetime | None = None,
    bertscore: BertScoreSettings | None = None,
    progress: Progress | None = None,
    processes: int | None = 1,
    judge_scale: JudgeScale | None = None,
) -> Scores:
    """As `score_folders` and `scores.write_scores`, for any number of files: the same file, at less time and memory.

    Returns what was written but for its conversations. `processes` score at the same time, None for as many as are
    worth it; a script that asks for more than one must be importable (`if __name__ == "__main__":`), since they are
    fresh interpreters. Also raises DataError where the file cannot be written, before anything is scored if it is not
    one that may be overwritten.
    """
    resampling = resampling_of(seed, resamples, cluster, ci, rules)
    _require_bertscore(bertscore, rules)
    refuse_foreign(output)
    truth = load_conversations(ground_truth, skip_invalid=skip_invalid)
    findings = Findings()
    files = result_files(results, findings)
    ground = Ground.of(truth.conversations, rules)
    drafts = _drafts(truth, files, bertscore, progress)
    task = Task(ground.truths, resampling, drafts, judge_scale)
    with _no_collection(), Scorers(task, processes_for(len(files)) if processes is None else processes) as scorers:
        found = _found(scorers.score(files), findings)
        facts = None if drafts is None else drafts.facts
        scores, kept = assemble(ground, found, findings.skipped, resampling, scorers.estimate, facts)
    _finished(scores, results, ground_truth, truth, findings, now)
    write_scores(output, scores, lines=(str(one.entry) for one in kept), check=read_before_written)
    return scores


def _require_bertscore(settings: BertScoreSettings | None, rules: Rules) -> None:
    """Raise UsageError where BERTScore is asked for and not to be had."""
    if settings is None:
        return
    if rules == "released":
        raise UsageError("The released rules have no BERTScore; leave it out, or score with --rules attunebench.")
    require_libraries()


def _drafts(
    truth: ConversationSet,
    files: Iterable[tuple[Path, str]],
    settings: BertScoreSettings | None,
    progress: Progress | None,
) -> DraftScores | None:
    """The BERTScores of the drafts in the files, None where they are not asked for. The model is gone afterwards."""
    if settings is None:
        return None
    encoder = load_encoder(settings)
    results = (found for path, name in files if isinstance(found := read_result(path, name), Result))
    return draft_scores(truth.conversations, results, encoder, progress)


def _found(outcomes: Iterable[Outcome], findings: Findings) -> Iterator[Kept | Unknown]:
    """What was scored or could have been; files without a result go into the findings."""
    for outcome in outcomes:
        if isinstance(outcome, (Kept, Unknown)):
            yield outcome
        else:
            findings.add(outcome)


def _finished(
    scores: Scores,
    results: str | Path,
    ground_truth: str | Path,
    truth: ConversationSet,
    findings: Findings,
    now: datetime | None,
) -> Scores:
    """The scores with what only the folders tell; DataError where nothing was scored."""
    scores["left_out"]["unreadable"] = [asdict(file) for file in findings.unreadable]
    if findings.profiles:
        scores["left_out"]["profiles"] = [{"file": file} for file in findings.profiles]
    scores["left_out"]["invalid_conversations"] = [asdict(file) for file in truth.skipped]
    if not scores["metadata"]["n_results"]:
        raise DataError(_nothing(Path(results), Path(ground_truth), scores))
    scores["metadata"] |= {
        "created": (now or datetime.now(timezone.utc)).isoformat(timespec="seconds"),
        "ground_truth": str(ground_truth),
        "ground_truth_sha256": truth.ground_truth_sha256,
        "results": str(results),
    }
    return scores


@contextmanager
def _no_collection() -> Iterator[None]:
    """Results and scores are trees: the cyclic collector would walk them over and over and free nothing."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _nothing(results: Path, ground_truth: Path, scores: Scores) -> str:
    left_out = scores["left_out"]
    if unknown := left_out["not_in_ground_truth"]:
        return (
            f"None of the {len(unknown)} results in {results} belongs to a conversation in {ground_truth}; "
            "name the folder of the conversations that were run."
        )
    if mismatched := left_out["mismatched"]:
        first = mismatched[0]
        return (
            f"No result in {results} matches its conversation in {ground_truth} ({first['file']}: "
            f"{first['reason']}); name the folder of the conversations that were run."
        )
    if duplicates := left_out["duplicates"]:
        return f"Every result in {results} is there more than once (first {' and '.join(duplicates[0]['files'])})."
    if unreadable := left_out["unreadable"]:
        first = unreadable[0]
        return f"No result in {results} can be read: {first['file']} {first['reason']}."
    if profiles := left_out.get("profiles"):
        return (
            f"{results} holds {len(profiles)} predicted profiles, which `attune-bench predict-profile --score-only` "
            "scores, and no result of the benchmark."
        )
    return f"There is no result in {results}; name the folder that `attune-bench run` wrote to."
