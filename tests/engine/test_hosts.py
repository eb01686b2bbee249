"""Engines that work as one, with a store in memory and no process."""

from __future__ import annotations

import msgspec
import pytest

from jaxtui.engine import startup
from jaxtui.engine.follower import Follower
from jaxtui.engine.hosts import Task, differences
from jaxtui.engine.leader import Leader
from jaxtui.model import (
    Arrival,
    CaseFailed,
    CaseMeasured,
    Check,
    CheckDone,
    CheckRead,
    Device,
    Experiment,
    Host,
    Joining,
    LinkMeasured,
    Links,
    LinksMeasured,
    Logged,
    Member,
    Place,
    Plan,
    PlannedCase,
    Reading,
    Remark,
    RunFinished,
    RunStarted,
)
from jaxtui.view import words
from tests import records
from tests.fake_engine import HOST


class Store:
    """Keys of one process: what is not there does not come."""

    def __init__(self):
        self.values = {}

    def put(self, key, value, *, again=False):
        assert again or key not in self.values, key
        self.values[key] = value

    def get(self, key, seconds):
        return self.values.get(key)

    def delete(self, key):
        for each in [*self.values]:
            if each == key or each.startswith(f"{key}/"):
                del self.values[each]


def arrival(process, **facts):
    usual = {"processes": 3, "hostname": f"h{process}", "pid": 1, "boot": "b"}
    versions = {"jaxtui": "1", "jax": "2", "jaxlib": "3"}
    return Arrival(process=process, **{**usual, **versions, **facts})


def device(process, index):
    return Device(
        id=2048 * process + index,
        platform="cpu",
        device_kind="cpu",
        process_index=process,
        addressable=process == 0,
    )


def case(name, op="selu"):
    return records.case(op=op, device=name)


class Group:
    """A leader and its followers, each of which works as soon as it is asked."""

    def __init__(self, boots=("b", "b", "b")):
        self.store, self.works, self.readings = Store(), [], False
        self.leader = Leader(self.store, Place("h0:1", 3, 0), print, again=False)
        self.leader.arrivals = [arrival(i, boot=boot) for i, boot in enumerate(boots)]
        self.followers = [
            Follower(self.store, Place("h0:1", 3, process), print, again=False)
            for process in (1, 2)
        ]
        every = [device(process, index) for process in range(3) for index in range(2)]
        put = self.store.put

        def asked(key, value, **options):
            put(key, value, **options)
            if key.startswith("jaxtui/task/"):
                self.serve(int(key.rpartition("/")[2]))

        self.store.put = asked
        self.leader.begin(None)
        for process in (1, 2):
            mine = tuple(
                msgspec.structs.replace(each, addressable=True)
                for each in every
                if each.process_index == process
            )
            member = Member(
                host=Host(
                    hostname=f"h{process}",
                    python="3",
                    jax="2",
                    jaxlib="3",
                    numpy="1",
                    platform_version="",
                ),
                devices=mine,
            )
            self.followers[process - 1].answer(0, member)
        self.devices, self.hosts = self.leader.gather(HOST, every)

    def serve(self, number):
        task = msgspec.json.decode(
            self.store.values[f"jaxtui/task/{number}"], type=Task
        )
        for process in task.to:
            follower = self.followers[process - 1]
            mine = task
            if task.apart:
                own = self.store.values[f"jaxtui/own/{number}/{process}"]
                mine = msgspec.json.decode(own, type=Task)
            if mine.work is not None:
                follower.run(number, mine, self.here(process))
            elif mine.plan is not None:
                follower.answer(number, plan(mine.plan))

    def here(self, process):
        def run(work, stop, pace):
            assert pace is None
            self.works.append((process, work))
            yield RunStarted(cases=getattr(work, "cases", ()))
            if isinstance(work, Check):
                if self.readings:
                    reading = Reading(test=work.test, device=None, what="chips")
                    yield CheckRead(reading=reading)
                for name in work.devices:
                    yield CheckDone(device=name)
            elif isinstance(work, Links):
                for source, target in work.pairs:
                    yield LinkMeasured(source=source, target=target)
                own = Remark("contended", {"process": process}), Remark(f"of-{process}")
                yield LinksMeasured(remarks=own)
            else:
                for index, each in enumerate(work.cases):
                    if each.op == "raise":
                        raise RuntimeError("a mistake")
                    yield CaseMeasured(
                        index=index, measurement=records.measurement(each)
                    )
            yield RunFinished(outcome="complete", elapsed_seconds=0.0)

        return run

    def run(self, work, stop=lambda: False):
        return [*self.leader.run(work, stop, self.here(0))]


def plan(experiment):
    return Plan(
        cases=tuple(
            PlannedCase(
                case=each, memory_bytes=1, host_memory_bytes=1, flops=None, bytes=None
            )
            for each in experiment.cases
        ),
        budget_seconds=experiment.budget,
    )


def test_links_of_all_hosts_are_one_result_with_what_each_says():
    pairs = (("cpu:0", "cpu:1"), ("cpu:2048", "cpu:2049"), ("cpu:0", "cpu:2048"))
    events = Group().run(Links(pairs=pairs))
    links = {one.pair: one for one in events if isinstance(one, LinkMeasured)}
    assert {pair for pair, one in links.items() if not one.remarks} == {*pairs[:2]}
    (whole,) = [one for one in events if isinstance(one, LinksMeasured)]
    # Of each kind the first one: what is alike is not said for every host.
    first = Remark("contended", {"process": 0})
    assert whole.remarks == (first, Remark("of-0"), Remark("of-1"))


def test_the_devices_of_all_are_usable_in_their_order():
    group = Group()
    names = [each.name for each in group.devices]
    assert names == ["cpu:0", "cpu:1", "cpu:2048", "cpu:2049", "cpu:4096", "cpu:4097"]
    assert all(each.addressable for each in group.devices)
    assert [host.hostname for host in group.hosts] == [HOST.hostname, "h1", "h2"]


def test_each_case_is_timed_by_its_process_and_counted_in_the_whole():
    group = Group()
    names = ["cpu:4096", "cpu:0", "cpu:2048", "cpu:1"]
    experiment = Experiment(cases=tuple(map(case, names)))
    events = group.run(experiment)
    assert isinstance(events[0], RunStarted)
    assert events[0].cases == experiment.cases
    assert isinstance(events[-1], RunFinished)
    assert events[-1].outcome == "complete"
    measured = {
        event.index: event.measurement.case.device
        for event in events
        if isinstance(event, CaseMeasured)
    }
    assert measured == dict(enumerate(names))
    assert sorted(process for process, _ in group.works) == [0, 1, 2]
    assert not [key for key in group.store.values if "/part/" in key]


def test_what_is_of_this_process_alone_is_done_as_ever():
    group = Group()
    experiment = Experiment(cases=(case("cpu:0"), case("cpu:1")))
    group.run(experiment)
    assert group.works == [(0, experiment)]


def test_a_typed_budget_is_shared_by_those_that_share_a_machine():
    experiment = Experiment(
        cases=tuple(map(case, ("cpu:0", "cpu:2048", "cpu:4096"))), budget_seconds=6.0
    )
    for boots, seconds in (("aaa", 2.0), ("abc", 6.0), ("aab", 3.0)):
        group = Group(boots)
        group.run(experiment)
        assert {work.budget_seconds for _, work in group.works} == {seconds}


def test_a_check_is_that_of_each_host():
    group = Group()
    check = Check(
        test="memory", devices=("cpu:0", "cpu:2048", "cpu:2049"), budget_seconds=1.0
    )
    events = group.run(check)
    done = [event.device for event in events if isinstance(event, CheckDone)]
    assert sorted(done) == ["cpu:0", "cpu:2048", "cpu:2049"]
    assert [(p, w.devices) for p, w in group.works if p] == [
        (1, ("cpu:2048", "cpu:2049"))
    ]


def test_readings_of_a_host_as_a_whole_are_told_apart():
    group = Group()
    group.readings = True
    check = Check(test="present", devices=("cpu:0", "cpu:2048"), budget_seconds=1.0)
    read = [
        each.reading.what for each in group.run(check) if isinstance(each, CheckRead)
    ]
    assert sorted(read) == ["chips", "chips of process 1"]


def test_what_all_do_in_step_is_one_part():
    leader = Group().leader
    whole = Check(test="collectives", devices=("cpu:0", "cpu:4096"), budget_seconds=1.0)
    experiment = Experiment(
        cases=(case("cpu:0-1,4096", "all_reduce"), case("cpu:2048"))
    )
    assert [part.processes for part in leader._split(whole)] == [(0, 2)]
    parts = leader._split(experiment)
    assert [(part.processes, part.indices) for part in parts] == [
        ((0, 2), (0,)),
        ((1,), (1,)),
    ]
    # Nothing else runs meanwhile.
    assert [[p.processes for p in wave] for wave in leader._waves(parts)] == [
        [(1,)],
        [(0, 2)],
    ]


def test_a_mistake_elsewhere_costs_its_cases_alone():
    group = Group()
    events = group.run(Experiment(cases=(case("cpu:2048", "raise"), case("cpu:0"))))
    (failed,) = (event for event in events if isinstance(event, CaseFailed))
    assert (failed.index, failed.failure.remark.code) == (0, "run-fault")
    (measured,) = (event for event in events if isinstance(event, CaseMeasured))
    assert measured.index == 1


def test_what_a_stopped_run_did_not_reach_is_said():
    group = Group()
    stopped = iter([False, True, True, True])
    experiment = Experiment(cases=tuple(map(case, ("cpu:0", "cpu:2048"))))
    events = group.run(experiment, lambda: next(stopped, True))
    (failed,) = (event for event in events if isinstance(event, CaseFailed))
    assert (failed.index, failed.failure.remark.code) == (1, "stopped")
    assert events[-1].outcome == "cancelled"


def test_a_plan_has_the_cases_of_all_in_their_order():
    group = Group()
    experiment = Experiment(cases=tuple(map(case, ("cpu:4096", "cpu:0", "cpu:2048"))))
    planned = group.leader.plan(experiment, plan, recipes=False)
    assert [each.case for each in planned.cases] == [*experiment.cases]


@pytest.mark.parametrize("name", ["processes", "jaxtui", "jax", "jaxlib"])
def test_processes_that_do_not_fit_are_named(name):
    value = 4 if name == "processes" else "9"
    assert differences([arrival(0), arrival(1)]) is None
    remark = differences([arrival(0), arrival(1), arrival(2, **{name: value})])
    assert remark.code == "hosts-differ"
    assert remark.facts["what"] == name
    assert (remark.facts["process"], remark.facts["has"]) == (2, value)


def arrived(process):
    return Logged(
        line=f"] Task {process} invoked BarrierAsync([Init]Wait_for_all_tasks_to::0)."
    )


def test_a_start_knows_who_is_missing():
    start = startup.observe(
        startup.NOTHING,
        Joining(place=Place("h0:1", 4, 0), names=("a", "b", "c", "d")),
    )
    for process in (0, 2, 2):
        start = startup.observe(start, arrived(process))
    remark = startup.slow(start, 5.0)
    assert remark.code == "hosts-awaited"
    assert remark.facts["missing"] == (1, 3)
    assert remark.facts["names"] == ("b", "d")
    assert remark.facts["twice"] == (2,)
    assert startup.timed_out(start, 9.0).remark.code == "hosts-missing"
    for process in (1, 3):
        start = startup.observe(start, arrived(process))
    assert startup.slow(start, 20.0).code == "slow-start"


def test_a_follower_waits_for_the_first():
    joining = Joining(place=Place("h0:1", 4, 2), obstacle="refused")
    start = startup.observe(startup.NOTHING, joining)
    remark = startup.slow(start, 5.0)
    assert (remark.code, remark.facts["missing"]) == ("hosts-awaited", (0,))
    assert remark.facts["obstacle"] == "refused"


def test_who_hears_nothing_names_nobody():
    joining = Joining(place=Place("h0:1", 4, 0), heard=False)
    start = startup.observe(startup.NOTHING, joining)
    remark = startup.slow(start, 5.0)
    assert (remark.code, remark.facts["missing"]) == ("hosts-awaited", ())
    assert words.text(remark)
