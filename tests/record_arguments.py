"""Write `tests/data/arguments.json`: the arguments of the originals' functions with the names of long functions of a dialect.

`python -c "import test_house; test_house.print_long('mxnet')"` in `tests` prints the names. They are the standard input of
`python record_arguments.py FILE MODULE...` under the original's Python, with the original and its modules that are not
imported with it (Chainer's `chainer.gradient_check`). Versions: Paddle 2.6.2, MXNet 1.9.1, Chainer 7.8.1,
OneFlow 0.9.0.
"""

import importlib
import inspect
import json
import sys
from pathlib import Path


def modules(names):
    """The modules, and the original's other loaded modules."""
    for name in names:
        importlib.import_module(name)
    return [module for name, module in sys.modules.items() if (name + ".").startswith(names[0] + ".") and module]


def taken(function):
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [each.name for each in parameters if each.kind not in kinds and each.name not in ("self", "cls")]


def main(path, originals, names):
    path = Path(path)
    known = json.loads(path.read_text()) if path.exists() else {}
    found = {name: [] for name in names}
    for module in list(modules(originals)):
        for name in names:
            owner, _, method = name.rpartition(".")
            holder = getattr(module, owner, None) if owner else module
            function = getattr(holder, method, None) if inspect.isclass(holder) or not owner else None
            arguments = taken(function) if callable(function) else None
            if arguments and arguments not in found[name]:
                found[name].append(arguments)
    known[originals[0]] = {name: lists for name, lists in sorted(found.items()) if lists}
    texts = []
    for original, rows in sorted(known.items()):
        lines = (f"{json.dumps(name)}: {json.dumps(lists)}" for name, lists in rows.items())
        texts.append(json.dumps(original) + ": {\n " + ",\n ".join(lines) + "\n}")
    path.write_text("{\n" + ",\n".join(texts) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:], sys.stdin.read().split())
