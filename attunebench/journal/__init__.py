"""The journal of a results folder: every finished request with its reply, found again by the hash of what was asked.
Owns the files `_calls*.sqlite3` and the locks beside them; knows no prompt and no metric."""

from attunebench.journal.entries import Entry, Hasher, RequestHash, call_digest
from attunebench.journal.files import is_shared
from attunebench.journal.locks import claim
from attunebench.journal.store import Journal

__all__ = ["Entry", "Hasher", "Journal", "RequestHash", "call_digest", "claim", "is_shared"]
