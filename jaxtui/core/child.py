"""Starts jaxtui's own processes, so that nothing of the working directory runs.

``python -m`` and ``python -c`` put the working directory first on ``sys.path``, where a
file called ``types.py`` is imported before any code could take it off. Python starts
this file by its path instead: first on the path is this folder, until the first lines
below. Until then, nothing else is imported.
"""

import sys


def command(module: str, python: "tuple[str, ...]" = ()) -> "tuple[str, ...]":
    """Return the command that runs ``main`` of a module of this package in a process of
    its own.

    Args:
        module: its full name.
        python: another interpreter, with arguments if it needs any. It runs this
            package too.
    """
    return *(python or (sys.executable,)), __file__, module


PACKAGES = ("jax", "jaxlib", "msgspec", "numpy")
"""Are folders where they are installed: a file of such a name hides one."""


def hidden(python_path: str) -> "dict[str, str]":
    """The modules of Python, and those of ``PACKAGES``, that something on PYTHONPATH
    hides: its path by the name of the module.
    """
    import os

    paths: dict[str, str] = {}
    # An empty part is the working directory.
    for part in python_path.split(os.pathsep) if python_path else ():
        if not os.path.isdir(part or "."):
            continue
        folder = os.path.abspath(part)
        for name in sorted(os.listdir(folder)):
            path, module = os.path.join(folder, name), name.removesuffix(".py")
            is_folder = os.path.isfile(os.path.join(path, "__init__.py"))
            if (module != name and module in PACKAGES) or (
                module in sys.stdlib_module_names and (module != name or is_folder)
            ):
                paths.setdefault(module, path)
    return paths


def hiding(text: str, python_path: str) -> "dict[str, str]":
    """Return the hidden modules that a traceback, or its end, names."""
    return {
        module: path
        for module, path in hidden(python_path).items()
        if f"'{module}'" in text or path in text
    }


def hides(modules: "tuple[str, ...]", path: str) -> str:
    """The sentence for it, of which the path is that of the first."""
    more = f", {modules[1]} and others" if len(modules) > 1 else ""
    owner = "the package" if modules[0] in PACKAGES else "Python's module"
    return f"{path}, on PYTHONPATH, hides {owner} {modules[0]}{more}."


RENAME = "Rename it, or take its folder off PYTHONPATH."

if __name__ == "__main__":
    # Another interpreter may be any.
    if sys.version_info < (3, 10):  # noqa: UP036
        sys.exit("jaxtui needs Python 3.10 or newer; this is " + sys.version.split()[0])

    # An isolated or a "safe" Python has put nothing there.
    if not getattr(sys.flags, "safe_path", sys.flags.isolated):
        del sys.path[0]

    import importlib
    import os
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    # The package that this file belongs to, though the path may have another first.
    home = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 2))
    spec = PathFinder.find_spec("jaxtui", [home])
    assert spec is not None
    assert spec.loader is not None
    sys.modules["jaxtui"] = package = module_from_spec(spec)
    spec.loader.exec_module(package)
    sys.exit(importlib.import_module(sys.argv.pop(1)).main())
