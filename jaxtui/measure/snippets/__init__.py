"""Runs snippets: what a learner reads, timed and shown part by part."""

from jaxtui.measure.snippets.run import run_snippet

__all__ = ["run_snippet"]
