"""The benchmark as a task of Inspect AI: Inspect asks, retries, caches and logs; this package plans, reads and scores.

`registry` is what Inspect finds by its entry point. `study`, `estimates` and `outputs` do not need Inspect; the others
import it and are imported by nothing but Inspect itself and `attune-bench import-inspect`.
"""
