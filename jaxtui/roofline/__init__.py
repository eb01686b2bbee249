"""The roofline model: what limits a case, and how near it comes to that limit.

Williams, Waterman and Patterson, "Roofline: an insightful visual performance model for
multicore architectures", CACM 52(4), 2009: a computation that does I flops per byte of
traffic reaches at most min(compute roof, I × bandwidth roof). Pure; no JAX.

``placing`` says where a case stands, ``words`` what that means, ``needs`` which roofs
some cases want, ``sizes`` which sizes say something, and ``figure``, the only one that
draws, makes the picture.
"""

from jaxtui.roofline.needs import needed
from jaxtui.roofline.placing import (
    Place,
    bandwidth_roof,
    compute_roof,
    compute_roofs,
    place,
    ridge,
)

__all__ = [
    "Place",
    "bandwidth_roof",
    "compute_roof",
    "compute_roofs",
    "needed",
    "place",
    "ridge",
]
