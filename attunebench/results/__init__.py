"""Result files, made and read: `load_results(folder)`. Everything that knows what is in one is in this package."""

from attunebench.results.folder import ResultSet, load_results

__all__ = ["ResultSet", "load_results"]
