"""What people type, turned into an experiment: sizes, names and their cross product.

The form and the command line share these functions, so both accept the same texts and
answer a mistake with the same sentence.
"""

from __future__ import annotations

from jaxtui.selection.build import (
    DEFAULT_BUDGET_SECONDS,
    build,
    default_experiment,
    problems,
)
from jaxtui.selection.names import (
    DTYPE_ALIASES,
    OpChoice,
    first_device,
    parse_budget,
    parse_devices,
    parse_dtypes,
    parse_inputs,
    parse_modes,
    parse_ops,
    parse_precisions,
)
from jaxtui.selection.own import looks_own, parse_arguments, parse_own
from jaxtui.selection.sizes import MAXIMUM_SIZE, SelectionError, parse_sizes
from jaxtui.selection.words import describe

__all__ = [
    "DEFAULT_BUDGET_SECONDS",
    "DTYPE_ALIASES",
    "MAXIMUM_SIZE",
    "OpChoice",
    "SelectionError",
    "build",
    "default_experiment",
    "describe",
    "first_device",
    "looks_own",
    "parse_arguments",
    "parse_budget",
    "parse_devices",
    "parse_dtypes",
    "parse_inputs",
    "parse_modes",
    "parse_ops",
    "parse_own",
    "parse_precisions",
    "parse_sizes",
    "problems",
]
