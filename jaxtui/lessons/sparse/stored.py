"""Step 1: What a sparse matrix stores."""

from __future__ import annotations

import math

from jaxtui import format as fmt
from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Shown, Snippet, Work


def entries(n: int) -> str:
    """Makes a matrix with a share of elements that are not zero."""
    return f"""\
from jax.experimental import sparse

rng = np.random.default_rng(0)


def matrix(density):
    full = rng.standard_normal(({n}, {n}), dtype=np.float32)
    return np.where(rng.random(({n}, {n})) < density, full, np.float32(0))
"""


def _format(setting: Setting) -> tuple[Work, ...]:
    n = setting.size
    setup = f"""\
{entries(n)}

dense = jnp.asarray(matrix(0.01))
b = sparse.BCOO.fromdense(dense)
right = jnp.ones({n})
"""
    snippet = Snippet(
        title=f"What BCOO stores of a {n}×{n} matrix with 1 % of its elements",
        setup=setup,
        parts=(
            Shown(name="b", code="b"),
            Shown(name="entries", code="b.nse"),
            Shown(name="sparse bytes", code="b.data.nbytes + b.indices.nbytes"),
            Shown(name="dense bytes", code="dense.nbytes"),
            Shown(
                name="difference",
                code=(
                    "jnp.max(jnp.abs(b @ right - "
                    "jnp.matmul(dense, right, precision='highest')))"
                ),
            ),
            Shown(name="size", code="jnp.max(jnp.abs(b @ right))"),
        ),
        budget_seconds=4.0,
        memory_bytes=40 * n * n,
        device=values.chosen(setting),
    )
    return (snippet,)


def _stored(setting: Setting, outcome: Outcome) -> Conclusion:
    entries = outcome.number("entries")
    small, large = outcome.number("sparse bytes"), outcome.number("dense bytes")
    off = words.quotient(outcome.number("difference"), outcome.number("size"))
    rows = (
        Row(what="b", yours=values.shown(outcome, "b")),
        Row(what="elements that are stored", yours=values.whole(entries)),
        Row(
            what="bytes as BCOO",
            yours=fmt.bytes_text(small),
            remark="4 for the value, 8 for row and column",
        ),
        Row(what="bytes as a dense array", yours=fmt.bytes_text(large)),
        Row(what="b @ v against dense @ v", yours=fmt.error(off), remark="relative"),
    )
    if entries is None or small is None or large is None or off is None:
        return words.inconclusive(setting, outcome, rows, "the sparse matrix")
    each = small / entries if entries else math.inf
    holds = small < large and off < 1e-3
    takeaway = (
        f"{values.whole(entries)} elements take {fmt.bytes_text(small)}, the dense "
        f"matrix {fmt.bytes_text(large)}: {words.times(large, small)} as much. At "
        f"{each:.0f} bytes an element the two would meet at a density of "
        f"{fmt.percent(4 / each)}. The products agree to {fmt.error(off)}."
    )
    answer = 1 if 10 <= each <= 14 else 0 if each < 10 else 2
    return Conclusion(rows=rows, holds=holds, takeaway=takeaway, answer=answer)


STEP = Step(
    title="What a sparse matrix stores",
    prose="""\
`jax.experimental.sparse` has a format called BCOO, for batched coordinates:
the elements that are not zero, and for each of them its row and its column.

    b = sparse.BCOO.fromdense(dense)
    b @ v

The number of stored elements is part of the shape, because XLA compiles for
fixed shapes: `b.nse`, the number of specified elements. An element takes 4
bytes as float32, and each of its two indices 4 bytes as well.

Here 1 % of the matrix is not zero.""",
    question=Question(
        text="Up to which density does BCOO need less memory than dense?",
        choices=("About one half", "About one third", "About one tenth"),
    ),
    claim=("At a density of 1 % BCOO needs less memory and gives the same product."),
    works=_format,
    conclude=_stored,
)
