"""An engine that is recorded: a transcript for ``player.py`` of what both sides say.

    jaxtui COMMAND --python "python tests/golden/record.py TRANSCRIPT"

Lines of progress are left out, and of a turn's samples all but the figure of its round.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

LEFT_OUT = ("Goodbye", "PhaseStarted", "Progress")
OF_A_TURN = ("case", "phases", "stable")


def main() -> None:
    """Run the engine whose command line follows, between it and its client."""
    transcript, *command = sys.argv[1:]

    def record(source: int, target: int) -> None:
        with open(source) as lines, open(target, "w", buffering=1) as sink:
            for line in lines:
                if not any(f'{{"type":"{name}"' in line for name in LEFT_OUT):
                    file.write(shortened(line))
                sink.write(line)

    with open(transcript, "a", buffering=1) as file:
        if file.tell():
            file.write('{"die":0}\n')  # the next engine
        requests, events = (
            command.index(option) + 1 for option in ("--requests", "--events")
        )
        reads, asks = os.pipe()
        hears, writes = os.pipe()
        heard, told = int(command[requests]), int(command[events])
        command[requests], command[events] = str(reads), str(writes)
        engine = subprocess.Popen([sys.executable, *command], pass_fds=(reads, writes))
        os.close(reads)
        os.close(writes)
        threading.Thread(target=record, args=(heard, asks), daemon=True).start()
        record(hears, told)
        sys.exit(engine.wait())


def shortened(line: str) -> str:
    """A turn without its samples and its figures so far."""
    if '"type":"Sampled"' not in line:
        return line
    document = json.loads(line)
    turn = document["event"]
    turn |= {"dispatch": [], "ready": [], "dispatch_bins": None, "ready_bins": None}
    turn["measurement"] = {
        name: value if name in OF_A_TURN else None
        for name, value in turn["measurement"].items()
        if name != "notes"
    }
    return json.dumps(document, separators=(",", ":")) + "\n"


if __name__ == "__main__":
    main()
