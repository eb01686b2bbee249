"""A process of its own that reads libtpu's SDK, and nothing of JAX."""

from __future__ import annotations

import json
import signal
import sys

MARK = "jaxtui:"
"""Begins the line with the answer, among whatever libtpu writes to stdout."""


def main() -> None:
    """Print the metrics that are known, by name: their values, or what went wrong.

    The arguments are the seconds after which the process ends by itself, should
    whoever waits for it be killed, and the names of the metrics.
    """
    signal.alarm(int(sys.argv[1]))
    from libtpu.sdk import tpumonitoring

    def read(name: str) -> list[str] | str:
        try:
            data = tpumonitoring.get_metric(name).data
            return [str(value) for value in (data() if callable(data) else data)]
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    supported = tpumonitoring.list_supported_metrics()
    found = {name: read(name) for name in sys.argv[2:] if name in supported}
    sys.stdout.write(f"{MARK}{json.dumps(found)}\n")
    sys.stdout.flush()
