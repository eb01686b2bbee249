"""Host buffers that XLA's CPU client takes over without a copy."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxtui.tasks.inputs import ALIGNMENT


def aligned_copy(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    room = np.empty(array.nbytes + ALIGNMENT, np.uint8)
    start = -room.ctypes.data % ALIGNMENT
    part = room[start : start + array.nbytes]
    copy: np.ndarray[Any, Any] = part.view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy
