"""A look at the machine, before JAX is touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import field

from jaxtui.core.model import Device, Holder, Record
from jaxtui.core.model.machine import chip_count
from jaxtui.machine import hardware, packages, processes
from jaxtui.machine.hardware import JETSON, NAMES, WSL, WSL_DRIVER, Chip, Maker, Node
from jaxtui.machine.packages import Packages
from jaxtui.machine.processes import Lock

VISIBLE: dict[Maker, tuple[str, ...]] = {
    "tpu": ("TPU_VISIBLE_CHIPS", "TPU_VISIBLE_DEVICES"),
    "cuda": ("CUDA_VISIBLE_DEVICES",),
    "rocm": ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
}
"""Variables that list the chips which JAX may use; the first one counts."""

PROCESSES, CHIPS_OF_PROCESS = "TPU_PROCESS_BOUNDS", "TPU_CHIPS_PER_PROCESS_BOUNDS"
"""Variables that give a process a part of a slice and of a host's chips, by shape."""

_CHOOSING = ("JAX_PLATFORMS", "JAX_PLATFORM_NAME")
"""Variables that name the platforms which JAX may use."""

_RELEVANT = (
    *_CHOOSING,
    *dict.fromkeys(name for names in VISIBLE.values() for name in names),
    PROCESSES,
    CHIPS_OF_PROCESS,
    "TPU_ACCELERATOR_TYPE",
    "TPU_WORKER_ID",
    "TPU_WORKER_HOSTNAMES",
    "TPU_PROCESS_ADDRESSES",
    "MEGASCALE_NUM_SLICES",
    "XLA_FLAGS",
)
"""Variables that decide which devices JAX gets and how much of them."""

PLATFORMS: dict[Maker, tuple[str, ...]] = {
    "tpu": ("tpu",),
    "cuda": ("gpu", "cuda"),
    "rocm": ("gpu", "rocm"),
}
"""JAX's names for the platform of each maker, also in JAX_PLATFORMS."""

GPU_PLATFORMS = frozenset(PLATFORMS["cuda"] + PLATFORMS["rocm"])

MAKERS = tuple(PLATFORMS)

_SURE_NODES: dict[Maker, tuple[str, ...]] = {
    "tpu": ("/dev/accel",),
    "cuda": ("/dev/nvidia", WSL, JETSON),
    "rocm": ("/dev/kfd",),
}
"""Device files that no other hardware has; a vfio file may belong to anything."""


class Count(Record, frozen=True):
    """The numbers of one maker's chips that JAX sees on this host, and should see."""

    found: int
    on_bus: int
    given: int
    """Chips that programs here can have: a container sees the whole bus of its host,
    and the device files of its share."""
    limits: tuple[str, ...] = ()
    """The variables that choose among them: ``CUDA_VISIBLE_DEVICES=0``."""
    missing: int = 0
    """Chips that are missing without a reason."""


class Survey(Record, frozen=True):
    """The visible facts about the accelerators, without JAX."""

    chips: tuple[Chip, ...] = ()
    nodes: tuple[Node, ...] = ()
    holders: tuple[Holder, ...] = ()
    lock: Lock = Lock()
    """The lock of libtpu."""
    packages: Packages | None = None
    """``None`` where there is no accelerator that would need one."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """The variables that decide which devices JAX gets."""
    wsl: bool = False
    """A GPU of Windows is here, and no driver for it."""

    @property
    def is_jetson(self) -> bool:
        return any(node.path == JETSON for node in self.nodes)

    def of(self, maker: Maker) -> tuple[Chip, ...]:
        return tuple(chip for chip in self.chips if chip.maker == maker)

    def nodes_of(self, maker: Maker) -> tuple[Node, ...]:
        return tuple(
            node
            for node in self.nodes
            if node.maker == maker and self._is_sure(maker, node.path)
        )

    def _is_sure(self, maker: Maker, path: str) -> bool:
        """Return whether a device file is the maker's; vfio is where a TPU is."""
        return path.startswith(_SURE_NODES[maker]) or bool(self.of(maker))

    def tpu_paths(self, holder: Holder) -> list[str]:
        """The device files of a TPU that a process has open."""
        return [
            path
            for path in holder.paths
            if hardware.maker_of(path) == "tpu" and self._is_sure("tpu", path)
        ]

    def present(self, maker: Maker) -> str:
        """Return the maker's hardware in words; empty if there is none.

        A container or a virtual machine may hide the bus and show the device files.
        """
        if chips := self.of(maker):
            return hardware.in_words(chips)
        if nodes := self.nodes_of(maker):
            article = "a" if maker == "tpu" else "an"
            return f"{article} {NAMES[maker]} ({nodes[0].path})"
        return ""

    @property
    def platforms(self) -> tuple[str, ...]:
        """The platforms that JAX_PLATFORMS names; empty if JAX chooses by itself."""
        return tuple(self._words("JAX_PLATFORMS"))

    def wanted(self, maker: Maker) -> bool:
        """Return whether JAX will try to use this maker's accelerators."""
        return not self.platforms or bool(set(self.platforms) & set(PLATFORMS[maker]))

    @property
    def wants_whole_tpu(self) -> bool:
        """Neither other platforms are chosen nor a share of the chips."""
        shares = any(name in self.environment for name in VISIBLE["tpu"])
        return self.wanted("tpu") and not shares

    def limits(self, maker: Maker) -> tuple[str, ...]:
        """The variables that choose among a maker's chips: ``NAME=value``."""
        names = [*VISIBLE[maker], *[CHIPS_OF_PROCESS] * (maker == "tpu")]
        return tuple(
            f"{name}={self.environment[name]}"
            for name in names
            if name in self.environment
        )

    def hidden_by(self, maker: Maker) -> str:
        """The variable that leaves JAX none of a maker's chips: ``NAME=value``."""
        for name in _CHOOSING:
            words = self._words(name)
            if words and not {*words} & {*PLATFORMS[maker]}:
                return f"{name}={self.environment[name]}"
        chosen = self.visible(maker)
        if chosen is not None and not [word for word in chosen if word[0] != "-"]:
            return self.limits(maker)[0]
        return ""

    def visible(self, maker: Maker) -> list[str] | None:
        """The chips that JAX may use, in its order, as numbers or names; ``None`` where
        the environment does not choose.
        """
        names = filter(self.environment.__contains__, VISIBLE[maker])
        name = next(names, None)
        return None if name is None else self._words(name)

    def uses(self, maker: Maker, number: int, uuid: str = "") -> bool:
        """Return whether JAX may use a chip, as far as the environment tells.

        Args:
            maker: of the chip.
            number: among those of its maker, in the order of the bus.
            uuid: of a GPU, where it is known.
        """
        words = self.visible(maker)
        return words is None or any(
            word == str(number)
            or not (word.lstrip("-").isdigit() or (uuid and not uuid.startswith(word)))
            for word in words
        )

    def count(self, maker: Maker, devices: Sequence[Device]) -> Count:
        """Compare the chips of one maker with JAX's devices, of all processes."""
        chips = self.of(maker)
        own = [device for device in devices if device.platform in PLATFORMS[maker]]
        visible = chip_count([device for device in own if device.addressable])
        # The chips that have a device file of their own.
        files = sum(node.path[-1].isdigit() for node in self.nodes_of(maker))
        available = files if 0 < files < len(chips) else len(chips)
        limits, missing = self.limits(maker), max(0, available - visible)
        # With a process for each GPU, the others of the host belong to the others.
        shared = maker != "tpu" and len({device.process_index for device in own}) > 1
        # CUDA gives a process one part of a GPU.
        parts = any(" MIG " in device.device_kind for device in own)
        if limits or shared or parts:
            missing = 0
        return Count(visible, len(chips), available, limits, missing)

    def _words(self, variable: str) -> list[str]:
        words = self.environment.get(variable, "").split(",")
        return [word.strip() for word in words if word.strip()]

    @property
    def awaited(self) -> tuple[Maker, ...]:
        """Return the makers whose hardware JAX is about to initialise."""
        makers = [maker for maker in MAKERS if self.wanted(maker)]
        present = [maker for maker in makers if self.present(maker)]
        return tuple(present or (makers if self.platforms else ()))

    @property
    def hardware(self) -> str:
        """Return the hardware that JAX will initialise: ``8 TPU v5e chips``."""
        if words := " and ".join(filter(None, map(self.present, self.awaited))):
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
    wsl = (root / WSL[1:]).exists() and not (root / WSL_DRIVER).exists()
    nodes = tuple(node for node in nodes if not (wsl and node.path == WSL))
    if not chips and not nodes:
        return Survey(environment=relevant, wsl=wsl)
    return Survey(
        chips=chips,
        nodes=nodes,
        holders=processes.holders(root / "proc"),
        lock=processes.lock(root),
        packages=packages.installed(),
        environment=relevant,
        wsl=wsl,
    )


def blocking(survey: Survey, root: Path = Path("/")) -> tuple[Holder, ...]:
    """The processes because of which this one cannot have the TPU, as of now.

    There are none where the environment chooses other platforms or a share of the
    chips; the search through every process is left out where there is no TPU.
    """
    if not (survey.wants_whole_tpu and survey.nodes_of("tpu")):
        return ()
    every = processes.holders(root / "proc")
    return tuple(holder for holder in every if survey.tpu_paths(holder))
