"""Commands as they are typed; what they keep goes to a folder of the test's own."""

from tests.commands.conftest import data, run

__all__ = ["data", "run"]
