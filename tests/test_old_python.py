"""Names and modules that Python removed work for the script, and installed packages see Python unchanged."""

import re

import pytest
from test_runner import output

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


@pytest.mark.parametrize(
    ("module", "package"), [("distutils", "setuptools"), ("imp", "zombie-imp"), ("pipes", "standard-pipes")]
)
def test_a_removed_module_names_its_package_to_the_script_only(tmp_path, module, package):
    code = f"""
        import importlib.util, sys, sysconfig
        from importlib.machinery import PathFinder

        class WithoutModule:  # as on a newer Python
            @staticmethod
            def find_spec(name, path=None, target=None):
                return None if name == {module!r} else PathFinder.find_spec(name, path)

        kept = [finder for finder in sys.meta_path if type(finder).__name__ != "DistutilsMetaFinder"]
        sys.meta_path[:] = [WithoutModule if finder is PathFinder else finder for finder in kept]
        print(importlib.util.find_spec({module!r}))
        for namespace in ({{}}, dict(__file__=sysconfig.get_path("purelib") + "/package.py")):
            try:
                exec("import {module}", namespace or globals())
            except ModuleNotFoundError as error:
                print(error, error.name)
    """
    found, to_script, to_package = output(code, folder=tmp_path).splitlines()
    assert found == "None"
    assert re.fullmatch(
        rf"No module named '{module}': Python 3\.\d+ removed it; pip install {package} {module}", to_script
    )
    assert to_package == f"No module named '{module}' {module}"


def test_setuptools_gives_the_script_distutils(tmp_path):
    code = """
        import distutils.version
        from distutils.dir_util import mkpath
        from distutils.util import strtobool

        print(distutils.version.LooseVersion("1.10.0rc1") > "1.9.2", bool(strtobool("Yes")), mkpath("new") != [])
    """
    assert output(code, folder=tmp_path) == "True True True\n"
