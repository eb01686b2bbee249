"""The real engine, looking for holders under FAKE_ROOT."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from jaxtui.core.engine.core import Core
from jaxtui.core.engine.server import main

if __name__ == "__main__":
    sys.exit(main(core=Core(Path(os.environ["FAKE_ROOT"]))))
