"""Starts jaxtui's own processes, so that nothing of the working directory runs.

``python -m`` and ``python -c`` put the working directory first on ``sys.path``, where a
file called ``types.py`` is imported before any code could take it off. Python starts
this file by its path instead: first on the path is this folder, until the first lines
below. Until then, nothing else is imported.
"""

import sys


def command(module: str) -> tuple[str, ...]:
    """What runs ``main`` of a module of this package in a process of its own.

    The first element is the interpreter; another one runs this package too.
    """
    return sys.executable, __file__, module


if __name__ == "__main__":
    # An isolated or a "safe" Python has put nothing there.
    if not getattr(sys.flags, "safe_path", sys.flags.isolated):
        del sys.path[0]

    import importlib
    import os
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    # The package that this file belongs to, though the path may have another first.
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    spec = PathFinder.find_spec("jaxtui", [home])
    assert spec is not None
    assert spec.loader is not None
    sys.modules["jaxtui"] = package = module_from_spec(spec)
    spec.loader.exec_module(package)
    # What was installed beside it, as with ``pip install --target``; it hides nothing.
    if home not in sys.path:
        sys.path.append(home)
    sys.exit(importlib.import_module(sys.argv.pop(1)).main())
