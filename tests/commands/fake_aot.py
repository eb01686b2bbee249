"""A process that stands for ``jaxtui.measure.ahead_process`` and does what it is told.

``fake_aot.py WHAT``: ``answer`` says what libtpu 0.0.50.1 said of a product of 256×256
matrices in bfloat16 on v5e:2x4 (``fake_aot.jsonl``); the others go wrong in their ways.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

RECORDED = Path(__file__).with_suffix(".jsonl").read_text(encoding="utf-8")
HELLO, READY, *REST = RECORDED.splitlines(keepends=True)

NOISE = """\
some warning of C++ on fd 2
F1121 12:42:56.552393   17762 shape.h:847] Check failed: buffer != nullptr
    @     0x7feb92de2b01  absl::raw_log_internal::RawLog()
https://symbolize.stripped_domain/r/?trace=7feb92de2b00,7feb92db1b81&map=
*** SIGABRT received by PID 17753 (TID 17762) on cpu 1, si_code=-6 ***
E1121 12:42:56.661446   17762 coredump_hook.cc:309] RAW: Remote crash hook invoked.
"""
"""As a crash of libtpu's compiler reads."""


def main(what: str, answers: int) -> None:
    stream = os.fdopen(answers, "w", encoding="utf-8")

    def say(*lines: str) -> None:
        stream.writelines(lines)
        stream.flush()

    if what == "broken":
        sys.exit("ModuleNotFoundError: No module named 'jaxtui.measure.aot'")
    if what == "missing":
        say('{"type":"AheadHello","libtpu":null}\n')
        signal.pause()
    if what == "without-jax":
        say(HELLO, '{"type":"AheadUnavailable","error":"JAX cannot be imported."}\n')
        signal.pause()
    say(HELLO, READY)
    sys.stdin.readline()
    print("[Gloo] noise of C++ on fd 1", flush=True)
    if what == "answer":
        say(*REST)
    if what == "cut":
        say(*REST[:-1], REST[-1][:50])
    if what == "garbage":
        say("what is this?\n")
        signal.pause()
    if what == "refuse":
        say('{"type":"AheadRefused","error":"No such TPU.","detail":"INVALID: x"}\n')
    if what == "out-of-topology":
        say('{"type":"AheadDoing","stage":"topology"}\n')
        os.kill(os.getpid(), signal.SIGFPE)
    if what in ("abort", "hang", "killed"):
        say(*REST[:-2])  # all but that it is compiled
    if what == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "abort":
        sys.stderr.write(NOISE)
        sys.stderr.flush()
        os.abort()
    if what == "hang":
        Path(os.environ["FAKE_AOT_PID"]).write_text(str(os.getpid()))
        while True:
            time.sleep(60)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[-1]))
