"""``python -m jaxtui.engine``: the engine process, started by the client only."""

from __future__ import annotations

import os
import sys

import jaxtui

if __name__ == "__main__":
    # ``-m`` puts the current directory first, and somebody's random.py may lie there.
    if sys.path[0] == os.getcwd() != os.path.dirname(jaxtui.__path__[0]):
        del sys.path[0]
    from jaxtui.engine.entry import main

    sys.exit(main())
