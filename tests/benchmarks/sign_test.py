"""The interval of paired ratios that are independent of each other."""

from __future__ import annotations

import math
from collections.abc import Sequence

from jaxtui.core.model.measurement import Interval
from jaxtui.core.stats import quantile


def sign_test_interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Distribution-free interval for the median: order statistics of a sign test.

    The k-th smallest and k-th largest value, with the largest k for which
    ``2 · P(Binomial(n, ½) < k) ≤ 1 − confidence``. With fewer values than the
    confidence needs (six for 95 %) this is the minimum and the maximum.
    """
    ordered = sorted(values)
    n = len(ordered)
    tail, k = 0.0, 0
    for successes in range(n // 2):
        tail += math.comb(n, successes) / 2**n
        if 2 * tail > 1 - confidence:
            break
        k = successes + 1
    index = max(k - 1, 0)
    low, high = ordered[index], ordered[n - 1 - index]
    return Interval(low, quantile(ordered, 0.5), high, confidence)
