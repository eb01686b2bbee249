"""One look at the machine, before JAX is touched."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import field

from jaxtui.machine import files, holders, locks, nodes, pci, plugins
from jaxtui.machine.nodes import Node
from jaxtui.machine.words import NAMES
from jaxtui.model import Holder, Record

_RELEVANT = (
    "JAX_PLATFORMS",
    "JAX_PLATFORM_NAME",
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
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

PLATFORMS: dict[pci.Maker, tuple[str, ...]] = {
    "tpu": ("tpu",),
    "cuda": ("gpu", "cuda"),
    "rocm": ("gpu", "rocm"),
}
"""How JAX calls the platform of each maker, also in JAX_PLATFORMS."""

MAKERS = tuple(PLATFORMS)

_SURE_NODES: dict[pci.Maker, str] = {
    "tpu": "/dev/accel",
    "cuda": "/dev/nvidia",
    "rocm": "/dev/kfd",
}
"""Device files that no other hardware has; a vfio file may belong to anything."""


class Survey(Record, frozen=True):
    """What can be seen of the accelerators without asking JAX."""

    chips: tuple[pci.Chip, ...] = ()
    nodes: tuple[Node, ...] = ()
    holders: tuple[Holder, ...] = ()
    hidden_processes: int = 0
    """Processes that this user may not look into."""
    unseen: tuple[str, ...] = ()
    """Why some processes cannot be seen at all, in words."""
    container: bool = False
    """This is known to be a container: it shows a part of its host."""
    lock: locks.Lock = locks.Lock()
    """libtpu's lock."""
    lock_holders: tuple[Holder, ...] = ()
    """Processes that have it."""
    packages: plugins.Packages | None = None
    """``None`` where there is no accelerator that would need one."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """The variables that decide which devices JAX gets."""
    hugepages: str = ""
    """The chosen mode of transparent hugepages: ``always``, ``madvise``, ``never``."""

    def of(self, maker: pci.Maker) -> tuple[pci.Chip, ...]:
        """The chips of one maker."""
        return tuple(chip for chip in self.chips if chip.maker == maker)

    def nodes_of(self, maker: pci.Maker) -> tuple[Node, ...]:
        """The device files of one maker; a vfio file counts where there is a TPU."""
        sure = _SURE_NODES[maker]
        return tuple(
            node
            for node in self.nodes
            if node.maker == maker and (node.path.startswith(sure) or self.of(maker))
        )

    def present(self, maker: pci.Maker) -> str:
        """What there is of one maker, in words; empty if there is nothing.

        A container or a virtual machine may hide the bus and show the device files.
        """
        if chips := self.of(maker):
            return pci.in_words(chips)
        if found := self.nodes_of(maker):
            article = "a" if maker == "tpu" else "an"
            return f"{article} {NAMES[maker]} ({found[0].path})"
        return ""

    @property
    def asked(self) -> tuple[str, ...]:
        """The platforms that JAX_PLATFORMS names; empty if JAX chooses by itself."""
        return _listed(self.environment.get("JAX_PLATFORMS", ""))

    def wanted(self, maker: pci.Maker) -> bool:
        """Whether JAX will try to use this maker's accelerators."""
        return not self.asked or bool(set(self.asked) & set(PLATFORMS[maker]))

    @property
    def hardware(self) -> str:
        """What JAX is about to initialise, in words: ``8 chips TPU v5e``."""
        found = [self.present(maker) for maker in MAKERS if self.wanted(maker)]
        if words := " and ".join(filter(None, found)):
            return words
        if accelerators := [name for name in self.asked if name != "cpu"]:
            return " and ".join(accelerators)
        return "the CPU"


def survey(environment: Mapping[str, str], root: Path = Path("/")) -> Survey:
    """Look at /sys, /dev and /proc; no device is opened, and nothing is started.

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
    lock = locks.lock(root)
    return Survey(
        chips=chips,
        nodes=found,
        holders=looked.holders,
        hidden_processes=looked.hidden,
        unseen=holders.unseen(root),
        container=holders.in_container(environment, root),
        lock=lock,
        lock_holders=tuple(holders.holder(pid, root / "proc") for pid in lock.holders),
        packages=plugins.packages(),
        environment=relevant,
        hugepages=_hugepages(root / "sys"),
    )


def _listed(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())


def _hugepages(sys: Path) -> str:
    modes = files.text(sys / "kernel/mm/transparent_hugepage/enabled")
    return modes.partition("[")[2].partition("]")[0]
