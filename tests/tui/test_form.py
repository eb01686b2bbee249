"""The form: what is chosen and typed, and the sentence about it."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from textual.widgets import Input, Static

from jaxtui import selection
from jaxtui.selection import SelectionError
from jaxtui.tui import form
from jaxtui.tui.screens.choice_popup import ChoicePopup
from jaxtui.tui.screens.help import HelpScreen
from jaxtui.tui.state import EMPTY, State
from jaxtui.tui.widgets.case_form import CaseForm
from jaxtui.tui.widgets.choice import Choice
from tests.tui.driving import app_on, until, until_done, until_ready
from tests.tui.fake_engine import HOST, OPS, FakeEngine, cpu_devices

STATE: State = replace(
    EMPTY, engine="ready", host=HOST, devices=cpu_devices(2), ops=OPS
)
VALUES = form.Values(op="matmul", sizes="256..1024", devices=("cpu:0",))


def test_a_good_form_says_how_much_it_is() -> None:
    verdict = form.judge(VALUES, STATE)
    assert verdict.experiment is not None
    assert not verdict.problem
    assert verdict.message.startswith("6 cases, about 10 s")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sizes": "12..x"}, "12..x"),
        ({"sizes": "0"}, "positive"),
        ({"sizes": ""}, "empty"),
        ({"dtypes": ()}, "No dtype is chosen"),
        ({"modes": ()}, "No mode is chosen"),
        ({"budget": "soon"}, '"soon" is no time'),
        ({"budget": "-1"}, "is no time"),
        ({"budget": "nan"}, "is no time"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, object], words: str) -> None:
    verdict = form.judge(replace(VALUES, **change), STATE)  # type: ignore[arg-type]
    assert verdict.problem
    assert verdict.experiment is None
    assert words in verdict.message


def test_a_dtype_that_the_op_does_not_take_is_named_but_can_run() -> None:
    verdict = form.judge(replace(VALUES, dtypes=("int8",)), STATE)
    assert verdict.problem
    assert verdict.experiment is not None
    assert "does not take int8" in verdict.message


def test_before_jax_is_ready_nothing_is_wrong() -> None:
    verdict = form.judge(VALUES, EMPTY)
    assert (verdict.experiment, verdict.problem) == (None, False)


def test_budgets() -> None:
    assert selection.parse_budget(" ") is None
    assert selection.parse_budget("2.5 s") == 2.5
    with pytest.raises(SelectionError):
        selection.parse_budget("1e9")


async def test_the_keys_of_an_input_and_what_the_form_says_meanwhile() -> None:
    engine = FakeEngine()
    app = app_on(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_ready(pilot, app)
        await pilot.press("2")
        sizes = app.query_one("#sizes", Input)
        sizes.focus()
        line = app.query_one("#verdict", Static)
        await pilot.press("end", "x")
        await until(pilot, lambda: '"256..2048x" is no size' in str(line.content))
        assert line.has_class("-problem")
        await pilot.press("backspace")
        await until(pilot, lambda: "8 cases" in str(line.content))
        assert not line.has_class("-problem")

        # Esc gives the keys back.
        await pilot.press("question_mark")
        assert "?" in sizes.value
        await pilot.press("backspace", "escape")
        assert not sizes.has_focus
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await pilot.press("escape")

        # Enter and the function key run it.
        for count, key in enumerate(("enter", "f5"), start=1):
            sizes.focus()
            await pilot.press(key)
            await until(pilot, lambda: len(engine.experiments) == count)  # noqa: B023
            await until_done(pilot, app)
        for experiment in engine.experiments:
            assert {case.op for case in experiment.cases} == {"matmul"}


def test_several_ops_have_what_all_of_them_have() -> None:
    first, second = STATE.ops[:2]
    dtypes, modes = form.shared([first.name, second.name], STATE)
    assert set(dtypes) == set(first.dtypes) & set(second.dtypes)
    assert set(modes) == set(first.modes) & set(second.modes)
    assert form.shared(["nothing"], STATE) == ([], [])


async def test_several_are_chosen_with_the_keyboard_and_timed() -> None:
    engine = FakeEngine()
    app = app_on(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_ready(pilot, app)
        await pilot.press("2")
        first, second = (op.name for op in app.state.ops[:2])
        ops = app.query_one("#op", Choice)
        ops.focus()
        # Without a mark Enter takes the one under the cursor.
        for keys, chosen in (
            (("down", "enter"), (second,)),
            (("escape",), (second,)),
            (("up", "space", "enter"), (first, second)),
            (("down", "enter"), (second,)),
            (("up", "space", "escape"), (first, second)),
        ):
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, ChoicePopup))
            await pilot.press(*keys)
            await until(pilot, lambda: not isinstance(app.screen, ChoicePopup))
            assert ops.chosen == chosen
            if chosen == (second,) == ("selu",):
                # Another op brings its own sizes.
                assert app.query_one("#sizes", Input).value == form.VECTORS
        dtypes = app.query_one("#dtypes", Choice)
        assert dtypes.chosen == ("float32",)
        dtypes.focus()
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ChoicePopup))
        await pilot.press("down", "down", "space", "enter")
        await until(pilot, lambda: not isinstance(app.screen, ChoicePopup))
        assert dtypes.chosen == ("float32", "bfloat16")
        widget = app.query_one(CaseForm)
        assert widget.values.dtypes == ("float32", "bfloat16")

        app.query_one("#run").focus()
        await pilot.press("r")
        await until_done(pilot, app)
        cases = engine.experiments[0].cases
        assert {case.op for case in cases} == {first, second}
        assert {case.dtype for case in cases if not case.on_host} == set(dtypes.chosen)

        # The modes are those of the op.
        matmul, selu = OPS
        more = msgspec.structs.replace(selu, modes=(*selu.modes, "pallas"))
        modes = app.query_one("#modes", Choice)
        widget.state = replace(widget.state, ops=(matmul, more))
        widget.fill(replace(VALUES, op="selu", modes=("jit", "pallas")))
        assert modes.options == more.modes
        assert modes.chosen == ("jit", "pallas")
        widget.fill(replace(VALUES, op="matmul", modes=("jit", "pallas")))
        assert modes.options == matmul.modes
        assert modes.chosen == ("jit",)
