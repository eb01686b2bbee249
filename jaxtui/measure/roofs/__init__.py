"""The roofs of a device: how fast it computes and moves data at best, measured here.

Which products and which copies say that is the health check's knowledge; here they take
turns until the best of each kind is known.
"""

from jaxtui.measure.roofs.run import run_roofs

__all__ = ["run_roofs"]
