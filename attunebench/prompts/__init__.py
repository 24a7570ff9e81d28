"""The wording of every prompt, as text files that people read as they are, and the renderer that fills them in.

A template is plain text with two marks. `{{name}}` is filled in. A line that begins with `[word]` belongs to the
prompts where that condition holds, one with `[!word]` to those where it does not; `[one !two]` asks for both.
Knows no conversation, call or model.
"""

from attunebench.prompts.render import fence, prompt_set_sha256, render, template_names

__all__ = ["fence", "prompt_set_sha256", "render", "template_names"]
