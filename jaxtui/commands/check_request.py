"""What ``jaxtui check`` was asked for, checked as far as that needs no engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jaxtui.analysis import baseline as baselines
from jaxtui.analysis.baseline import Baseline, BaselineError
from jaxtui.analysis.examination import longest_seconds
from jaxtui.commands.launch import CannotRun
from jaxtui.model import CHECK_LEVELS, CheckLevel, Device, Host
from jaxtui.selection import SelectionError, listed, parse_budget, parse_devices


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The options of a check; its devices wait for the engine's list."""

    level: CheckLevel = "quick"
    devices: str | None = None
    limit: float | None = None
    """Seconds for each test; by default what the plan says."""
    save_as: str | None = None
    """The name of the baseline that the figures become."""
    baseline: Baseline | None = None
    """What the figures are compared with."""

    @classmethod
    def typed(
        cls,
        *,
        level: str,
        devices: str | None,
        limit: str | None,
        save_baseline: str | None,
        baseline: str | None,
    ) -> Request:
        """Reads the texts of a command line, and the baseline that they name.

        Raises:
            SelectionError: if one of them makes no sense, or there is no such baseline.
            CannotRun: if the baseline's file is of no use.
        """
        if save_baseline is not None:
            _refuse_name(save_baseline)
        chosen = _level(level)
        return cls(
            level=chosen,
            devices=devices,
            limit=_limit(limit or "", chosen),
            save_as=save_baseline,
            baseline=None if baseline is None else _load(baseline),
        )

    def chosen(self, devices: Sequence[Device], host: Host) -> tuple[Device, ...]:
        """The devices to test: all of this process, unless some are named.

        Raises:
            SelectionError: if one does not exist, or is another process's.
            CannotRun: if there is none, or the baseline is of other hardware.
        """
        names = parse_devices(self.devices or "all", devices)
        chosen = tuple(device for device in devices if device.name in names)
        if not chosen:
            raise CannotRun("JAX has no device that this process can use.")
        if self.baseline is not None:
            try:
                # The machine counts: a few of its devices may be compared, too.
                own = tuple(device for device in devices if device.addressable)
                baselines.refuse_other_hardware(self.baseline, own, host)
            except BaselineError as error:
                raise CannotRun(str(error)) from error
        return chosen


def _level(text: str) -> CheckLevel:
    level = text.strip().lower()
    if level not in CHECK_LEVELS:
        raise SelectionError(
            f'There is no level "{text.strip()}": there is {listed(CHECK_LEVELS)}.'
        )
    return level


def _limit(text: str, level: CheckLevel) -> float | None:
    limit = parse_budget(text, "limit")
    longest = longest_seconds(level)
    if limit is not None and limit <= longest:
        raise SelectionError(
            f'The limit "{text.strip()}" is shorter than the longest test measures at '
            f"level {level}: give more than {longest:g} seconds."
        )
    return limit


def _refuse_name(name: str) -> None:
    """Before anything is measured: afterwards would be a pity."""
    try:
        baselines.check_name(name)
    except BaselineError as error:
        raise SelectionError(str(error)) from error


def _load(name: str) -> Baseline:
    known: tuple[str, ...] | None = None
    try:
        known = baselines.names()
        return baselines.load(name)
    except BaselineError as error:
        if known is not None and name not in known:
            raise SelectionError(str(error)) from error
        raise CannotRun(str(error)) from error
