"""What a file that was given as scores holds instead, and what to do: people mix up our own files before any others'.

Owns the signs by which a file is known. Reads no file and says nothing of one that is broken.
"""

from __future__ import annotations

from typing import Any

from attunebench.results.parsing import kind_of

_OTHER_TOOLS = {
    "lm-evaluation-harness": frozenset(("results", "configs")),
    "Inspect AI": frozenset(("eval", "plan")),
    "HELM": frozenset(("adapter_spec", "request_states")),
}
"""Tool → keys that its output has together."""
_NAME = "name the one that `attune-bench score` wrote"


def instead_of_scores(content: Any) -> str:
    """The end of a sentence "FILE is not a scores file…", without the final stop, for JSON that is none."""
    if not content and isinstance(content, (dict, list)):
        return f" but empty; {_NAME}"
    keys = content.keys() if isinstance(content, dict) else frozenset()
    if "turns" in keys and kind_of(content) == "result":
        return " but the result of one conversation; `attune-bench score --results` makes scores of the folder it is in"
    if "turns" in keys:
        return f" but a conversation; {_NAME}, from results and conversations"
    if "schema_version" in keys and keys & {"analyses", "sections"}:
        return f" but what another command made of one; {_NAME}"
    tool = next((tool for tool, signs in _OTHER_TOOLS.items() if signs <= keys), None)
    if tool is not None:
        return f" but looks like output of {tool}, which measures something else; {_NAME}"
    return f" but a list; {_NAME}" if isinstance(content, list) else f"; {_NAME}"
