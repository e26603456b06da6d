"""Settings of Sphinx, which builds the documentation: `make docs`."""

import inspect
import re
import sys
from pathlib import Path
from typing import Any

import anygru

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

# Public names of modules in other folders, under which the pages document them.
for _name in ("formula", "gates", "quantization", "weights"):
    sys.modules[f"anygru.{_name}"] = getattr(anygru, _name)

project = "anygru"
author = copyright = "The anygru authors"
version = release = anygru.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "command_help",
    "dialect_names",
    "notebooks",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
default_role = "code"
html_theme = "furo"
pygments_dark_style = "github-dark"  # furo's own underlines imported modules as if they were links
html_title = "anygru"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["filter.js"]
html_copy_source = False

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
# Links from a page to a file of the repository outside `docs/` are for readers of the repository.
suppress_warnings = ["myst.xref_missing"]

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
napoleon_google_docstring = True
napoleon_numpy_docstring = False

REPOSITORY = "https://github.com/anygru/anygru/blob/main/"
"""The README's links begin with it, for package pages; on this site they lead to the pages of guides and notebooks."""


def _shorten_links(app: Any, path: Any, document: str, content: list[str]) -> None:
    content[0] = content[0].replace(f"]({REPOSITORY}docs/", "](docs/")
    content[0] = re.sub(rf"\]\({re.escape(REPOSITORY)}examples/(\w+)\.ipynb", r"](docs/notebooks/\1.md", content[0])


def _signature_of_init(app: Any, what: str, name: str, value: Any, options: Any, given: str, returns: str) -> Any:
    """A class whose `__new__` takes anything is shown with the arguments of its `__init__`."""
    if what == "class" and given is not None and "*args" in given:
        parameters = list(inspect.signature(value.__init__).parameters.values())[1:]
        plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters]
        return str(inspect.Signature(plain)), returns
    return None


def _without_field_numbers(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Drop the docstring that Python gives a field of a named tuple."""
    if lines and lines[0].startswith("Alias for field number"):
        lines.clear()


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", _without_field_numbers)
    app.connect("autodoc-process-signature", _signature_of_init)
    app.connect("include-read", _shorten_links)
