"""A call's messages as the framework takes them: through a chat template, or as plain text where there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from attunebench.errors import DataError
from attunebench.protocol.calls import Message

Chat = list[dict[str, str]]
Template = Callable[[Chat], Any]
"""Makes of a chat what the model takes: a string, or a form of the framework's own for servers with a chat API."""

ANSWER = "Answer:"
"""The last line of a plain prompt, behind which a model without a chat template goes on."""


def plain(messages: Sequence[Message], instruction: str = "") -> str:
    """The user's own instruction, system message and user message below each other, and a line for the answer."""
    texts = [message.content.strip() for message in messages]
    return "\n\n".join([*_given(instruction), *texts, ANSWER]) + "\n"


class Templated:
    """Puts messages through a chat template.

    Many templates know no system role: some refuse it, and the framework then leaves that message out without a word
    to the task; some drop it themselves. What a model is told would be gone, so it then goes into the user's message.
    """

    def __init__(self, template: Template, instruction: str = "") -> None:
        self._template = template
        self._instruction = instruction
        self._folds: bool | None = None

    def __call__(self, messages: Sequence[Message]) -> Any:
        """The prompt. Raises DataError where the template leaves out what the model has to be told."""
        if self._folds is None:
            self._folds = not self._keeps(messages, folded=False)
            if self._folds and not self._keeps(messages, folded=True):
                raise DataError(
                    "The model's chat template leaves out part of the prompt; "
                    "give another with --apply_chat_template NAME, or none."
                )
        return self._template(self._chat(messages, folded=self._folds))

    def _keeps(self, messages: Sequence[Message], *, folded: bool) -> bool:
        # One line is enough to know it by, and has no line break that a template's own form would spell otherwise.
        line = messages[0].content.strip().splitlines()[0]
        return line in str(self._template(self._chat(messages, folded=folded)))

    def _chat(self, messages: Sequence[Message], *, folded: bool) -> Chat:
        system, *rest = messages
        told = "\n\n".join([*_given(self._instruction), system.content])
        if not folded:
            return [{"role": "system", "content": told}, *(_entry(message) for message in rest)]
        first, *others = rest
        return [
            {"role": first.role, "content": f"{told}\n\n{first.content}"},
            *(_entry(message) for message in others),
        ]


def _given(instruction: str) -> list[str]:
    return [instruction.strip()] if instruction.strip() else []


def _entry(message: Message) -> dict[str, str]:
    return {"role": message.role, "content": message.content}
