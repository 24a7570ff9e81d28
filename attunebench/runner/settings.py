"""What a run is told: one frozen model, filled by the command line or by a library user, checked once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from attunebench.errors import UsageError
from attunebench.judging import JUDGE_SCALE, UNNAMED_SCALE, JudgeScale
from attunebench.options import OF_A_SEED, option, price, rare
from attunebench.protocol.calls import Mode, PanasStrategy

Structured = Literal["auto", "schema", "object", "text"]
RESULTS = "the results"  # in place of a provider: the drafts are there, and the evaluated model is not asked
_OF_A_REQUEST = ("temperature", "max_tokens", "structured", "seed")


@dataclass(frozen=True, slots=True)
class Shard:
    """One part of a run: the `number`-th (1 is the first) of `of`. Raises UsageError for one that there is not."""

    number: int
    of: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.of:
            raise UsageError(f"There is no shard {self}: shards are numbered from 1 to {self.of}.")

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def name(self) -> str:
        return f"{self.number}-of-{self.of}"

    @classmethod
    def parse(cls, text: str) -> Shard:
        """The shard that is written "2/8". Raises UsageError."""
        if found := re.fullmatch(r"\s*([0-9]{1,9})\s*/\s*([1-9][0-9]{0,8})\s*", text):
            return cls(int(found[1]), int(found[2]))
        raise UsageError(f"--shard: give the part and their number, such as 2/8, not {text!r}.")


class ModelSettings(BaseModel):
    """Provider, name, address and key of a model. The key never appears in a repr, log, file or error message."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    provider: str = option(..., "openrouter, openai, prime, azure, local or baseline.", "Model", metavar="NAME")
    model: str
    """The provider's name for the model; the baseline's name for `baseline`."""
    base_url: str | None = option(None, "Server address, e.g. http://localhost:8000/v1.", "Model", metavar="URL")
    api_key: SecretStr | None = option(None, "API key; prefer the environment variable.", "Model", metavar="KEY")
    client: Any = Field(default=None, exclude=True, repr=False)
    """The user's own client, used instead of the package's: see `attunebench.run`."""


class RunSettings(BaseModel):
    """The settings of a run. Raises UsageError if a judge model is given twice."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), allow_inf_nan=False)

    em: ModelSettings  # the evaluated model
    judges: tuple[ModelSettings, ...] = ()  # further models, which rate the drafts
    modes: tuple[Mode, ...] = ("default",)
    output: Path = Path("results")  # folder of the result files
    temperature: float | None = option(0.0, "Sampling temperature.", "Model", ge=0)  # None leaves it to the server
    max_tokens: int = option(4096, "Maximum tokens per reply.", "Model", gt=0, le=1_000_000_000)
    structured: Structured = rare(
        "auto",
        "How the answer format is enforced: schema (strictly), object (any JSON), text (by the prompt alone), or "
        "auto (the strictest of these that the server accepts).",
        "Model",
    )
    seed: int | None = rare(None, "Passed to the server, which may ignore it.", "Model", shown="none", **OF_A_SEED)
    judge_scale: JudgeScale | None = rare(
        None,
        "What the judges' ratings from 1 to 7 mean: quality (of the draft), or relative to the human-edited reply (4: "
        "as good). The two are never averaged.",
        "Judges",
        metavar="SCALE",
        shown="the scale of the votes in the results folder, else quality",
    )
    panas_strategy: PanasStrategy = rare(
        "absolute",
        "The mood question: absolute (predict the mood after the conversation), delta (predict its change), blind or "
        "blind_delta (the same without showing the mood before).",
        "What is asked",
    )
    limit: int | None = option(None, "The first N conversations: a fair sample.", "What is asked", metavar="N", gt=0)
    order_seed: int = rare(
        0, "Seed of the order, which is random and stratified by topic and diagnosis.", "What is asked", **OF_A_SEED
    )
    max_cost: float | None = option(
        None, "Cost limit of this run; ends with exit status 3.", "Limits and cost", metavar="USD", gt=0
    )
    price_in: float | None = price("Price of 1M prompt tokens.")
    price_out: float | None = price("Price of 1M completion tokens.")
    judge_price_in: float | None = price("The judges' price of 1M prompt tokens.", rare=True)
    judge_price_out: float | None = price("The judges' price of 1M completion tokens.", rare=True)
    call_timeout: float = rare(120.0, "Timeout per attempt, in seconds.", "Limits and cost", gt=0)
    total_timeout: float = Field(default=600.0, gt=0)  # seconds for one request (a re-prompt is another) and its tries
    max_tries: int = Field(default=8, gt=0)  # of one call, against transient trouble
    replace: bool = option(False, "Redo results made with other settings.", "Resuming")  # those of the same stay
    retry_unanswered: bool = option(False, "Retry items that stayed unanswered after all re-prompts.", "Resuming")
    max_reasks: int = rare(2, "Re-prompts after an unusable reply.", "Resuming", ge=0)
    # Over all conversations, and fewer where the server wants it.
    concurrency: int = option(16, "Calls in flight to one model.", "Parallel", gt=0, le=10_000)
    rpm: float | None = option(None, "Requests per minute to one model.", "Parallel", gt=0)
    tpm: float | None = option(None, "Tokens per minute to one model.", "Parallel", gt=0)
    shard: Shard | None = rare(
        None,
        "Only the I-th of N parts of the run, for job arrays: all parts with the same other options and the same "
        "output folder, at once or one after the other.",
        "Parallel",
        metavar="I/N",
    )

    @field_validator("judges")
    @classmethod
    def _check_judges(cls, judges: tuple[ModelSettings, ...]) -> tuple[ModelSettings, ...]:
        if len({judge.model for judge in judges}) < len(judges):
            raise UsageError("A judge model is given twice; votes are stored by model name, so name each once.")
        return judges

    @field_validator("shard", mode="before")
    @classmethod
    def _read_shard(cls, shard: Any) -> Any:
        return Shard.parse(shard) if isinstance(shard, str) else shard

    @property
    def parameters(self) -> dict[str, Any]:
        """What changes a model's answers beside the prompt: it is in every result, and no two are mixed."""
        return {name: getattr(self, name) for name in (*_OF_A_REQUEST, "panas_strategy", "max_reasks")}

    @property
    def scale(self) -> JudgeScale:
        """The judges' scale, where `runner.fingerprint` has settled it or nobody has to."""
        return self.judge_scale or JUDGE_SCALE

    @property
    def models(self) -> dict[int, ModelSettings]:
        """Whom calls ask, by `who`: the evaluated model (0), unless its drafts are there, and the judges (from 1)."""
        everybody = dict(enumerate((self.em, *self.judges)))
        return {who: each for who, each in everybody.items() if each.provider != RESULTS}

    @property
    def free(self) -> bool:
        """Whether all models are built in."""
        return all(each.provider == "baseline" for each in self.models.values())

    def asked(self, who: int) -> ModelSettings:
        """Whom a call asks."""
        return (self.em, *self.judges)[who]

    def request_parameters(self, *, judge: bool = False) -> dict[str, Any]:
        """What changes a single request beside its prompt; a judge's names its scale, unless no name means that one."""
        named = {name: getattr(self, name) for name in _OF_A_REQUEST}
        return {**named, "judge_scale": self.scale} if judge and self.scale != UNNAMED_SCALE else named
