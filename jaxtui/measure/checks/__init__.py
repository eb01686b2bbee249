"""The tests of the health check: they measure, and judge nothing."""

from jaxtui.measure.checks.run import run_check

__all__ = ["run_check"]
