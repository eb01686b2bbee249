"""Runs a program as it is, in this process, and writes down how it times itself.

``clocks`` tells what it reads, ``recording`` what the device did meanwhile, ``watch``
what else it does, and puts all that together.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import msgspec

from jaxtui.measure import script
from jaxtui.measure.audit.watch import Watch

ASKS = (signal.SIGTERM, signal.SIGHUP)
"""What would end the program before it could be told what was seen."""


def main() -> int:
    """Run a program under watch: ``RESULT script.py [ARGS]…``; returns its status."""
    result, *arguments = sys.argv[1:]
    watch = Watch()
    watch.install()

    def ended() -> None:
        # What was seen is written whole, however often Ctrl-C comes.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for number in ASKS:
            if signal.getsignal(number) is broken_off:
                signal.signal(number, signal.SIG_DFL)
        record = watch.witness()
        Path(result).write_bytes(msgspec.json.encode(record))

    def broken_off(number: int, frame: object) -> None:
        ended()
        os.kill(os.getpid(), number)

    for number in ASKS:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, broken_off)
    return script.run(arguments, ended)
