"""Replies of people and models to the same histories, compared side by side by people and by judges (spec 10).

objects    what is in the files: histories, replies, pairs, verdicts
folder     the files of an arena: read, written, checked
work       what requests of both kinds have in common, as work for the engine of a run
asking     requests for replies and verdicts
table      verdicts as arrays: what every number is computed from
sampling   the settings of scores, the groups of raters, and what is resampled
contests   who beats whom, and the ratings that follow
score      all analyses: ratings, people, agreement, acts, bias, beside
"""
