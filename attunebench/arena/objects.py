"""What the files of an arena hold, one object a line (spec 10.1): histories, replies, pairs, verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from attunebench.errors import DataError
from attunebench.jsonfile import parse_json

Role = Literal["seeker", "supporter"]
ReplyKind = Literal["human", "model", "original", "alternate", "edited"]
"""`edited`: a model's reply that a person edited, which is never called human."""
RaterKind = Literal["human", "judge"]
Side = Literal["left", "right", "same"]
Dimension = Literal["human_alignment", "empathic_responsiveness", "attunement", "resonance", "task_following"]
Outcome = Literal["answered", "incomplete", "unreadable", "refused", "truncated"]

DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
REGULAR, ADVERSARIAL = "regular", "adversarial"
"""The two slices that are compared; any other name is a slice too."""
_MOST_BYTES = 512 * 1024 * 1024
Name = Annotated[str, Field(min_length=1, max_length=500)]


def _no_truth_value(value: Any) -> Any:
    """true and false are no preferences: a file that has them means something else by 0 and 1."""
    if isinstance(value, bool):
        raise ValueError("expected a whole number from -2 to 2, found true or false")
    return value


class Line(BaseModel):
    """Base: immutable; keys that are unknown to us are kept in `model_extra`."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)


class Message(Line):
    """One message of a history."""

    role: Role
    text: str


class History(Line):
    """What the author of a reply has read: it ends in a message of the seeker. `source`: where it is from.

    `conversation`: of which it is a turn, "" where it is a conversation of its own. Intervals resample conversations.
    """

    id: Name
    turns: tuple[Message, ...]
    slice: Name = REGULAR
    tags: tuple[str, ...] = ()
    source: str = ""
    conversation: str = ""

    @model_validator(mode="after")
    def _ends_in_the_seeker(self) -> History:
        if not self.turns or self.turns[-1].role != "seeker":
            raise ValueError("a history must end in a message of the seeker")
        return self


class Reply(Line):
    """One author's reply to a history; an author has one at most. `family`: the vendor of the model, None if unknown.

    `parameters`: the number of the model's parameters, in billions.
    """

    history: Name
    author: Name
    kind: ReplyKind
    family: str | None = None
    text: str
    seconds_to_first_token: float | None = Field(default=None, ge=0)
    parameters: float | None = Field(default=None, gt=0)


class Pair(Line):
    """Two replies to one history, by their authors."""

    id: Name
    history: Name
    left: Name
    right: Name

    @model_validator(mode="after")
    def _has_two_authors(self) -> Pair:
        if self.left == self.right:
            raise ValueError("left and right are the same author")
        return self


class Verdict(Line):
    """What a rater said about a pair. `order`: which of its two replies was shown first.

    `preference` −2 … 2, positive where the reply that the pair calls left is better, whatever side it was shown on;
    None where the rater did not answer, `outcome` says how. `dimensions`: which reply is better in each. `evidence`:
    words that the rater quotes from the history, `evidence_found` whether they are in it.
    """

    pair: Name
    rater: Name
    rater_kind: RaterKind
    order: Literal["left", "right"] = "left"
    preference: Annotated[int | None, BeforeValidator(_no_truth_value)] = Field(ge=-2, le=2)
    dimensions: Mapping[Dimension, Side] = Field(default_factory=dict)
    decided_by: Dimension | None = None
    evidence: str = ""
    evidence_found: bool | None = None
    rationale: str = ""
    seconds: float | None = Field(default=None, ge=0)
    outcome: Outcome = "answered"
    check: bool = False
    """A swapped repeat that only checks attention; it enters no other number."""


def family_of(provider: str, model: str) -> str | None:
    """The vendor of a model as far as its name says it: what stands before a “/”, or the provider that makes its own
    models. None is unknown: no name is guessed."""
    vendor = model.partition("/")[0].strip().lower() if "/" in model else ""
    return vendor or (provider if provider in ("openai", "anthropic", "baseline") else None)


def as_line(one: Line) -> dict[str, Any]:
    """The object as it stands in a file: without what is at its default."""
    return one.model_dump(mode="json", exclude_defaults=True)


@contextmanager
def errors_at(where: str) -> Iterator[None]:
    """A ValueError (pydantic's are) as a DataError of what is read there."""
    try:
        yield
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        places, what = map(str, first["loc"]), first["msg"].removeprefix("Value error, ")
        raise DataError(f"{where}: {': '.join(filter(None, ('.'.join(places), what)))}.") from None
    except ValueError as error:
        raise DataError(f"{where}: {error}.") from None


def objects_in(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSON file (a list of them, one of them) or of a JSONL file, each with where it stands. Raises
    DataError."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise DataError(f"{path}: larger than {_MOST_BYTES // 1024**2} MB, the largest size that is read.")
        data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}).") from None
    if path.suffix == ".json":
        with errors_at(str(path)):
            content = parse_json(data)
        places = enumerate(content if isinstance(content, list) else [content], 1)
        found = ((f"{path}, entry {place}", entry) for place, entry in places)
    else:
        found = ((f"{path}, line {place}", line) for place, line in enumerate(data.split(b"\n"), 1) if line.strip())
    for where, entry in found:
        with errors_at(where):
            value = parse_json(entry) if isinstance(entry, bytes) else entry
        if not isinstance(value, dict):
            raise DataError(f"{where}: expected an object.")
        yield where, value
