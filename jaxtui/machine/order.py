"""Findings put together: the worst first, and each trouble once."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from jaxtui.model import Finding, Severity

_ORDER: tuple[Severity, ...] = ("error", "warning", "info")


def ordered(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """The worst first; otherwise as they come."""
    return tuple(sorted(found, key=lambda finding: _ORDER.index(finding.severity)))


def merged(known: Iterable[Finding], heard: Iterable[Finding]) -> tuple[Finding, ...]:
    """What is known, and what JAX said beyond that, the worst first.

    Where JAX's words are about something that is known already, they are kept there as
    the original text.
    """
    found = list(known)
    for one in heard:
        at = next((i for i, old in enumerate(found) if _same(old, one)), None)
        if at is None:
            found.append(one)
        elif one.detail not in found[at].detail:
            detail = f"{found[at].detail}\n{one.detail}".strip()
            found[at] = msgspec.structs.replace(found[at], detail=detail)
    return ordered(found)


def _same(known: Finding, heard: Finding) -> bool:
    """Whether both are about one trouble: a machine may lack a TPU's and a GPU's."""
    about = [("TPU" in one.what) for one in (known, heard)]
    return known.name == heard.name and about[0] == about[1]
