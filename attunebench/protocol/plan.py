"""Which calls a conversation takes: (conversation, mode, codebook) in, calls out. Pure, and blind to every label.

Every call is a function of the data alone, so calls may go out in any order; only a judge waits for its draft.
Refuses to know who asks the calls, how often, and what comes back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from attunebench.codebook import Codebook
from attunebench.conversations.schema import Conversation, Turn
from attunebench.errors import UsageError
from attunebench.judging import JUDGE_SCALE, JudgeScale
from attunebench.prompts import fence, render
from attunebench.protocol import messages as show
from attunebench.protocol.calls import (
    BLIND,
    CHANGES,
    PREDICTED_PROFILE,
    Asked,
    Call,
    Kind,
    Message,
    Mode,
    PanasStrategy,
)
from attunebench.protocol.candidates import askable_comparisons, reply_assignment
from attunebench.protocol.modes import is_omniscient, is_verbose
from attunebench.protocol.schemas import schema_for


def plan_calls(
    conversations: Iterable[Conversation],
    modes: Sequence[Mode],
    codebook: Codebook,
    *,
    judges: int = 0,
    panas_strategy: PanasStrategy = "absolute",
    judge_scale: JudgeScale = JUDGE_SCALE,
) -> Iterator[Call]:
    """The calls of many conversations, mode by mode within each. Raises UsageError before the first call."""
    for mode in modes:
        _check(mode, panas_strategy)
    return (
        call
        for conversation in conversations
        for mode in modes
        for call in plan_conversation(
            conversation, mode, codebook, judges=judges, panas_strategy=panas_strategy, judge_scale=judge_scale
        )
    )


def plan_conversation(
    conversation: Conversation,
    mode: Mode,
    codebook: Codebook,
    *,
    judges: int = 0,
    panas_strategy: PanasStrategy = "absolute",
    judge_scale: JudgeScale = JUDGE_SCALE,
) -> tuple[Call, ...]:
    """All calls of one conversation in one mode, turn by turn, `post` last: (4 + judges)·T + 1 at most.

    Left out: `binary_hp` of a turn without applicable questions, `pairwise` of a turn without comparisons that can be
    asked (both replies have a text), judges on the relative scale of a turn that has neither a reference nor questions.
    Raises UsageError for a blind strategy with an omniscient mode, which would show what that strategy hides.
    """
    _check(mode, panas_strategy)
    return tuple(_Planner(conversation, mode, codebook, judges, panas_strategy, judge_scale).calls())


def plan_warnings(conversations: Iterable[Conversation], codebook: Codebook) -> tuple[str, ...]:
    """What a user should know once about the prompts of these conversations: one sentence per thing, or ()."""
    untold: Counter[str] = Counter()
    textless = 0
    for turn in (turn for conversation in conversations for turn in conversation.turns):
        pairwise = {c.question_id for c in turn.comparisons}
        untold.update(q for q in pairwise if not codebook.pairwise.get(q))
        untold.update(q for q in turn.applicable_questions if q not in codebook.binary)
        textless += len(turn.comparisons) - len(askable_comparisons(turn))
    warnings = [
        f"The codebook has no text for {question}, so its {turns} turns show the ID itself; "
        "--codebook FILE takes the text from a codebook of yours."
        for question, turns in sorted(untold.items())
    ]
    if textless:
        warnings.append(f"{textless} comparisons are not asked, since one of their two replies has no text.")
    return tuple(warnings)


def with_draft(call: Call, draft: str) -> Call:
    """A judge's call with the draft put in, between tags that it cannot close; its `slot` is then None.

    Raises ValueError for a call that has no place for a draft.
    """
    if call.slot is None:
        raise ValueError(f"{call.id} has no place for a draft")
    *before, last = call.messages
    text = last.content[: call.slot] + fence("draft", draft) + last.content[call.slot :]
    return replace(call, messages=(*before, replace(last, content=text)), slot=None)


def reask(call: Call, missing: Sequence[str]) -> tuple[Message, ...]:
    """The call's messages with one line more, naming what an earlier answer lacked (`Answer.missing`).

    The line joins the last message: some servers refuse two user messages in a row.
    """
    *before, last = call.messages
    line = render("reask", missing=_readable(call.asked, missing))
    return (*before, replace(last, content=f"{last.content}\n\n{line}"))


def _check(mode: Mode, panas_strategy: PanasStrategy) -> None:
    if panas_strategy in BLIND and is_omniscient(mode):
        seeing = "delta" if panas_strategy in CHANGES else "absolute"
        raise UsageError(
            f"The PANAS strategy {panas_strategy} hides the mood before the conversation, which the mode {mode} shows; "
            f"choose {seeing}, or a mode without background."
        )


class _Planner:
    """The calls of one conversation in one mode, with the transcript rendered once."""

    def __init__(
        self,
        conversation: Conversation,
        mode: Mode,
        codebook: Codebook,
        judges: int,
        panas: PanasStrategy,
        scale: JudgeScale,
    ) -> None:
        self._conversation = conversation
        self._mode = mode
        self._codebook = codebook
        self._judges = judges
        self._panas = panas
        self._scale = scale
        self._verbose = is_verbose(mode)
        known = show.background(conversation, codebook) if is_omniscient(mode) else None
        self._thread = show.Thread(conversation, background=known)
        self._judge_thread = show.Thread(conversation, background=None)

    def calls(self) -> Iterator[Call]:
        for position, turn in enumerate(self._conversation.turns):
            yield self._draft(position, turn)
            yield from self._judging(position, turn)
            yield self._review(position, turn)
            yield from self._binary_hp(position, turn)
            yield from self._pairwise(position, turn)
        yield self._post()

    def _draft(self, position: int, turn: Turn) -> Call:
        asked = Asked("draft", verbose=self._verbose)
        return self._call(turn.number, asked, position, False, show.draft_step(turn, asked))

    def _review(self, position: int, turn: Turn) -> Call:
        asked = Asked("review", questions=self._questions(turn, observer=True), verbose=self._verbose)
        return self._call(turn.number, asked, position, True, show.review_step(turn, asked, self._codebook))

    def _binary_hp(self, position: int, turn: Turn) -> Iterator[Call]:
        asked = Asked("binary_hp", questions=self._questions(turn, observer=False), verbose=self._verbose)
        if asked.questions:
            yield self._call(turn.number, asked, position, True, show.binary_hp_step(turn, asked))

    def _pairwise(self, position: int, turn: Turn) -> Iterator[Call]:
        assignment = reply_assignment(self._conversation, turn)
        label = {variant: label for label, variant in assignment.reply_labels.items()}
        sides = {i: (label[pair["A"]], label[pair["B"]]) for i, pair in assignment.pairwise_assignment.items()}
        asked = Asked("pairwise", comparisons=sides, verbose=self._verbose)
        if sides:
            step = show.pairwise_step(self._conversation, turn, asked, self._codebook)
            yield self._call(turn.number, asked, position, False, step)

    def _post(self) -> Call:
        asked = Asked("post", panas=self._panas, verbose=self._verbose)
        last = len(self._conversation.turns) - 1
        return self._call(0, asked, last, True, show.post_step(self._conversation, asked, self._codebook))

    def _judging(self, position: int, turn: Turn) -> Iterator[Call]:
        # A judge rates the same way in every mode, or a difference between modes would be partly the judge's own.
        asked = Asked(
            "judge",
            questions=self._questions(turn, observer=True),
            rated=self._scale == "quality" or show.has_reference(turn),
            scale=self._scale,
        )
        if not (self._judges and (asked.rated or asked.questions)):
            return
        thread = self._judge_thread.until(position, replied=False)
        system, user = show.messages("judge_system", thread, show.judge_step(turn, asked) + "\n")
        for judge in range(self._judges):
            yield Call(
                id=f"{self._id(turn.number, 'judge')}/{judge}",
                conversation_id=self._conversation.conversation_id,
                mode=self._mode,
                turn=turn.number,
                kind="judge",
                messages=(system, user),
                asked=asked,
                schema=schema_for(asked, self._codebook),
                judge=judge,
                needs=self._id(turn.number, "draft"),
                slot=len(user.content),
            )

    def _call(self, number: int, asked: Asked, position: int, replied: bool, step: str) -> Call:
        return Call(
            id=self._id(number, asked.kind),
            conversation_id=self._conversation.conversation_id,
            mode=self._mode,
            turn=number,
            kind=asked.kind,
            messages=show.messages("system", self._thread.until(position, replied=replied), step),
            asked=asked,
            schema=schema_for(asked, self._codebook),
        )

    def _questions(self, turn: Turn, *, observer: bool) -> dict[str, str]:
        known = self._codebook.binary
        return {
            i: i if i not in known else known[i].observer_text if observer else known[i].text
            for i in turn.applicable_questions
        }

    def _id(self, number: int, kind: Kind) -> str:
        return f"{self._conversation.conversation_id}/{self._mode}/{number}/{kind}"


def _readable(asked: Asked, missing: Sequence[str]) -> str:
    """`binary_om_assessment (B1, B13); emotion_tags`: a map of which nothing is there by its name alone."""
    groups: dict[str, list[str]] = {}
    for path in missing:
        group, _, item = path.rpartition(".")
        groups.setdefault(group or item, []).append(item if group else "")
    sizes = {
        "binary_om_assessment": len(asked.questions),
        "binary_human_prediction": len(asked.questions),
        "draft_binary_assessment": len(asked.questions),
        "pairwise_selections": len(asked.comparisons),
        PREDICTED_PROFILE: len(asked.traits),
    }
    return "; ".join(
        group if items == [""] or len(items) == sizes.get(group, 0) else f"{group} ({', '.join(items)})"
        for group, items in groups.items()
    )
