"""What a run is told: one frozen model, filled by the command line or by a library user, checked once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from attunebench.errors import UsageError
from attunebench.judging import JUDGE_SCALE, UNNAMED_SCALE, JudgeScale
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
            raise UsageError(f"There is no shard {self}: of {self.of} shards the first is 1 and the last {self.of}.")

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
    """Where a model is reached. The key is a secret: it shows in no repr, log, file or error."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    provider: str
    """openrouter, openai, prime, azure, local or baseline."""
    model: str
    """The provider's name of the model; the baseline's name for `baseline`."""
    base_url: str | None = None
    """Overrides the provider's address."""
    api_key: SecretStr | None = None
    """Wins over the environment."""
    client: Any = Field(default=None, exclude=True, repr=False)
    """A client of the user's, which sends in place of this package's own: see `attunebench.run`."""


class RunSettings(BaseModel):
    """Everything that a run may be told. Raises UsageError for a judge that is named twice."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    em: ModelSettings
    """The evaluated model."""
    judges: tuple[ModelSettings, ...] = ()
    """Further models that rate the drafts; none by default."""
    modes: tuple[Mode, ...] = ("default",)
    output: Path = Path("results")
    """Folder of the result files."""
    panas_strategy: PanasStrategy = "absolute"
    judge_scale: JudgeScale | None = None
    """What judges rate on; None: the scale of the votes that the output folder holds, else quality."""
    temperature: float | None = Field(default=0.0, ge=0, allow_inf_nan=False)
    """None leaves it to the server."""
    max_tokens: int = Field(default=4096, gt=0, le=1_000_000_000)
    """Limit of one reply; four times that after a reply that was cut."""
    structured: Structured = "auto"
    """How strongly the output is constrained; auto takes the strongest that the server accepts."""
    seed: int | None = Field(default=None, ge=-(2**63), lt=2**63)
    """Passed to the server. Larger ones could not be read back from a result file."""
    max_reasks: int = Field(default=2, ge=0)
    """How often an unusable reply is asked for again."""
    call_timeout: float = Field(default=120.0, gt=0, allow_inf_nan=False)
    """Seconds for one try, in all."""
    total_timeout: float = Field(default=600.0, gt=0, allow_inf_nan=False)
    """Seconds for one request with all its tries and waits; a re-prompt is a request of its own."""
    max_tries: int = Field(default=8, gt=0)
    """Tries of one call against transient trouble."""
    concurrency: int = Field(default=16, gt=0, le=10_000)
    """The ceiling of calls under way at once to one model, over all conversations; fewer where the server wants it."""
    rpm: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Requests a minute to one model, for those who know their limit."""
    tpm: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Tokens a minute to one model, prompt and reply."""
    max_cost: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """USD that this run may spend at worst, judges included; earlier runs are not counted."""
    price_in: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """USD for a million prompt tokens of the evaluated model; wins over what the provider lists."""
    price_out: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """USD for a million completion tokens of the evaluated model."""
    judge_price_in: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """The same for every judge."""
    judge_price_out: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    order_seed: int = Field(default=0, ge=-(2**63), lt=2**63)
    """Seed of the stratified order in which conversations are taken."""
    retry_unanswered: bool = False
    """Ask again the calls whose answers are final and incomplete."""
    limit: int | None = Field(default=None, gt=0)
    """Only the first so many conversations of the run order."""
    shard: Shard | None = None
    """Only this part of them, where several processes share the work and the output folder."""
    replace: bool = False
    """Make results anew that were made with other settings; those of the same settings stay."""

    @field_validator("judges")
    @classmethod
    def _check_judges(cls, judges: tuple[ModelSettings, ...]) -> tuple[ModelSettings, ...]:
        if len({judge.model for judge in judges}) < len(judges):
            raise UsageError("A judge model is given twice; votes are kept by model name, so name each once.")
        return judges

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
