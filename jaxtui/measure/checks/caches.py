"""How large the last cache of the host is: arrays must not fit into it."""

from __future__ import annotations

from pathlib import Path

CPUS = Path("/sys/devices/system/cpu")
"""Where Linux describes the caches of each core."""

UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


def last_cache_bytes(root: Path = CPUS) -> int | None:
    """The last level of cache, all of its parts together.

    A processor of several dies, and a machine of several sockets, has one for each
    group of cores; a computation on all cores has all of them.

    Args:
        root: For tests: a directory like Linux's.

    Returns:
        ``None`` where the system does not say, as in some containers and on macOS.
    """
    parts: dict[tuple[int, str], int] = {}
    for folder in root.glob("cpu[0-9]*/cache/index[0-9]*"):
        size = _size(_read(folder / "size"))
        if size is not None and _read(folder / "type") != "Instruction":
            # Cores that share a part all describe the same one.
            shared = _read(folder / "shared_cpu_list") or folder.parts[-3]
            parts[_level(folder), shared] = size
    last = max((level for level, _ in parts), default=0)
    found = sum(size for (level, _), size in parts.items() if level == last)
    return found or None


def _level(folder: Path) -> int:
    text = _read(folder / "level")
    return int(text) if text.isdigit() else 0


def _size(text: str) -> int | None:
    """Bytes of what Linux writes as ``32768K``."""
    unit = UNITS.get(text[-1:])
    digits = text[:-1] if unit else text
    return int(digits) * (unit or 1) if digits.isdigit() else None


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
