"""Runs a program as it is, in this process, and writes down how it times itself.

``clocks`` tells what it reads, ``recording`` what the device did meanwhile, ``watch``
what else it does, and puts all that together.
"""

from __future__ import annotations

import sys
from pathlib import Path

from jaxtui.core.model.base import encoded
from jaxtui.features.audit.measure.watch import Watch
from jaxtui.tasks import script


def main() -> int:
    """Run a program under watch: ``RESULT script.py [ARGS]…``; returns its status."""
    result, *arguments = sys.argv[1:]
    watch = Watch()
    watch.install()

    def ended() -> None:
        Path(result).write_bytes(encoded(watch.witness()))

    return script.run(arguments, ended)
