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
from jaxtui.selection.extent import MAXIMUM_CASES, Extent, extent
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
from jaxtui.selection.own import (
    ARGUMENTS_ARE_OWN,
    described,
    looks_own,
    parse_arguments,
    parse_own,
    split_arguments,
)
from jaxtui.selection.sizes import MAXIMUM_SIZE, SelectionError, parse_sizes
from jaxtui.selection.words import describe, how_long

__all__ = [
    "ARGUMENTS_ARE_OWN",
    "DEFAULT_BUDGET_SECONDS",
    "DTYPE_ALIASES",
    "MAXIMUM_CASES",
    "MAXIMUM_SIZE",
    "Extent",
    "OpChoice",
    "SelectionError",
    "build",
    "default_experiment",
    "describe",
    "described",
    "extent",
    "first_device",
    "how_long",
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
    "split_arguments",
]
