"""The import hook and the start-up file: imports under the originals' names, and unchanged behaviour otherwise."""

import os
import subprocess
import sys
import textwrap
import types

import numpy
import pytest
import torch
from helpers import mostly_slow

import anygru
from anygru import dialects
from anygru.dialects import names, stand_ins
from anygru.dialects.variables import STARTUP


def run(code, *arguments, folder, variables=None, flags=(), plain=False):
    """Run a program as the process that `anygru run` becomes, or as plain Python."""
    script = folder / "program.py"
    script.write_text(textwrap.dedent(code))
    base = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "ANYGRU_RUN")}
    base |= variables or {}
    return subprocess.run(
        [sys.executable, *flags, str(script), *arguments],
        env=base if plain else dialects.environment(base),
        capture_output=True,
        text=True,
        timeout=600,
        cwd=folder,
    )


def output(code, *arguments, **options):
    done = run(code, *arguments, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


SAME_AS_PLAIN_PYTHON = {
    "arguments and path": "import sys; print(sys.argv, sys.path, sys.flags, __file__, __name__, __spec__)",
    "module": "import sys; print(sorted(vars(sys.modules['__main__'])), type(__loader__).__name__)",
    "exit status": "import sys; print('before'); sys.exit(7)",
    "exit message": "import sys; sys.exit('no data')",
    "traceback": "def load():\n    raise ValueError('bad file')\n\nload()",
    "missing module": "import no_such_module",
    "syntax error": "def (:",
    "interrupt": "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nprint('not reached')",
    "terminate": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)",
    "kill": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "no torch": "import sys; print('torch' in sys.modules, 'anygru' in sys.modules, 'numpy' in sys.modules)",
}


@pytest.mark.parametrize("code", SAME_AS_PLAIN_PYTHON.values(), ids=SAME_AS_PLAIN_PYTHON)
def test_a_script_notices_nothing(code, tmp_path):
    plain = run(code, "-x", "--help", folder=tmp_path, plain=True)
    spoken = run(code, "-x", "--help", folder=tmp_path)
    assert (spoken.returncode, spoken.stdout, spoken.stderr) == (plain.returncode, plain.stdout, plain.stderr)


@pytest.mark.parametrize("methods", [["spawn"], pytest.param(["fork", "forkserver"], marks=pytest.mark.slow)], ids=str)
def test_every_spelling_gives_one_module_in_every_process(methods, tmp_path):
    """The four dialects share one mechanism; this uses an installed one, and every way to start a process."""
    code = """
        import json, multiprocessing, subprocess, sys

        CHILD = '''
        import importlib, sys
        import {name}
        import {name} as again
        from {name} import {part}
        import {name}.{part} as other
        assert again is {name} is importlib.import_module("{name}") is sys.modules["{name}"]
        assert {part} is other is {name}.{part} is sys.modules["{name}.{part}"]
        assert {name} is sys.modules["anygru_{name}"]
        assert {part} is sys.modules["anygru_{name}.{part}"]
        assert importlib.util.find_spec("{name}.{part}") is not None
        '''

        class Carried:
            def __init__(self, value):
                self.value = value

        def work(carried):
            names = {}
            exec(CHILD, names)
            return carried.value + 1

        if __name__ == "__main__":
            exec(CHILD)
            subprocess.run([sys.executable, "-c", CHILD], check=True)
            for method in sys.argv[1:]:
                with multiprocessing.get_context(method).Pool(1) as pool:
                    assert pool.map(work, [Carried(1)]) == [2]
            print("done")
    """
    name, part = _present_dialect()
    program = code.replace("{name}", name).replace("{part}", part)
    assert output(program, *methods, folder=tmp_path) == "done\n"


def _present_dialect():
    import importlib

    parts = {"mxnet": "gluon", "chainer": "links", "oneflow": "nn", "paddle": "nn"}
    for name, part in parts.items():
        try:
            importlib.import_module(f"anygru_{name}.{part}")
        except ModuleNotFoundError:
            continue
        return name, part
    raise AssertionError("no dialect is installed")


def test_the_dialect_wins_over_an_installed_original(tmp_path):
    (tmp_path / "site" / "mxnet").mkdir(parents=True)
    (tmp_path / "site" / "mxnet" / "__init__.py").write_text("print('the original')")
    variables = {"PYTHONPATH": str(tmp_path / "site")}
    name = "import mxnet; print(mxnet.__name__)"
    assert run(name, folder=tmp_path, variables=variables, plain=True).stdout == "the original\nmxnet\n"
    assert output(name, folder=tmp_path, variables=variables) == "anygru_mxnet\n"


def test_another_sitecustomize_still_runs(tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("import sys; sys.customized = __file__")
    code = "import sys, sitecustomize; print(sys.customized == sitecustomize.__file__, sys.path)"
    variables = {"PYTHONPATH": str(site)}
    spoken = output(code, folder=tmp_path, variables=variables)
    assert spoken == run(code, folder=tmp_path, variables=variables, plain=True).stdout
    assert spoken.startswith("True")


def test_a_failing_sitecustomize_is_reported_as_by_python(tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("import not_there_at_all")
    variables = {"PYTHONPATH": str(site)}
    plain = run("print(1)", folder=tmp_path, variables=variables, plain=True)
    spoken = run("print(1)", folder=tmp_path, variables=variables)
    assert "not_there_at_all" in plain.stderr
    assert (spoken.stdout, spoken.stderr) == (plain.stdout, plain.stderr)


def test_the_environment_is_changed_once():
    once = dialects.environment({"PYTHONPATH": "/a" + os.pathsep + "/b"})
    assert once["PYTHONPATH"].split(os.pathsep) == [str(STARTUP), "/a", "/b"]
    assert dialects.environment(once) == once
    assert "ANYGRU_ACCELERATE" not in once
    assert dialects.environment({}, accelerate=True)["ANYGRU_ACCELERATE"] == "1"


def test_an_interpreter_without_anygru_keeps_its_own_packages(tmp_path):
    """The hook calls `find_spec("anygru")`; here anygru is hidden from the child."""
    (tmp_path / "site" / "chainer").mkdir(parents=True)
    (tmp_path / "site" / "chainer" / "__init__.py").write_text("")
    (tmp_path / "site" / "sitecustomize.py").write_text(
        "import sys\n"
        "sys.meta_path[:] = [f for f in sys.meta_path if 'anygru' not in getattr(f, 'known_source_files', {})"
        " and 'anygru' not in getattr(f, 'known_packages', ())]\n"
        "sys.path[:] = [p for p in sys.path if not __import__('os').path.isdir(__import__('os').path.join(p, 'anygru'))]\n"
    )
    code = "import chainer; print(chainer.__name__)"
    assert output(code, folder=tmp_path, variables={"PYTHONPATH": str(tmp_path / "site")}) == "chainer\n"


LISTED = """
title: Paddle
@far: far programs do not run; a near program

[paddle.nn]
+ Known
- Fold: a reshape; torch.nn.Fold
- LostError: Exception
- far/: torch.far
- Far: @far
- Farther: @far; torch.Farther
~ Farthest old/: @far
= paddle.nn.layer.*
"""


@pytest.fixture
def small_dialect(monkeypatch):
    """A module with one name and its own `names.txt`."""
    monkeypatch.setattr("anygru.dialects.stand_ins.names", lambda dialect: names.read(LISTED))
    module = types.ModuleType("anygru_paddle_like")
    module.known = 1
    module.__getattr__ = stand_ins.refuser("paddle.nn")
    monkeypatch.setitem(sys.modules, "paddle_like", module)
    stand_ins.stand_in.cache_clear()
    yield module
    stand_ins.stand_in.cache_clear()


def test_a_listed_name_stands_in_until_it_is_used(small_dialect):
    from paddle_like import Fold

    assert Fold is small_dialect.Fold
    assert (Fold.__module__, Fold.__name__) == ("paddle.nn", "Fold")
    assert not isinstance(3, Fold)
    assert not isinstance(3, (str, Fold))

    class Folded(Fold):
        def __init__(self):
            raise AssertionError("not reached")

    refusal = r"^paddle.nn.Fold is not covered by anygru's Paddle dialect \(a reshape\); use torch.nn.Fold$"
    for use in (Fold, Folded, lambda: Fold(3, size=4), lambda: list(Fold), lambda: next(iter(Fold))):
        with pytest.raises(dialects.NotCoveredError, match=refusal):
            use()
    with pytest.raises(NotImplementedError, match=r"paddle.nn.Fold.make is not covered"):
        Fold.make(3)


def test_a_name_of_a_refused_style_names_the_style_and_both_ways_out(small_dialect):
    with pytest.raises(dialects.NotCoveredError, match=r"Far is .* \(far programs do not run\); use a near program$"):
        small_dialect.Far()
    for use in (small_dialect.Farther, small_dialect.Farther.of):
        with pytest.raises(dialects.NotCoveredError, match=r"not run\); use torch.Farther, in a near program$"):
            use()


def test_a_name_of_other_versions_is_not_there_and_says_why(small_dialect):
    with pytest.raises(AttributeError, match=r"Farthest is .* \(far programs do not run\); use a near program$"):
        _ = small_dialect.Farthest
    with pytest.raises(ImportError, match=r"paddle.nn.old is .* \(far programs do not run\)"):
        from paddle_like import old  # noqa: F401
    with pytest.raises(AttributeError, match=r"paddle.nn.old is .* \(far programs do not run\)"):
        _ = small_dialect.old


def test_an_exception_stands_in_an_except_clause(small_dialect):
    def divide():
        try:
            return 1 / 0
        except small_dialect.LostError:
            return None

    with pytest.raises(ZeroDivisionError):
        divide()


def test_a_listed_module_stands_in_with_all_below_it(small_dialect):
    assert isinstance(small_dialect.far, types.ModuleType)
    with pytest.raises(dialects.NotCoveredError, match=r"paddle.nn.far.Away is not covered .*; use torch.far"):
        small_dialect.far.Away()


def test_a_name_that_is_not_listed_is_not_there(small_dialect):
    assert not hasattr(small_dialect, "Frobnicate")
    with pytest.raises(
        AttributeError, match="paddle.nn.Frobnicate is not covered by anygru's Paddle dialect$"
    ) as caught:
        _ = small_dialect.Frobnicate
    assert isinstance(caught.value, anygru.AnygruError)
    assert caught.value.name == "Frobnicate"
    with pytest.raises(AttributeError, match=r"paddle\.nn\.Knwon is not covered .*; did you mean paddle\.nn\.Known\?$"):
        _ = small_dialect.Knwon
    with pytest.raises(AttributeError, match=r"; did you mean paddle\.nn\.Known\?$"):
        _ = small_dialect.KNOWN
    with pytest.raises(AttributeError, match=r"; use torch\.nn\.Conv2d$"):
        _ = small_dialect.Conv2D
    with pytest.raises(ImportError, match="paddle.nn.Frobnicate is not covered"):
        from paddle_like import Frobnicate  # noqa: F401


def test_tools_may_probe_for_special_names(small_dialect):
    with pytest.raises(AttributeError, match="has no attribute '__wrapped__'") as caught:
        _ = small_dialect.__wrapped__
    assert not isinstance(caught.value, anygru.AnygruError)


@pytest.mark.parametrize(
    "text", ["+ before a section", "[paddle]\n- no reason", "[paddle]\n* what"], ids=["section", "reason", "mark"]
)
def test_a_line_of_a_list_that_cannot_be_read_is_named(text):
    with pytest.raises(ValueError, match=r"names.txt, line \d: expected \[module\]"):
        names.read(text)


def test_not_covered_submodules(tmp_path):
    name, _ = _present_dialect()
    code = f"""
        import importlib.util
        for statement in ("import {name}.no_such_part", "from {name} import no_such_part", "from {name} import NoSuchName"):
            try:
                exec(statement)
            except ImportError as error:
                print(error)
        import {name}
        try:
            {name}.NoSuchName
        except AttributeError as error:
            print(error)
    """
    lines = output(code, folder=tmp_path).splitlines()
    assert len(lines) == 4
    for line, missing in zip(lines, ["no_such_part", "no_such_part", "NoSuchName", "NoSuchName"], strict=True):
        assert line.startswith(f"{name}.{missing} is not covered by anygru's ")


def test_install_works_inside_a_process(monkeypatch):
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    dialects.install()
    dialects.install()
    assert [type(finder).__name__ for finder in sys.meta_path].count("DialectFinder") == 1


ACCELERATED = """
    import subprocess, sys
    import numpy
    assert "torch" not in sys.modules
    {imports}
    from anygru import functional
    gru, called = functional.gru, []
    functional.gru = lambda *args, **keywords: called.append(True) or gru(*args, **keywords)
    torch.nn.GRU(3, 4)(torch.zeros(2, 1, 3))
    print("through anygru:", bool(called))
    if len(sys.argv) < 2:
        subprocess.run([sys.executable, __file__, "child"], check=True)
"""


@pytest.mark.parametrize(
    "imports",
    ["import torch", pytest.param("import anygru, torch", marks=pytest.mark.slow)],
    ids=["torch", "anygru first"],
)
def test_accelerate_reaches_every_process(imports, tmp_path):
    code = ACCELERATED.format(imports=imports)
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(code))
    for accelerate, arguments in ((True, []), (False, ["child"])):
        done = subprocess.run(
            [sys.executable, "-u", str(script), *arguments],
            env=dialects.environment(os.environ, accelerate=accelerate),
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == [f"through anygru: {accelerate}"] * (2 - len(arguments))


def test_from_dialect_refuses_what_is_no_dialects_layer():
    with pytest.raises(
        TypeError, match=r"layer must be a GRU layer or cell of a dialect .* got torch\S*\.GRU; anygru.acc"
    ):
        dialects.from_dialect(torch.nn.GRU(2, 3))


OLD_NUMPY = """
    import sys, sysconfig
    import numpy as np
    import {dialect}

    print(np.int, np.object, np.product([2, 3]), np.NaN, np.zeros(1, np.float).dtype, np.in1d([[1], [2]], [2]))
    print(int(np.array([3])), float(np.array([[2.5]])), "%d" % np.array([4]), int(np.array(4.7)), hasattr(np, "nothing"))
    class Own(np.ndarray): pass
    print(int(np.array([5]).view(Own)))
    print(np.fromstring(b"\\x01\\x02", np.uint8), np.fromstring("\\x03", "int8"), np.fromstring("4 5", int, sep=" "))
    print([np.float32(0.5), np.bool_(True)], (np.int64(3),), np.array(5e9, np.float32))
    ragged = [([1, 2], [3]), ([4], [5])]
    print(*[make(ragged).dtype for make in (np.array, np.asarray, np.copy)], np.array(ragged).shape)
    for bad in (np.array([1, 2]), np.array([])):
        try:
            int(bad)
        except TypeError as error:
            print(error)
    here = dict(np=np, __file__=sysconfig.get_path("purelib") + "/package.py")
    exec("names = [name for name in ('int', 'product') if hasattr(np, name)]", here)
    print(here["names"])
    for call in ("np.array([[1], [1, 2]])", "np.copy([[1], [1, 2]])"):
        try:
            exec(call, here)
        except ValueError as error:
            print("inhomogeneous" in str(error))
    try:
        np.array([[1], [1, 2]], float)
    except ValueError:
        print("a dtype is kept")
    try:
        exec("int(np.array([1]))", here)
        print("NumPy converts it itself" if np.lib.NumpyVersion(np.__version__) < "2.4.0" else "converted")
    except TypeError:
        print("NumPy converts it itself" if np.lib.NumpyVersion(np.__version__) >= "2.4.0" else "not converted")
"""


@pytest.mark.parametrize("dialect", mostly_slow(["chainer", "paddle", "oneflow", "mxnet"]))
def test_numpys_old_names_are_there_for_the_script_and_not_for_packages(dialect, tmp_path):
    lines = output(OLD_NUMPY.format(dialect=dialect), folder=tmp_path, flags=("-W", "ignore")).splitlines()
    assert lines[0] == "<class 'int'> <class 'object'> 6 nan float64 [False  True]"
    assert lines[1:3] == ["3 2.5 4 4 False", "5"]
    assert lines[3:5] == ["[1 2] [3] [4 5]", "[0.5, True] (3,) 5000000000.0"]
    assert lines[5] == "object object object (2, 2)"
    assert lines[6] == lines[7]
    assert lines[8:] == ["[]", "True", "True", "a dtype is kept", "NumPy converts it itself"]


def test_numpy_stays_as_it_is_without_a_dialect(tmp_path):
    assert output("import numpy as np; print(hasattr(np, 'product'))", folder=tmp_path) == "False\n"


PROMOTION = """
    import subprocess, sys
    import numpy as np
    import chainer
    import chainer.links as L

    sys.stderr.flush()
    if len(sys.argv) == 1:
        subprocess.run([sys.executable, __file__, "child"], check=True)
    try:
        print((np.ones(3, "f") * np.sqrt(2.0)).dtype, L.Linear(3, 2)(np.ones((1, 3), "f") * np.sqrt(2.0)).dtype)
    except chainer.utils.type_check.InvalidType as error:
        print("NumPy 2 makes" in str(error), "'numpy<2'" in str(error))
"""


def test_promotion_of_numpy_2_is_reported_once_for_all_processes_of_a_program(tmp_path):
    variables = {name: value for name, value in os.environ.items() if name != "ANYGRU_NUMPY_NOTE"}
    done = run(PROMOTION, folder=tmp_path, variables=variables)
    if numpy.lib.NumpyVersion(numpy.__version__) < "2.0.0":
        assert (done.stdout, done.stderr) == ("float32 float32\n" * 2, "")
        return
    assert done.stdout == "True True\n" * 2, done.stderr
    assert done.stderr.count("anygru run: NumPy") == 1
    assert "pip install 'numpy<2'" in done.stderr
