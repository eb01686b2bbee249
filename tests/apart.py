"""Running a test where it can do no harm to others."""

from __future__ import annotations

import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def in_a_thread(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test in a thread of its own.

    With jaxlib 0.6 a thread in which a host callback has raised runs every later
    computation inline.
    """

    @functools.wraps(test)
    def apart(**fixtures: Any) -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(test, **fixtures).result()

    return apart
