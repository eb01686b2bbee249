"""``jaxtui roofline``: what it asks for, what it says, and its exit codes."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from jaxtui import cli
from jaxtui.engine.protocol import Envelope
from jaxtui.measure import experiment
from jaxtui.measure.check import bandwidth as bandwidth_test
from jaxtui.measure.check import compute as compute_test
from jaxtui.measure.roofs import run_roofs
from jaxtui.model import (
    Case,
    CaseFailed,
    CaseMeasured,
    CaseStarted,
    Event,
    Experiment,
    Failure,
    Plan,
    PlannedCase,
    RunFinished,
    RunStarted,
    WorkFailed,
)
from jaxtui.model.roofs import (
    MissingRoof,
    RoofDtype,
    RoofMeasured,
    Roofs,
    RoofsStarted,
)
from tests.analysis.figures import bandwidth, compute, measured, roofs
from tests.commands.fakes import OPS, UP, FakeEngine, in_process

COPY = msgspec.structs.replace(
    OPS[1], name="copy", flops="none, data are only moved", maximum=2**30
)
CATALOGUE = (*OPS, COPY)
OPENING: tuple[Event, ...] = tuple(
    msgspec.structs.replace(one, ops=CATALOGUE) for one in UP
)

Answer = Callable[[Experiment], Sequence[Event]]


def work_of(case: Case) -> tuple[float | None, float]:
    """Flops and bytes."""
    n = case.size
    if case.op == "matmul":
        return 2.0 * n**3, 12.0 * n**2
    return (6.0 * n if case.op == "selu" else None), 8.0 * n


def events(experiment: Experiment) -> list[Event]:
    """Products at 100 GFLOP/s, everything else at 9 GB/s."""
    said: list[Event] = [RunStarted(cases=experiment.cases, budget_seconds=1.0)]
    for index, case in enumerate(experiment.cases):
        flops, moved = work_of(case)
        seconds = flops / 100e9 if case.op == "matmul" and flops else moved / 9e9
        of = msgspec.structs.asdict(case)
        said.append(CaseStarted(index=index, case=case))
        one = measured(flops, moved, seconds, **of)
        said.append(CaseMeasured(index=index, measurement=one))
    return [*said, RunFinished(outcome="complete", elapsed_seconds=1.0)]


def found(work: Roofs) -> list[Event]:
    """Roofs of 12 GB/s and 150 GFLOP/s in float32; none in anything else."""
    known = [bandwidth()]
    known += [compute(of=of) for of in work.dtypes if of.dtype == "float32"]
    missing = tuple(
        MissingRoof(of=of, why="XLA refuses it.")
        for of in work.dtypes
        if of.dtype != "float32"
    )
    whole = roofs(*known, device=work.device, missing=missing, cache=2**20)
    return [
        RoofsStarted(roofs=work),
        *(RoofMeasured(roof=one) for one in known),
        whole,
        RunFinished(outcome="complete", elapsed_seconds=2.0),
    ]


class Machine(FakeEngine):
    """An engine that measures roofs and plans cases, too."""

    def __init__(
        self,
        opening: Sequence[Event] = OPENING,
        answer: Answer = events,
        roofs_answer: Callable[[Roofs], Sequence[Event]] = found,
        fits: int = 2**40,
    ) -> None:
        super().__init__(opening, answer)
        self.roofs_answer, self.fits = roofs_answer, fits
        self.works: list[object] = []

    async def run(self, work: Experiment | Roofs) -> int:  # type: ignore[override]
        self.works.append(work)
        number = len(self.works)
        answer = (
            self.roofs_answer(work) if isinstance(work, Roofs) else self.answer(work)
        )
        for event in answer:
            self.queue.put_nowait(Envelope(generation=1, run=number, event=event))
        return number

    async def stop(self) -> None:
        self.stopped += 1
        event = RunFinished(outcome="cancelled", elapsed_seconds=1.0)
        envelope = Envelope(generation=1, run=len(self.works), event=event)
        self.queue.put_nowait(envelope)

    async def plan(self, experiment: Experiment, *, recipes: bool = False) -> Plan:
        return Plan(cases=tuple(map(self._planned, experiment.cases)), budget_seconds=1)

    def _planned(self, case: Case) -> PlannedCase:
        flops, moved = work_of(case)
        problem = None
        if case.size > self.fits:
            problem = Failure(case=case, error="There is no room.", hint="")
        return PlannedCase(
            case=case,
            memory_bytes=0,
            host_memory_bytes=0,
            flops=flops,
            bytes=moved,
            problem=problem,
        )

    @property
    def roofs(self) -> Roofs:
        (one,) = (work for work in self.works if isinstance(work, Roofs))
        return one

    @property
    def cases(self) -> tuple[Case, ...]:
        (one,) = (work for work in self.works if isinstance(work, Experiment))
        return one.cases


def roofline(fake: Machine, *arguments: str) -> int:
    return cli.main(["roofline", *arguments], engine=fake)


def words(text: str) -> str:
    return " ".join(text.split())


def test_roofs_come_first_and_each_case_has_its_verdict(capsys) -> None:
    engine = Machine()
    assert roofline(engine, "matmul:1k", "selu:1M", "copy:1M") == 0
    out = capsys.readouterr().out
    assert isinstance(engine.works[0], Roofs)
    assert [case.op for case in engine.cases] == ["matmul", "selu", "copy"]
    lines = out.splitlines()
    assert lines[0] == "Roofs of cpu:0"
    assert lines[1].split() == ["roof", "measured", "interval", "reached", "by"]
    assert lines[2].startswith("bandwidth")
    assert "12.0 GB/s 10.8–13.2 GB/s triad of 128 MiB jit" in words(lines[2])
    assert "150 GFLOP/s 135–165 GFLOP/s matmul 1024 float32 jit" in words(lines[3])
    text = words(out)
    assert "The memory limits up to 12 flops per byte in float32" in text
    assert "A matmul 1024 float32 jit 100 GFLOP/s at 171 flops per byte" in text
    assert "compute bound at 67 % of the roof B selu" in text
    assert "memory bound at 75 % of the roof - copy" in text
    assert "moves data at 75 % of the bandwidth roof" in text
    assert engine.closed


def test_only_roofs_that_the_cases_want_are_measured(capsys) -> None:
    engine = Machine()
    code = roofline(engine, "copy:1M", "selu:1M", "--dtype", "bf16", "--seed", "3")
    assert code == 0
    assert engine.roofs.dtypes == (RoofDtype(dtype="bfloat16"),)
    assert (engine.roofs.device, engine.roofs.seed) == ("cpu:0", 3)
    text = words(capsys.readouterr().out)
    assert "No compute roof for bfloat16: XLA refuses it." in text
    assert "There is no compute roof for bfloat16: XLA refuses it." in text
    alone = Machine()
    assert roofline(alone, "copy:1M") == 0
    assert alone.roofs.dtypes == ()


def test_without_an_op_it_is_the_catalogue(capsys) -> None:
    engine = Machine()
    assert roofline(engine, "--mode", "jit,numpy") == 0
    assert {(case.op, case.mode) for case in engine.cases} == {
        (op, mode) for op in ("matmul", "selu", "copy") for mode in ("jit", "numpy")
    }
    capsys.readouterr()


def test_ops_that_lack_the_dtype_are_left_out_of_the_catalogue(capsys) -> None:
    half = msgspec.structs.replace(OPS[0], dtypes=("bfloat16",))
    opening = [
        msgspec.structs.replace(one, ops=(half, *CATALOGUE[1:])) for one in OPENING
    ]
    engine = Machine(opening)
    assert roofline(engine) == 0
    assert [case.op for case in engine.cases] == ["selu", "copy"]
    engine = Machine(opening)
    assert roofline(engine, "--dtype", "int8") == 64
    assert "No op takes int8." in capsys.readouterr().err


def test_sizes_of_its_own_grow_past_the_cache_and_asked_ones_stay(capsys) -> None:
    engine = Machine()
    assert roofline(engine, "copy", "selu:1000", "matmul") == 0
    sizes = {case.op: case.size for case in engine.cases}
    # 12 GB/s for a millisecond; a matmul of 512 takes 1.8 ms of 150 GFLOP/s.
    assert sizes == {"copy": 3 * 2**19, "selu": 1000, "matmul": 512}
    asked = Machine()
    assert roofline(asked, "copy", "--size", "1000") == 0
    assert [case.size for case in asked.cases] == [1000]
    short = Machine(fits=2**16)
    assert roofline(short, "copy") == 0
    assert [case.size for case in short.cases] == [2**16]
    capsys.readouterr()


@pytest.mark.parametrize(("spent", "left"), [(12.0, 18.0), (25.0, 10.0)])
def test_the_budget_is_for_roofs_and_cases(
    capsys, monkeypatch: pytest.MonkeyPatch, spent: float, left: float
) -> None:
    clock = SimpleNamespace(monotonic=iter((100.0, 100.0 + spent)).__next__)
    monkeypatch.setattr("jaxtui.commands.roofline.time", clock)
    engine = Machine()
    assert roofline(engine, "copy:1M", "--budget", "30") == 0
    assert engine.roofs.budget == 10.0
    experiment = engine.works[1]
    assert isinstance(experiment, Experiment)
    assert experiment.budget == left
    capsys.readouterr()


def test_a_case_that_fails_is_named_and_the_rest_goes_on(capsys) -> None:
    def one_fails(experiment: Experiment) -> Sequence[Event]:
        failure = Failure(case=experiment.cases[0], error="It broke.", hint="")
        said = list(events(experiment))
        said[2] = CaseFailed(index=0, failure=failure)
        return said

    assert roofline(Machine(answer=one_fails), "matmul:1k", "copy:1M") == 1
    out = capsys.readouterr().out
    assert "not run: matmul 1024 float32 jit on cpu:0\n  It broke." in out
    assert "-  copy 1048576 float32 jit" in out


@pytest.mark.parametrize("outcome", ["complete", "crashed"])
def test_without_any_roof_nothing_is_placed(capsys, outcome: Any) -> None:
    def failing(work: Roofs) -> Sequence[Event]:
        return [
            RoofsStarted(roofs=work),
            WorkFailed(error="The device is lost.", hint="Start again."),
            RunFinished(outcome=outcome, elapsed_seconds=1.0),
        ]

    engine = Machine(roofs_answer=failing)
    code = roofline(engine, "copy:1M", "--json")
    out, err = capsys.readouterr()
    assert len(engine.works) == 1
    assert "The device is lost. Start again.\n" in err
    if outcome == "complete":
        assert (code, out) == (3, "")
        return
    # The death of an engine is no evidence.
    document = json.loads(out)
    assert (code, document["outcome"]) == (1, "incomplete")
    assert document["places"] == document["measurements"] == []


def test_ctrl_c_in_the_roofs_gives_those_that_are_known(capsys) -> None:
    def stopped(work: Roofs) -> Sequence[Event]:
        os.kill(os.getpid(), signal.SIGINT)
        return [RoofsStarted(roofs=work), RoofMeasured(roof=bandwidth())]

    engine = Machine(roofs_answer=stopped)
    assert roofline(engine, "matmul:1k") == 130
    out, err = capsys.readouterr()
    assert engine.stopped == 1
    assert len(engine.works) == 1
    assert "bandwidth  12.0 GB/s" in out
    assert err.endswith("Interrupted: this is what had arrived.\n")


def test_ctrl_c_in_the_cases_gives_their_verdicts(capsys) -> None:
    def stopped(experiment: Experiment) -> Sequence[Event]:
        os.kill(os.getpid(), signal.SIGINT)
        return events(experiment)[:3]

    assert roofline(Machine(answer=stopped), "matmul:1k", "copy:1M", "--json") == 130
    document = json.loads(capsys.readouterr().out)
    assert [one["case"]["op"] for one in document["places"]] == ["matmul"]
    assert [one["case"]["op"] for one in document["failures"]] == ["copy"]


def test_it_is_written_to_files(capsys, tmp_path: Path) -> None:
    paths = [
        tmp_path / f"found{ending}"
        for ending in (".json", ".csv", ".md", ".svg", ".txt")
    ]
    exports = [part for path in paths for part in ("--export", str(path))]
    assert roofline(Machine(), "matmul:1k", "copy:1M", *exports) == 0
    document, csv, markdown, svg, text = (path.read_text() for path in paths)
    assert json.loads(document)["places"]
    assert csv.splitlines()[0].startswith("op,size,dtype")
    assert markdown.startswith("| op |")
    assert "<svg" in svg
    assert "roofline of cpu:0 · box, jax 0.12.0" in svg
    assert "compute bound at 67 % of the roof" in text
    assert "float32 150 GFLOP/s" in text
    capsys.readouterr()


def test_a_run_that_explodes_is_asked_about(capsys) -> None:
    engine = Machine()
    sizes = ",".join(str(size) for size in range(100, 160))
    assert roofline(engine, "matmul", "selu", "--size", sizes) == 64
    assert "add --yes if it is meant" in capsys.readouterr().err
    assert engine.works == []
    assert roofline(engine, "matmul", "selu", "--size", sizes, "--yes") == 0
    assert len(engine.cases) == 120
    capsys.readouterr()


def test_the_second_device_can_be_chosen(capsys) -> None:
    engine = Machine()
    assert roofline(engine, "copy:1M", "--device", "cpu:1") == 0
    assert engine.roofs.device == "cpu:1"
    assert [case.device for case in engine.cases] == ["cpu:1"]
    capsys.readouterr()


def test_a_real_roofline(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bandwidth_test, "sizes", lambda *_: (2**18,))
    monkeypatch.setattr(compute_test, "_size", lambda *_: 256)
    real = Machine(in_process().opening, experiment.run, run_roofs)
    typed = ("matmul:256", "copy:1000000", "--mode", "jit,numpy", "--budget", "1")
    assert roofline(real, *typed, "--json", "--no-history") == 0
    document = json.loads(capsys.readouterr().out)
    kinds = [one["kind"] for one in document["roofs"]["roofs"]]
    assert kinds == ["bandwidth", "compute"]
    assert len(document["places"]) == 4
    for one in document["places"]:
        assert one["verdict"]
        assert (one["share"] is None) == (one["bound"] is None)
