"""What the commands that ask models share: the options that name the models, and the settings made of all options."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, TypeVar

import typer
from pydantic import SecretStr, ValidationError

from attunebench.cli.arguments import comma_list, model_names
from attunebench.cli.options import flag, option_named, options_of, parameter
from attunebench.errors import AttuneBenchError, UsageError
from attunebench.protocol.calls import Mode
from attunebench.protocol.modes import parse_modes
from attunebench.runner.settings import ModelSettings, RunSettings

PROVIDER: Any = typer.Argument(metavar="PROVIDER", help="openrouter, openai, prime, azure, local, baseline.")
ProviderArgument = Annotated[str, PROVIDER]

MODEL = options_of(ModelSettings, without=("provider",))
"""Where the evaluated model is reached."""
JUDGE_MODEL = parameter(
    "judge_model",
    Annotated[
        list[str] | None,
        flag(
            "Model that rates the drafts; repeat for several.",
            "--judge-model",
            "-M",
            metavar="MODEL",
            panel="Judges",
            complete=model_names,
        ),
    ],
)
JUDGES = [
    JUDGE_MODEL,
    *options_of(
        ModelSettings,
        prefix="judge-",
        panel="Judges",
        shown="the run's",
        help={"provider": "Provider of the judges.", "base_url": "Their server.", "api_key": "Their API key."},
    ),
]
"""Who judges, and where they are reached."""
T = TypeVar("T")


def modes_of(context: typer.Context, modes: list[str] | None) -> tuple[Mode, ...]:
    """The modes of a run. Raises UsageError for words that are left over."""
    refuse_further_words(context)
    return parse_modes(modes or ["default"])


def refuse_further_words(context: typer.Context) -> None:
    """Raises UsageError for words after the last argument: most often misspelt modes."""
    if context.args:
        words = " ".join(context.args)
        try:
            parse_modes(context.args)
        except UsageError as error:
            where = "follows PROVIDER, MODEL and CONVERSATIONS and was read as a mode"
            raise UsageError(f"{words} {where}. {error}") from None
        raise UsageError(f"Unexpected argument: {words}. Modes are given with --modes.")


def model_settings(provider: str, model: str, base_url: str | None, api_key: str | None) -> ModelSettings:
    """Provider and address of a model."""
    key = SecretStr(api_key) if api_key else None
    return ModelSettings(provider=provider, model=model, base_url=base_url or None, api_key=key)


def judge_settings(
    em: ModelSettings, model: str, provider: str | None, base_url: str | None, api_key: str | None
) -> ModelSettings:
    """Where a judge is reached: the run's own provider, address and key, as far as nothing else is said.

    The run's address and key go to the judge's provider only where that is the run's own.
    """
    if provider is not None and provider != em.provider:
        return model_settings(provider, model, base_url, api_key)
    # A judge at another address gets the run's key only by name: a key must not travel to a foreign host unasked.
    inherited = em.api_key.get_secret_value() if em.api_key and base_url in (None, em.base_url) else None
    return model_settings(em.provider, model, base_url or em.base_url, api_key or inherited)


def run_settings(em: ModelSettings, judges: Mapping[str, Any], **values: Any) -> RunSettings:
    """The settings of a run that options make. Raises UsageError."""
    provider, base_url, key = (judges.get(f"judge_{name}") for name in ("provider", "base_url", "api_key"))
    names = comma_list(judges.get("judge_model"))
    reached = [judge_settings(em, name, provider, base_url, key) for name in names]
    return checked(RunSettings, em=em, judges=reached, **values)


@contextmanager
def errors_about(subject: str) -> Iterator[None]:
    """Errors of ours begin with what they are about (a key of a run file, a model); "" leaves them as they are."""
    try:
        yield
    except AttuneBenchError as error:
        raise type(error)(f"{subject}: {error}") if subject else error from None


def checked(make: Callable[..., T], spelling: Callable[[str], str | None] = option_named, **values: Any) -> T:
    """Settings made of these values. Raises UsageError in place of pydantic's report."""
    try:
        return make(**values)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{spelling(str(first['loc'][0]))}: {first['msg']}, not {first['input']!r}.") from None
