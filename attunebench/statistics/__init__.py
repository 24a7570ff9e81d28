"""Intervals and tests on plain arrays. Knows no metric, no conversation and no file."""
