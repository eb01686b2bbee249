"""``jaxtui links``: how fast devices copy to each other, and which pairs lag."""

from __future__ import annotations

from functools import partial

import click

from jaxtui import selection
from jaxtui.analysis.links import choose
from jaxtui.commands import CASE_FAILED, FINE, CannotRun
from jaxtui.commands.common import Common, engine_flags, named, valued
from jaxtui.commands.engine import Driver
from jaxtui.commands.options import BUDGET, DEVICE_LIST, Parsed, json_flag, seed
from jaxtui.commands.output import Exports, close, export_flags, rendered
from jaxtui.machine.network import Network
from jaxtui.model import Remark, SelectionError
from jaxtui.model.links import Links
from jaxtui.state import State
from jaxtui.view import links as view
from jaxtui.view import words
from jaxtui.view.export import Contents


@named("links", "jaxtui links", "jaxtui links --size 1MiB --cpu-devices 8")
@valued(
    "--size",
    "BYTES",
    "Size of the copy that gives bytes/s: 64MiB, 1e6 or 4096.",
    "64MiB",
    type=Parsed("bytes", selection.parse_bytes),
)
@valued(
    "--device",
    "DEVICES",
    "cpu:0,cpu:3 or tpu.  [default: all]",
    type=DEVICE_LIST,
)
@valued("--budget", "SECONDS", "Time for the rounds.", "10", type=BUDGET)
@seed
@json_flag
@export_flags("the results", (".json", ".md", ".svg"))
@engine_flags
@click.pass_obj
def command(
    common: Common,
    /,
    *,
    size: int,
    device: str | None,
    budget: float,
    seed: int,
    as_json: bool,
    exports: Exports,
) -> int:
    """Time copies between all pairs of devices.

    The latency is that of 8-byte copies. Each direction counts as a pair; above 16
    devices, jaxtui measures a sample of pairs over all distances.
    """
    driver = Driver(common)

    async def run() -> None:
        async with driver.started() as session, driver.progress():
            await session.ready()
            session.refuse("verdicts")
            work = _work(session.state, size, device, budget, seed)
            driver.warn()
            job = await session.run(work, "links")
            if job.failed is not None and not job.links:
                raise CannotRun(words.why(job.failed))

    driver.drive(run())
    state = driver.state
    job = state.jobs.get("links")
    links = view.Links.of(job, state.devices)
    failed = job.failed if job is not None else None
    document = view.document(state.host, links, failed, driver.outcome)

    def contents(links: view.Links) -> Contents:
        return view.files(document, links.report(state.host, lost=driver.lost))

    def text(links: view.Links) -> str:
        return rendered(links.report(state.host, lost=driver.lost))

    whole = links is not None and all(map(links.rate, links.work.pairs))
    seen = links is not None and bool(links.measured)
    return close(
        document=document,
        text=partial(text, links) if links and seen else None,
        as_json=as_json,
        code=FINE if whole else CASE_FAILED,
        lost=driver.lost,
        contents=partial(contents, links) if links and seen else None,
        exports=exports,
    )


def _work(
    state: State, size: int, device: str | None, budget: float, seed: int
) -> Links:
    """What to ask of the engine.

    Raises:
        SelectionError: if a device does not exist, or only one was named.
        CannotRun: if there is only one.
    """
    names = selection.parse_devices(device or "all", state.devices)
    if len(names) < 2:
        alone = view.one_device(names)
        if device is None:
            raise CannotRun(words.text(alone))
        raise SelectionError(words.text(alone))
    chosen = [one for one in state.devices if one.name in names]
    pairs = tuple(choose(chosen, Network(state.devices), seed))
    if not pairs:
        apart = Remark("link-across-hosts")
        if device is None:
            raise CannotRun(words.text(apart))
        raise SelectionError(words.text(apart))
    return Links(
        pairs=pairs,
        nbytes=size,
        budget_seconds=budget,
        seed=seed,
    )
