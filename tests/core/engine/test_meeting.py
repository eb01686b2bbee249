"""How processes meet: who is missing, who does not fit, where process 0 listens."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec
import pytest

from jaxtui.core.engine import meeting
from jaxtui.core.model import Joining, Place
from jaxtui.tasks.errors import RefusedError
from tests.processes import LIMIT_SECONDS, wait_until
from tests.stores import at_once


def free_port() -> Any:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(meeting, "RETRY_SECONDS", 0.01)
    return f"127.0.0.1:{free_port()}"


class Guest:
    """A process that meets others in a thread, and what it says meanwhile."""

    def __init__(self, address: Any, process: Any, processes: int = 3) -> None:
        self.place = Place(address, processes, process)
        self.said: list[Any] = []

    def __call__(self) -> Any:
        joining = Joining(place=self.place)
        try:
            return meeting.meet(self.place, joining, self.said.append)
        except RefusedError as refused:
            return refused.remark


@contextmanager
def waiting(*guests: Any) -> Iterator[Any]:
    """They come before, and have met all others at the end."""
    threads = [threading.Thread(target=each, daemon=True) for each in guests]
    for thread in threads:
        thread.start()
    yield
    for thread in threads:
        thread.join(LIMIT_SECONDS)
        assert not thread.is_alive()


def test_all_know_the_hosts_and_who_shares_a_machine(address: Any) -> None:
    guests = [Guest(address, number) for number in range(3)]
    first, *others = at_once(guests)
    assert first.hostnames == (socket.gethostname(),) * 3
    assert first.machines == (0, 0, 0)
    assert others == [first, first]
    # The first says each time who is missing.
    assert guests[0].said[0].missing == (1, 2)
    assert guests[0].said[-1].missing == ()


@pytest.mark.parametrize("name", meeting.COMPARED)
def test_who_does_not_fit_is_named(
    address: Any, name: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = meeting.arrival

    def arrival(place: Any) -> Any:
        value = 4 if name == "processes" else "9"
        changed = {name: value} if place.process else {}
        return msgspec.structs.replace(usual(place), **changed)

    monkeypatch.setattr(meeting, "arrival", arrival)
    remarks = at_once([Guest(address, 0, 2), Guest(address, 1, 2)])
    for remark in remarks:
        assert remark.code == "hosts-differ"
        assert remark.facts["what"] == name
        assert remark.facts["process"] == 1
        assert str(remark.facts["has"]) in ("4", "9")


def test_the_second_of_two_with_one_number_is_refused(address: Any) -> None:
    first = Guest(address, 0)
    with waiting(first, Guest(address, 1)):
        wait_until(lambda: first.said and first.said[-1].missing == (2,), "process 1")
        assert Guest(address, 1)().code == "process-taken"
        Guest(address, 2)()


def test_who_leaves_is_missing_again_and_what_is_no_arrival_is_nobody(
    address: Any,
) -> None:
    first = Guest(address, 0)
    host, port = address.split(":")
    hello = msgspec.json.encode(meeting.arrival(Place(address, 3, 1)))
    connect = partial(socket.create_connection, (host, int(port)), 60)
    with waiting(first):
        wait_until(lambda: first.said, "the first word")
        for data in (b"GET / HTTP/1.1\r\n\r\n", b"\x00" * 100, b""):
            with connect() as stranger:
                stranger.sendall(data)
        with connect() as guest:
            guest.sendall(hello + b"\n")
            wait_until(lambda: first.said[-1].missing == (2,), "process 1")
        wait_until(lambda: first.said[-1].missing == (1, 2), "its end")
        at_once([Guest(address, 1), Guest(address, 2)])


def test_a_port_that_is_taken_is_named(address: Any) -> None:
    with socket.socket() as listener:
        port = int(address.rpartition(":")[2])
        listener.bind(("127.0.0.1", port))
        listener.listen()
        remark = Guest(address, 0)()
    assert remark.code == "coordinator-port"
    assert (remark.facts["port"], remark.facts["taken"]) == (port, True)


def test_why_process_0_cannot_be_reached_is_said(address: Any) -> None:
    guest = Guest(address, 1, 2)
    with waiting(guest):
        wait_until(lambda: guest.said, "an obstacle")
        assert guest.said[0].obstacle == "refused"
        Guest(address, 0, 2)()
    assert guest.said[-1].obstacle == ""


@pytest.mark.parametrize(
    ("typed", "bound"),
    [
        ("127.0.0.1:5", ("127.0.0.1", 5)),
        ("localhost:5", ("127.0.0.1", 5)),
        ("0.0.0.0:5", ("0.0.0.0", 5)),
        # No address of this host, and no name: it is the outer one of a machine.
        ("192.0.2.1:5", ("::", 5)),
        ("host.invalid:5", ("::", 5)),
    ],
)
def test_process_0_listens_where_it_was_typed(
    typed: str, bound: tuple[Any, ...]
) -> None:
    host, port = meeting.bind_address(typed)
    assert (host, port) == bound or (typed[:4], host) == ("loca", "::1")
