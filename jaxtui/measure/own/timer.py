"""Times a case of the user's own function as those of the catalogue are timed."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import numpy as np

from jaxtui.measure import devices, diagnosis, notes
from jaxtui.measure.accuracy import Accuracy
from jaxtui.measure.executable import ColdPath, Executable, InputPool
from jaxtui.measure.own import arguments, functions
from jaxtui.measure.own.arguments import Made
from jaxtui.measure.own.functions import Function, Source
from jaxtui.measure.own.paths import OwnNumpyPath, OwnPath, own_scope, resident
from jaxtui.measure.own.troubles import OwnError
from jaxtui.measure.own.work import NOTHING, Counted
from jaxtui.measure.peaks import peak
from jaxtui.measure.session import Session
from jaxtui.measure.timing import Facts, Timer
from jaxtui.model import Case, Note, Peak, PhaseStarted, PlannedCase, RunEvent

UNCHECKED = Accuracy(error=None, tolerance=None, rows_sampled=None, ok=True)
"""There is nothing to compare a result with."""


class OwnTimer(Timer):
    """Times a function of the user's own.

    Importing it and making its arguments come first, as phases without a clock; only
    then are the size and the dtype of the case known.
    """

    def __init__(
        self,
        index: int,
        planned: PlannedCase,
        source: Source,
        device: jax.Device | None,
        session: Session | None,
        pool: InputPool,
        seed: int,
    ) -> None:
        super().__init__(index, planned, device, session, pool, seed)
        self._source = source
        self._counted: Counted = NOTHING

    def prepare(self) -> Generator[RunEvent, None, None]:
        """Import and arguments, then the cold path."""
        yield PhaseStarted(index=self.index, phase="import")
        with self._on_device():
            function = functions.find(self._source)
        yield PhaseStarted(index=self.index, phase="inputs")
        made = self._made(function)
        self._settle(made)
        self._path = self._own_path(function, made)
        yield from super().prepare()

    def _cold_path(self) -> ColdPath:
        return self._path

    def _on_device(self) -> ExitStack:
        stack = ExitStack()
        if self._device is not None:
            stack.enter_context(jax.default_device(self._device))
        return stack

    def _scope(self) -> ExitStack:
        return own_scope(self.case, self._device) if self._device else ExitStack()

    def _made(self, function: Function) -> Made:
        case = self.case

        def make() -> Made:
            with self._scope():
                return arguments.make(function, case, self._seed)

        key = (case.op, case.size, str(case.params), self._device is None)
        return self._pool.once(("own", *key), make)

    def _settle(self, made: Made) -> None:
        """Size and dtype as they have turned out to be."""
        args: Any = made.hosts
        if self._device is not None:
            with self._scope():
                args = resident(self.case, made, self._device, self._pool)
        leaves = jax.tree.leaves(args)
        if not leaves and self.case.mode == "jit":
            raise OwnError(
                "Without arguments XLA could compute the result while compiling.",
                "Let the function take its data as arguments.",
            )
        self.case = msgspec.structs.replace(
            self.case, size=made.size, dtype=arguments.dtype_of(leaves)
        )
        self._planned = msgspec.structs.replace(
            self._planned, case=self.case, peak=_peak(self.case, self._device)
        )

    def _own_path(self, function: Function, made: Made) -> OwnPath | OwnNumpyPath:
        if self._device is None:
            return OwnNumpyPath(self.case, function, made)
        return OwnPath(self.case, function, made, self._device, self._pool)

    def _check(self, executable: Executable) -> Facts:
        arrays = executable.result
        executable.result = None
        counted = self._path.counted
        known = NOTHING if counted.loops else counted
        executable.compiled_flops = counted.flops
        return Facts(
            executable=executable,
            output_dtype=arguments.dtype_of(arrays),
            accuracy=UNCHECKED,
            notes=tuple(self._own_notes(executable, counted, arrays)),
            folded=False,
            flops=known.flops,
            bytes=known.bytes,
        )

    def _own_notes(
        self, executable: Executable, counted: Counted, arrays: list[Any]
    ) -> Iterator[Note]:
        on_cpu = self._device is not None and self._device.platform == "cpu"
        if on_cpu and devices.simulating():
            yield notes.simulated()
        if not all(map(_is_finite, arrays)):
            yield notes.not_finite()
        yield notes.own(
            counted=counted.flops is not None or counted.bytes is not None,
            loops=counted.loops,
            fused=self.case.mode == "jit",
        )
        yield from diagnosis.cold_notes(executable, on_cpu)


def _peak(case: Case, device: jax.Device | None) -> Peak | None:
    """Of matrix products: XLA's count does not say what kind of flops they are."""
    if device is None:
        return None
    return peak(device.device_kind, case.dtype, case.precision, matrix=True)


def _is_finite(array: Any) -> bool:
    inexact = jnp.issubdtype(array.dtype, np.inexact)
    return not inexact or bool(np.isfinite(array).all())
