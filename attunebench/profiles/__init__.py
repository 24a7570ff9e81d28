"""Predicting a participant's profile from the conversation alone, and what such predictions are worth. Experimental."""

from attunebench.profiles.running import ProfileScores, ProfileTask, predict_profiles, score_profiles

__all__ = ["ProfileScores", "ProfileTask", "predict_profiles", "score_profiles"]
