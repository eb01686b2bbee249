"""The cold paths of a function of the user's own: pytrees in, pytrees out."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import jax
import numpy as np

from jaxtui.measure import transfers
from jaxtui.measure.clocks import Call, loops_for
from jaxtui.measure.executable import (
    Executable,
    InputPool,
    StagedPath,
    Step,
    first_call,
)
from jaxtui.measure.own.arguments import WIDE, Made, is_key, specs
from jaxtui.measure.own.functions import Function, unseen
from jaxtui.measure.own.troubles import OwnError
from jaxtui.measure.own.work import NOTHING, Counted, counted
from jaxtui.measure.transfers import Transfer
from jaxtui.measure.x64 import enable_x64
from jaxtui.model import Case, Phase


def own_scope(case: Case, device: jax.Device) -> ExitStack:
    """The contexts of a case: 64-bit types if the file or an argument wants them.

    The file says so as any program does, with ``jax_enable_x64``.
    """
    typed = any(spec.dtype in WIDE for spec in specs(case))
    wide = typed or bool(jax.config.read("jax_enable_x64"))
    stack = ExitStack()
    stack.enter_context(enable_x64("float64" if wide else "float32"))
    stack.enter_context(jax.default_device(device))
    return stack


class OwnPath(StagedPath):
    """JAX's phases of a function that came from a file or a package."""

    def __init__(
        self,
        case: Case,
        function: Function,
        made: Made,
        device: jax.Device,
        pool: InputPool,
    ) -> None:
        self._function, self._made, self._pool = function, made, pool
        self.counted: Counted = NOTHING
        """What XLA counts, once it has compiled or lowered the function."""
        super().__init__(case, device, lambda: own_scope(case, device))

    def _hosts(self) -> tuple[Any, ...]:
        return self._made.hosts

    def _copies(self) -> Any:
        return self._made.copies

    def _resident(self) -> tuple[Any, ...]:
        return resident(self._case, self._made, self._device, self._pool)

    def _eager(self) -> Call:
        call, device = self._function.call, self._device
        if self._case.inputs == "device":
            return call

        def sending(*args: Any) -> Any:
            # NumPy's own operators would do the work on arguments that were not sent.
            return call(*jax.device_put(args, device))

        return sending

    def _form(self) -> Callable[..., Any]:
        return unseen(self._function)

    def _trace(self) -> Transfer:
        # What the function has jitted itself must be as cold as the function.
        jax.clear_caches()
        return super()._trace()

    def _compile(self) -> Transfer:
        taken = super()._compile()
        self.counted = counted(self._stage, loop=" while(")
        return taken

    def _count_kernels(self) -> int:
        """Also XLA's count, of the program before its kernels are fused."""
        try:
            traced = jax.jit(self._form()).trace(*self._resident())
            self.counted = counted(traced.lower(), loop="stablehlo.while")
        # What cannot be traced, because it decides on values, still runs eagerly.
        except Exception:
            return 1
        return max(1, len(traced.jaxpr.eqns))

    def _first(self) -> Transfer:
        if self._case.mode == "eager":
            self.executable.kernels = self._count_kernels()
            jax.clear_caches()
        return first_call(self.executable, keep=self._keep)

    def _keep(self, result: Any) -> list[Any]:
        """Choose the loops by the result, and fetch its arrays."""
        arrays = _arrays(result)
        if not arrays:
            raise OwnError(
                f"{self._function.name} returned no array of JAX, so there is nothing"
                " to wait for.",
                "Let it return what it computes. What NumPy computes is timed in the"
                f" mode numpy, as {self._function.name}_numpy.",
            )
        self.executable.loops = loops_for(result)
        return fetched(result)

    def _fetch(self) -> Transfer:
        executable = self.executable

        def fresh() -> list[jax.Array]:
            arrays = _arrays(executable.call(*executable.args))
            return [array for array in arrays if not is_key(array)]

        return transfers.to_host(fresh, jax.device_get)


class OwnNumpyPath:
    """NumPy's one cold phase: the first call of ``NAME_numpy``."""

    def __init__(self, case: Case, function: Function, made: Made) -> None:
        if function.numpy is None:
            raise OwnError(
                f"{function.name} has no mode numpy.",
                f"Define {function.name}_numpy beside it, or choose jit or eager.",
            )
        self.counted: Counted = NOTHING
        args = jax.tree.map(_for_numpy, made.hosts)
        self.executable = Executable(case=case, call=function.numpy, args=args)

    def steps(self) -> tuple[tuple[Phase, Step], ...]:
        """Just the first call."""
        return (("first_call", self._first),)

    def _first(self) -> Transfer:
        return first_call(self.executable, keep=fetched)


def resident(
    case: Case, made: Made, device: jax.Device, pool: InputPool
) -> tuple[Any, ...]:
    """The arguments on a device, sent once for all cases that share them.

    Of each mode its own: an eager call may donate what it is given, and so destroy it.
    """

    def send() -> tuple[Any, ...]:
        args: tuple[Any, ...] = jax.device_put(made.hosts, device)
        jax.block_until_ready(args)
        return args

    return pool.once(("resident", case.mode, id(made), device), send)


def fetched(result: Any) -> list[Any]:
    """The arrays of a result as NumPy has them; keys are left out."""
    leaves = [leaf for leaf in jax.tree.leaves(result) if not is_key(leaf)]
    return [np.asarray(leaf) for leaf in jax.device_get(leaves)]


def _arrays(result: Any) -> list[jax.Array]:
    return [leaf for leaf in jax.tree.leaves(result) if isinstance(leaf, jax.Array)]


def _for_numpy(leaf: Any) -> Any:
    """A copy of its own, because NumPy may change it; NumPy has no bfloat16."""
    if is_key(leaf):
        raise OwnError(
            "NumPy cannot take a key of jax.random.",
            "Let the arguments hold a seed, or the words of the key.",
        )
    if not isinstance(leaf, np.ndarray):
        return leaf
    return leaf.astype(np.float32) if leaf.dtype.kind == "V" else leaf.copy()
