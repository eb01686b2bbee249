"""Host buffers that XLA's CPU client takes over without a copy."""

from __future__ import annotations

import numpy as np

from jaxtui.tasks.inputs import ALIGNMENT


def aligned_copy(array: np.ndarray) -> np.ndarray:
    room = np.empty(array.nbytes + ALIGNMENT, np.uint8)
    start = -room.ctypes.data % ALIGNMENT
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy
