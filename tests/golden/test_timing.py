"""From the durations of calls to measurements, on a clock that is made up.

The process is ``fake_time.py``: the order of calls, the events and every figure of each
of its scenarios are frozen. ``JAXTUI_GOLDEN=write`` writes them.
"""

from __future__ import annotations

import json
import subprocess
import sys

from tests.golden.frozen import HERE, check_frozen


def test_calls_events_and_measurements() -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "fake_time.py")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    check_frozen(HERE / "timing.json", text)
