"""The real engine, looking for holders under FAKE_ROOT."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from jaxtui.engine.core import JaxCore
from jaxtui.engine.entry import main

if __name__ == "__main__":
    sys.exit(main(core=JaxCore(Path(os.environ["FAKE_ROOT"]))))
