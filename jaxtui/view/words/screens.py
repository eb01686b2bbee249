"""What the app answers to keys that cannot be done now, says of itself, and calls
things: the glossary.
"""

from __future__ import annotations

from jaxtui.view.words.base import Words

_TEXTS = {
    # Nothing to do it with.
    "nothing-yet": "No {what} yet.",
    "nothing-to-draw": "Nothing to draw yet: run something first.",
    "nothing-to-close": "Nothing to close here.",
    "nothing-running": "Nothing is running.",
    "nothing-held": "jaxtui holds no accelerator.",
    "no-check": "No check yet: c starts one.",
    "no-links": "No links yet: r times them.",
    "no-rates": (
        "No rates of several devices yet: run a case on all of them, or c checks them."
    ),
    "no-roofs": "Run something first: z measures the roofs of its device.",
    "no-crossing-here": (
        "A crossing needs two curves of one op over two or more sizes: w times the case"
        " over a range."
    ),
    "no-findings": "The audit found no mistakes.",
    "no-other-file": "All findings are in one file.",
    "no-kernel-here": "No kernel comes from this line.",
    "no-line-here": "This kernel comes from no line of yours.",
    "no-text-here": "This version of jax does not show it.",
    "not-in-text": '"{typed}" is not in this text.',
    "no-match": "No measurement contains all of these words: ",
    "no-match-left": "Esc clears the words.",
    "unlisted": "No measurement is listed.",
    "unmarked": "No marks and no words to clear.",
    "no-lesson-open": "Open a lesson first: Enter does.",
    "not-chosen": "Choose at least one {noun}.",
    "unknown-path": 'There is no file or folder "{typed}".',
    "no-devices-here": "None of these devices belongs to this process.",
    "sizes-typed": "{op} has no sizes: its arguments were typed.",
    "sizes-fixed": "{op} has no sizes: its factory takes none.",
    # Not now.
    "key-unused": "{key} does nothing here: ? shows the keys.",
    "jax-not-ready": "JAX is not ready yet.",
    "no-engine": "There is no engine: R tries again.",
    "released": "The engine was released: the next run starts it again.",
    "released-status": "released: the next run takes it again",
    "engine-fine": "The engine has not failed.",
    "loop-code": "The code of a loop needs JAX: r starts JAX and runs the loop.",
    "form-open": "The form is open.",
    "step-running": "A step is running: stop it first.",
    "program-running": "The program is still running.",
    "class-not-run": "The program has not run yet: o shows a recorded run.",
    "class-arrows": "The arrows change the program and the bet.",
    "class-chosen": "The arrows choose while the program is shown.",
    "trace-read": "jaxtui reads a trace once.",
    "two-marked": "Two are marked: Space on one of them unmarks it, Esc both.",
    "largest-copy": "The largest copy is {size}.",
    "smallest-copy": "The smallest copy is {size}.",
    "most-calls": "A loop has at most {calls} calls.",
    "fewest-calls": "A loop has at least one call.",
    "first-step": "This is the first step; Esc shows the lessons.",
    "last-step": "That was the last step; Esc shows the lessons.",
    # What happened.
    "idle-released": "No input for ten minutes: jaxtui released the accelerator.",
    "freed": "Released: others can use the accelerator. The next run takes it again.",
    "quit-running": "A run is in progress: unfinished cases are lost.",
    "done": "Done in {seconds:.1f} s{trouble}.",
    "run-stopped": "Stopped after {seconds:.1f} s{kept}.",
    "step-stopped": "Stopped: r runs the step again.",
    "work-stopped": "You stopped it.",
    "lesson-bug": "{lesson} has a bug: {why}. Your figures are not the reason.",
    "leaving-early": "{taking} is not finished yet.",
    "crash": "jaxtui: internal error: {why}.",
    "crash-kept": "The traceback is in {path}.",
    "too-small": "Too small: make this terminal {columns}×{lines} or larger.",
    # What there is.
    "off-by": "The stopwatch is off by {factor}{ends}.",
    "first-minute": "why did my stopwatch lie?",
    "first-case": "runs a first case when JAX is up: {state}",
    "audit-watching": "The program runs; jaxtui watches its clocks and the device …",
    "about-trace": "Show a trace of JAX's profiler, by line of the source.",
    "about-audit": "Run a program of yours, and find mistakes in how it times JAX.",
    "about-recorded": "A recorded TPU: its devices and chips.",
    "about-file": "Functions of a Python file. The key f opens one, too.",
}

WORDS = {code: Words("", text.format_map) for code, text in _TEXTS.items()}
"""Their label is nowhere to be seen."""

GLOSSARY = {
    "id": "a device as JAX names it: platform and number",
    "process": "the process that the device belongs to (process_index)",
    "coords": "where the chip sits in the torus: x, y, z",
    "core": "which core of its chip the device is",
    "slice": "which slice of several the device belongs to",
    "memory": "in use, of how much",
    "op": "the computation; with size, dtype, device and mode it is a case",
    "size": "the op's size: n of n×n for matmul, the number of elements for selu",
    "dtype": "of the inputs, with the precision if it is not the default",
    "device": "where the case runs; NumPy runs on host",
    "mode": "numpy; eager: JAX op by op; jit: compiled by XLA",
    "when": "month, day and time of the measurement; the year if it is another",
    "host": "the machine that measured",
    "ready": "time per call until block_until_ready returns: the whole work",
    "interval": "95 % confidence interval of the median; of under 6 rounds, min–max",
    "dispatch": "time until the call returns: all that a naive stopwatch sees",
    "pipelined": "time per call of a queued burst: the throughput clock",
    "rate": "work per second: FLOP/s, or B/s for ops that only move bytes",
    "peak": "the rate as a share of the chip's published peak",
    "× NumPy": "how many times faster than NumPy",
    "error": "relative to the same computation in float64",
    "transfer": "inputs to the device, fresh arrays each time",
    "trace": "Python to jaxpr; once, like lower and compile",
    "lower": "jaxpr to StableHLO",
    "compile": "StableHLO to machine code, by XLA",
    "first run": "of the compiled program; the first call is all from trace to here",
    "fetch": "the result back to NumPy",
    "notes": "what to know before you trust this number",
    "flops/byte": "arithmetic intensity: below the ridge, memory limits",
    "of roof": "the rate as a share of the roof at that intensity",
    "A, B": "the two marked ones; the ratio is B's time over A's",
    "not comparable": "another op or size: the times say nothing",
    "cannot tell": "two runs on one machine may differ this much by chance",
    "stopwatch": "the time that a clock around the loop reads",
    "work": "time until the device has finished the loop",
    "queue": "calls in flight: dispatched, not yet finished",
    "ahead": "how far the host is ahead of the device",
    "verdict": "pass, low, impossible, fail or skipped, with its reason",
    "simulated": "share the cores of this machine's CPU: their speed means nothing",
}
"""One word per thing, on every screen; the headings of tables are among them."""
