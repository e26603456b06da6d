"""The Python of the originals' time: for the script, and for nobody else."""

import importlib.util
import sys

import pytest
from test_runner import output

from anygru.dialects.variables import STARTUP

OLD_PYTHON = """
    import collections, sysconfig
    from collections import Mapping, Callable
    import base64, fractions, inspect, os, string, time

    print(issubclass(dict, Mapping), Callable is collections.Callable, collections.OrderedDict.__name__)
    print(inspect.getargspec(lambda a, b=2, *c, **d: None), fractions.gcd(4, -6), fractions.gcd(0.5, 0.75))
    print(time.clock() >= 0, string.letters[25:27], string.join(["a", "b"], "-"), os.errno.ENOENT)
    print(base64.encodestring(b"a"))
    for module in (collections, time, string):
        try:
            module.nothing
        except AttributeError as error:
            print(error)
    package = dict(__file__=sysconfig.get_path("purelib") + "/package.py")
    exec("import collections, fractions, inspect, string, sys, time", package)
    exec("asked = [(collections, 'Mapping'), (fractions, 'gcd'), (inspect, 'getargspec'), (time, 'clock')]", package)
    exec("asked += [(string, 'letters')]", package)
    exec("print([name for module, name in asked if hasattr(module, name)])", package)
    try:
        exec("from collections import Mapping", package)
    except ImportError as error:
        print(str(error).partition(" (")[0])
    exec("print(inspect.getmodule(inspect.getmodule).__name__)", package)  # which looks into all modules
"""


def test_pythons_old_names_are_there_for_the_script_and_not_for_packages(tmp_path):
    assert output(OLD_PYTHON, folder=tmp_path).splitlines() == [
        "True True OrderedDict",
        "ArgSpec(args=['a', 'b'], varargs='c', keywords='d', defaults=(2,)) -2 0.25",
        "True zA a-b 2",
        "b'YQ==\\n'",
        "module 'collections' has no attribute 'nothing'",
        "module 'time' has no attribute 'nothing'",
        "module 'string' has no attribute 'nothing'",
        "[]",
        "cannot import name 'Mapping' from 'collections'",
        "inspect",
    ]


def test_an_installed_program_of_a_framework_has_the_old_names_and_no_other_package(tmp_path):
    site = tmp_path / "site-packages"
    requirements = {
        "wheel_of_then": "Requires-Dist: numpy\nRequires-Dist: chainer (>=4.0.0)\n\n",
        "for_gpus": "Requires-Dist: MXNet-cu92mkl<1.7\n\n",
        "of_today": "Requires-Dist: numpy\n\nInstall it with\n\nRequires-Dist: chainer\n",
        "one_extra": "Requires-Dist: mxnet; extra == 'all'\n\n",
        "beside_it": "Requires-Dist: chainer-chemistry\n\n",
        "egg_of_then": "six\nchainer>=4.0.0\n",
        "egg_of_today": "six\n\n[all]\nchainer\n",
    }
    for name, text in requirements.items():
        (site / name).mkdir(parents=True)
        (site / name / "__init__.py").write_text(
            "import collections\nimport chainer\nimport numpy as np\n"
            "found = hasattr(collections, 'Iterable'), hasattr(np, 'float')\n"
        )
        kind, requires, files = ("dist-info", "METADATA", "RECORD")
        if name.startswith("egg"):
            kind, requires, files = ("egg-info", "requires.txt", "top_level.txt")
        facts = site / f"{name}-1.0.{kind}"
        facts.mkdir()
        (facts / requires).write_text(text)
        (facts / files).write_text(f"{name}/__init__.py,sha256=a,3\n" if kind == "dist-info" else name + "\n")
    code = f"""
        import sys, importlib
        sys.path.append({str(site)!r})
        for name in {sorted(requirements)}:
            print(name, *importlib.import_module(name).found)
    """
    assert output(code, folder=tmp_path).splitlines() == [
        "beside_it False False",
        "egg_of_then True True",
        "egg_of_today False False",
        "for_gpus True True",
        "of_today False False",
        "one_extra False False",
        "wheel_of_then True True",
    ]


def test_modules_that_are_gone_are_there_for_the_script_and_not_for_packages(tmp_path):
    code = """
        import sys, sysconfig
        from importlib.machinery import PathFinder

        class WithoutThem:  # as on the newest Python
            @staticmethod
            def find_spec(name, path=None, target=None):
                gone = name.partition(".")[0] in ("distutils", "imp", "pipes")
                return None if gone else PathFinder.find_spec(name, path)

        kept = [finder for finder in sys.meta_path if type(finder).__name__ != "DistutilsMetaFinder"]
        sys.meta_path[:] = [WithoutThem if finder is PathFinder else finder for finder in kept]
        package = dict(__file__=sysconfig.get_path("purelib") + "/package.py")
        programs = ["import imp", "import pipes", "from distutils.version import LooseVersion", "import distutils.spawn"]

        def ask(program):
            try:
                exec(program, package)
            except ImportError as error:
                print(str(error).partition(" (")[0])

        for program in programs:
            ask(program)
        import imp, pipes
        from distutils.version import LooseVersion
        print(imp.new_module("a").__name__, pipes.quote("a b"), LooseVersion("1.9") < LooseVersion("1.10"))
        for program in ("from imp import new_module", *programs[2:]):
            ask(program)
    """
    assert output(code, folder=tmp_path).splitlines() == [
        "No module named 'imp'",
        "No module named 'pipes'",
        "No module named 'distutils'",
        "No module named 'distutils'",
        "a 'a b' True",
        "cannot import name 'new_module' from 'imp'",
        "cannot import name 'LooseVersion' from 'distutils.version'",
        "No module named 'distutils.spawn'",
    ]


def old_module(*path):
    """A module that Python has removed, as the script finds it on a Python without it."""
    file = STARTUP.parent.joinpath("old_modules", *path)
    spec = importlib.util.spec_from_file_location("old_" + file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_imp_loads_what_it_finds(tmp_path, monkeypatch):
    imp = old_module("imp.py")
    (tmp_path / "settings_of_then.py").write_text("rate = 0.5\n", encoding="utf-8")
    (tmp_path / "package_of_then").mkdir()
    (tmp_path / "package_of_then" / "__init__.py").write_text("from .part import value\n", encoding="utf-8")
    (tmp_path / "package_of_then" / "part.py").write_text("value = 3\n", encoding="utf-8")
    for name in ("settings_of_then", "package_of_then", "package_of_then.part", "own_name"):
        monkeypatch.setitem(sys.modules, name, None)
        del sys.modules[name]
    file, path, details = imp.find_module("settings_of_then", [str(tmp_path)])
    with file:
        assert imp.load_module("settings_of_then", file, path, details).rate == 0.5
    assert imp.load_module("package_of_then", *imp.find_module("package_of_then", [str(tmp_path)])).value == 3
    assert imp.load_source("own_name", str(tmp_path / "settings_of_then.py")).rate == 0.5
    assert sys.modules["own_name"].__name__ == imp.new_module("own_name").__name__
    with pytest.raises(ImportError, match="No module named 'nothing'"):
        imp.find_module("nothing", [str(tmp_path)])


def test_distutils_has_what_scripts_use(tmp_path):
    version, util = old_module("distutils", "version.py"), old_module("distutils", "util.py")
    assert version.LooseVersion("1.10.0rc1") > "1.9.2"
    assert version.LooseVersion("1.2.3").version == [1, 2, 3]
    assert version.StrictVersion("1.0a3") < version.StrictVersion("1.0") == "1.0.0"
    assert str(version.StrictVersion("1.0.0")) == "1.0"
    assert [util.strtobool(text) for text in ("Yes", "off")] == [1, 0]
    folders = old_module("distutils", "dir_util.py")
    assert folders.mkpath(str(tmp_path / "a" / "b")) == [str(tmp_path / "a"), str(tmp_path / "a" / "b")]
    (tmp_path / "a" / "b" / "file").write_text("x", encoding="utf-8")
    assert folders.copy_tree(str(tmp_path / "a"), str(tmp_path / "c")) == [str(tmp_path / "c" / "b" / "file")]
    assert (tmp_path / "c" / "b" / "file").read_text(encoding="utf-8") == "x"
    assert old_module("distutils", "spawn.py").find_executable("no_such_program") is None
