"""The built-in baselines as models of Inspect: with `--model baseline/lexicon` all of it runs without key or network.

They alone are given the conversation with the call; whoever asks leaves both in `UNDER_WAY`.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from inspect_ai.model import GenerateConfig, ModelAPI, ModelOutput, ModelUsage, modelapi

from attunebench.backends.base import Request
from attunebench.backends.baselines import open_baseline
from attunebench.errors import UsageError
from attunebench.harness.inspect_ai.trouble import PrerequisiteError

UNDER_WAY: ContextVar[Request] = ContextVar("attunebench_request")
"""The request that is being made in this task of the event loop."""


@modelapi(name="baseline")
def baseline() -> type[ModelAPI]:
    """The provider `baseline`; its models are random, majority, no-change, lexicon and oracle."""
    return Baseline


class Baseline(ModelAPI):
    """One baseline."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 (Inspect's own signature; it is never changed)
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        try:
            self._backend = open_baseline(model_name)
        except UsageError as error:
            raise PrerequisiteError(str(error)) from None

    async def generate(self, input: Any, tools: Any, tool_choice: Any, config: GenerateConfig) -> ModelOutput:
        """The baseline's answer to the call under way. Raises PrerequisiteError outside the benchmark's task."""
        request = UNDER_WAY.get(None)
        if request is None:
            raise PrerequisiteError("The baselines of attunebench answer the task attunebench/attunebench alone.")
        reply = await self._backend.complete(request)
        output = ModelOutput.from_content(self.model_name, reply.text or "")
        output.usage = ModelUsage()
        return output
