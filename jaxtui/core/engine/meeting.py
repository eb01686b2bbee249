"""The meeting of several processes, before JAX's runtime brings them together.

Process 0 listens at the coordinator's address until all have said who they are, in a
line of JSON each, and answers each with a line. JAX's own runtime waits without a word
where versions differ, and does not tell who is missing. It takes over the port.
"""

from __future__ import annotations

import contextlib
import errno
import importlib.metadata
import platform
import selectors
import socket
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import jax
import msgspec

from jaxtui.core.model import Arrival, Fact, Joining, Place, Remark, Terms
from jaxtui.machine.hardware import read_text
from jaxtui.tasks.errors import RefusedError

ANSWER_SECONDS = 1.0
"""Seconds for one attempt to reach process 0, and for it to send an answer."""

RETRY_SECONDS = 0.5
"""Between two attempts."""

MOST_BYTES = 1 << 20
"""Bytes of the longest line: the names of 65,536 hosts fit."""

COMPARED = ("processes", "jaxtui", "jax", "jaxlib", "python")
"""Fields that must be equal in all processes."""

Say = Callable[[Joining], None]


def meet(place: Place, joining: Joining, say: Say) -> Terms:
    """Wait until all processes are there.

    Args:
        place: of this process.
        joining: what is known of the others so far.
        say: is given the same again, each time that more is known.

    Raises:
        RefusedError: They do not fit, or process 0 cannot listen.
    """
    terms = _visit(place, joining, say) if place.process else _host(place, joining, say)
    if terms.refusal is not None:
        raise RefusedError(terms.refusal)
    return terms


def bind_address(coordinator: str) -> tuple[str, int]:
    """Return the address at which process 0 listens: the one that was typed, if it is
    this host's.

    A name that stands for loopback here and for this host elsewhere, as Debian's
    ``/etc/hosts`` has it, and the outer address of a virtual machine leave no choice:
    all addresses.
    """
    host, _, text = coordinator.rpartition(":")
    name, port = host.strip("[]"), int(text)
    with contextlib.suppress(OSError):
        for family, _, _, _, address in socket.getaddrinfo(
            name, None, type=socket.SOCK_STREAM
        ):
            numeric = str(address[0])
            loopback = numeric == "::1" or numeric.startswith("127.")
            if loopback and name not in (numeric, "localhost"):
                continue
            if _is_here(family, numeric):
                return numeric, port
    return "::" if socket.has_ipv6 else "0.0.0.0", port


def _is_here(family: int, address: str) -> bool:
    """Return whether an address is one of this host."""
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
        return True


def arrival(place: Place) -> Arrival:
    """Return the arrival of this process."""
    return Arrival(
        process=place.process,
        processes=place.processes,
        hostname=socket.gethostname(),
        boot=read_text(Path("/proc/sys/kernel/random/boot_id")).strip()
        or socket.gethostname(),
        jaxtui=str(vars(sys.modules["jaxtui"])["__version__"]),
        jax=jax.__version__,
        jaxlib=importlib.metadata.version("jaxlib"),
        python=".".join(platform.python_version_tuple()[:2]),
    )


def difference(first: Arrival, other: Arrival) -> Remark | None:
    """Return why two processes cannot work together."""
    for name in COMPARED:
        here, there = getattr(first, name), getattr(other, name)
        if here != there:
            facts: dict[str, Fact] = {
                "what": name,
                "process": other.process,
                "hostname": other.hostname,
                "has": there,
                "first": first.hostname,
                "first_has": here,
            }
            return Remark("hosts-differ", facts, "error")
    return None


def terms_of(arrivals: Sequence[Arrival]) -> Terms:
    boots = [*dict.fromkeys(arrival.boot for arrival in arrivals)]
    return Terms(
        hostnames=tuple(arrival.hostname for arrival in arrivals),
        machines=tuple(boots.index(arrival.boot) for arrival in arrivals),
    )


class _Guest:
    """A process that has called process 0, and what it has said so far."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection, self.data = connection, b""
        self.arrival: Arrival | None = None

    def answer(self, terms: Terms) -> None:
        with contextlib.suppress(OSError):
            self.connection.settimeout(ANSWER_SECONDS)
            self.connection.sendall(msgspec.json.encode(terms) + b"\n")
        self.connection.close()


def _listen(coordinator: str) -> socket.socket:
    host, port = bind_address(coordinator)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if host == "::":
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind((host, port))
        listener.listen(socket.SOMAXCONN)
    except OSError as error:
        listener.close()
        facts: dict[str, Fact] = {
            "port": port,
            "taken": error.errno == errno.EADDRINUSE,
            "error": error.strerror,
        }
        raise RefusedError(Remark("coordinator-port", facts, "error")) from error
    listener.setblocking(False)
    return listener


def _host(place: Place, joining: Joining, say: Say) -> Terms:
    """Receive the arrivals as process 0, and answer when all are there."""
    own = arrival(place)
    guests: dict[int, _Guest] = {}
    selector = selectors.DefaultSelector()
    listener = _listen(place.coordinator)
    selector.register(listener, selectors.EVENT_READ)

    def tell() -> None:
        missing = tuple(p for p in range(1, place.processes) if p not in guests)
        say(msgspec.structs.replace(joining, missing=missing, heard=True))

    def leave(guest: _Guest) -> None:
        selector.unregister(guest.connection)
        guest.connection.close()
        if guest.arrival and guests.get(guest.arrival.process) is guest:
            del guests[guest.arrival.process]
            tell()

    def receive(guest: _Guest) -> Remark | None:
        try:
            data = guest.connection.recv(1 << 16)
        except OSError:
            data = b""
        guest.data += data
        if not data or len(guest.data) > MOST_BYTES:
            leave(guest)
            return None
        line, end, _ = guest.data.partition(b"\n")
        if not end or guest.arrival is not None:
            return None
        try:
            came = guest.arrival = msgspec.json.decode(line, type=Arrival)
        except msgspec.DecodeError:  # whoever that was
            leave(guest)
            return None
        if (remark := difference(own, came)) is not None:
            return remark
        if came.process in guests or not 0 < came.process < place.processes:
            facts: dict[str, Fact] = {
                "process": came.process,
                "processes": place.processes,
                "coordinator": place.coordinator,
                "hostname": came.hostname,
            }
            selector.unregister(guest.connection)
            refusal = Remark("process-taken", facts, "error")
            guest.answer(Terms(refusal=refusal))
            return None
        guests[came.process] = guest
        tell()
        return None

    tell()
    try:
        while len(guests) < place.processes - 1:
            for key, _ in selector.select():
                if key.fileobj is listener:
                    connection, _ = listener.accept()
                    connection.setblocking(False)
                    guest = _Guest(connection)
                    selector.register(connection, selectors.EVENT_READ, guest)
                elif (remark := receive(key.data)) is not None:
                    terms = Terms(refusal=remark)
                    for guest in (key.data, *guests.values()):
                        guest.answer(terms)
                    return terms
        # JAX's runtime listens here from now on.
        listener.close()
        arrivals = [guests[p].arrival for p in range(1, place.processes)]
        terms = terms_of([own, *(joined for joined in arrivals if joined is not None)])
        for guest in guests.values():
            guest.answer(terms)
        return terms
    finally:
        listener.close()
        for guest in guests.values():
            guest.connection.close()
        selector.close()


def _visit(place: Place, joining: Joining, say: Say) -> Terms:
    """Announce this process to process 0, and wait for its answer."""
    host, _, port = place.coordinator.rpartition(":")
    hello = msgspec.json.encode(arrival(place)) + b"\n"
    while True:
        try:
            with socket.create_connection(
                (host.strip("[]"), int(port)), ANSWER_SECONDS
            ) as connection:
                connection.settimeout(None)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                connection.sendall(hello)
                if not joining.heard:
                    joining = msgspec.structs.replace(joining, heard=True, obstacle="")
                    say(joining)
                line = _line(connection)
            return msgspec.json.decode(line, type=Terms)
        except socket.gaierror:
            obstacle = "unknown-host"
        except ConnectionRefusedError:
            obstacle = "refused"
        except (OSError, msgspec.DecodeError):
            obstacle = "unreachable"
        if joining.obstacle != obstacle:
            joining = msgspec.structs.replace(joining, heard=False, obstacle=obstacle)
            say(joining)
        time.sleep(RETRY_SECONDS)


def _line(connection: socket.socket) -> bytes:
    """Raises ``OSError`` where process 0 is gone before it has answered."""
    data = b""
    while not data.endswith(b"\n"):
        more = connection.recv(1 << 16)
        if not more or len(data) > MOST_BYTES:
            raise OSError("no answer")
        data += more
    return data
