"""Where Python lies."""

import sysconfig
from sysconfig import get_config_var as get_config_var
from sysconfig import get_config_vars as get_config_vars


def get_python_lib(plat_specific: bool = False, standard_lib: bool = False, prefix: str | None = None) -> str:
    """The folder of installed packages, or of the standard library."""
    scheme = (
        ("platstdlib" if plat_specific else "stdlib") if standard_lib else "platlib" if plat_specific else "purelib"
    )
    variables = {} if prefix is None else {"base": prefix, "platbase": prefix}
    return sysconfig.get_path(scheme, vars=variables)


def get_python_inc(plat_specific: bool = False, prefix: str | None = None) -> str:
    """The folder of Python's C headers."""
    variables = {} if prefix is None else {"installed_base": prefix, "installed_platbase": prefix}
    return sysconfig.get_path("platinclude" if plat_specific else "include", vars=variables)
