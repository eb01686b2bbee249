"""Times a case of the user's own function as those of the catalogue are timed."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import numpy as np

from jaxtui.measure import devices, diagnosis, notes, settings
from jaxtui.measure.accuracy import Accuracy
from jaxtui.measure.executable import ColdPath, Executable, InputPool
from jaxtui.measure.own import arguments, making
from jaxtui.measure.own.functions import Source
from jaxtui.measure.own.work import Counted
from jaxtui.measure.session import Session
from jaxtui.measure.timing import Facts, Timer
from jaxtui.model import Case, Note, PhaseStarted, PlannedCase, RunEvent, Sampled

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
        self._settings = settings.of_file(source.file or source.module)

    def prepare(self) -> Generator[RunEvent, None, None]:
        """Import and arguments, then the cold path."""
        with self._settings:
            yield PhaseStarted(index=self.index, phase="import")
            function = making.load(self._source, self._device)
            yield PhaseStarted(index=self.index, phase="inputs")
            self._path = making.cold_path(
                function, self.case, self._device, self._pool, self._seed
            )
            self._settle(self._path.executable.case)
            yield from super().prepare()

    def warm_up(self) -> None:
        """Under the settings of the file."""
        with self._settings:
            super().warm_up()

    def turn(self, seconds: float, *, bursts: bool) -> Sampled:
        """Under the settings of the file."""
        with self._settings:
            return super().turn(seconds, bursts=bursts)

    def _cold_path(self) -> ColdPath:
        return self._path

    def _settle(self, case: Case) -> None:
        """Size and dtype as they have turned out to be."""
        self.case = case
        self._planned = msgspec.structs.replace(
            self._planned, case=case, peak=making.peak_of(case, self._device)
        )

    def _check(self, executable: Executable) -> Facts:
        arrays = executable.result
        executable.result = None
        counted = self._path.counted
        known = counted.certain
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
        yield from self._settings.notes(self._source.file)
        if not all(map(_is_finite, arrays)):
            yield notes.not_finite()
        yield counted.note(self.case)
        yield from diagnosis.cold_notes(executable, on_cpu)


def _is_finite(array: Any) -> bool:
    inexact = jnp.issubdtype(array.dtype, np.inexact)
    return not inexact or bool(np.isfinite(array).all())
