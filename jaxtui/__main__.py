"""``jaxtui`` and ``python -m jaxtui``."""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    # ``-m`` has put the working directory first. What Python had to import until here
    # came from there already; the command ``jaxtui`` is free of that.
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        if sys.path[0] == os.getcwd() != home:
            del sys.path[0]
    except OSError:  # it is deleted
        pass

from jaxtui.commands.launch import spawn_at_once


def main() -> int:
    """Runs the command line of this process and gives its exit code."""
    # Where stdin, stdout or stderr is closed, no pipe of an engine may take its number.
    while (spare := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    os.close(spare)
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
