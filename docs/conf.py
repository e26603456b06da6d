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

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
napoleon_google_docstring = True
napoleon_numpy_docstring = False

ROOT = Path(__file__).resolve().parent.parent
REPOSITORY = "https://github.com/anygru/anygru/blob/main/"
"""The README's links begin with it, for package pages."""
PICTURES = "https://raw.githubusercontent.com/anygru/anygru/main/docs/"


def _with_links(text: str, *folders: Path) -> str:
    """Let links to guides and notebooks lead to their pages, and links to other files to the repository; relative links begin
    in the first folder where there is such a file."""

    def link(match: re.Match[str]) -> str:
        path, mark, anchor = match[2].partition("#")
        bases = (ROOT,) if match[1] else folders
        found = next((file for base in bases if path.strip("/") and (file := (base / path).resolve()).exists()), None)
        if found is None or not found.is_relative_to(ROOT):
            return match[0]
        if found.suffix == ".ipynb":
            return f"](/notebooks/{found.stem}.md)"
        page = found.is_relative_to(ROOT / "docs") and found.suffix == ".md"
        place = f"/{found.relative_to(ROOT / 'docs')}" if page else f"{REPOSITORY}{found.relative_to(ROOT)}"
        return match[0] if found.suffix in (".svg", ".png") else f"]({place}{mark}{anchor})"

    return re.sub(rf"\]\(({re.escape(REPOSITORY)})?([^)\s:]+)\)", link, text.replace(PICTURES, "/"))


def _links_of_page(app: Any, page: str, content: list[str]) -> None:
    content[0] = _with_links(content[0], (ROOT / "docs" / page).parent, ROOT / "examples")


def _links_of_included_file(app: Any, path: Path, page: str, content: list[str]) -> None:
    content[0] = _with_links(content[0], (ROOT / "docs" / path).parent)


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


def _links_of_source(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Mend viewcode's links back to the pages: it takes one import path for all objects of a source file."""
    if not page.startswith("_modules/anygru"):
        return
    objects = app.env.domains["py"].objects

    def mended(link: re.Match[str]) -> str:
        name = link[1]
        while name and name not in objects:
            name = name.partition(".")[2]
            places = {entry.node_id for each, entry in objects.items() if name and each.endswith(f".{name}")}
            name = places.pop() if len(places) == 1 else name
        return f"#{name or link[1]}"

    context["body"] = re.sub(r"#(anygru\.[\w.]+)", mended, context["body"])


def setup(app: Any) -> None:
    app.connect("html-page-context", _links_of_source)
    app.connect("autodoc-process-docstring", _without_field_numbers)
    app.connect("autodoc-process-signature", _signature_of_init)
    app.connect("include-read", _links_of_included_file)
    app.connect("source-read", _links_of_page, priority=600)  # after notebooks have replaced their directives
