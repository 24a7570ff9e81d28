"""What one `run` command does: one run for each model, of the options that were typed and of a run file."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from attunebench.backends.providers import provider_named
from attunebench.cli.arguments import comma_list
from attunebench.cli.asking import checked, errors_about, judge_settings, model_settings
from attunebench.cli.options import option_named
from attunebench.cli.run_file import RunFile
from attunebench.errors import UsageError
from attunebench.protocol.modes import parse_modes
from attunebench.runner.settings import ModelSettings, RunSettings, Shard

_JUDGE = ("judge_provider", "judge_base_url", "judge_api_key")


class Study(NamedTuple):
    """The runs of a command. `values`: the options of each; `judges`: those of the file, if it says who judges."""

    runs: Sequence[RunSettings]
    values: Sequence[Mapping[str, Any]]
    judges: Sequence[Mapping[str, Any]]


def study_of(file: RunFile, options: Mapping[str, Any], typed: Collection[str]) -> Study:
    """The runs of `options`: the `typed` ones win over the file, and the file over defaults. Raises UsageError."""
    line = {name: options[name] for name in typed if name in options}
    described = [{**options, **file.shared, **model} for model in file.models] or [{**options, **file.shared}]
    if "provider" in line:  # one model, as the file describes it (perhaps once for each mode) or by itself
        own = (line["provider"], line.get("model"))
        described = [each for each in described if (each["provider"], each["model"]) == own]
        described = described[: 1 if "modes" in line else None] or [{**options, **file.shared}]
    values = [{**each, **line} for each in described]
    if any(None in (each["provider"], each["model"]) for each in values):
        raise UsageError(f"{file.path}: a model lacks its provider or its name (the keys provider and model).")
    judges = () if "judge_model" in line else file.judges
    if judges and (beside := next((name for name in (*_JUDGE[:2], "judge_model") if values[0][name]), None)):
        raise UsageError(f"{file.path}: {beside} cannot be combined with [[judges]], which set their own.")
    runs = [_settings(file, each, judges, typed) for each in values]
    for one, other in combinations(runs, 2):
        if one.em.provider == other.em.provider and one.em.model == other.em.model and {*one.modes} & {*other.modes}:
            raise UsageError(f"{file.path}: {one.em.model} ({one.em.provider}) occurs twice in the same mode.")
    _refuse_stray_keys(file, options, runs)
    return Study(runs, values, judges)


def _refuse_stray_keys(file: RunFile, options: Mapping[str, Any], runs: Sequence[RunSettings]) -> None:
    """A key that was typed is meant for one address; with several in the file, it could reach another one."""
    models, judges = [run.em for run in runs], [judge for run in runs for judge in run.judges]
    for name, reached in (("api_key", models), ("judge_api_key", judges)):
        places = {(each.provider, each.base_url) for each in reached if each.provider != "baseline"}
        if options[name] and len(places) > 1:
            raise UsageError(
                f"{option_named(name)} is a single key, but {file.path} has {len(places)} addresses; set the "
                "providers' variables in the environment or in a .env beside the file."
            )


def _settings(
    file: RunFile, values: Mapping[str, Any], judges: Sequence[Mapping[str, Any]], typed: Collection[str]
) -> RunSettings:
    """The settings of one run, which name what is wrong by its option or by its key in the file."""
    em = model_settings(*(values[name] for name in ("provider", "model", "base_url", "api_key")))
    if judges:
        reached = [_judge(em, judge, values["judge_api_key"]) for judge in judges]
    else:
        where = [values[name] for name in _JUDGE]
        reached = [judge_settings(em, name, *where) for name in comma_list(values["judge_model"])]

    def place(name: str) -> str:
        return f"{file.path}: {name}" if name not in typed and file.path.name else ""

    with errors_about(place("provider")):
        providers = [provider_named(each.provider) for each in (em, *reached)]
    typed_urls = {values[name] for name in ("base_url", "judge_base_url") if name in typed}
    for provider, each in zip(providers, (em, *reached), strict=True):
        if provider.key_variables and each.base_url and each.base_url not in typed_urls and each.api_key is None:
            raise UsageError(
                f"{file.path}: base_url: the key of {provider.name} is not sent to an address from a file "
                f"({each.base_url}); give a key with --{'' if each is em else 'judge-'}api-key, or name the provider "
                "local, which needs none."
            )
    with errors_about(place("modes")):
        modes = parse_modes(values["modes"] or ["default"])
    own = {name: values[name] for name, field in RunSettings.model_fields.items() if field.json_schema_extra}
    with errors_about(place("shard")):
        own["shard"] = Shard.parse(own["shard"]) if own["shard"] else None
    spelling = {name: place(name) or option_named(name) for name in own}
    return checked(RunSettings, spelling.get, em=em, judges=reached, modes=modes, output=values["output"], **own)


def _judge(em: ModelSettings, judge: Mapping[str, Any], key: str | None) -> ModelSettings:
    """A judge of the file, which gets the model's key where it is at the very same address."""
    base_url = judge.get("base_url")
    if key is None and em.api_key is not None and (judge["provider"], base_url) == (em.provider, em.base_url):
        key = em.api_key.get_secret_value()
    return model_settings(judge["provider"], judge["model"], base_url, key)
