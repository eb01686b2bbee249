"""``jaxtui`` and ``python -m jaxtui``."""

from __future__ import annotations

import os
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

from jaxtui import cli


def main() -> int:
    """Run the command line of this process, and return its exit code."""
    # Where stdin, stdout or stderr is closed, no pipe of an engine may take its number.
    while (spare := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    os.close(spare)
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
