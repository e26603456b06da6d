"""Runs scripts from one process that has imported torch already: a script then starts in 0.1 s.

`forked_run.py`, started in the environment that the scripts need (that of `anygru run`, say), takes a request (JSON: script,
folder, variables, output; errors, if they go elsewhere; strict, if warnings are errors) a line from standard input, forks,
and answers with the script's exit status. tests/test_conformance.py and tests/test_docs.py use it where the real command
would spend its time on importing torch once more for each program.
"""

import json
import os
import sys
import warnings


def run(script: str) -> None:
    """The script as `__main__`, as Python would run it."""
    main = type(sys)("__main__")
    main.__dict__.update(__file__=script, __builtins__=__builtins__)
    sys.modules["__main__"] = main
    sys.argv = [script]
    sys.path[0] = os.path.dirname(script)
    with open(script, "rb") as file:
        code = compile(file.read(), script, "exec")
    exec(code, main.__dict__)


def serve() -> None:
    import torch  # noqa: F401

    import anygru  # noqa: F401

    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            output = os.open(request["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            errors = (
                os.open(request["errors"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC) if "errors" in request else output
            )
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(output, 1)
            os.dup2(errors, 2)
            if request.get("strict"):
                warnings.simplefilter("error")
                # Keras hands its variables to h5py in the manner of NumPy 1.
                warnings.filterwarnings("ignore", "__array__ implementation", DeprecationWarning)
            os.environ.clear()
            os.environ.update(request["variables"])
            os.chdir(request["folder"])
            sys.path[:0] = [entry for entry in request["path"] if entry not in sys.path]
            sys.path.insert(0, "")
            run(request["script"])
            sys.exit()  # through the exit handlers, which write the trace
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    serve()
