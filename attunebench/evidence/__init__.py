"""The words behind the numbers: what was said in a talk, what a model drafted, what it replied before it was read.

Scores hold answers and labels alone; this finds the texts again, for whoever wants to look. `schema` says what they
are and loads nothing, `folders` reads them from a run's folders. Nothing here scores, judges or draws.
"""

from attunebench.evidence.schema import Draft, Evidence, RawReply, TalkTurn

__all__ = ["Draft", "Evidence", "RawReply", "TalkTurn"]
