"""The benchmark as a task of Inspect AI: Inspect asks, retries, caches and logs; this package plans, reads and scores.

Imported by nothing but Inspect itself.
"""
