"""An engine that plays a transcript: what both sides said over the real pipes.

    python player.py TRANSCRIPT HEARD … --requests FD --events FD …

The lines of a transcript are those of the protocol, in order. At a request it waits for
one, whatever that says, and adds it to the file HEARD; an event is sent as it stands.
``{"opening": FILE}`` plays another file first, and ``{"die": SIGNAL}`` ends the
process: the lines after that are those of the next engine.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

FIRST = '"generation":1'


def lines_of(transcript: Path, generation: int) -> Iterator[str]:
    """The lines for one engine of several."""
    number = 1
    for line in transcript.read_text().splitlines():
        if number == generation:
            yield line
        number += line.startswith('{"die"')


def main() -> None:
    """Play the lines of this generation."""
    transcript, heard = Path(sys.argv[1]), sys.argv[2]
    given = dict(zip(sys.argv[3:], sys.argv[4:], strict=False))
    generation = int(given["--generation"])
    with (
        open(int(given["--requests"])) as requests,
        open(int(given["--events"]), "w", buffering=1) as events,
        open(heard, "a", buffering=1) as file,
    ):
        for line in lines_of(transcript, generation):
            if line.startswith('{"type"'):
                file.write(requests.readline())
            elif line.startswith('{"die"'):
                os.kill(os.getpid(), json.loads(line)["die"])
            elif line.startswith('{"opening"'):
                text = (transcript.parent / json.loads(line)["opening"]).read_text()
                events.write(text.replace(FIRST, f'"generation":{generation}'))
            else:
                events.write(line + "\n")
        requests.readline()  # the goodbye


if __name__ == "__main__":
    main()
