"""Predicting a participant's profile from the conversation alone, and what such predictions are worth. Experimental.

task      what is asked, and whose result a file is: the engine does the rest
scoring   predictions and profiles → numbers, beside what can be had without reading anybody
tables    numbers → what every renderer shows

Nothing of it enters a score of the benchmark.
"""

from attunebench.profiles.running import ProfileScores, predict_profiles, score_profiles
from attunebench.profiles.task import ProfileTask

__all__ = ["ProfileScores", "ProfileTask", "predict_profiles", "score_profiles"]
