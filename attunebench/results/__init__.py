"""Result files, read: `load_results(folder)`. What a run writes is for `protocol` and `runner` to know."""

from attunebench.results.reading import ResultSet, load_results

__all__ = ["ResultSet", "load_results"]
