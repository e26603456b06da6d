"""The lists of names: `names.txt` of a dialect lists the covered names of the original, and replacements for names that
are not covered.

Names that are not covered are written in this file only. It has a section for each module or class of the
original, and in a section these lines:

    title: Paddle                   the framework's name in messages
    [paddle.nn]                     several modules with the same names share a section: [mxnet.nd mxnet.ndarray]
    + GRU GRUCell Linear            covered: the dialect has them
    - Conv3D MaxPool3D: torch.nn    not covered: the replacement
    - SpectralNorm: rare in programs with a GRU; torch.nn.utils.spectral_norm
    - quant/: torch.ao.quantization a name that ends in "/" is a module: it can be imported, with its submodules
    [paddle.Tensor]                 of a class: "-" lines name methods and attributes that raise the error on access
    = paddle.nn.layer.*             import paths of the original for this module's names; "*" is one component; a path
                                    without "*" may have a file here; its names take precedence
    ! complete                      the section lists all names of the original's module; other names are typos
    @static: no graphs; a Layer     above the sections: why a whole style of programs is refused, and the replacement
    - Executor: @static             a name of that style; "- fc: @static; paddle.nn.Linear" has a replacement of its own
    ~ layers: @static               a name that only other versions of the original have; it is refused when it is looked up

Text before the last "; " is the reason, text after it is the replacement. "#" begins a comment.
"""

import re
from functools import cache
from importlib import resources
from typing import NamedTuple

from .finder import roots


class Refusal(NamedTuple):
    """The reason why a name is not covered ("" if obvious), and the replacement."""

    why: str
    instead: str
    is_module: bool
    of_other_versions: bool = False


class Names(NamedTuple):
    """The content of one `names.txt`, by section."""

    covered: dict[str, tuple[str, ...]]
    refused: dict[str, dict[str, Refusal]]
    paths: dict[str, str]
    """Import paths, with "*" for one component, and the module with their names."""
    complete: set[str]
    """Modules with complete lists: other names are not in the original."""
    title: str = ""
    """The framework's name in messages."""

    def refusal(self, name: str) -> Refusal | None:
        """The line about a full name such as "paddle.nn.Conv3D", or about what it is in, if that is refused; None if none."""
        module, _, last = name.rpartition(".")
        found = self.refused.get(module, {}).get(last)
        if found is not None or not module:
            return found
        return self.refusal(module)

    def home(self, path: str) -> str | None:
        """The module with the names of an import path without a file, or None."""
        if path in self.paths:
            return self.paths[path]
        for pattern, module in self.paths.items():
            if "*" in pattern and re.fullmatch(re.escape(pattern).replace(r"\*", r"\w+"), path):
                return module
        return None


@cache
def names(dialect: str) -> Names:
    """The list of an installed dialect, one of `finder.roots()`. Raises ValueError for a line that it cannot read."""
    return read(resources.files(roots()[dialect]).joinpath("names.txt").read_text(encoding="utf-8"))


def read(text: str) -> Names:
    """Parse a `names.txt`. Raises ValueError that names the line, and KeyError that names a style without a description."""
    found = Names({}, {}, {}, set())
    head: dict[str, str] = {}
    sections: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        mark, _, rest = line.strip().partition(" ")
        if not mark or mark.startswith("#"):
            continue
        if mark.endswith(":") and not sections:
            head[mark[:-1]] = rest.strip()
        elif mark.startswith("["):
            sections = line.strip("[] ").split()
        elif sections and mark == "+":
            for section in sections:
                found.covered[section] = found.covered.get(section, ()) + tuple(rest.split())
        elif sections and mark in ("-", "~") and ": " in rest:
            for section in sections:
                found.refused.setdefault(section, {}).update(_refusals(mark, rest, head))
        elif sections and (mark, rest) == ("!", "complete"):
            found.complete.update(sections)
        elif sections and mark == "=":
            found.paths.update(dict.fromkeys(rest.split(), sections[-1]))
        else:
            expected = "[module], '+ names', '- names: instead', '~ names: instead', '= paths' or '! complete'"
            raise ValueError(f"names.txt, line {number}: expected {expected}, got {line!r}")
    return found._replace(title=head.get("title", ""))


def _refusals(mark: str, line: str, styles: dict[str, str]) -> dict[str, Refusal]:
    """The names of a line "names: why; instead", where one of both can be the name of a style."""
    listed, _, reason = line.partition(": ")
    why, _, instead = reason.strip().rpartition("; ")
    if instead.startswith("@"):
        why, _, instead = styles[instead].rpartition("; ")
    elif why.startswith("@"):
        why, _, way = styles[why].rpartition("; ")
        instead = f"{instead}, in {way}"
    return {each.rstrip("/"): Refusal(why, instead, each.endswith("/"), mark == "~") for each in listed.split()}
