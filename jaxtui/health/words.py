"""A check in words: what the figures were compared with, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from jaxtui.health.rows import who
from jaxtui.health.verdict import Verdict, VerdictWord
from jaxtui.model import Device

NAMED = 4
"""So many are blamed in a sentence; the rows name all."""


def sources(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Who says what was to be expected, test by test."""
    tests: dict[str, list[str]] = {}
    for one in verdicts:
        if one.expected is not None and one.verdict != "skipped":
            tests.setdefault(one.source, []).append(one.test)
    said: dict[str, list[str]] = {}
    for source, named in tests.items():
        said.setdefault(_listed(named), []).append(source)
    for of, several in said.items():
        yield f"{of}: {'; '.join(several)}"


def unrated(verdicts: Sequence[Verdict], devices: Sequence[Device]) -> Iterator[str]:
    """Which figures have nothing to be compared with, said once."""
    tests = [one.test for one in verdicts if _is_unrated(one)]
    if not tests:
        return
    kinds = _listed(device.device_kind for device in devices)
    yield (
        f"Nothing to compare the figures of {_listed(tests)} with: jaxtui knows of no "
        f"published ones for {kinds}."
    )


def _is_unrated(one: Verdict) -> bool:
    """Only speed is: chips are counted, and memory is what there is."""
    timed = one.unit in ("flop/s", "bytes/s", "seconds")
    return timed and one.measured is not None and one.expected is None


def meaning(
    word: VerdictWord, verdicts: Sequence[Verdict], devices: Sequence[Device]
) -> str:
    """The overall verdict in words, with who is to blame and what to do next.

    Args:
        word: the overall verdict.
        verdicts: of everything that was read.
        devices: those that were tested.
    """
    if word == "skipped":
        return "Nothing could be tested."
    if word == "pass":
        return _passed(verdicts)
    guilty = [one for one in verdicts if one.verdict == word]
    named, also = culprits(guilty, devices), _also_low(verdicts, devices)
    again = f"`jaxtui check --level full{_only(guilty, devices)}`"
    if word == "low":
        return (
            f"It works, but is not as it should be: {named}. See who else uses the "
            f"machine, then look closer with {again}."
        )
    if word == "impossible":
        return (
            f"More than the hardware can do was measured: {named}. Believe no timing "
            f"of this machine until {again} says otherwise.{also}"
        )
    return (
        f"Do not rely on {named}. Restart the machine and check again; if it stays, "
        "hand what `jaxtui check --json` prints to whoever provides the machine."
        f"{also}"
    )


def _only(guilty: Sequence[Verdict], devices: Sequence[Device]) -> str:
    """The option that names the devices to look at, if they are not most of them."""
    names = dict.fromkeys(one.device for one in guilty)
    if None in names or len(names) > min(NAMED, len(devices) // 2):
        return ""
    return f" --devices {','.join(map(str, names))}"


def _also_low(verdicts: Sequence[Verdict], devices: Sequence[Device]) -> str:
    low = [one for one in verdicts if one.verdict == "low"]
    return f" Low besides: {culprits(low, devices)}." if low else ""


def _passed(verdicts: Sequence[Verdict]) -> str:
    if not any(map(_is_unrated, verdicts)):
        return "Everything that was tested is as it should be; nothing to do."
    return (
        "Everything that was tested works. To see later whether it has become "
        "slower, keep these figures with --save-baseline NAME and compare with "
        "--baseline NAME."
    )


def culprits(verdicts: Sequence[Verdict], devices: Sequence[Device]) -> str:
    """``tpu:3 (1,1,0) in compute and together; this machine in present``."""
    tests: dict[str | None, list[str]] = {}
    for one in verdicts:
        tests.setdefault(one.device, []).append(one.test)
    alike: dict[str, list[str]] = {}
    for name, failed in tests.items():
        alike.setdefault(_listed(failed), []).extend([name] if name else [])
    texts = [
        f"{who(names, devices) if names else 'this machine'} in {failed}"
        for failed, names in alike.items()
    ]
    if len(texts) > NAMED:
        texts[NAMED:] = ["and more, see above"]
    return "; ".join(texts)


def _listed(names: Iterable[str]) -> str:
    """``compute, bandwidth and steady``, each once."""
    *others, last = dict.fromkeys(names)
    return f"{', '.join(others)} and {last}" if others else last
