"""Run files: the options of `run` as keys of a TOML file, with several models and judges. See docs/run-file.md.

A file may come from somebody else: it holds no key, and decides neither where a key of this machine goes nor what one
start of the command does.
"""

from __future__ import annotations

import difflib
import inspect
import json
import os
import reprlib
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin

from pydantic import TypeAdapter, ValidationError

from attunebench._version import __version__
from attunebench.backends.providers import PROVIDERS
from attunebench.errors import DataError, UsageError
from attunebench.files import atomic_write
from attunebench.runner.settings import RunSettings
from attunebench.text import printable

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MODELS, JUDGES = "models", "judges"
"""The tables of a file: `[[models]]` and `[[judges]]`."""
_SECRET = "keys are not allowed here; set the variable in the environment or in a .env beside the file, or give --{}"
_ONE_START = "command line only: --{}"
_ELSEWHERE = {
    **dict.fromkeys(("api_key", "judge_api_key"), _SECRET),
    **dict.fromkeys(("config", "dry_run", "quiet", "json", "cancel"), _ONE_START),
    "ray_address": "command line only, because it decides which machines get the keys: --{}",
    "folder": "this key is called conversations",
}
"""Options of `run` that are no keys of a file → why."""
_OF_A_JUDGE = ("provider", "model", "base_url")
_OF_A_MODEL = (
    *_OF_A_JUDGE,
    "modes",
    *(name for name, each in RunSettings.model_fields.items() if each.json_schema_extra),
)
_MOST_BYTES = 1 << 20
_ONCE = ("max_cost", "shard")  # of the whole command, where there are several models


class RunFile(NamedTuple):
    """What a file says: of everything (`shared`), of each model, of each judge. Its paths are those from here."""

    path: Path = Path()
    shared: Mapping[str, Any] = {}
    models: Sequence[Mapping[str, Any]] = ()
    judges: Sequence[Mapping[str, Any]] = ()


def read_run_file(path: Path, options: Mapping[str, inspect.Parameter]) -> RunFile:
    """The file, whose keys are the names of these options. Raises DataError (no TOML), and UsageError, which names the
    key."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise ValueError(f"it is larger than {_MOST_BYTES >> 20} MB")
        content = tomllib.loads(data.decode("utf-8-sig"))
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror or error}); give a run file with --config.") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is no TOML file: {error}.") from None
    kinds = {name: option.annotation for name, option in options.items() if name not in (*_ELSEWHERE, "context")}
    tables = {name: _tables(path, name, content.pop(name, [])) for name in (MODELS, JUDGES)}
    of_a_model = kinds.keys() & {*_OF_A_MODEL} - {*_ONCE}
    models, judges = (
        [_values(path, f"{name}[{number}].", table, kinds, allowed) for number, table in enumerate(tables[name], 1)]
        for name, allowed in ((MODELS, of_a_model), (JUDGES, {*_OF_A_JUDGE}))
    )
    for number, judge in enumerate(judges, 1):
        if lacking := {"provider", "model"} - judge.keys():
            raise UsageError(f"{path}: {JUDGES}[{number}] lacks {' and '.join(sorted(lacking))}.")
    return RunFile(path, _values(path, "", content, kinds, kinds.keys()), models, judges)


def _tables(path: Path, name: str, tables: Any) -> list[dict[str, Any]]:
    if isinstance(tables, list) and all(isinstance(each, dict) for each in tables):
        return tables
    raise UsageError(f"{path}: {name}: write one [[{name}]] table for each, not {printable(reprlib.repr(tables), 60)}.")


def _values(
    path: Path, place: str, table: Mapping[str, Any], kinds: Mapping[str, Any], allowed: Collection[str]
) -> dict[str, Any]:
    """The values of a table, each of the type of its option."""
    values = {}
    for key, value in table.items():
        name, where = key.replace("-", "_"), f"{path}: {place}{printable(key, 60)}"
        if name in _ELSEWHERE:
            raise UsageError(f"{where}: {_ELSEWHERE[name].format(name.replace('_', '-'))}.")
        if name not in allowed:
            raise UsageError(f"{where}: {_remedy(name, place, kinds, allowed)}.")
        if name in values:
            raise UsageError(f"{where}: this key is there twice, with - and with _.")
        values[name] = _value(path, where, value, kinds[name])
    return values


def _remedy(name: str, place: str, kinds: Collection[str], allowed: Collection[str]) -> str:
    if name in kinds:
        above = f"write it above the first [[{place.partition('[')[0]}]]"
        return f"no key of a single one; {above}, where it holds for all"
    tables = () if place else (MODELS, JUDGES)
    near = difflib.get_close_matches(name, [*allowed, *tables], 1, 0.5)
    return f"unknown key; {f'the nearest one is {near[0]}' if near else '`run --help-all` lists the options'}"


def _value(path: Path, where: str, value: Any, kind: Any) -> Any:
    several = any(get_origin(each) is list for each in get_args(get_args(kind)[0]))
    given = [value] if several and isinstance(value, str) else value
    try:
        # As JSON, of which a text makes a path but no number.
        read = TypeAdapter(kind).validate_json(json.dumps(given, default=str), strict=True)
        if isinstance(read, Path):
            read = path.parent / read.expanduser()
            if "\0" in str(read):
                raise ValueError("a path holds no null character")
        return read
    except (ValidationError, ValueError, RuntimeError) as error:
        message = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        meant = f"; tables are [[{MODELS}]] and [[{JUDGES}]]" if isinstance(value, dict | list) else ""
        raise UsageError(f"{where}: {message}, not {printable(reprlib.repr(value), 60)}{meant}.") from None


def add_keys(folder: Path) -> None:
    """Add the keys of a `.env` in this folder to the environment, as far as that lacks them; nothing else of it."""
    path = folder / ".env"
    if not path.is_file():
        return
    from dotenv import dotenv_values

    try:
        values = dotenv_values(path, interpolate=False)
        for name in (name for provider in PROVIDERS.values() for name in provider.key_variables):
            if (value := values.get(name)) and not os.environ.get(name, "").strip():
                os.environ[name] = value  # raises ValueError for a null character
    except (OSError, ValueError):
        raise DataError(f"{path} cannot be read; it has to hold lines such as OPENAI_API_KEY=….") from None


def write_run_file(file: RunFile, runs: Sequence[Mapping[str, Any]], judges: Sequence[Mapping[str, Any]]) -> None:
    """Write what was run into its output folder, as a run file that repeats it. `runs`: the values of each model.

    The file that was read stays as it is, whatever part of it this command ran.
    """
    runs = [{key: value for key, value in run.items() if key not in _ELSEWHERE} for run in runs]
    own = _OF_A_JUDGE if len(runs) > 1 else ()
    shared = {key: value for key, value in runs[0].items() if key not in own and all(run[key] == value for run in runs)}
    folder = Path(runs[0]["output"])
    path = folder / f"_{file.path.stem.lstrip('_')}.toml"
    if path.exists() and path.samefile(file.path):
        return
    tables = [(MODELS, {key: run[key] for key in run if key not in shared}) for run in runs] if len(runs) > 1 else []
    lines = [
        f"# Run by attunebench {__version__}, {datetime.now(timezone.utc).isoformat(timespec='seconds')}",
        *_lines(shared, folder),
    ]
    for name, table in (*tables, *((JUDGES, judge) for judge in judges)):
        lines += ["", f"[[{name}]]", *_lines(table, folder)]
    with atomic_write(path) as out:
        out.write("".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace"))


def _lines(values: Mapping[str, Any], folder: Path) -> list[str]:
    """`key = value`; what is None is left out, paths are those from the folder."""
    lines = []
    for key, value in values.items():
        if isinstance(value, Path):
            with suppress(ValueError):  # on another drive
                value = os.path.relpath(value, folder)
            value = str(value)
        if value is not None:
            # Texts, numbers, truth and lists are written alike in TOML and JSON, but for one character.
            lines.append(f"{key} = {json.dumps(value, ensure_ascii=False)}".replace("\x7f", "\\u007f"))
    return lines
