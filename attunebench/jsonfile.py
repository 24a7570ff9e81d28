"""Reads one JSON file of a user's within bounds of size and depth, and says in one sentence why it could not. orjson
reads what is beyond doubt; the standard library's parser all else (NaN, 1e999, half surrogates, doubled keys)."""

from __future__ import annotations

import hashlib
import json
import math
import re
from itertools import chain
from pathlib import Path
from typing import Any

import orjson

from attunebench.errors import DataError
from attunebench.files import replaces_a_file
from attunebench.text import encodable

MAX_BYTES = 32 * 1024 * 1024
MAX_DEPTH = 64
_MAX_DIGITS = 30
_SHOWN = 60

_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_DIGITS_AS_0 = bytes.maketrans(b"123456789", b"0" * 9)
_BEYOND_64_BITS = b"0" * 19
_ZEROS = re.compile(rb"0+")


def read_json(path: Path) -> tuple[Any, str]:
    """The value in the file and the SHA-256 of its bytes in hex. Takes UTF-8 with or without BOM.

    Raises DataError with a sentence that names the file: unreadable, larger than `MAX_BYTES`, not UTF-8, not JSON,
    nested deeper than `MAX_DEPTH`, a number that is none (NaN, Infinity, 1e999), half a surrogate pair, a key that
    stands in one object twice with different values.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}).") from None
    if len(data) > MAX_BYTES:
        raise DataError(f"{path}: larger than {MAX_BYTES // 1024 // 1024} MB, the largest size that is read.")
    try:
        value = parse_json(data)
    except ValueError as error:
        raise DataError(f"{path}: {error}.") from None
    return value, hashlib.sha256(data).hexdigest()


def parse_json(data: bytes, *, lenient: bool = False) -> Any:
    """The value in `data`; ValueError says what is wrong with it, without a final stop.

    `lenient`: numbers that nobody can compute with (NaN, 1e999, hundreds of digits) are null, and halves of surrogate
    pairs become U+FFFD, for files in which one odd value must not cost all others.
    """
    try:
        value, is_text = _read_quickly(data), True
    except (ValueError, TypeError):  # a TypeError: nested deeper than orjson writes, less deep than it reads
        value = _read_carefully(data, _LENIENT if lenient else _STRICT)
        is_text = not (b"\\ud" in data or b"\\uD" in data) or (text := _dumped(value)) == encodable(text)
    if _may_be_deeper(data) and _is_deeper(value):
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    if is_text:
        return value
    if lenient:
        return json.loads(encodable(_dumped(value)))
    raise ValueError("holds an unpaired surrogate (\\ud800 to \\udfff)")


def data_in(path: Path) -> str | None:
    """What the file holds where that is input of this package; None for whatever else, which may be replaced."""
    if not replaces_a_file(path):  # a pipe would be waited for
        return None
    try:
        content, _ = read_json(path)
    except DataError:
        return None
    if not isinstance(content, dict):
        return None
    if "em_model" in content:
        return "a result"
    if isinstance(content.get("turns"), list):
        return "a conversation"
    return "a scores file" if isinstance(content.get("conversations"), list) and "metadata" in content else None


def dump_json(value: Any) -> bytes:
    """The value as JSON on one line. What orjson does not take (half surrogates, whole numbers beyond 64 bits) goes the
    way of the standard library."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value).encode()


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _read_quickly(data: bytes) -> Any:
    """The value; ValueError where orjson refuses the text, or may have read it otherwise than `_read_carefully` does:
    doubled keys, whole numbers beyond 64 bits."""
    value = orjson.loads(data)
    # A key that stands in one object twice takes its colon along; only an escaped colon could make up for it.
    if data.count(b":") != orjson.dumps(value).count(b":") or (b"\\" in data and b"\\u003" in data):
        raise ValueError
    digits, start = data.translate(_DIGITS_AS_0), 0
    while (start := digits.find(_BEYOND_64_BITS, start)) >= 0:
        if digits[max(start - 1, 0)] != ord("."):  # behind a point they are digits of a fraction
            raise ValueError
        start = _ZEROS.match(digits, start).end()  # type: ignore[union-attr]
    return value


def _read_carefully(data: bytes, decoder: json.JSONDecoder) -> Any:
    try:
        return decoder.decode(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 (byte {error.start}); save it as UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not valid JSON (line {error.lineno}, column {error.colno}: {error.msg})") from None
    except RecursionError:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):  # readers disagree about which of two values counts
        for key, value in pairs:
            if found[key] != value:
                raise ValueError(f"holds the key {key[:_SHOWN]!r} twice in one object, with different values")
    return found


def _decoder(*, lenient: bool) -> json.JSONDecoder:
    """Python's parser; the numbers that it takes and nobody can use are refused, or null."""

    def constant(name: str, why: str = "which is not JSON; write null where a number is unknown") -> None:
        if not lenient:
            raise ValueError(f"holds {name}, {why}")

    def whole(digits: str) -> int | None:
        if len(digits) > _MAX_DIGITS:
            constant(f"a whole number of {len(digits)} digits", "which is not a number")
            return None
        return int(digits)

    def fraction(digits: str) -> float | None:
        if math.isinf(float(digits)):
            constant(digits[:_MAX_DIGITS], "which is out of range")
            return None
        return float(digits)

    return json.JSONDecoder(object_pairs_hook=_object, parse_constant=constant, parse_int=whole, parse_float=fraction)


_STRICT, _LENIENT = _decoder(lenient=False), _decoder(lenient=True)


def _may_be_deeper(data: bytes) -> bool:
    """Cheap, and never wrong when it says no: innermost pairs vanish, one level a round. Brackets in texts mislead."""
    brackets = data.translate(None, _NOT_BRACKETS)
    for _ in range(MAX_DEPTH):
        if not brackets:
            return False
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    return bool(brackets)


def _is_deeper(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        inner = (v.values() if isinstance(v, dict) else v for v in level if isinstance(v, (dict, list)))
        level = list(chain.from_iterable(inner))
    return bool(level)
