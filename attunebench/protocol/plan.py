"""Which calls a conversation takes: (conversation, mode, codebook) in, calls out. Pure, and blind to every label.

Calls may go out in any order; only a judge waits for its draft."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from attunebench.codebook import Codebook
from attunebench.conversations.schema import Conversation, Turn
from attunebench.conversations.traits import TRAITS, Trait
from attunebench.errors import UsageError
from attunebench.judging import JUDGE_SCALE, JudgeScale
from attunebench.prompts import fence, render
from attunebench.protocol import messages as show
from attunebench.protocol.calls import (
    BLIND,
    CHANGES,
    DIMENSIONS,
    PREDICTED_PROFILE,
    Asked,
    Call,
    Kind,
    Message,
    Mode,
    PanasStrategy,
)
from attunebench.protocol.modes import is_omniscient, is_verbose
from attunebench.protocol.schemas import BINARY_MAPS, JUDGE_MAP, schema_for

PROFILE_TEMPLATES = ("profile_prediction/system", "profile_prediction/task", "reask", "transcript", "turn")
"""What the prompts of `plan_profile` are made of."""


def plan_calls(
    conversations: Iterable[Conversation],
    modes: Sequence[Mode],
    codebook: Codebook,
    *,
    judges: int = 0,
    panas_strategy: PanasStrategy = "absolute",
    judge_scale: JudgeScale = JUDGE_SCALE,
) -> Iterator[Call]:
    """The calls of many conversations, mode by mode within each. UsageError, before the first call, for a blind
    strategy with an omniscient mode, which would show what that strategy hides."""
    for mode in filter(is_omniscient, modes):
        if panas_strategy in BLIND:
            seeing = "delta" if panas_strategy in CHANGES else "absolute"
            raise UsageError(
                f"The PANAS strategy {panas_strategy} hides the mood before the conversation, which the mode {mode} "
                f"shows; choose {seeing}, or a mode without background."
            )
    return (
        call
        for conversation in conversations
        for mode in modes
        for call in _calls(conversation, mode, codebook, judges, panas_strategy, judge_scale)
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
    Raises what `plan_calls` raises.
    """
    planned = plan_calls(
        [conversation], [mode], codebook, judges=judges, panas_strategy=panas_strategy, judge_scale=judge_scale
    )
    return tuple(planned)


def plan_profile(conversation: Conversation, traits: tuple[Trait, ...] = TRAITS) -> Call:
    """The one call that asks for a participant's profile. Experimental.

    Its prompt is a function of the messages of the conversation alone: no label, no profile, no metadata.
    """
    seen = show.Thread(conversation, background=None).until(len(conversation.turns) - 1, replied=True)
    task = render("profile_prediction/task")
    asked = Asked("profile", traits=traits)
    shown = show.messages("profile_prediction/system", seen, task)
    return _call(conversation, "default", 0, asked, shown)


def plan_warnings(conversations: Iterable[Conversation], codebook: Codebook) -> tuple[str, ...]:
    """What a user should know once about the prompts of these conversations: one sentence per thing, or ()."""
    untold: Counter[str] = Counter()
    textless = 0
    for turn in (turn for conversation in conversations for turn in conversation.turns):
        pairwise = {c.question_id for c in turn.comparisons}
        untold.update(q for q in pairwise if not codebook.pairwise.get(q))
        untold.update(q for q in turn.applicable_questions if q not in codebook.binary)
        textless += len(turn.comparisons) - len(show.askable_comparisons(turn))
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


def show_prompt(
    conversation: Conversation,
    turn: int | None,
    kind: Kind,
    mode: Mode,
    codebook: Codebook,
    *,
    panas_strategy: PanasStrategy = "absolute",
    judge_scale: JudgeScale = JUDGE_SCALE,
    draft: str = "(the draft of the evaluated model)",
) -> str:
    """One prompt as text, exactly as it would be sent, each message under a line that names its role.

    `turn` is the turn's number; `post` and `profile` need none. A judge is shown judging `draft`. Raises UsageError
    where the conversation has no such turn, or where the turn takes no such call (no applicable questions, say).
    """
    if kind in ("post", "profile"):
        turn = 0
    else:
        check_turn(conversation, turn)
    if kind == "profile":
        planned: tuple[Call, ...] = (plan_profile(conversation),)
    else:
        planned = plan_conversation(
            conversation, mode, codebook, judges=1, panas_strategy=panas_strategy, judge_scale=judge_scale
        )
    call = next((call for call in planned if call.kind == kind and call.turn == turn), None)
    if call is None:
        raise UsageError(f"Turn {turn} of {conversation.conversation_id} has nothing for {kind} to ask.")
    if call.slot is not None:
        call = with_draft(call, draft)
    return as_text(call)


def as_text(call: Call) -> str:
    """The prompt of a call, exactly as it would be sent, each message under a line that names its role."""
    return "\n".join(f"=== {message.role} ===\n{message.content}" for message in call.messages) + "\n"


def check_turn(conversation: Conversation, turn: int | None) -> None:
    """Raises UsageError where the conversation has no turn of this number."""
    numbers = [entry.number for entry in conversation.turns]
    if turn not in numbers:
        asked = "A turn must be named" if turn is None else f"There is no turn {turn} in {conversation.conversation_id}"
        raise UsageError(f"{asked}; its turns are {', '.join(map(str, numbers))}.")


def _calls(
    conversation: Conversation, mode: Mode, codebook: Codebook, judges: int, panas: PanasStrategy, scale: JudgeScale
) -> Iterator[Call]:
    verbose = is_verbose(mode)
    known = show.background(conversation, codebook) if is_omniscient(mode) else None
    thread, judge_thread = (show.Thread(conversation, background=background) for background in (known, None))

    def call(turn: Turn, asked: Asked, seen: str, system: str = "system") -> Call:
        step = show.turn_step(conversation, turn, asked, codebook)
        return _call(conversation, mode, turn.number, asked, show.messages(system, seen, step))

    for position, turn in enumerate(conversation.turns):
        before, after = (thread.until(position, replied=replied) for replied in (False, True))
        asked_about = {i: codebook.binary.get(i) for i in turn.applicable_questions}
        observed = {i: entry.observer_text if entry else i for i, entry in asked_about.items()}
        worded = {i: entry.text if entry else i for i, entry in asked_about.items()}
        draft = call(turn, Asked("draft", verbose=verbose), before)
        yield draft
        # A judge rates the same way in every mode, or a difference between modes would be partly the judge's own.
        rated = scale == "quality" or show.has_reference(turn)
        if judges and (rated or observed):
            seen = judge_thread.until(position, replied=False)
            vote = call(turn, Asked("judge", questions=observed, rated=rated, scale=scale), seen, "judge_system")
            slot = len(vote.messages[-1].content)
            for judge in range(judges):
                yield replace(vote, id=f"{vote.id}/{judge}", judge=judge, needs=draft.id, slot=slot)
        yield call(turn, Asked("review", questions=observed, verbose=verbose), after)
        if worded:
            yield call(turn, Asked("binary_hp", questions=worded, verbose=verbose), after)
        label = {variant: label for label, variant in show.reply_labels(conversation, turn).items()}
        sides = {i: (label[c.a], label[c.b]) for i, c in show.askable_comparisons(turn).items()}
        if sides:
            yield call(turn, Asked("pairwise", comparisons=sides, verbose=verbose), before)
    asked = Asked("post", panas=panas, verbose=verbose)
    seen = thread.until(len(conversation.turns) - 1, replied=True)
    step = show.post_step(conversation, asked, codebook)
    yield _call(conversation, mode, 0, asked, show.messages("system", seen, step))


def _call(conversation: Conversation, mode: Mode, number: int, asked: Asked, shown: tuple[Message, ...]) -> Call:
    known_as = conversation.conversation_id
    name = f"{known_as}/{mode}/{number}/{asked.kind}"
    return Call(name, known_as, mode, number, asked.kind, shown, asked, schema_for(asked))


def _readable(asked: Asked, missing: Sequence[str]) -> str:
    """`binary_om_assessment (B1, B13); emotion_tags`: a map of which nothing is there by its name alone."""
    groups: dict[str, list[str]] = {}
    for path in missing:
        group, _, item = path.rpartition(".")
        groups.setdefault(group or item, []).append(item if group else "")
    sizes = dict.fromkeys((*BINARY_MAPS, JUDGE_MAP), len(asked.questions))
    sizes |= {
        "pairwise_selections": len(asked.comparisons),
        PREDICTED_PROFILE: len(asked.traits),
        "dimensions": len(DIMENSIONS),
    }
    return "; ".join(
        group if items == [""] or len(items) == sizes.get(group, 0) else f"{group} ({', '.join(items)})"
        for group, items in groups.items()
    )
