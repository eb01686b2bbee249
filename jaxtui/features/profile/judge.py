"""The meaning of a profile: its kernels by line, function, op, category or shape; the
wait of the device; and the changes since another one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from math import sqrt
from pathlib import PurePath
from statistics import fmean, stdev
from typing import Literal, NamedTuple, get_args

from jaxtui.core.model.profile import Frame, Kernel, KernelKind, Profile
from jaxtui.core.model.remark import Fact, Remark, Severity

By = Literal["line", "function", "op", "category", "shape"]

KEYS: tuple[By, ...] = get_args(By)

WAITS = 0.1
"""Fraction of idle time above which a device waits for its host: XProf's own bound."""

DISTURBED = 1.3
"""A profile that makes a step so many times longer shows another step: the bound of the
timeline's traced loops."""

ERRORS = 2.0
"""Standard errors within which a difference may be chance: some 95 %."""

NO_SOURCE = ""
"""The key of kernels that have no source line: XLA added them."""


@dataclass(slots=True)
class Row:
    """Kernels with the same key; seconds of a step."""

    key: str
    """The key of its kernels; empty for kernels without a line."""
    steps: list[float]
    """Their own time in each step."""
    frame: Frame | None = None
    """The line or the function."""
    total_seconds: float = 0.0
    """Seconds with nested kernels, or called functions."""
    hidden_seconds: float = 0.0
    count: float = 0.0
    flops: float | None = None
    bytes: float | None = None
    """Bytes of all runs in a step."""
    peak_seconds: float = 0.0
    """Seconds of its products on one device at the peak of each one's dtype."""
    shared: bool = False
    """A part of it is that of a kernel with several lines."""
    kinds: Counter[KernelKind] = field(default_factory=Counter)
    kernels: list[Kernel] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return fmean(self.steps)

    @property
    def deviation(self) -> float | None:
        return stdev(self.steps) if len(self.steps) > 1 else None

    @property
    def most_seconds(self) -> float:
        """Seconds if all that its kernels share with other lines were its own: XLA does
        not tell how the time of a fusion divides.
        """
        return sum({id(k): k.self_seconds for k in self.kernels}.values())

    @property
    def kind(self) -> KernelKind:
        """The kind of most of its time."""
        return self.kinds.most_common(1)[0][0] if self.kinds else "compute"


def best_key(profile: Profile) -> By:
    """Lines, where they explain most of the time."""
    spent, with_source = 0.0, 0.0
    for kernel in profile.kernels:
        spent += kernel.self_seconds
        parts = sum(share.part for share in kernel.shares if share.stack)
        with_source += parts * kernel.self_seconds
    return "line" if with_source > spent / 2 else "op"


def rows(profile: Profile, by: By) -> list[Row]:
    """The kernels by one key, the dearest first."""
    by_key: dict[object, Row] = {}

    def row(key: object, text: str, frame: Frame | None = None) -> Row:
        if key not in by_key:
            by_key[key] = Row(text, [0.0] * len(profile.steps), frame)
        return by_key[key]

    several = Counter(kernel.name for kernel in profile.kernels)
    for kernel in profile.kernels:
        match by:
            case "op":
                same = several[kernel.name] > 1
                text = f"{kernel.name} {kernel.program}" if same else kernel.name
                _add(row((kernel.name, kernel.program), text), kernel, 1.0)
            case "category":
                _add(row(kernel.category, kernel.category), kernel, 1.0)
            case "shape":
                _add(row(kernel.shape, kernel.shape or "?"), kernel, 1.0)
            case "line" | "function":
                _by_frame(profile, kernel, by, row)
    return sorted(by_key.values(), key=lambda row: (-row.seconds, -row.total_seconds))


def _by_frame(
    profile: Profile, kernel: Kernel, by: By, row: Callable[..., Row]
) -> None:
    for share in kernel.shares:
        frames = [profile.frames[place] for place in share.stack]
        if not frames:
            inner = row(NO_SOURCE, NO_SOURCE)
            inner.total_seconds += share.part * kernel.self_seconds
        keys = [_identity(frame, by) for frame in frames]
        for place, (frame, key) in enumerate(zip(frames, keys, strict=True)):
            if key in keys[:place]:  # a function that calls itself
                continue
            frame_row = row(key, named(frame, by), frame)
            frame_row.total_seconds += share.part * kernel.self_seconds
        if frames:
            inner = row(keys[0], named(frames[0], by), frames[0])
        total = inner.total_seconds
        _add(inner, kernel, share.part)
        inner.total_seconds = total
        inner.shared |= share.part < 1 or kernel.by_order


def _identity(frame: Frame, by: By) -> tuple[str, int | str]:
    """Two files of one name are two."""
    return frame.file, frame.line if by == "line" else frame.function


def named(frame: Frame, by: By) -> str:
    file = PurePath(frame.file).name
    if by == "line":
        return f"{file}:{frame.line}" if frame.line else file
    return f"{file}:{frame.function or '?'}"


def _add(row: Row, kernel: Kernel, part: float) -> None:
    for step, seconds in enumerate(kernel.steps):
        row.steps[step] += part * seconds
    row.total_seconds += part * kernel.total_seconds
    row.hidden_seconds += part * kernel.hidden_seconds
    row.count += kernel.count
    row.kinds[kernel.kind] += part * kernel.self_seconds  # type: ignore[assignment]
    if kernel.flops is not None:
        flops = part * kernel.count * kernel.flops
        row.flops = (row.flops or 0.0) + flops
        if kernel.flops_per_second:
            row.peak_seconds += flops / kernel.flops_per_second
    if kernel.bytes is not None:
        row.bytes = (row.bytes or 0.0) + part * kernel.count * kernel.bytes
    row.kernels.append(kernel)


# The whole step.


class Parts(NamedTuple):
    """The parts of a step of a device, in seconds, and what lies beneath."""

    compute: float
    exposed: float
    """Collectives while nothing is computed."""
    copies: float
    idle: float
    hidden: float
    """Collectives, and copies beside them, while the device computes."""


def parts(profile: Profile) -> Parts:
    spent = dict.fromkeys(("compute", "collective", "copy"), 0.0)
    for kernel in profile.kernels:
        spent[kernel.kind] += kernel.self_seconds
    return Parts(
        spent["compute"],
        spent["collective"],
        spent["copy"],
        profile.idle_seconds,
        sum(e.hidden_seconds for e in profile.kernels if e.kind == "collective"),
    )


def headline(profile: Profile) -> Remark:
    """Return the busy share of a step, and the longest wait or the dearest line."""
    busy = profile.busy_seconds / profile.step_seconds if profile.step_seconds else 0.0
    facts: dict[str, Fact] = {"busy": busy, "step_seconds": profile.step_seconds}
    facts["devices"] = len(profile.devices)
    # Then the program is not to blame for what the device waits for.
    disturbed = any(note.code == "contended" for note in profile.notes)
    facts["disturbed"] = disturbed
    if 1 - busy > WAITS and profile.gaps and not disturbed:
        gap = profile.gaps[0]
        facts |= {"gap_seconds": gap.seconds, "before": gap.before, "after": gap.after}
        facts["host"] = gap.host[0].name if gap.host else ""
        return Remark("device-waits", facts)
    dearest = rows(profile, best_key(profile))[0]
    facts |= {"row": dearest.key, "seconds": dearest.seconds}
    facts["share"] = dearest.seconds / (profile.step_seconds or 1.0)
    return Remark("device-works", facts)


def remarks(profile: Profile) -> Iterator[Remark]:
    """Yield what qualifies a profile: its cost, and the origin of its figures."""
    plain, step = profile.unprofiled_seconds, profile.traced_seconds
    if plain:
        facts: dict[str, Fact] = {"plain_seconds": plain, "step_seconds": step}
        severity: Severity = "warning" if step > DISTURBED * plain else "info"
        yield Remark("profile-cost", facts, severity)
    if any(len(kernel.shares) > 1 for kernel in profile.kernels):
        yield Remark("lines-share")
    for code, inside in (
        (
            "compiled-inside",
            [c for c in profile.compiles if c.compile_seconds is not None],
        ),
        ("retraced-inside", [c for c in profile.compiles if c.compile_seconds is None]),
    ):
        if inside:
            names = dict.fromkeys(kernel.function or "?" for kernel in inside)
            facts = {
                "functions": tuple(names),
                "count": len(inside),
                "seconds": sum(kernel.seconds for kernel in inside),
            }
            yield Remark(code, facts, "warning")
    yield from profile.notes


# Under the roofs.


class RoofShare(NamedTuple):
    """The rates of kernels as a share of what the device can do."""

    flops_per_second: float | None
    bytes_per_second: float | None
    share: float | None
    """The share of the nearer roof; above 1 it was faster."""
    limit: Literal["compute", "memory"] | None


def place(row: Row, profile: Profile) -> RoofShare:
    """Place a row under the roofs; its work is that of all devices."""
    spent = row.seconds * len(profile.devices)
    if not spent or row.kind != "compute":
        return RoofShare(None, None, None, None)
    flops = None if not row.flops else row.flops / spent
    moved = None if not row.bytes else row.bytes / spent
    shares: list[tuple[float, Literal["compute", "memory"]]] = []
    if row.peak_seconds:
        shares.append((row.peak_seconds / spent, "compute"))
    if moved and profile.bytes_per_second:
        shares.append((moved / profile.bytes_per_second, "memory"))
    share, limit = max(shares, default=(None, None))
    return RoofShare(flops, moved, share, limit)


# Two profiles.


class Spent(NamedTuple):
    """The time of a key in a step."""

    key: str
    seconds: float
    variance: float = 0.0
    """The variance of the mean over the steps, seconds squared."""


class Change(NamedTuple):
    """The time of a key before and now, seconds of a step."""

    key: str
    before: float
    after: float
    error: float = 0.0
    """The standard error of the difference, from step to step."""

    @property
    def seconds(self) -> float:
        return self.after - self.before

    @property
    def is_seen(self) -> bool:
        """Return whether it is more than the steps of a side differ by themselves."""
        return abs(self.seconds) > ERRORS * self.error


def changes(before: Iterable[Spent], after: Iterable[Spent]) -> list[Change]:
    """Pair the times of each key, the largest change first."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for side, spent in enumerate((before, after)):
        for item in spent:
            sums[item.key][side] += item.seconds
            sums[item.key][2] += item.variance
    compared = (
        Change(key, old, new, sqrt(variance))
        for key, (old, new, variance) in sums.items()
    )
    return sorted(compared, key=lambda item: (not item.is_seen, -abs(item.seconds)))
