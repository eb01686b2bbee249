"""One look at the machine, before JAX is touched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jaxtui.machine import files, holders, locks, nodes, pci, plugins
from jaxtui.model import Holder

_RELEVANT = (
    "JAX_PLATFORMS",
    "JAX_PLATFORM_NAME",
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "TPU_VISIBLE_CHIPS",
    "TPU_VISIBLE_DEVICES",
    "TPU_ACCELERATOR_TYPE",
    "TPU_WORKER_ID",
    "TPU_WORKER_HOSTNAMES",
    "TPU_PROCESS_BOUNDS",
    "TPU_CHIPS_PER_PROCESS_BOUNDS",
    "MEGASCALE_NUM_SLICES",
    "XLA_PYTHON_CLIENT_PREALLOCATE",
    "XLA_CLIENT_MEM_FRACTION",
    "XLA_PYTHON_CLIENT_MEM_FRACTION",
)
"""Variables that decide which devices JAX gets and how much of them."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What can be seen of the accelerators without asking JAX."""

    chips: tuple[pci.Chip, ...] = ()
    nodes: tuple[nodes.Node, ...] = ()
    holders: tuple[Holder, ...] = ()
    hidden_processes: int = 0
    """Processes that this user may not look into."""
    lock_holders: tuple[Holder, ...] = ()
    """Processes that have libtpu's lock."""
    packages: plugins.Packages | None = None
    """``None`` where there is no accelerator that would need one."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """The variables that decide which devices JAX gets."""
    hugepages: str = ""
    """The chosen mode of transparent hugepages: ``always``, ``madvise``, ``never``."""

    def of(self, maker: pci.Maker) -> tuple[pci.Chip, ...]:
        """The chips of one maker."""
        return tuple(chip for chip in self.chips if chip.maker == maker)


def survey(environment: Mapping[str, str], root: Path = Path("/")) -> Survey:
    """Look at /sys, /dev and /proc; nothing is opened, imported or started.

    A machine without accelerators costs a millisecond: its processes and packages are
    not looked through.

    Args:
        environment: the environment of the process in which JAX will run.
        root: where sys, dev, proc and tmp are.
    """
    chips = pci.chips(root / "sys")
    found = nodes.nodes(root / "dev")
    relevant = {name: environment[name] for name in _RELEVANT if name in environment}
    if not chips and not found:
        return Survey(environment=relevant)
    looked = holders.search(root / "proc")
    return Survey(
        chips=chips,
        nodes=found,
        holders=looked.holders,
        hidden_processes=looked.hidden,
        lock_holders=tuple(
            holders.holder(pid, root / "proc") for pid in locks.lock_holders(root)
        ),
        packages=plugins.packages(),
        environment=relevant,
        hugepages=_hugepages(root / "sys"),
    )


def _hugepages(sys: Path) -> str:
    modes = files.text(sys / "kernel/mm/transparent_hugepage/enabled")
    return modes.partition("[")[2].partition("]")[0]
