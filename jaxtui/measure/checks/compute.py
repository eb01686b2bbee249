"""Matrix products in every dtype that matters on a chip: its FLOP/s."""

from __future__ import annotations

from collections.abc import Iterator

import jax

from jaxtui import format as fmt
from jaxtui.measure import ops
from jaxtui.measure.checks import expectations, products, rates
from jaxtui.measure.checks.again import looked_at_again
from jaxtui.measure.checks.attempts import attempt
from jaxtui.measure.checks.base import Context, by_device, shares_silicon
from jaxtui.measure.checks.products import Kind
from jaxtui.measure.checks.setting import Setting, setting
from jaxtui.model import Reading, RunEvent


def test(context: Context) -> Iterator[RunEvent]:
    """Products one kind after the other, on all devices at once."""

    def job(device: jax.Device, seconds: float) -> Iterator[Reading]:
        chosen = setting(context, device)
        kinds = products.kinds(chosen.device, context.check.level)
        for kind in kinds:
            if context.stop():
                return
            yield from attempt(
                context,
                device,
                lambda kind=kind: _measured(  # type: ignore[misc]
                    context, device, chosen, kind, seconds / len(kinds)
                ),
            )

    events = by_device(context, "multiplying matrices", job)
    if len(context.devices) > 1 and shares_silicon(context.devices):
        events = looked_at_again(context, job, events)
    yield from events


def _measured(
    context: Context, device: jax.Device, chosen: Setting, kind: Kind, seconds: float
) -> Reading | None:
    case = products.case(kind, chosen)
    what = products.label(case, device.platform)
    prepared = rates.prepared(case, what, device, context.check.seed)
    rate = rates.throughput(prepared, seconds, context.stop)
    if rate is None:
        return None
    flops = ops.get(case.op).flops(case.size, case.dtype)
    assert flops is not None, "products have a count"
    per_call = rate.seconds
    return Reading(
        test=context.check.test,
        device=chosen.device.name,
        what=what,
        unit="flop/s",
        measured=flops / per_call.median,
        ci_low=flops / per_call.high,
        ci_high=flops / per_call.low,
        confidence=per_call.confidence,
        expected=expectations.product_peak(chosen.device, case.dtype, case.precision),
        disturbed=rate.disturbed,
        said=f"{fmt.seconds(per_call.median)} per call, {rate.counted}.",
    )
