"""Views of a run: what was measured, turned into pictures."""
