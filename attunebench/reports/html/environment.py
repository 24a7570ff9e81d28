"""The templates and assets that pages and fragments are made of, and how text gets into them."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from attunebench.text import visible

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_HERE = "attunebench.reports.html"
_HEAD = re.compile(r"[:;] |[.] ")
"""What ends the head of a warning."""
_BACKTICKS = re.compile("`([^`]*)`")
SHORT = 34
"""Characters of a label of a heat map, which the table has whole."""


def render(template: str, **context: Any) -> str:
    """The template, filled in; texts are escaped, and what a terminal or a page would not show is made visible."""
    return environment().get_template(f"{template}.html").render(context)


def asset(name: str) -> str:
    """A style sheet or a script."""
    return resources.files(_HERE).joinpath("assets").joinpath(name).read_text("utf-8")


def frame(styles: Sequence[str], scripts: Sequence[str]) -> dict[str, str]:
    """What the head and the end of a page take: its style, its one script, and the hash that allows no other."""
    parts = "\n".join(asset(f"{name}.js") for name in scripts)
    script = f'"use strict";\n(() => {{\n{parts}\n}})();\n'
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    style = "".join(asset(f"{name}.css") for name in styles)
    return {"style": style, "script": script, "script_hash": f"sha256-{digest}"}


@cache
def environment() -> Environment:
    """Jinja's environment of the templates."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    environment.filters["thousands"] = lambda number: f"{number:,}"
    environment.filters["code"] = _code
    environment.filters["short"] = lambda label: label if len(label) <= SHORT else f"{label[:SHORT].rstrip()}…"
    environment.filters["head"] = lambda warning: _HEAD.split(warning)[0].rstrip(".")
    return environment


def _code(text: str) -> Markup:
    """The text as markup, with what stands between backticks as code."""
    from markupsafe import Markup, escape

    return Markup(_BACKTICKS.sub(r"<code>\1</code>", str(escape(visible(text)))))
