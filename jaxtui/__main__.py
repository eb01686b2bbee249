"""``jaxtui`` and ``python -m jaxtui``."""

from __future__ import annotations

import sys

from jaxtui.commands.launch import spawn_at_once


def main() -> int:
    """Runs the command line of this process and gives its exit code."""
    process = spawn_at_once(sys.argv[1:])
    # Only now: the engine imports jax while this process imports click and textual.
    from jaxtui import cli

    return cli.main(process=process)


if __name__ == "__main__":
    sys.exit(main())
