"""`attune-bench score`: result files and the people's labels in, scores.json out."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from attunebench.cli.arguments import (
    ClusterOption,
    GroundTruthOption,
    JsonOption,
    ResultsOption,
    SkipInvalidOption,
)
from attunebench.cli.emitting import say, working
from attunebench.cli.options import flag
from attunebench.errors import UsageError
from attunebench.text import counted, printable

if TYPE_CHECKING:
    from attunebench.scorer.closeness import Progress
    from attunebench.scorer.encoder import BertScoreSettings
    from attunebench.scores import Scores


def score(
    results: ResultsOption = Path("results"),
    ground_truth: GroundTruthOption = None,
    output: Annotated[Path, flag("The scores file to write.", "--output", "-o")] = Path("scores.json"),
    resamples: Annotated[int, flag("Bootstrap resamples behind each interval.", min=1, max=10**6)] = 10_000,
    seed: Annotated[int, flag("Seed of the bootstrap.", min=0, max=2**63 - 1)] = 0,
    cluster: ClusterOption = None,
    ci: Annotated[
        Literal["percentile", "bca"],
        flag("Bootstrap interval: `percentile`, or `bca`, which is corrected for bias and skewness."),
    ] = "percentile",
    rules: Annotated[
        Literal["attunebench", "released"],
        flag("Score by our rules or by those of the released scorer (only for comparison with published numbers)."),
    ] = "attunebench",
    skip_invalid: SkipInvalidOption = False,
    judge_scale: Annotated[
        Literal["quality", "relative"] | None,
        flag(
            "Count only judges' votes on this scale; ratings on two scales are never averaged.",
            shown="the scale of a model's votes; quality where its results hold both",
        ),
    ] = None,
    bertscore: Annotated[
        bool, flag("Also compare drafts by BERTScore; requires the extra `bertscore`.", "--bertscore")
    ] = False,
    bertscore_model: Annotated[
        str | None,
        flag(
            "BERTScore's language model: a name on the Hugging Face hub, downloaded once, or a folder. Implies "
            "--bertscore.",
            metavar="NAME|FOLDER",
            shown="roberta-large",
        ),
    ] = None,
    bertscore_layer: Annotated[
        int | None,
        flag(
            "The layer to compare, for models without a published one. Implies --bertscore.",
            shown="the published one",
            min=1,
        ),
    ] = None,
    bertscore_device: Annotated[
        Literal["cpu", "cuda"] | None, flag("Device of that model. Implies --bertscore.", shown="cpu")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Score results against the participants' labels. Calls no model; only BERTScore's model is downloaded.

    Show the scores with `attune-bench report`.
    """
    from attunebench import api

    if ground_truth is None:
        raise UsageError("The conversations folder is missing; give it with --ground-truth.")
    wanted = bertscore or any(option is not None for option in (bertscore_model, bertscore_layer, bertscore_device))
    comparing = _comparing(bertscore_model, bertscore_layer, bertscore_device or "cpu") if wanted else None
    with _told() as progress:
        scores = api.score_to_file(
            results,
            ground_truth,
            output,
            processes=None,
            seed=seed,
            resamples=resamples,
            cluster=cluster,
            ci=ci,
            rules=rules,
            skip_invalid=skip_invalid,
            bertscore=comparing,
            progress=progress,
            judge_scale=judge_scale,
        )
    left_out = _tell(scores)
    if as_json:
        typer.echo(json.dumps(_as_json(scores, output)))
    say(f"Scores of {counted(scores['metadata']['n_results'], 'result')} written to {output}.")
    say(f"Next: attune-bench report --scores {shlex.quote(printable(str(output)))}")
    if left_out:
        raise typer.Exit(1)


def _as_json(scores: Scores, output: Path) -> dict[str, Any]:
    """What is known at once; the rest is in the file."""
    groups = [
        {
            "provider": group["provider"],
            "model": group["em_model"],
            "mode": group["mode"],
            "conversations": group["n_conversations"],
            "coverage": group["coverage"],
            "composite": group["metrics"].get("composite"),
        }
        for group in scores["aggregates"]
    ]
    counts = {name: scores["metadata"][name] for name in ("n_results", "n_conversations")}
    return {"scores": str(output), **counts, "groups": groups, "left_out": scores["left_out"]}


def _comparing(model: str | None, layer: int | None, device: Literal["cpu", "cuda"]) -> BertScoreSettings:
    """How drafts are compared, once it is clear that they can be."""
    from attunebench.scorer.encoder import DEFAULT_MODEL, BertScoreSettings, require_libraries

    require_libraries()
    settings = BertScoreSettings(model or DEFAULT_MODEL, layer, device)
    fetched = "" if Path(settings.model).is_dir() else "; it is downloaded once if it is not on this machine"
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

    left_out = scores["left_out"]
    if cut := scores["metadata"].get("bertscore", {}).get("texts_cut"):
        read = scores["metadata"]["bertscore"]
        say(f"BERTScore compared {cut} of {read['texts']} texts by their first {read['max_tokens']} tokens only.")
    if sentence := votes_left_out(scores["metadata"]):
        say(sentence)
    for file in left_out["unreadable"]:
        say(f"Not scored, unreadable: {printable(file['file'])} {printable(file['reason'])}")
    for result in left_out["not_in_ground_truth"]:
        say(f"Not scored, conversation without labels: {printable(result['file'])}")
    for result in left_out["mismatched"]:
        say(f"Not scored, {printable(result['file'])}: {printable(result['reason'])}.")
    for duplicate in left_out["duplicates"]:
        say(f"Not scored, duplicate result: {printable(' and '.join(duplicate['files']))}")
    for invalid in left_out["invalid_conversations"]:
        say(f"Conversation skipped: {printable(invalid['file'])}: {printable('; '.join(invalid['reasons']))}")
    if profiles := left_out.get("profiles"):
        say(f"Ignored: {len(profiles)} predicted profiles, which are not benchmark results.")
    if outdated := scores["metadata"]["n_outdated"]:
        say(
            f"{outdated} results are from an earlier version of their conversation file and do not record its texts. "
            "If only labels changed, their scores are correct."
        )
    for group in scores["aggregates"]:
        coverage = group["coverage"]
        if coverage["scored"] < coverage["expected"]:
            say(
                f"{printable(group['em_model'])} ({group['mode']}): {coverage['scored']} of {coverage['expected']} "
                f"conversations scored, {len(coverage['skipped'])} skipped by the run."
            )
    return sum(map(len, (left_out[name] for name in left_out if name not in ("skipped", "profiles"))))
