"""Fifteen lessons that run on the learner's own machine."""
