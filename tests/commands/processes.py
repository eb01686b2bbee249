"""Commands as processes of their own, and what they leave behind."""

from __future__ import annotations

import os
import subprocess
import sys

DEADLINE_SECONDS = 180


def jaxtui(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "jaxtui", *arguments],
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        stdin=subprocess.DEVNULL,
        **options,  # type: ignore[call-overload]
    )


def children_of(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def alive(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")
