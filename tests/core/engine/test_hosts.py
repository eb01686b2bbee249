"""Engines that work as one, each a thread, with a store in memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jaxtui.core.engine import course, startup
from jaxtui.core.engine.protocol import encode
from jaxtui.core.model import (
    CaseFailed,
    CaseMeasured,
    Check,
    CheckDone,
    CheckRead,
    Experiment,
    Failure,
    Joining,
    Place,
    Reading,
    Remark,
    RunFinished,
    RunStarted,
)
from jaxtui.ui import words
from tests import records
from tests.processes import wait_until
from tests.stores import at_once, group


def device(process: Any, index: Any, mine: Any) -> Any:
    return records.device(
        f"cpu:{2048 * process + index}",
        process_index=process,
        addressable=process == mine,
        memory={"bytes_limit": process} if process == mine else None,
    )


def host(process: Any) -> Any:
    return records.host(f"h{process}")


def case(name: Any, op: str = "selu") -> Any:
    return records.case(op=op, device=name)


def never() -> bool:
    return False


def measure(work: Any, stop: Any, pace: Any, of: Any = None) -> Iterator[Any]:
    for index, each in enumerate(work.cases):
        yield CaseMeasured(index=index, measurement=records.measurement(of or each))


class Group:
    """Three processes with two devices each."""

    def __init__(self, machines: tuple[int, ...] = (0, 0, 0)) -> None:
        self.store, self.hosts = group(3, machines)
        self.works: list[Any] = []
        self.readings = False

        def gather(process: Any) -> Any:
            every = [device(p, i, process) for p in range(3) for i in range(2)]
            self.hosts[process].begin()
            return self.hosts[process].gather(host(process), every)

        self.known = at_once([partial(gather, process) for process in range(3)])

    def here(self, process: Any, work: Any, stop: Any, pace: Any) -> Iterator[Any]:
        self.works.append((process, work))
        pace.decide(lambda: 1, int)
        yield RunStarted(cases=getattr(work, "cases", ()))
        if isinstance(work, Check):
            if self.readings:
                reading = Reading(test=work.test, device=None, what="chips")
                yield CheckRead(reading=reading)
            for name in work.devices:
                yield CheckDone(device=name)
        else:
            for index, each in enumerate(work.cases):
                if each.op == "raise":
                    raise RuntimeError("a mistake")
                if stop():
                    remark = Remark("stopped", {"before": "turn"}, "error")
                    failure = Failure(case=each, remark=remark)
                    yield CaseFailed(index=index, failure=failure)
                else:
                    measured = records.measurement(each)
                    yield CaseMeasured(index=index, measurement=measured)
        yield RunFinished(outcome="complete", elapsed_seconds=0.0)

    def run(self, work: Any, stop: Any = never, works: Any = None) -> Any:
        """The events in each process."""

        def run(process: Any) -> Any:
            mine = works[process] if works else work
            hosts = self.hosts[process]
            if (remark := hosts.agree(mine)) is not None:
                return remark
            ends = stop if process == 0 else never
            return [*course.run(hosts, mine, ends, partial(self.here, process))]

        results = at_once([partial(run, process) for process in range(3)])
        # What was decided and sent is deleted as it is read.
        left = {"/".join(key.split("/")[2:]) for key in self.store.values}
        assert left <= {"agreed", "result", "0"}, left  # and a notice
        return results


def outcomes(events: Any) -> Any:
    return [each for each in events if isinstance(each, (CaseMeasured, CaseFailed))]


def test_the_devices_of_all_are_usable_in_their_order() -> None:
    known = Group().known
    for devices, _ in known:
        names = [each.name for each in devices]
        assert names[:2] + names[4:] == ["cpu:0", "cpu:1", "cpu:4096", "cpu:4097"]
        assert all(each.addressable for each in devices)
        assert " ".join(each.hostname for each in devices) == "h0 h0 h1 h1 h2 h2"
    devices, hosts = known[0]
    # Of each device what its own process says of it.
    assert [each.memory["bytes_limit"] for each in devices] == [0, 0, 1, 1, 2, 2]
    assert [each.hostname for each in hosts] == ["h0", "h1", "h2"]


def test_each_case_is_timed_by_its_process_and_all_know_what_came_of_it() -> None:
    group = Group()
    names = ["cpu:4096", "cpu:0", "cpu:2048", "cpu:1"]
    experiment = Experiment(cases=tuple(map(case, names)))
    results = group.run(experiment)
    for events in results:
        assert events[0].cases == experiment.cases
        assert events[-1].outcome == "complete"
        measured = {
            each.index: (each.measurement.case.device, each.measurement.hostname)
            for each in events
            if isinstance(each, CaseMeasured)
        }
        hosts = ("h2", "h0", "h1", "h0")
        assert measured == dict(enumerate(zip(names, hosts, strict=True)))
    # Whoever concludes something concludes it from the same, in the same order.
    assert outcomes(results[0]) == outcomes(results[1]) == outcomes(results[2])
    assert sorted(process for process, _ in group.works) == [0, 1, 2]


def test_a_typed_budget_is_shared_by_those_that_share_a_machine() -> None:
    cases = tuple(map(case, ("cpu:0", "cpu:2048", "cpu:4096")))
    experiment = Experiment(cases=cases, budget_seconds=6.0)
    for machines, seconds in (((0, 0, 0), 2.0), ((0, 1, 2), 6.0), ((0, 0, 1), 3.0)):
        group = Group(machines)
        group.run(experiment)
        assert {work.budget_seconds for _, work in group.works} == {seconds}


def test_what_several_do_in_step_is_done_by_them_alone_after_all_else() -> None:
    """A mistake elsewhere costs its cases alone."""
    group = Group()
    both = case("cpu:0-1,4096", "all_reduce")
    results = group.run(Experiment(cases=(both, case("cpu:2048", "raise"))))
    first, *others = [process for process, _ in group.works]
    assert (first, sorted(others)) == (1, [0, 2])
    for events in results:
        measured, failed = sorted(outcomes(events), key=lambda each: each.index)
        assert (failed.index, failed.failure.remark.code) == (1, "fault")
        assert isinstance(measured, CaseMeasured)


def test_a_check_is_that_of_each_host() -> None:
    group = Group()
    group.readings = True
    devices = ("cpu:0", "cpu:2048", "cpu:2049")
    check = Check(test="memory", devices=devices, budget_seconds=1.0)
    for events in group.run(check):
        done = [event.device for event in events if isinstance(event, CheckDone)]
        assert tuple(sorted(done)) == devices
        read = [each.reading.what for each in events if isinstance(each, CheckRead)]
        assert sorted(read) == ["chips", "chips of process 1"]
    works = sorted((process, work.devices) for process, work in group.works)
    assert works == [(0, devices[:1]), (1, devices[1:])]


def test_a_stop_of_the_first_ends_the_work_in_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    group = Group()
    usual = group.here

    def here(process: Any, work: Any, stop: Any, pace: Any) -> Iterator[Any]:
        wait_until(stop, "the end")
        yield from usual(process, work, stop, pace)

    monkeypatch.setattr(group, "here", here)
    work = Experiment(cases=tuple(map(case, ("cpu:0", "cpu:2048"))))
    for events in group.run(work, lambda: True):
        codes = {each.index: each.failure.remark.code for each in outcomes(events)}
        assert codes == {0: "stopped", 1: "stopped"}
        assert events[-1].outcome == "cancelled"


@pytest.mark.parametrize("differs", ["work", "file", "missing"])
def test_who_is_asked_for_something_else_is_named(
    differs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "f.py"
    file.write_text("def f(x): return x\n")
    work = Experiment(cases=(case("cpu:0", f"{file}:f"),))
    works = dict.fromkeys(range(3), work)
    if differs == "work":
        works[2] = msgspec.structs.replace(work, seed=1)
    else:
        digests = iter(["a", "a", "" if differs == "missing" else "b"])
        monkeypatch.setattr(
            "jaxtui.core.engine.hosts._digest_of", lambda _: next(digests)
        )
    group = Group()
    remarks = group.run(work, works=works)
    code = "works-differ" if differs == "work" else "file-differs"
    assert {each.code for each in remarks} == {code}
    assert len({each.facts["hostname"] for each in remarks}) == 1
    assert words.text(remarks[0])
    # The next work is none the worse.
    good = Experiment(cases=(case("cpu:0"),))
    assert all(events[-1].outcome == "complete" for events in group.run(good))


def test_what_another_sends_is_of_a_case_that_is_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A file that is named in the store would be imported."""
    group = Group()
    evil = case("cpu:2048", "/tmp/evil.py:f")

    def here(_: int, work: Any, stop: Any, pace: Any) -> Any:
        return measure(work, stop, pace, of=evil)

    monkeypatch.setattr(group, "here", here)
    work = Experiment(cases=(case("cpu:0"), case("cpu:2048")))
    # One that claims the case of another is not heard.
    claim = CaseMeasured(index=0, measurement=records.measurement(evil))
    group.store.put("jaxtui/2/outcome/2/0", encode([claim]))
    for events in group.run(work)[1:]:
        ops = {each.index: each.measurement.case.op for each in outcomes(events)}
        assert ops == {0: "selu", 1: "selu"}
        assert len(outcomes(events)) == 2


def test_a_run_costs_so_many_messages() -> None:
    """What HOSTS.md says, without the wait for a process that is going."""
    for processes in (2, 4, 8):
        store, hosts = group(processes)

        def run(process: Any, hosts: Any = hosts, processes: Any = processes) -> Any:
            every = [device(number, 0, process) for number in range(processes)]
            hosts[process].begin()
            hosts[process].gather(host(process), every)
            work = Experiment(cases=tuple(case(each.name) for each in every))
            assert hosts[process].agree(work) is None

            return [*course.run(hosts[process], work, never, measure)]

        all_events = at_once([partial(run, process) for process in range(processes)])
        assert all(events[-1].outcome == "complete" for events in all_events)
        counted = sum(store.done[each] for each in ("put", "delete"))
        assert counted == 10 * (processes - 1) + 3, (processes, store.done)


def test_a_start_knows_who_is_missing() -> None:
    place, names = Place("h0:1", 4, 0), ("a", "b", "c", "d")
    joining = Joining(place=place, names=names, missing=(1, 3))
    start = startup.observe(startup.NOTHING, joining)
    remark = startup.slow(start, 5.0)
    assert remark.code == "hosts-awaited"
    assert remark.facts["missing"] == (1, 3)
    assert remark.facts["names"] == ("b", "d")
    assert startup.timed_out(start, 9.0).remark.code == "hosts-missing"
    met = msgspec.structs.replace(joining, missing=(), hostnames=names)
    assert startup.slow(startup.observe(start, met), 20.0).code == "slow-start"


def test_another_process_waits_for_the_first_until_that_is_heard_of() -> None:
    joining = Joining(place=Place("h0:1", 4, 2), obstacle="refused")
    start = startup.observe(startup.NOTHING, joining)
    remark = startup.slow(start, 5.0)
    assert (remark.code, remark.facts["missing"]) == ("hosts-awaited", (0,))
    assert "Nothing listens at h0:1" in words.text(remark)
    heard = msgspec.structs.replace(joining, obstacle="", heard=True)
    start = startup.observe(start, heard)
    text = words.text(startup.timed_out(start, 9.0).remark)
    assert "Process 0 did not join" not in text
    assert "Process 0 at h0:1 names those" in text
