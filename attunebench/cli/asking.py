"""Options of the commands that ask models: how fast, how long, how much, with which parameters."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer


class Executor(str, Enum):
    """Who does a run."""

    here = "here"
    ray = "ray"


ProviderArgument = Annotated[str, typer.Argument(help="openrouter, openai, prime, azure, local or baseline.")]
BaseUrlOption = Annotated[
    str | None, typer.Option("--base-url", help="Address of the server, e.g. http://localhost:8000/v1.")
]
ApiKeyOption = Annotated[
    str | None, typer.Option("--api-key", help="The key; wins over the environment, where it is safer.")
]
ConcurrencyOption = Annotated[
    int,
    typer.Option(
        "--concurrency", min=1, help="Calls under way at once to one model, at most; fewer where the server wants it."
    ),
]
RpmOption = Annotated[
    float | None,
    typer.Option("--rpm", help="Requests a minute to one model, if you know its limit.", show_default="none"),
]
TpmOption = Annotated[
    float | None,
    typer.Option("--tpm", help="Tokens a minute to one model, prompts and replies.", show_default="none"),
]
MaxCostOption = Annotated[
    float | None,
    typer.Option(
        "--max-cost",
        metavar="USD",
        help="What this run may spend at worst, judges included; it stops before (exit status 3).",
        show_default="no bound",
    ),
]
PriceInOption = Annotated[
    float | None,
    typer.Option(
        "--price-in",
        metavar="USD",
        help="Price of a million prompt tokens; wins over the provider's list.",
        show_default="listed",
    ),
]
PriceOutOption = Annotated[
    float | None,
    typer.Option("--price-out", metavar="USD", help="Price of a million completion tokens.", show_default="listed"),
]
JudgePriceInOption = Annotated[
    float | None,
    typer.Option(
        "--judge-price-in",
        metavar="USD",
        help="The judges' price of a million prompt tokens.",
        show_default="listed",
    ),
]
JudgePriceOutOption = Annotated[
    float | None,
    typer.Option(
        "--judge-price-out",
        metavar="USD",
        help="The judges' price of a million completion tokens.",
        show_default="listed",
    ),
]
JudgeScaleOption = Annotated[
    str | None,
    typer.Option(
        "--judge-scale",
        metavar="SCALE",
        help="Meaning of the judges' ratings from 1 to 7. quality: how good the draft is; relative: compared with the "
        "human-edited reply (4: as good). The two are never averaged.",
        show_default="the scale of the votes in the results folder, else quality",
    ),
]
CallTimeoutOption = Annotated[float, typer.Option("--call-timeout", min=0.1, help="Seconds for one try of a call.")]
LimitOption = Annotated[
    int | None,
    typer.Option("--limit", min=1, help="Only the first N conversations of the run's order: a fair sample of all."),
]
ShardOption = Annotated[
    str | None,
    typer.Option(
        "--shard",
        metavar="I/N",
        help="Only the I-th of N parts of the run, for job arrays: all parts with the same other options and the same "
        "output folder, at once or one after the other.",
        show_default=False,
    ),
]
ExecutorOption = Annotated[
    Executor,
    typer.Option("--executor", help="Who does the run: this process, or workers on a Ray cluster (extra `ray`)."),
]
RayAddressOption = Annotated[
    str | None,
    typer.Option(
        "--ray-address",
        metavar="ADDRESS",
        help="Of the cluster, e.g. auto or 10.0.0.1:6379.",
        show_default="RAY_ADDRESS, else a new one on this machine",
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option("--workers", min=1, help="Ray workers.", show_default="one a machine, two at least"),
]
OrderSeedOption = Annotated[
    int,
    typer.Option("--order-seed", help="Seed of the order, which is random and stratified by topic and diagnosis."),
]
StructuredOption = Annotated[
    str,
    typer.Option(
        "--structured",
        help="How answers are held to their format: schema (strictly), object (any JSON), text (by the prompt "
        "alone), or auto (the strictest of these that the server accepts).",
    ),
]
TemperatureOption = Annotated[float, typer.Option("--temperature", min=0.0, help="Sampling temperature.")]
MaxTokensOption = Annotated[
    int, typer.Option("--max-tokens", min=1, help="Tokens of one reply; four times that after a cut one.")
]
ServerSeedOption = Annotated[
    int | None, typer.Option("--seed", help="Passed to the server; few honour it.", show_default="none")
]
MaxReasksOption = Annotated[
    int, typer.Option("--max-reasks", min=0, help="How often an unusable reply is asked for again.")
]
RetryUnansweredOption = Annotated[
    bool, typer.Option("--retry-unanswered", help="Ask again what a model has left unanswered for good.")
]
DryRunOption = Annotated[
    bool,
    typer.Option("--dry-run", help="Count calls, tokens and money; ask nobody but the provider for its prices."),
]
BatchOption = Annotated[
    bool,
    typer.Option(
        "--batch",
        help="Ask by the provider's batch service (openai, or local where the server has one): cheaper, and done "
        "within a day. Interrupted and repeated, the command comes back to what is under way.",
    ),
]
PollIntervalOption = Annotated[
    float,
    typer.Option("--poll-interval", metavar="S", min=0.0, help="With --batch: seconds between two looks at a batch."),
]
BatchDiscountOption = Annotated[
    float | None,
    typer.Option(
        "--batch-discount",
        metavar="SHARE",
        min=0.0,
        max=1.0,
        help="With --batch: the share of the price that it saves, such as 0.5.",
        show_default="0.5 of openai's, else 0",
    ),
]
CancelOption = Annotated[
    bool,
    typer.Option(
        "--cancel", help="With --batch: cancel what is under way, collect what is done of it, send nothing new."
    ),
]
