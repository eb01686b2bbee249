"""One look at the machine, before JAX is touched."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import field

from jaxtui.machine import hardware, packages, processes
from jaxtui.machine.hardware import NAMES, Chip, Maker, Node
from jaxtui.machine.packages import Packages
from jaxtui.machine.processes import Lock
from jaxtui.model import Holder, Record

VISIBLE: dict[Maker, tuple[str, ...]] = {
    "tpu": ("TPU_VISIBLE_CHIPS", "TPU_VISIBLE_DEVICES"),
    "cuda": ("CUDA_VISIBLE_DEVICES",),
    "rocm": ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
}
"""Variables that list the chips which JAX may use."""

TPU_BOUNDS = ("TPU_PROCESS_BOUNDS", "TPU_CHIPS_PER_PROCESS_BOUNDS")
"""Variables that give a process a part of a host's chips, by shape."""

_RELEVANT = (
    "JAX_PLATFORMS",
    "JAX_PLATFORM_NAME",
    *dict.fromkeys(name for names in VISIBLE.values() for name in names),
    *TPU_BOUNDS,
    "TPU_ACCELERATOR_TYPE",
    "TPU_WORKER_ID",
    "TPU_WORKER_HOSTNAMES",
    "MEGASCALE_NUM_SLICES",
    "XLA_PYTHON_CLIENT_PREALLOCATE",
    "XLA_CLIENT_MEM_FRACTION",
    "XLA_PYTHON_CLIENT_MEM_FRACTION",
)
"""Variables that decide which devices JAX gets and how much of them."""

PLATFORMS: dict[Maker, tuple[str, ...]] = {
    "tpu": ("tpu",),
    "cuda": ("gpu", "cuda"),
    "rocm": ("gpu", "rocm"),
}
"""How JAX calls the platform of each maker, also in JAX_PLATFORMS."""

MAKERS = tuple(PLATFORMS)

_SURE_NODES: dict[Maker, str] = {
    "tpu": "/dev/accel",
    "cuda": "/dev/nvidia",
    "rocm": "/dev/kfd",
}
"""Device files that no other hardware has; a vfio file may belong to anything."""


_CONTAINER_MARKS = (".dockerenv", "run/.containerenv")

_HIDEPID = re.compile(r"hidepid=(?:[124]|noaccess|invisible|ptraceable)")


class Survey(Record, frozen=True):
    """What can be seen of the accelerators without asking JAX."""

    chips: tuple[Chip, ...] = ()
    nodes: tuple[Node, ...] = ()
    holders: tuple[Holder, ...] = ()
    hidden_processes: int = 0
    """Processes that this user may not look into."""
    hidepid: bool = False
    """/proc leaves out processes of other users."""
    container: bool = False
    """This is known to be a container: it shows a part of its host."""
    lock: Lock = Lock()
    """Of libtpu."""
    packages: Packages | None = None
    """``None`` where there is no accelerator that would need one."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """The variables that decide which devices JAX gets."""
    hugepages: str = ""
    """The chosen mode of transparent hugepages: ``always``, ``madvise``, ``never``."""

    def of(self, maker: Maker) -> tuple[Chip, ...]:
        return tuple(chip for chip in self.chips if chip.maker == maker)

    def nodes_of(self, maker: Maker) -> tuple[Node, ...]:
        """The device files of one maker; a vfio file counts where there is a TPU."""
        sure = _SURE_NODES[maker]
        return tuple(
            node
            for node in self.nodes
            if node.maker == maker and (node.path.startswith(sure) or self.of(maker))
        )

    def openable(self, maker: Maker) -> int:
        """The chips of one maker that have a device file of their own."""
        return sum(node.path[-1].isdigit() for node in self.nodes_of(maker))

    def present(self, maker: Maker) -> str:
        """What there is of one maker, in words; empty if there is nothing.

        A container or a virtual machine may hide the bus and show the device files.
        """
        if chips := self.of(maker):
            return hardware.in_words(chips)
        if found := self.nodes_of(maker):
            article = "a" if maker == "tpu" else "an"
            return f"{article} {NAMES[maker]} ({found[0].path})"
        return ""

    @property
    def platforms(self) -> tuple[str, ...]:
        """The platforms that JAX_PLATFORMS names; empty if JAX chooses by itself."""
        names = self.environment.get("JAX_PLATFORMS", "").split(",")
        return tuple(name.strip() for name in names if name.strip())

    def wanted(self, maker: Maker) -> bool:
        """Whether JAX will try to use this maker's accelerators."""
        return not self.platforms or bool(set(self.platforms) & set(PLATFORMS[maker]))

    @property
    def hardware(self) -> str:
        """What JAX is about to initialise, in words: ``8 chips TPU v5e``."""
        found = [self.present(maker) for maker in MAKERS if self.wanted(maker)]
        if words := " and ".join(filter(None, found)):
            return words
        if accelerators := [name for name in self.platforms if name != "cpu"]:
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
    chips = hardware.chips(root / "sys")
    nodes = tuple(hardware.nodes(root / "dev"))
    relevant = {name: environment[name] for name in _RELEVANT if name in environment}
    if not chips and not nodes:
        return Survey(environment=relevant)
    holders, hidden = processes.holders(root / "proc")
    modes = root / "sys/kernel/mm/transparent_hugepage/enabled"
    return Survey(
        chips=chips,
        nodes=nodes,
        holders=holders,
        hidden_processes=hidden,
        hidepid=_hides_processes(root),
        container="KUBERNETES_SERVICE_HOST" in environment
        or any((root / mark).exists() for mark in _CONTAINER_MARKS),
        lock=processes.lock(root),
        packages=packages.installed(),
        environment=relevant,
        hugepages=hardware.read_text(modes).partition("[")[2].partition("]")[0],
    )


def _hides_processes(root: Path) -> bool:
    """Whether /proc is mounted so that it leaves out processes of other users."""
    mounts = hardware.read_text(root / "proc/mounts").splitlines()
    return any(
        len(words) > 3 and words[1] == "/proc" and _HIDEPID.search(words[3])
        for words in map(str.split, mounts)
    )
