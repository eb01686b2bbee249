"""The tests of the health check: they measure, and judge nothing."""
