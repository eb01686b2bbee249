"""A profile as a flame: each frame of the user's stacks as wide as its time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from html import escape
from pathlib import PurePath

from jaxtui.core import format as fmt
from jaxtui.core.model.profile import KernelKind, Profile
from jaxtui.core.text import visible

_WIDE, _ROW, _LETTER = 1200, 18, 6.6
"""Pixels: of the picture, of a row, and of a letter at most."""


class _Node:
    def __init__(self, name: str, place: str) -> None:
        self.name, self.place = name, place
        self.kinds: Counter[KernelKind] = Counter()
        """Seconds."""
        self.inner: dict[str, _Node] = {}

    @property
    def seconds(self) -> float:
        return self.kinds.total()

    def boxes(
        self, depth: int = 0, start: float = 0.0
    ) -> Iterator[tuple[int, float, _Node]]:
        """Yield the node and its callees, with depth and start in seconds."""
        yield depth, start, self
        for inner in sorted(self.inner.values(), key=lambda node: -node.seconds):
            yield from inner.boxes(depth + 1, start)
            start += inner.seconds


_FILLS = {"compute": "#4c9be8", "collective": "#e8a33d", "copy": "#b07cd8"}


def _tree(profile: Profile) -> _Node:
    """The time of a step by the stacks of the user, the outermost first."""
    root = _Node(profile.source, "")
    for kernel in profile.kernels:
        for share in kernel.shares:
            seconds = share.part * kernel.self_seconds
            root.kinds[kernel.kind] += seconds  # type: ignore[assignment]
            node = root
            frames = [profile.frames[place] for place in reversed(share.stack)]
            path = [
                (
                    f"{f.function or PurePath(f.file).name}:{f.line}",
                    f"{f.file}:{f.line}",
                )
                for f in frames
            ]
            for name, place in (
                *path,
                (kernel.name, f"{kernel.program} {kernel.name}"),
            ):
                node = node.inner.setdefault(place, _Node(name, place))
                node.kinds[kernel.kind] += seconds  # type: ignore[assignment]
    return root


def flame(profile: Profile) -> str:
    """An SVG: each frame of the user's stacks as wide as its time, kernels on top."""
    root = _tree(profile)
    boxes = list(root.boxes())
    deepest = max(depth for depth, _, _ in boxes) + 1
    height, scale = 60 + deepest * _ROW, _WIDE / (root.seconds or 1.0)
    ends = fmt.seconds(root.seconds), fmt.seconds(profile.step_seconds)
    title = f"{profile.source}: {ends[0]} of {ends[1]} in a step"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {height}"'
        ' font-family="monospace" font-size="11">',
        f'<rect width="{_WIDE}" height="{height}" fill="#1b1d23"/>',
        f'<text x="8" y="22" fill="#e6e6e6" font-size="14">{_xml(title)}</text>',
    ]
    for depth, start, node in boxes:
        x, width = start * scale, node.seconds * scale
        if width < 0.3:
            continue
        y = height - 10 - (depth + 1) * _ROW
        ((kind, _),) = node.kinds.most_common(1)
        share = fmt.percent(node.seconds / (profile.step_seconds or 1.0))
        tip = f"{node.name} {fmt.seconds(node.seconds)} {share} {node.place}"
        fits = int((width - 4) / _LETTER)
        text = (
            node.name if len(node.name) <= fits else node.name[: max(0, fits - 1)] + "…"
        )
        parts.append(
            f'<g><title>{_xml(tip)}</title><rect x="{x:.1f}" y="{y}"'
            f' width="{max(width - 0.5, 0.3):.1f}" height="{_ROW - 1}"'
            f' fill="{_FILLS[kind]}" fill-opacity="{0.95 - 0.04 * (depth % 4):.2f}"/>'
            + (
                f'<text x="{x + 3:.1f}" y="{y + 12}" fill="#10131a">{_xml(text)}</text>'
                if fits > 2
                else ""
            )
            + "</g>"
        )
    return "\n".join([*parts, "</svg>", ""])


def _xml(text: str) -> str:
    return escape(visible(text, line=True))
