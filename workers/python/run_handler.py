"""Serves a function of a file with the worker kit beside this one: `python -u run_handler.py handler.py handler`.

`podyard deploy` adds it to images of folders that define a handler and start nothing. The file may also define `concurrency` (how
many jobs run at once), and `on_sleep` and `on_wake`; podyard_worker.py says what they do.
"""

import importlib
import importlib.util
import os
import sys

from podyard_worker import start


def load(path):
    """Runs the file as a module of its own name, which other files of its folder may import too."""
    if not os.path.isfile(path):
        sys.exit(f"{path} is not there: it should have the handler")
    path = os.path.realpath(path)
    name = os.path.splitext(os.path.basename(path))[0]
    sys.path.insert(0, os.path.dirname(path))
    if os.getcwd() not in sys.path:
        sys.path.insert(1, os.getcwd())
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def main(path, name):
    module = load(path)
    handler = getattr(module, name, None)
    if not callable(handler):
        what = "no function" if handler is None else f"a {type(handler).__name__} instead of a function"
        sys.exit(f"{path} has {what} named {name}: define it as `def {name}(job): ...`")
    start(
        handler,
        concurrency=getattr(module, "concurrency", 1),
        on_sleep=getattr(module, "on_sleep", None),
        on_wake=getattr(module, "on_wake", None),
    )


def wait_as_spare():
    """`podyard dev` starts the next program before there is code for it: returns when it is that program's turn."""
    if not os.environ.pop("PODYARD_SPARE", None):
        return
    if not sys.stdin.readline():
        os._exit(0)  # nobody needs it any more
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    importlib.invalidate_caches()


if __name__ == "__main__":
    wait_as_spare()
    main(sys.argv[1], sys.argv[2])
