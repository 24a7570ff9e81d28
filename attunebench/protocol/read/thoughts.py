"""Thoughts in a reply: what is left when they are set aside. `MARKS` is the one table of marks. Behind a known final
mark only what follows counts; a lone closing mark ends thoughts that began with the text; an opening mark that is
never closed means that the reply was cut. Marks that nobody knows are only noticed (`has_unknown_marks`)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

_WORD = (
    r"(?:think(?:ing)?|thoughts?|thought[ _-]process|reason(?:ing)?|reflect(?:ion)?s?|analysis|scratch[ _-]?pad"
    r"|deliberation|rationale|monologue|contemplat(?:ion|or)|chain[ _-]of[ _-]thought|cot|brainstorm(?:ing)?|planning"
    r"|思考(?:过程)?|推理(?:过程)?)"
)
_NAME = rf"(?:[a-z]{{1,20}}[:_.-])?{_WORD}(?:[_-][a-z]{{1,20}})?"
_FINAL = (
    r"(?:(?:final[ _-]?)?(?:answer|response|output|reply|solution|result)|final|最终(?:答案|回答|回复)"
    r"|drafted_response|draft)"
)
_BEGIN, _END = r"(?:begin|start)(?:[ _▁-]of)?[ _▁-]", r"end(?:[ _▁-]of)?[ _▁-]"
_TOKEN = r"<[|｜]\s*"
_TOKEN_END = r"\s*[|｜]>"
_HERE = r"\W{0,4}Here(?:'|’| i)s my (?:thought|thinking|reasoning)"
_HERE_FINAL = r"Here(?:'|’| i)s my (?:final )?(?:response|answer|reply)\s*:[*_ ]*"
_ROLES = rf"{_TOKEN}im_start{_TOKEN_END}\s*"
_HEADER = (
    rf"(?:{_TOKEN}(?:start|im_start|start_header_id){_TOKEN_END}\s*assistant(?:{_TOKEN}end_header_id{_TOKEN_END})?\s*)"
)
_MESSAGE = rf"(?:[^<>{{}}]{{0,80}}(?:{_TOKEN}constrain{_TOKEN_END}[^<>{{}}]{{0,40}})?{_TOKEN}message{_TOKEN_END})?"


_STOP = (
    rf"{_TOKEN}(?:end|return|call|im_end|eot_id|eom_id|eos|eot|end_?of_?(?:text|turn|sentence)|end▁of▁sentence"
    rf"|END_OF_TURN_TOKEN|stop){_TOKEN_END}|</s>|<eos>|<end_of_turn>|\[EOS\]"
)
_ROLE = rf"{_HEADER}|{_TOKEN}(?:assistant|message|begin){_TOKEN_END}|<start_of_turn>model|<s>|<\s*{_NAME}\s*/\s*>"

MARKS: dict[str, dict[str, str]] = {
    "harmony channels": {
        "open": rf"{_HEADER}?{_TOKEN}channel{_TOKEN_END}\s*(?!final)\w+{_MESSAGE}",
        "final": rf"{_HEADER}?{_TOKEN}channel{_TOKEN_END}\s*final{_MESSAGE}",
    },
    "harmony channels without their tokens": {
        "open": r"\A(?:assistant\s*)?(?-i:analysis|commentary)(?=[^\W_]|[\"'“‘{\[(*<])",
        "final": r"(?-i:assistantfinal)|(?<=[.!?}\s])(?-i:assistant)\s+(?-i:final)(?=[A-Z{\[\"])",
    },
    "Cohere's without their tokens": {
        "open": r"\A(?-i:START_THINKING)", "close": r"(?-i:END_THINKING)", "final": r"(?-i:START_RESPONSE)",
        "end": r"(?-i:END_RESPONSE)",
    },
    "roles": {"open": rf"{_ROLES}{_NAME}\b", "final": rf"{_ROLES}{_FINAL}\b"},
    "folded parts": {
        "open": rf"<details\b[^<>]{{0,200}}type=.reasoning[^<>]{{0,200}}>|<details>\s*<summary>\s*{_WORD}\b",
        "close": r"</details>",
    },
    "Ollama": {"open": r"\AThinking\.\.\.\s(?=[\s\S]*\.\.\.done thinking)", "final": r"\.\.\.done thinking\.?"},
    "Gemma": {"open": r"<\|channel>\s*(?!final)\w*", "close": r"<channel\|>", "final": r"<\|channel>\s*final"},
    "inner": {"open": rf"{_TOKEN}inner_prefix{_TOKEN_END}", "close": rf"{_TOKEN}inner_suffix{_TOKEN_END}"},
    "special tokens": {
        "open": rf"{_TOKEN}(?:{_BEGIN})?{_NAME}{_TOKEN_END}",
        "close": rf"{_TOKEN}(?:(?:/|{_END}){_NAME}|{_NAME}[_-]end){_TOKEN_END}",
        "final": rf"{_TOKEN}(?:{_BEGIN}(?:{_FINAL}|box)|content|{_FINAL}){_TOKEN_END}",
        "end": rf"{_TOKEN}(?:/|{_END})(?:{_FINAL}|box){_TOKEN_END}",
    },
    "Kimi": {
        "open": rf"◁\s*{_NAME}\s*▷", "close": rf"◁\s*/\s*{_NAME}\s*▷", "final": rf"◁\s*{_FINAL}\s*▷",
        "end": rf"◁\s*/\s*{_FINAL}\s*▷",
    },
    "tags": {
        "open": rf"<\s*(?:{_BEGIN})?{_NAME}(?:\s[^<>]{{0,80}})?(?<!/)>",
        "close": rf"<\s*(?:/\s*|{_END}){_NAME}(?:\s[^<>]{{0,80}})?>",
        "answer": rf"<\s*{_FINAL}(?:\s[^<>]{{0,80}})?(?<!/)>",
        "end": rf"<\s*/\s*{_FINAL}\s*>",
    },
    "escaped tags": {"open": rf"&lt;\s*{_NAME}\s*&gt;", "close": rf"&lt;\s*/\s*{_NAME}\s*&gt;"},
    "brackets": {
        "open": rf"(?-i:\[THINK\])|\A\[\s*{_NAME}\s*\]|【\s*{_NAME}\s*】",
        "close": rf"\[\s*/\s*{_NAME}\s*\]|【\s*/\s*{_NAME}\s*】",
    },
    "Granite": {"open": rf"\A{_HERE}(?: process)?\s*:(?=[\s\S]*{_HERE_FINAL})", "final": _HERE_FINAL},
    "": {"stop": _STOP, "role": _ROLE},
}  # fmt: skip
"""How each family of models marks thoughts, as regular expressions: what opens and closes them; `final` begins the
answer and ends all thoughts, `end` ends the answer. `answer` is a tag that may also be one of the text's, `stop` a
model's own end of a message. Case and white space around names never matter."""
_BOLD = r"(?:\*\*|__)"


def _heading(words: str) -> str:
    """A line of Markdown that is a heading of these words, or the words in bold or plain before a colon."""
    words = rf"(?:my |the )?{words}"
    bold = rf"{_BOLD}{words}(?:[:\uff1a]{_BOLD}|{_BOLD}(?:[ \t]*[:\uff1a]|[ \t]*$))"
    return rf"(?:\#{{1,6}}[ \t]*{words}[ \t]*[:\uff1a]?[ \t]*$|{bold}|{words}[ \t]*[:\uff1a])"


_KINDS = ("final", "close", "open", "answer", "end", "stop", "role")
_GROUPS = (f"(?P<{kind}>{'|'.join(marks[kind] for marks in MARKS.values() if kind in marks)})" for kind in _KINDS)
_MARK = re.compile(
    rf"(?=[<\[◁【&]|assistant|here|analysis|commentary|thinking\.\.\.|\.\.\.done|start_|end_)(?:{'|'.join(_GROUPS)})",
    re.IGNORECASE,
)
_MARK_OR_OBJECT = re.compile(rf"{_MARK.pattern}|(?P<object>\{{)", re.IGNORECASE)
_NAME_IN = re.compile(rf"details|{_NAME}|channel|inner|assistant|commentary|here", re.IGNORECASE)
_BEGINS_WITH_HEADING = re.compile(rf"\s*(?:{_heading(_WORD)}|{_HERE} process\s*:)", re.IGNORECASE | re.MULTILINE)
_FINAL_HEADINGS = re.compile(rf"^[ \t]*{_heading(_FINAL)}", re.IGNORECASE | re.MULTILINE)

_FENCED = re.compile(rf"\s*(`{{3,}}|~{{3,}})[ \t]*{_NAME}[ \t]*\n[\s\S]*?\n[ \t]*\1[ \t]*\n(?=\s*\S)", re.IGNORECASE)
"""A first part in a fence that is named after thoughts."""
_PAIR = re.compile(
    r"\s*(?P<open><\|?|\[{1,2}|◁|【|⟨|&lt;|\{)\s*(?P<word>[^\W\d][\w:. -]{0,40}?)(?:\s[^<>\[\]]{0,80})?"
    r"\s*(?:\|?>|\]{1,2}|▷|】|⟩|&gt;|\})"
)
_UNKNOWN_TOKEN = re.compile(r"<[|｜][^<>|｜\n]{1,60}[|｜]>|<\|\w{1,40}>|<\w{1,40}\|>|◁[^◁▷\n]{1,60}▷")
_LONE_CLOSE = re.compile(r"<\s*/\s*([a-z][\w:.-]{0,40})\s*>", re.IGNORECASE)
_STRIPPED = re.compile(r"\s*(?-i:thought|thinking|analysis|reasoning)\s*\n", re.IGNORECASE)
_OF_TEXTS = frozenset(
    ("a", "b", "blockquote", "br", "code", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "li", "ol", "p",
     "pre", "q", "s", "small", "span", "strong", "sub", "sup", "u", "ul")
)  # fmt: skip
"""Tags that format a text."""


@dataclass(slots=True)
class _Sorting:
    """A text in the course of being read: what is kept, since where, and which thoughts are open."""

    text: str
    kept: list[str] = field(default_factory=list)
    start: int = 0
    inside: list[str] = field(default_factory=list)
    answering: bool = False
    over: bool = False
    """Whether the answer has ended, so that nothing counts until another begins."""
    holds_brace: bool = False
    first_brace: int = -1
    last_brace: int = -1

    def __post_init__(self) -> None:
        self.first_brace, self.last_brace = self.text.find("{"), self.text.rfind("{")

    def meet(self, kind: str, begin: int, end: int) -> None:
        """A mark that stands between `begin` and `end`."""
        mark = self.text[begin:end]
        if self.is_talk(kind, mark, begin, end):
            return
        self.keep_until(begin)
        self.start = end
        if kind in ("final", "answer"):
            self.restart(answering=True)
        elif kind == "open":
            name = _name_of(mark)
            if name not in self.inside:
                self.inside.append(name)
        elif kind == "close":
            self.close(_name_of(mark))
        elif kind == "stop":
            self.stop()
        elif kind == "end" and self.answering and not self.inside:
            self.over = True

    def is_talk(self, kind: str, mark: str, begin: int, end: int) -> bool:
        """Whether a mark only names the format: a mere tag or phrase inside thoughts, or behind the last object."""
        if kind == "answer":
            return bool(self.inside) or (0 <= self.first_brace < begin and self.last_brace < end)
        # Phrases and tags of plain texts too, where no thoughts are open.
        return kind != "open" and not self.inside and mark[:4].casefold() in ("here", "</de", "...d")

    def keep_until(self, end: int) -> None:
        if not self.inside and not self.over and (part := self.text[self.start : end]).strip():
            self.kept.append(part)
            self.holds_brace = self.holds_brace or "{" in part

    def restart(self, *, answering: bool) -> None:
        self.kept.clear()
        self.inside.clear()
        self.answering, self.over, self.holds_brace = answering, False, False

    def close(self, name: str) -> None:
        if not self.inside:
            self.restart(answering=False)
        elif name in self.inside:
            del self.inside[self.inside.index(name) :]
        else:
            self.inside.clear()

    def stop(self) -> None:
        """A model's own end of a message: of thoughts in a channel, of thoughts without a mark, or of the answer."""
        if "channel" in self.inside:
            self.inside.clear()
        elif not self.inside and self.kept:
            if self.last_brace >= self.start and not self.holds_brace:
                self.restart(answering=False)
            else:
                self.over = True


def _name_of(mark: str) -> str:
    match = _NAME_IN.search(mark)
    return match[0].casefold() if match else ""


def without_thoughts(text: str, object_end: Callable[[int], int] | None = None) -> str | None:
    """`text` without its thoughts; None if the last of them never closes.

    `object_end(start)` is where a valid object ends that begins at `start`, or `start` where there is none: a mark in a
    string of such an object is no mark. None for a text in which no object is looked for.
    """
    fenced = _FENCED.match(text)
    begin = fenced.end() if fenced else 0
    if _MARK.search(text, begin) is None:
        return _under_heading(text[begin:])
    sorting, pos = _Sorting(text, start=begin), begin
    while match := (_MARK if sorting.inside or object_end is None else _MARK_OR_OBJECT).search(text, pos):
        pos = match.end()
        kind = match.lastgroup or ""
        if kind == "object":
            pos = max(pos, object_end(match.start())) if object_end is not None else pos
        else:
            sorting.meet(kind, match.start(), pos)
    if sorting.inside:
        return None
    sorting.keep_until(len(text))
    return _under_heading("\n".join(sorting.kept))


def _under_heading(text: str) -> str:
    """What stands under the last heading of an answer, in a text that begins under one of thoughts."""
    if not _BEGINS_WITH_HEADING.match(text):
        return text
    ends = [match.end() for match in _FINAL_HEADINGS.finditer(text)]
    if not ends or ("{" in text and "{" not in text[ends[-1] :]):
        return text
    return text[ends[-1] :].lstrip("*_ \t\n")


def spoken(value: str) -> str | None:
    """A text that was given as a value, without thoughts in it; None where it is nothing else.

    Inside a sentence of it the name of a mark is a word like others.
    """
    value = value.strip()
    said = without_thoughts(value)
    return said if said is not None or _MARK.match(value) else value


def has_unknown_marks(text: str) -> bool:
    """Whether a text that should be a draft holds what looks like marks of thoughts that no table knows."""
    if _UNKNOWN_TOKEN.search(text) or _BEGINS_WITH_HEADING.match(text) or _STRIPPED.match(text):
        return True
    if end_of_first_part(text):
        return True
    return any(
        name.casefold() not in _OF_TEXTS and not re.search(rf"<\s*{re.escape(name)}\b", text, re.IGNORECASE)
        for name in _LONE_CLOSE.findall(text)[:20]
    )


def end_of_first_part(text: str) -> int:
    """Where a part ends that the text begins with and that tags of one name enclose, unless they format; else 0."""
    begin = _PAIR.match(text)
    if begin is None or begin["word"].casefold() in _OF_TEXTS:
        return 0
    opening, word = re.escape(begin["open"]), re.escape(begin["word"])
    closing = re.compile(rf"{opening}\s*/\s*{word}\s*(?:\|?>|\]{{1,2}}|▷|】|⟩|&gt;|\}})", re.IGNORECASE)
    found = closing.search(text, begin.end())
    return found.end() if found else 0
