"""Roofs as they become known, what is asked of them, and what rows and verdicts say."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from jaxtui.core.engine.protocol import Envelope
from jaxtui.core.model import (
    Case,
    Event,
    Expected,
    Failure,
    MissingRoof,
    Mode,
    Ready,
    Remark,
    RoofDtype,
    Roofs,
    RoofsMeasured,
    RunFinished,
    RunStarted,
    WorkFailed,
)
from jaxtui.core.state import CaseState, Job, State, begin_run, reduce
from jaxtui.core.text import PLAIN
from jaxtui.features.roofline.judge import (
    device_of,
    headline,
    place,
    roofs_of,
    work_for,
)
from jaxtui.features.roofline.messages import Place
from jaxtui.features.roofline.picture import letters, picture
from jaxtui.features.roofline.report import report, result, roof_notes
from jaxtui.features.roofline.screen import (
    columns,
    is_measured,
    message,
    statements,
)
from jaxtui.ui import words
from jaxtui.ui.plot import SERIES, Picture
from jaxtui.ui.report import terminal
from jaxtui.ui.text import Line, plain
from tests import records
from tests.core.figures import (
    BFLOAT16,
    FLOAT32,
    NO_PRODUCT,
    bandwidth,
    compute,
    crowded,
    measured,
    roofs,
)
from tests.fake_engine import HOST, OPS, cpu_devices, tpu_devices
from tests.records import told

COMPLETE = RunFinished(outcome="complete", elapsed_seconds=9.0)
STOPPED = RunFinished(outcome="cancelled", elapsed_seconds=1.0)
CRASHED = RunFinished(outcome="crashed", elapsed_seconds=1.0)
FAILED = WorkFailed(remark=told("It broke.", "Mend it."))

STOPPED_KEPT = "these are the roofs so far"
STOPPED_EMPTY = "there is no roof yet"

MEMORY = bandwidth(20e9)
PUBLISHED = Expected(
    value=4e12, kind="peak", source=Remark("published", {"source": "example.org/chip"})
)
ARITHMETIC = compute(2e12, published=PUBLISHED)


NOTHING = State()


def started(device: str = "cpu:0", *dtypes: RoofDtype) -> Roofs:
    """The measuring of roofs begins."""
    return Roofs(device=device, dtypes=dtypes or (FLOAT32,))


# What is known.


def after(*events: Event | Roofs, state: State = NOTHING) -> State:
    for event in events:
        if isinstance(event, Roofs):
            state, event = begin_run(state, 7, "roofs", event), RunStarted()
        state = reduce(state, Envelope(generation=0, run=7, event=event))
    return state


def heights(state: State, device: str = "cpu:0") -> list[float]:
    found = roofs_of(state, device)
    return [] if found is None else [one.per_second for one in found.roofs]


WHOLE = (started(), roofs(bandwidth(12e9), compute(95e9)), COMPLETE)


def test_roofs_are_known_as_soon_as_they_are_found() -> None:
    state = after(started(), roofs(bandwidth(10e9)))
    assert is_measured(state, "cpu:0")
    assert heights(state) == [10e9]
    state = after(*WHOLE[1:], state=state)
    assert heights(state) == [12e9, 95e9]
    assert not is_measured(state, "cpu:0")


def test_the_last_measuring_counts() -> None:
    state = after(*WHOLE)
    assert heights(state, "cpu:3") == [12e9, 95e9]
    assert heights(state, "tpu:0") == []
    partly = (started(), roofs(bandwidth(5e9)), STOPPED)
    assert heights(after(*WHOLE, *partly)) == [5e9]
    event = roofs(bandwidth(800e9), device="tpu:0")
    state = after(started("tpu:0"), event, COMPLETE, state=state)
    assert (heights(state), heights(state, "tpu:0")) == ([], [800e9])


@pytest.mark.parametrize(
    ("events", "said", "known"),
    [
        (WHOLE, "cpu:0 reaches", [12e9, 95e9]),
        ((started(), roofs(MEMORY), STOPPED), STOPPED_KEPT, [20e9]),
        ((started(), STOPPED), STOPPED_EMPTY, []),
        ((started(), FAILED, COMPLETE), "It broke.", []),
        # Another measuring forgets the failure.
        ((started(), FAILED, COMPLETE, started()), "", []),
        ((started(), roofs(ARITHMETIC), CRASHED), STOPPED_KEPT, [2e12]),
    ],
)
def test_what_became_of_measuring(
    events: tuple[Event, ...], said: str, known: list[float]
) -> None:
    state = after(*events)
    text = message(state)
    assert said in text
    assert bool(said) == bool(text)
    assert heights(state) == known


def test_they_last_as_long_as_the_devices() -> None:
    def ready(state: State, *devices: object) -> State:
        event = Ready(host=HOST, devices=devices, ops=OPS)  # type: ignore[arg-type]
        return reduce(state, Envelope(generation=1, run=None, event=event))

    (cpu,) = cpu_devices()
    state = after(*WHOLE, state=ready(NOTHING, cpu))
    more = msgspec.structs.replace(cpu, memory={"bytes_in_use": 10})
    assert heights(ready(state, more))
    assert not heights(ready(state, *cpu_devices(2)))
    assert not heights(ready(state, *tpu_devices()))


# What is asked for.


def case(device: str = "cpu:0", dtype: str = "float32") -> Case:
    host = device == "host"
    mode = "numpy" if host else "jit"
    return records.case(mode, op="matmul", device=device, dtype=dtype)  # type: ignore[arg-type]


def run_of(*cases: Case, state: State = NOTHING) -> State:
    job = Job(number=1, cases=tuple(map(CaseState, cases)))
    jobs = {**state.jobs, "bench": job}
    return replace(state, jobs=jobs, ops=OPS)


@pytest.mark.parametrize(
    ("devices", "selected", "device"),
    [
        (("tpu:0", "tpu:1"), 1, "tpu:1"),
        (("host", "tpu:1"), 0, "tpu:1"),
        (("host",), 0, "cpu:0"),
    ],
)
def test_the_device_is_that_of_the_selected_case(
    devices: tuple[str, ...], selected: int, device: str
) -> None:
    state = run_of(*map(case, devices))
    assert device_of(state, selected) == device


def test_what_is_known_is_asked_again_with_what_is_new() -> None:
    cases = [case(), case("host"), case(dtype="bfloat16"), case("tpu:0")]

    def wanted(cases: list[Case], state: State = NOTHING) -> tuple[RoofDtype, ...]:
        return work_for(run_of(*cases, state=state), "cpu:0").dtypes

    assert wanted(cases) == (FLOAT32, BFLOAT16)
    assert wanted(cases[2:], after(*WHOLE)) == (FLOAT32, BFLOAT16)


# What a row says.


LIMITS = roofs(MEMORY, ARITHMETIC)


def under(*cases: CaseState, limits: RoofsMeasured = LIMITS) -> State:
    run = Job(number=1, cases=cases)
    known = Job(number=2, purpose="roofs", outcome="complete", result=limits)
    return State(jobs={"bench": run, "roofs": known})


def row(case: CaseState, limits: RoofsMeasured = LIMITS) -> dict[str, Line]:
    shown = columns(under(case, limits=limits), 0, wide=False)
    return {one.key or one.head: one.cells[0] for one in shown}


@pytest.mark.parametrize(
    ("rate", "cache", "limited"),
    [
        (0.9 * 20e9 / 6, None, "memory"),
        (0.9 * 20e9 / 6, 2**30, "cache"),
        (0.1 * 20e9 / 6, None, "something else"),
        (2.0 * 20e9 / 6, 2**30, "cache"),
        (2.0 * 20e9 / 6, None, "over the roof"),
    ],
)
def test_a_row_says_what_limits_a_case(
    rate: float, cache: int | None, limited: str
) -> None:
    figures = records.measurement(case(), flops=2e6, bytes=12e6, flops_per_second=rate)
    limits = roofs(MEMORY, ARITHMETIC, cache=cache)
    found = row(CaseState(case(), measurement=figures), limits)
    texts = [plain(found[key]) for key in ("letter", "limit", "share")]
    limits_it = limited in ("memory", "something else")
    share = f"{100 * rate * 6 / 20e9:.0f} %" if limits_it else ""
    assert texts == ["A", limited, share]


@pytest.mark.parametrize("limits", [LIMITS, None])
def test_what_rests_on_an_uncertain_figure_says_so(
    limits: RoofsMeasured | None,
) -> None:
    figures = records.measurement(
        case(), ready=records.summary(1e-3, 0.5), flops=2e6, flops_per_second=2e9
    )
    figures = msgspec.structs.replace(figures, bytes=12e6)
    found = row(CaseState(case(), measurement=figures), limits or roofs())
    assert {span.role for span in found["rate"]} == {"unknown"}
    if limits is not None:
        assert plain(found["limit"]) == "uncertain"
        assert place(figures, limits).uncertain


def test_a_roof_that_is_not_known_limits_nothing_for_sure() -> None:
    figures = records.measurement(case(), flops=2e6, bytes=12e6, flops_per_second=3e9)
    wide = roofs(bandwidth(20e9, ci_low=9e9, ci_high=38e9), ARITHMETIC)
    found = row(CaseState(case(), measurement=figures), wide)
    assert plain(found["limit"]) == "uncertain"


@pytest.mark.parametrize(("mode", "role"), [("numpy", "bar-numpy"), ("jit", "bar-jit")])
def test_a_bar_has_the_colour_of_what_ran(mode: Mode, role: str) -> None:
    one = msgspec.structs.replace(case(), mode=mode)
    found = row(CaseState(one, measurement=records.measurement(one)))
    assert [span.role for span in found["bar"]] == [role]


def test_a_row_without_figures_says_what_goes_on() -> None:
    failure = Failure(case=case(), remark=told("No memory."))
    found = row(CaseState(case(), status="failed", failure=failure))
    assert (found["letter"], found["ready"][0].text) == ((), "failed")


def test_what_has_no_place_says_why() -> None:
    rated = {"flops": 2e9, "bytes": 3e6, "flops_per_second": 1e12}
    cases = [
        CaseState(one, measurement=records.measurement(one, **rated))
        for one in (case("tpu:0", "bfloat16"), case("host"))
    ]
    missing = (MissingRoof(of=BFLOAT16, remark=NO_PRODUCT),)
    limits = roofs(MEMORY, device="tpu:0", missing=missing)
    for index, flag in enumerate(("no roof", "other device")):
        told = statements(under(*cases, limits=limits), index)
        assert told[0].remark.code == flag
        assert words.sentence(NO_PRODUCT) in [one.remark.text for one in told]


def test_while_roofs_are_measured_a_case_waits_for_them() -> None:
    figures = records.measurement(case(), flops=2e9, bytes=3e6, flops_per_second=1e12)
    state = under(CaseState(case(), measurement=figures))
    told = roofs(MEMORY)
    state = after(started(), told, state=state)
    assert statements(state, 0)[0].remark.code == "no roof yet"


# What there is to say of all of it.


def test_roofs_are_one_headline_and_remarks_with_the_roofs_they_are_about() -> None:
    highest = RoofDtype(dtype="float32", precision="highest")
    busy = compute(50e9, of=highest, remarks=(crowded(),))
    missing = tuple(MissingRoof(of=of, remark=NO_PRODUCT) for of in (BFLOAT16, None))
    limits = roofs(bandwidth(), ARITHMETIC, busy, missing=missing, cache=2**25)
    text = "cpu:0 reaches 2.00 TFLOP/s in float32, 50.0 GFLOP/s in float32 highest and"
    text += " 12.0 GB/s of bandwidth: memory limits below 170 (float32) and 4.2"
    text += " (float32 highest) flops per byte, arithmetic above."
    assert headline(limits) == text
    about = {one.flag: one.about for one in roof_notes(limits)}
    assert about[words.label(crowded())] == ("compute float32 highest",)
    assert about[words.label(PUBLISHED.source)] == ("compute float32",)
    assert about[words.label(NO_PRODUCT)] == ("compute bfloat16", "bandwidth")
    assert [one.flag for one in roof_notes(roofs(compute()))] == ["peak"]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_report_fits_its_width_and_keeps_what_matters(width: int) -> None:
    figures = records.measurement(case(), flops=2e6, bytes=12e6, flops_per_second=3e9)
    cases = [CaseState(case(), measurement=figures, status="done")] * 3
    state = under(*cases, limits=roofs(MEMORY, ARITHMETIC, cache=2**25))
    shown = terminal(report(result(state, True), state), width).splitlines()
    assert max(map(len, shown)) <= width
    (head,) = [line for line in shown if "limited by" in line]
    assert "ready" in head
    assert "of roof" in head


def test_what_the_table_says_is_no_note_and_a_loss_is_one() -> None:
    figures = records.measurement(case(), flops=2e6, bytes=12e6, flops_per_second=3e9)
    state = under(CaseState(case(), measurement=figures))
    told = report(result(state, True), state)
    assert [note.flag for note in told.notes] == [words.label(PUBLISHED.source)]
    lost = replace(state.jobs["roofs"], outcome="crashed")
    state = replace(state, jobs={"roofs": lost})
    told = report(result(state, False), state)
    assert (told.notes[0].flag, len(told.tables)) == ("incomplete", 1)


# The picture.


COLORS = ((10, 20, 30), (40, 50, 60), (70, 80, 90))


def places(*facts: dict[str, object], under=None) -> list[Place]:
    under = under or roofs()
    return [place(measured(**one), under) for one in facts]  # type: ignore[arg-type]


def made(found: list[Place], under=None, selected: Place | None = None) -> Picture:
    picture_of = picture(found, under or roofs(), COLORS, selected)
    assert picture_of is not None
    return picture_of


def drawn(found: list[Place], under=None) -> list[str]:
    lines = made(found, under).draw(80, 20, color=False).splitlines()
    return [line.encode("ascii", PLAIN).decode() for line in lines]


def test_cases_are_letters_under_their_roof_and_data_movers_are_left_to_words() -> None:
    found = places(
        {"flops": 1e6},
        {"flops": None},
        {"flops": 1e9},
        {"rated": False},
        {"flops": 1e7},
    )
    assert letters(found) == ("A", "", "B", "", "C")
    lines = drawn(found)
    body = "\n".join(line[6:] for line in lines[1:]).replace("GB/s", "")
    assert [body.count(letter) for letter in "ABCD"] == [1, 1, 1, 0]
    row = next(row for row, line in enumerate(lines) if row and "A" in line)
    column = lines[row].index("A")
    roof = next(row for row, line in enumerate(lines) if row and line[column] == "*")
    assert roof < row


def test_roofs_are_named_and_published_ones_are_told_apart_without_colour() -> None:
    under = roofs(
        bandwidth(published=msgspec.structs.replace(PUBLISHED, value=20e9)),
        compute(published=msgspec.structs.replace(PUBLISHED, value=300e9)),
        compute(20e9, BFLOAT16),
    )
    found = places({"flops": 1e9}, {"flops": 1e9, "dtype": "bfloat16"}, under=under)
    text = "\n".join(drawn(found, under))
    for name in ("float32 150 GFLOP/s", "bfloat16 20.0 GFLOP/s", "12.0 GB/s"):
        assert name in text
    assert ("measured" in text, "published" in text) == (True, True)
    assert "published" not in "\n".join(drawn(found))
    # Measured roofs are lines, published ones dots; in colour as well.
    assert [one.line for one in made(found, under).series] == [True, True, False, False]


def test_only_roofs_that_some_case_is_under_are_drawn() -> None:
    under = roofs(bandwidth(), compute(), compute(20e9, BFLOAT16))
    text = "\n".join(drawn(places({}, under=under), under))
    assert ("float32" in text, "bfloat16" in text) == (True, False)
    assert "bfloat16" in "\n".join(drawn([], under))
    # Without the memory roof there is no picture.
    assert picture(places({}), roofs(compute()), COLORS) is None


def test_a_case_has_the_colour_of_what_ran_and_the_selected_one_stands_out() -> None:
    facts = ({"flops": 1e6}, {"flops": 1e7}, {"flops": 1e5, "mode": "numpy"})
    found = places(*facts)
    shown = made(found, selected=found[1]).spots[:3]
    assert [(spot.text, spot.color) for spot in shown] == [
        ("B◂", None),
        ("A", COLORS[SERIES["jit"] % len(COLORS)]),
        ("C", COLORS[SERIES["numpy"]]),
    ]


@given(
    st.lists(
        st.tuples(
            st.none() | st.floats(0, 1e30), st.floats(1, 1e30), st.floats(1e-9, 1e6)
        ),
        max_size=70,
    )
)
def test_any_cases_can_be_drawn(facts) -> None:
    found = [place(measured(flops, moved, s), roofs()) for flops, moved, s in facts]
    lines = made(found).draw(60, 12, color=False).splitlines()
    assert [len(line) for line in lines] == [60] * 12
