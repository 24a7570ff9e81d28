"""`attune-bench score`: result files and the people's labels in, scores.json out."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attunebench.cli.arguments import (
    GroundTruthOption,
    ResultsOption,
    SkipInvalidOption,
    by_participant,
    one_of,
)
from attunebench.cli.emitting import say, working
from attunebench.errors import UsageError

if TYPE_CHECKING:
    from attunebench.scorer.closeness import Progress
    from attunebench.scorer.encoder import BertScoreSettings
    from attunebench.scores import Scores


def score(
    results: ResultsOption = Path("results"),
    ground_truth: GroundTruthOption = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The scores file to write.")] = Path("scores.json"),
    resamples: Annotated[
        int, typer.Option(min=1, max=10**6, help="Bootstrap resamples behind each interval.")
    ] = 10_000,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Seed of the bootstrap.")] = 0,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="participant",
            help="What the bootstrap resamples; `participant` keeps a person's conversations together.",
            show_default="conversations",
        ),
    ] = None,
    ci: Annotated[
        str,
        typer.Option(
            metavar="percentile|bca",
            help="Bootstrap interval: `percentile`, or `bca`, which is corrected for bias and skewness.",
        ),
    ] = "percentile",
    rules: Annotated[
        str,
        typer.Option(
            metavar="attunebench|released",
            help="Score by our rules or by those of the released scorer (only for comparison with published numbers).",
        ),
    ] = "attunebench",
    skip_invalid: SkipInvalidOption = False,
    judge_scale: Annotated[
        str | None,
        typer.Option(
            metavar="quality|relative",
            help="Count only judges' votes on this scale; ratings on two scales are never averaged.",
            show_default="the scale of a model's votes; quality where its results hold both",
        ),
    ] = None,
    bertscore: Annotated[
        bool, typer.Option("--bertscore", help="Also compare drafts by BERTScore; needs the extra `bertscore`.")
    ] = False,
    bertscore_model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FOLDER",
            help="Its language model: a name on the Hugging Face hub, fetched once, or a folder. Implies --bertscore.",
            show_default="roberta-large",
        ),
    ] = None,
    bertscore_layer: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="The layer to compare at, for a model of which none is published. Implies --bertscore.",
            show_default="the published one",
        ),
    ] = None,
    bertscore_device: Annotated[
        str | None,
        typer.Option(metavar="cpu|cuda", help="Where it runs. Implies --bertscore.", show_default="cpu"),
    ] = None,
) -> None:
    """Score results against the participants' labels. Asks no model, and needs no network but to fetch BERTScore's.

    `attune-bench report` shows what it writes.
    """
    from attunebench import api
    from attunebench.judging import JUDGE_SCALES
    from attunebench.text import counted, printable

    if ground_truth is None:
        raise UsageError("The conversations folder is missing; give it with --ground-truth.")
    participants = by_participant(cluster)
    if ci not in ("percentile", "bca"):
        raise UsageError(f"There is no interval {ci}; there are `percentile` and `bca`.")
    if rules not in ("attunebench", "released"):
        raise UsageError(f"Unknown rules {printable(rules)}; choose attunebench or released.")
    scale = None if judge_scale is None else one_of(judge_scale, JUDGE_SCALES, "judge scale")
    wanted = bertscore or any(option is not None for option in (bertscore_model, bertscore_layer, bertscore_device))
    comparing = _comparing(bertscore_model, bertscore_layer, bertscore_device) if wanted else None
    with _told() as progress:
        scores = api.score_to_file(
            results,
            ground_truth,
            output,
            seed=seed,
            resamples=resamples,
            cluster="participant" if participants else None,
            ci="bca" if ci == "bca" else "percentile",
            rules="released" if rules == "released" else "attunebench",
            skip_invalid=skip_invalid,
            processes=None,
            bertscore=comparing,
            progress=progress,
            judge_scale=scale,
        )
    left_out = _tell(scores)
    say(f"Scores of {counted(scores['metadata']['n_results'], 'result')} written to {output}.")
    say(f"Next: attune-bench report --scores {shlex.quote(printable(str(output)))}")
    if left_out:
        raise typer.Exit(1)


def _comparing(model: str | None, layer: int | None, device: str | None) -> BertScoreSettings:
    """How drafts are compared, once it is clear that they can be."""
    from attunebench.scorer.encoder import DEFAULT_MODEL, BertScoreSettings, require_libraries
    from attunebench.text import printable

    if device not in (None, "cpu", "cuda"):
        raise UsageError(f"There is no device {printable(str(device))} for BERTScore; there are cpu and cuda.")
    require_libraries()
    settings = BertScoreSettings(model or DEFAULT_MODEL, layer, "cuda" if device == "cuda" else "cpu")
    fetched = "" if Path(settings.model).is_dir() else "; if it is not on this machine, it is fetched once"
    say(f"Loading {printable(settings.model)} for BERTScore{fetched}.")
    return settings


@contextmanager
def _told() -> Iterator[Progress]:
    """A line on a terminal that says how far BERTScore is, gone when scoring ends; begins with the first word of it."""
    with ExitStack() as stack:
        lines: list[Any] = []

        def progress(done: int, total: int) -> None:
            if not lines:
                lines.append(stack.enter_context(working("BERTScore")))
            if lines[0] is not None:
                lines[0].update(f"BERTScore: {done:,} of {total:,} texts read" if done < total else "Scoring")

        yield progress


def _tell(scores: Scores) -> int:
    """Name on stderr what was not scored; how many results that are."""
    from attunebench.reports.notes import votes_left_out
    from attunebench.text import printable

    left_out = scores["left_out"]
    if cut := scores["metadata"].get("bertscore", {}).get("texts_cut"):
        read = scores["metadata"]["bertscore"]
        say(f"BERTScore compared {cut} of {read['texts']} texts by their first {read['max_tokens']} tokens alone.")
    if sentence := votes_left_out(scores["metadata"]):
        say(sentence)
    for file in left_out["unreadable"]:
        say(f"Not scored, unreadable: {printable(file['file'])} {printable(file['reason'])}")
    for result in left_out["not_in_ground_truth"]:
        say(f"Not scored, no such conversation in the ground truth: {printable(result['file'])}")
    for result in left_out["mismatched"]:
        say(f"Not scored, {printable(result['file'])}: {printable(result['reason'])}.")
    for duplicate in left_out["duplicates"]:
        say(f"Not scored, the same result twice: {printable(' and '.join(duplicate['files']))}")
    for invalid in left_out["invalid_conversations"]:
        say(f"Conversation left out: {printable(invalid['file'])}: {printable('; '.join(invalid['reasons']))}")
    if profiles := left_out.get("profiles"):
        say(f"Passed over: {len(profiles)} predicted profiles, which are no results of the benchmark.")
    if outdated := scores["metadata"]["n_outdated"]:
        say(
            f"{outdated} results were made from an earlier version of their conversation file and do not record its "
            "texts. If only labels have changed, their scores are correct."
        )
    for group in scores["aggregates"]:
        coverage = group["coverage"]
        if coverage["scored"] < coverage["expected"]:
            say(
                f"{printable(group['em_model'])} ({group['mode']}): {coverage['scored']} of {coverage['expected']} "
                f"conversations scored, {len(coverage['skipped'])} skipped by the run."
            )
    return sum(map(len, (left_out[name] for name in left_out if name not in ("skipped", "profiles"))))
