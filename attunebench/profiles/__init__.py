"""Predicting a participant's profile from the conversation alone, and what such predictions are worth. Experimental."""

from attunebench.profiles.running import ProfileTask, predict_profiles, score_profiles

__all__ = ["ProfileTask", "predict_profiles", "score_profiles"]
