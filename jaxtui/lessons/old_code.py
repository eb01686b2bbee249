"""Code that used to work: what older tutorials write, and what to write today."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Lesson, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Part, Shown, Snippet, Value, Work

NOTEBOOKS = (
    "G. Sapunov, Deep Learning with JAX, notebooks of chapters 3 and 6 (JAX 0.4.13 to "
    "0.4.16, 2023): https://github.com/che-shr-cat/JAX-in-Action"
)


@dataclass(frozen=True)
class _Form:
    """Something written in an older way, and today's way."""

    name: str
    """Short: it stands in a table."""
    old: str
    new: str
    why: str
    """What has become of it, or what was wrong with it."""
    setup: str = ""


MOVED = (
    _Form(
        name="jax.lib.xla_bridge",
        old="from jax.lib import xla_bridge\nprint(xla_bridge.get_backend().platform)",
        new="print(jax.default_backend())",
        why="internal, and gone since JAX 0.8",
    ),
    _Form(
        name="jax.tools.colab_tpu",
        old="import jax.tools.colab_tpu\njax.tools.colab_tpu.setup_tpu()",
        new="print(jax.devices())",
        why="a TPU VM needs no set-up",
    ),
    _Form(
        name="x.device()",
        old="print(jnp.ones(3).device())",
        new="print(jnp.ones(3).devices())",
        why="device is a property; devices() is a set",
    ),
    _Form(
        name="jax.config",
        old="from jax.config import config\nprint(config.jax_enable_x64)",
        new="print(jax.config.jax_enable_x64)",
        why="no longer a module to import from",
    ),
    _Form(
        name="jax.tree_map",
        old="print(jax.tree_map(jnp.sin, [0.0]))",
        new="print(jax.tree.map(jnp.sin, [0.0]))",
        why="renamed",
    ),
)
"""Names that were moved or removed."""

MISCALLED = (
    _Form(
        name="sparse.BCOO(dense)",
        old="print(sparse.BCOO(dense))",
        new="print(sparse.BCOO.fromdense(dense))",
        why="the constructor takes (data, indices) and shape",
        setup="from jax.experimental import sparse\n\ndense = jnp.eye(3)\n",
    ),
    _Form(
        name="sparse.BCOO(data, indices)",
        old="print(sparse.BCOO(data, indices, shape=(2, 2)))",
        new="print(sparse.BCOO((data, indices), shape=(2, 2)))",
        why="data and indices are one argument, a tuple",
        setup="data = jnp.array([1.0, 2.0])\nindices = jnp.array([[0, 0], [1, 1]])\n",
    ),
    _Form(
        name="lax.switch(i, f, g, x)",
        old="print(lax.switch(i, jnp.sin, jnp.cos, x))",
        new="print(lax.switch(i, [jnp.sin, jnp.cos], x))",
        why="the branches are one argument, a list",
        setup="i, x = 1, 0.0\n",
    ),
    _Form(
        name="randint without shape",
        old="print(random.randint(key, minval=0, maxval=4))",
        new="print(random.randint(key, (), minval=0, maxval=4))",
        why="a single number has the shape ()",
        setup="from jax import random\n\nkey = random.key(0)\n",
    ),
)
"""Calls that are refused."""


def _snippet(setting: Setting, title: str, forms: tuple[_Form, ...]) -> Snippet:
    parts: list[Part] = []
    for form in forms:
        parts += [
            Shown(name=f"{form.name}, old", code=form.old, raises=True),
            Shown(name=f"{form.name}, new", code=form.new),
        ]
    return Snippet(
        title=title,
        setup="".join(form.setup for form in forms),
        parts=tuple(parts),
        budget_seconds=3.0,
        device=values.chosen(setting),
    )


def _fails(value: Value | None) -> bool:
    """Whether an old form fails or warns."""
    return value is not None and (value.error is not None or bool(value.warnings))


def _said(value: Value | None) -> str:
    """What came of an old form: its error, its warning, or that it still works."""
    if value is None:
        return words.ABSENT
    if value.error is not None:
        return values.shortened(value.error)
    if value.warnings:
        return values.shortened(f"warns: {value.warnings[0]}")
    return "still works here"


def _concluded(
    setting: Setting, outcome: Outcome, forms: tuple[_Form, ...]
) -> Conclusion:
    old = {form.name: outcome.values.get(f"{form.name}, old") for form in forms}
    rows: list[Row] = []
    for form in forms:
        rows += [
            Row(what=form.name, yours=_said(old[form.name]), remark=form.why),
            Row(
                what="  today",
                yours=values.shown(outcome, f"{form.name}, new"),
                remark=_code(form.new),
            ),
        ]
    names = [f"{form.name}, {age}" for form in forms for age in ("old", "new")]
    if values.absent(outcome, *names):
        return words.inconclusive(setting, outcome, rows, "the old forms", many=True)
    failing = [form.name for form in forms if _fails(old[form.name])]
    working = [form.name for form in forms if form.name not in failing]
    broken = [
        form.name for form in forms if not values.gave(outcome, f"{form.name}, new")
    ]
    takeaway = [
        f"On {_version(setting)} {len(failing)} of {len(forms)} old forms fail or "
        f"warn, and {len(forms) - len(broken)} of {len(forms)} of today's forms work."
    ]
    if working:
        takeaway.append(
            f"Still working here: {words.listing(working)}. A newer JAX will refuse "
            "what this one merely keeps."
        )
    if broken:
        takeaway.append(f"Today's form fails here for {words.listing(broken)}.")
    errors = [v.error.partition(":")[0] for v in old.values() if v and v.error]
    if errors:
        kinds = words.listing(list(dict.fromkeys(errors)))
        takeaway.append(
            f"Kinds of error: {kinds}. An ImportError or AttributeError says that a "
            "name has moved, a TypeError that the arguments are wrong."
        )
    share = len(failing) / len(forms)
    return Conclusion(
        rows=tuple(rows),
        holds=not working and not broken,
        takeaway=" ".join(takeaway),
        answer=2 if share == 1 else 1 if share > 0 else 0,
    )


def _code(text: str) -> str:
    """A line without the print around it."""
    return text.removeprefix("print(").removesuffix(")")


def _version(setting: Setting) -> str:
    return f"jax {setting.host.jax}" if setting.host else "this JAX"


# Step 1


def _moved(setting: Setting) -> tuple[Work, ...]:
    return (_snippet(setting, "Names that have moved, then and now", MOVED),)


def _conclude_moved(setting: Setting, outcome: Outcome) -> Conclusion:
    return _concluded(setting, outcome, MOVED)


# Step 2


def _miscalled(setting: Setting) -> tuple[Work, ...]:
    return (_snippet(setting, "Calls with the wrong arguments", MISCALLED),)


def _conclude_miscalled(setting: Setting, outcome: Outcome) -> Conclusion:
    return _concluded(setting, outcome, MISCALLED)


# Step 3


def _two_keys(setting: Setting) -> tuple[Work, ...]:
    snippet = Snippet(
        title="Old and new keys",
        setup="old = jax.random.PRNGKey(0)\nnew = jax.random.key(0)\n",
        parts=(
            Shown(name="PRNGKey", code="print(jax.random.PRNGKey(0))"),
            Shown(name="old dtype", code="old.dtype, old.shape"),
            Shown(name="new dtype", code="new.dtype, new.shape"),
            Shown(name="old numbers", code="jax.random.uniform(old, (2,))"),
            Shown(name="new numbers", code="jax.random.uniform(new, (2,))"),
            Shown(name="old + 1", code="old + 1"),
            Shown(name="new + 1", code="new + 1", raises=True),
        ),
        budget_seconds=2.0,
        device=values.chosen(setting),
    )
    return (snippet,)


def _typed(setting: Setting, outcome: Outcome) -> Conclusion:
    old, new = (values.numbers(outcome, f"{age} numbers") for age in ("old", "new"))
    rows = (
        Row(
            what="jax.random.PRNGKey(0)",
            yours=_said(outcome.values.get("PRNGKey")),
            remark=f"dtype, shape: {values.shown(outcome, 'old dtype')}",
        ),
        Row(
            what="  jax.random.key(0)",
            yours="works" if values.gave(outcome, "new dtype") else words.ABSENT,
            remark=f"dtype, shape: {values.shown(outcome, 'new dtype')}",
        ),
        Row(what="uniform with PRNGKey(0)", yours=values.decimals(old, 6)),
        Row(what="  uniform with key(0)", yours=values.decimals(new, 6)),
        Row(
            what="PRNGKey(0) + 1",
            yours=values.shown(outcome, "old + 1"),
            remark="another key, made by mistake",
        ),
        Row(what="  key(0) + 1", yours=values.shown(outcome, "new + 1")),
    )
    names = ("PRNGKey", "old numbers", "new numbers", "old + 1", "new + 1")
    if values.absent(outcome, *names):
        return words.inconclusive(setting, outcome, rows, "the values", many=True)
    same = bool(old) and old == new
    mistaken = values.gave(outcome, "old + 1")
    refused = values.raised(outcome, "new + 1", "TypeError")
    takeaway = (
        f"On {_version(setting)} PRNGKey: {_said(outcome.values.get('PRNGKey'))}. Both "
        f"keys draw {values.decimals(old, 4)}. The old one is a plain array of two "
        "numbers, and adding 1 to it gave a key that nobody meant; the new one has a "
        "dtype of its own and refused with a TypeError."
        if same and mistaken and refused
        else f"On {_version(setting)} this is otherwise: the old key plus 1 gave "
        f"{values.shown(outcome, 'old + 1')}, the new one "
        f"{values.shown(outcome, 'new + 1')}."
    )
    return Conclusion(
        rows=rows,
        holds=same and mistaken and refused,
        takeaway=takeaway,
        answer=0 if same else 1,
    )


LESSON = Lesson(
    name="old-code",
    title="Code that used to work",
    summary="Lines from older tutorials, the errors of today, and what to write now.",
    size_means="",
    sizes={"cpu": 1},
    steps=(
        Step(
            title="Names that have moved",
            prose="""\
JAX is young, and many tutorials are older than the JAX that you have. A
common pattern is an import that no longer exists. These lines stand in books
and notebooks of 2023, among them the set-up of Colab's old TPUs:

    from jax.lib import xla_bridge
    import jax.tools.colab_tpu
    x.device()
    from jax.config import config
    jax.tree_map(f, tree)

Each is run as it stands, and below it what one writes today. What this JAX
says is shown as it is; another version may say it in other words.""",
            question=Question(
                text="How many of the five still run without complaint?",
                choices=("All of them", "Some of them", "None of them"),
            ),
            claim="None of the old lines runs without complaint; all of today's work.",
            works=_moved,
            conclude=_conclude_moved,
            source=NOTEBOOKS,
        ),
        Step(
            title="Calls with the wrong arguments",
            prose="""\
Other lines were wrong when they were printed, or are remembered wrongly:

    sparse.BCOO(dense)
    sparse.BCOO(data, indices, shape=(2, 2))
    lax.switch(i, jnp.sin, jnp.cos, x)
    random.randint(key, minval=0, maxval=4)

`BCOO` takes one tuple `(data, indices)` and a shape; `BCOO.fromdense` makes
one of a matrix. `lax.switch` takes its branches as one list. Random functions
take the shape after the key, and `randint` has no default for it. Each call is
run, and today's form below it. Read the error: most name what they miss.""",
            question=Question(
                text="How many of the four run?",
                choices=("All of them", "Some of them", "None of them"),
            ),
            claim="None of the wrong calls runs; all of today's forms do.",
            works=_miscalled,
            conclude=_conclude_miscalled,
        ),
        Step(
            title="PRNGKey and key",
            prose="""\
Nearly every older tutorial begins with

    key = jax.random.PRNGKey(0)

It still runs. Since 2023 there is `jax.random.key(0)`, a typed key. The old
one is an array of two unsigned integers like any other, so one can add to
it, slice it or cast it without an error, and then draw correlated or repeated
numbers. The new one is an array too, but of a dtype that says what it is.

The two are compared: what they are, what they draw, and what happens when 1
is added.""",
            question=Question(
                text="Do PRNGKey(0) and key(0) draw the same numbers?",
                choices=("Yes", "No"),
            ),
            claim=(
                "Both kinds of key draw the same numbers; only the typed one refuses "
                "arithmetic."
            ),
            works=_two_keys,
            conclude=_typed,
        ),
    ),
)
