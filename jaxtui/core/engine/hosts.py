"""Engines on several hosts that do the same work, each its own part of it.

Every process builds the work from its own command line, and all compare a digest of it.
Each works out from the devices which part is its own.

All of this goes through the key-value store of JAX's coordination service. Nothing that
is run, imported or opened comes out of it: only numbers, remarks, and the results of
cases that this process knows.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from jaxtui.core.engine.active import files_of
from jaxtui.core.engine.cluster import Store, path
from jaxtui.core.engine.protocol import encode
from jaxtui.core.model import (
    HOST,
    Check,
    Device,
    Event,
    Experiment,
    Fact,
    Host,
    HostLost,
    Intent,
    Member,
    Notice,
    Place,
    Remark,
    Terms,
    Work,
)
from jaxtui.core.model.hosts import HOST_GONE
from jaxtui.core.model.machine import members
from jaxtui.machine.hosts import heartbeat_seconds
from jaxtui.tasks.errors import headline

EXIT_ALONE = 4
"""The exit status of an engine whose others have gone."""

WAIT_SECONDS = 60.0
"""Seconds of one wait for a key, which is repeated: each wait is a message."""

LOOK_SECONDS = 0.25
"""Seconds between two looks of process 0 at what others have measured."""

GOODBYE_SECONDS = 10.0
"""Seconds for others to read the last results, which are gone with process 0."""

LEAVE_SECONDS = 1.0
"""Seconds for others to hear that process 0 breaks off."""


class Part(NamedTuple):
    """The part of a work that one process does, or several in step."""

    processes: tuple[int, ...]
    """The first of them decides, and says what came of it."""
    work: Work
    indices: tuple[int, ...] = ()
    """The indices of its cases in an experiment."""


class Hosts:
    """This process among the others.

    Args:
        store: that all share.
        place: of this process.
        terms: on which they have met.
        say: tells this side's client something, and waits until it is written.
    """

    def __init__(
        self, store: Store, place: Place, terms: Terms, say: Callable[[Event], None]
    ) -> None:
        self.store, self._say = store, say
        self.me, self.processes = place.process, place.processes
        self._others = range(1, place.processes)
        self.terms = terms
        self._owners: dict[str, int] = {}
        """The process of each device, by its name."""
        self.begun = self._done = 0
        """Works, and the start of the backends as the first of them."""
        self._stopped = -1
        """The work that is to stop, as process 0 has it."""
        self._notices = 0
        """Notices that process 0 has sent."""
        self._gone: Notice | None = None
        """The first process that is going."""
        self._ending = False
        threading.Thread(target=self._watch, name="hosts", daemon=True).start()

    # Beginning.

    def gather(
        self, host: Host, devices: Sequence[Device]
    ) -> tuple[tuple[Device, ...], tuple[Host, ...]]:
        """The devices of all and, in process 0, their hosts.

        Args:
            host: of this process.
            devices: as this process lists them, those of others too.
        """
        self._owners = {device.name: device.process_index for device in devices}
        own = [device for device in devices if device.addressable]
        described = {device.name: device for device in own}
        hosts = [host]
        if self.me:
            member = Member(host=host, devices=tuple(own))
            self.store.put(path("up", self.me), encode(member))
        else:
            for process in self._others:
                data = self.take(path("up", process))
                member = msgspec.json.decode(data, type=Member)
                hosts.append(member.host)
                described |= {
                    device.name: device
                    for device in member.devices
                    if self._owners.get(device.name) == process
                }
        self.end_work()
        addressed = (described.get(device.name, device) for device in devices)
        names = self.terms.hostnames
        return tuple(
            replace(device, addressable=True, hostname=names[device.process_index])
            for device in addressed
        ), tuple(hosts)

    def begin(self) -> None:
        """Begin a work, or the start of the backends: all need each other for it."""
        self.begun += 1
        self._heed()

    def agree(self, work: Work) -> Remark | None:
        """Begin a work, and say why not all are to do it; ``None`` where they are."""
        self.begin()
        files = tuple((file, _digest_of(file)) for file in files_of(work))
        own = Intent(work=_digest(encode(work)), files=files)
        if self.me:
            self.store.put(path(self.begun, "intent", self.me), encode(own))
            data = self.wait(path(self.begun, "agreed"))
            remark: Remark | None = msgspec.json.decode(data, type=Remark | None)
        else:
            remark = None
            for process in self._others:
                data = self.take(path(self.begun, "intent", process))
                intent = msgspec.json.decode(data, type=Intent)
                remark = remark or self._difference(own, intent, process)
            # By now all have read what came of the last work.
            self.store.delete(path(self.begun - 1))
            self.store.put(path(self.begun, "agreed"), encode(remark))
        if remark is not None:
            self.end_work()
        return remark

    def end_work(self) -> None:
        """Note that nobody is needed until the next work begins."""
        self._done = self.begun

    def _difference(self, own: Intent, theirs: Intent, process: int) -> Remark | None:
        if theirs.work != own.work:
            return self.lost(process, "works-differ")
        for (file, here), (_, there) in zip(own.files, theirs.files, strict=True):
            if here != there:
                facts: dict[str, Fact] = {"file": file, "missing": not there}
                return self.lost(process, "file-differs", **facts)
        return None

    # Working.

    def split(self, work: Work) -> list[Part]:
        """The parts of a work, in the order in which their processes come in it."""
        match work:
            case Experiment():
                indices: dict[tuple[int, ...], list[int]] = {}
                for index, case in enumerate(work.cases):
                    owners = {self.owner(name) for name in members(case.device)}
                    indices.setdefault(tuple(sorted(owners)), []).append(index)
                return [
                    Part(
                        processes,
                        replace(work, cases=tuple(work.cases[i] for i in chosen)),
                        tuple(chosen),
                    )
                    for processes, chosen in indices.items()
                ]
            case Check():
                names: dict[int, list[str]] = {}
                for name in work.devices:
                    names.setdefault(self.owner(name), []).append(name)
                return [
                    Part((process,), replace(work, devices=tuple(chosen)))
                    for process, chosen in names.items()
                ]
            case _:
                of_one = getattr(work, "case", work)
                return [Part((self.owner(getattr(of_one, "device", None)),), work)]

    def owner(self, device: str | None) -> int:
        """Return the process that owns a device; without a device, process 0."""
        return 0 if device in (None, HOST) else self._owners.get(device or "", 0)

    # The store.

    def wait(self, key: str) -> bytes:
        """The value of a key, however long that takes."""
        while (data := self.store.get(key, WAIT_SECONDS)) is None:
            pass
        return data

    def take(self, key: str) -> bytes:
        """The value of a key that is meant for this process alone."""
        data = self.wait(key)
        self.store.delete(key)
        return data

    # At any time.

    def stop_others(self) -> None:
        """Stop the work in all processes; only process 0 does."""
        self._notify(Notice(done=self._done))

    @property
    def stopped(self) -> bool:
        """Return whether process 0 has ended the work."""
        return self._stopped == self._done < self.begun

    def lost(self, process: int, code: str, **facts: Fact) -> Remark:
        """Return a remark about a process, with its host name."""
        facts |= {"process": process, "hostname": self.terms.hostnames[process]}
        return Remark(code, facts, "error")

    def not_up(self, code: str) -> Remark:
        """Return a remark that JAX did not start here, with the reason's code."""
        return self.lost(self.me, "host-not-up", why=code)

    def leave(self, remark: Remark | None = None) -> None:
        """Tell the others that this process is going, and why; any thread may."""
        if self._ending:
            return
        self._ending = True
        notice = Notice(done=self._done, lost=remark or self.lost(self.me, "host-left"))
        if self.me:
            self.store.put(path("left"), encode(notice), again=True)
            self.store.put(path("gone", self.me), b"", again=True)
            return
        self._notify(notice)
        limit = LEAVE_SECONDS
        if remark is None and self._done == self.begun:
            limit = GOODBYE_SECONDS
        end = time.monotonic() + limit
        for process in self._others:
            self.store.get(path("gone", process), max(0.0, end - time.monotonic()))

    def give_up(self, remark: Remark) -> None:
        """End this process and all others, because one of them is lost."""
        self.leave(remark)
        self._say(HostLost(remark=remark))
        os._exit(EXIT_ALONE)

    def fail(self, error: BaseException) -> None:
        """End all, because this process cannot go on."""
        # What a dead process leaves of a collective is an error as well, and which one
        # it was the heartbeat tells: jaxlib ends this process then.
        time.sleep(heartbeat_seconds(os.environ) + LOOK_SECONDS)
        self.give_up(self.lost(self.me, "collective-broken", error=headline(error)))

    def _notify(self, notice: Notice) -> None:
        self.store.put(path("notice", self._notices), encode(notice))
        self._notices += 1

    def _watch(self) -> None:
        """Take note of what others say at any time: all that process 0 says, or who
        leaves it.
        """
        try:
            while True:
                if self.me:
                    data = self.wait(path("notice", self._notices))
                    self._notices += 1
                else:
                    data = self.take(path("left"))
                notice = msgspec.json.decode(data, type=Notice)
                if notice.lost is None:
                    self._stopped = notice.done
                elif notice.lost.code not in HOST_GONE:
                    continue  # whoever has sent that
                elif self._gone is None or notice.done < self._gone.done:
                    self._gone = notice
                self._heed()
        # The store is gone, and process 0 with it.
        except Exception:
            self._say(HostLost(remark=self.lost(0, "leader-lost")))
            os._exit(EXIT_ALONE)

    def _heed(self) -> None:
        """End where a process is going that this one still needs."""
        gone = self._gone
        if gone and gone.lost and self.begun > gone.done and not self._ending:
            self.give_up(gone.lost)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _digest_of(file: str) -> str:
    try:
        return _digest(Path(file).read_bytes())
    except OSError:
        return ""
