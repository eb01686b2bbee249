"""The catalogue of ops: what each computes, what its size is, and what it takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jaxtui.core import format as fmt
from jaxtui.core.model import USUAL_MODES, OpInfo
from jaxtui.core.model.remark import Remark
from jaxtui.core.selection import DTYPE_ALIASES
from jaxtui.ui.report import Column, Report, Rows, gather, styled

LEAST_SUMMARY = 30
"""Cells that what an op computes keeps while other columns can go."""

SHORT = {name: alias for alias, name in DTYPE_ALIASES.items()}


def report(ops: Sequence[OpInfo]) -> Report:
    """All of the catalogue; dtypes are written short, as ``--dtype`` takes them too."""
    dtypes = [
        " ".join(SHORT.get(name, name) for name in op.dtypes)
        or "those of its arguments"
        for op in ops
    ]
    table = Rows(
        (
            Column("op", [op.name for op in ops]),
            Column(
                "what it computes",
                [op.summary for op in ops],
                least=LEAST_SUMMARY,
                grows=True,
            ),
            Column("size is", [op.size_means for op in ops], rank=1),
            Column("default", [fmt.size(op.default) for op in ops], rank=2, right=True),
            Column("dtypes", dtypes, rank=3),
        )
    )
    return Report(
        title="ops",
        verdict=styled(f"{fmt.plural(len(ops), 'op')}.", "title"),
        tables=(table,),
        notes=gather((op.name, _remarks(op)) for op in ops),
    )


def _remarks(op: OpInfo) -> Iterable[Remark]:
    if more := tuple(mode for mode in op.modes if mode not in USUAL_MODES):
        yield Remark("more-modes", {"modes": more})
