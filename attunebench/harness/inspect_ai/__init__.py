"""The benchmark as a task of Inspect AI: Inspect asks, retries, caches and logs; this package plans, reads and scores.

`study`, `outputs` and `logs` do not need Inspect; the others import it and are imported by nothing but Inspect itself.
"""
