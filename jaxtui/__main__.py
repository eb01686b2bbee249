"""``jaxtui`` and ``python -m jaxtui``."""

from __future__ import annotations

import os
import signal
import sys

if __name__ == "__main__":
    # ``-m`` has put the working directory first. What Python had to import until here
    # came from there already; the command ``jaxtui`` is free of that.
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        if sys.path[0] == os.getcwd() != home:
            del sys.path[0]
    except OSError:  # it is deleted
        pass


def main() -> int:
    """Run the command line of this process, and return its exit code."""
    # Until ``cli`` takes note of signals nothing can be lost, and Python would answer
    # Ctrl-C with a traceback. Whoever started this may have it ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda number, _: os._exit(128 + number))
    # Only now: it takes a tenth of a second.
    from jaxtui import cli

    # Where stdin, stdout or stderr is closed, no pipe of an engine may take its number.
    while (spare := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    os.close(spare)
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
