"""``jaxtui`` and ``python -m jaxtui``."""

from __future__ import annotations

import sys

from jaxtui.commands.launch import spawn_at_once


def main() -> int:
    """Runs the command line of this process and gives its exit code."""
    process = spawn_at_once(sys.argv[1:])
    if process is None:
        from jaxtui import cli

        return cli.main()
    # The engine imports jax meanwhile. Nothing was typed that click would have to read,
    # and importing it takes a twentieth of the time until the first frame.
    from jaxtui.commands import app

    try:
        return app.open_on(process)
    except (Exception, KeyboardInterrupt) as error:
        from jaxtui import cli

        return cli.broken_off(error)


if __name__ == "__main__":
    sys.exit(main())
