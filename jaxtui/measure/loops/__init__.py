"""Runs a loop of calls and watches when its results become ready."""

from __future__ import annotations

from jaxtui.measure.loops.running import run_loop

__all__ = ["run_loop"]
