"""The directive `dialect-names`: the table of covered and refused names of a dialect, from its `names.txt`.

The page works as a plain table; `static/filter.js` adds a box that filters its rows.
"""

from importlib import resources

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from anygru.dialects import roots
from anygru.dialects.names import names

HEAD = ("Name", "Here", "Why not, and what to use instead")


def rows(dialect: str) -> list[tuple[str, str, str]]:
    """The rows of a dialect's table, (full name, "covered" or "refused", reason), sorted by module.

    A module that has two names (`mxnet.nd` is `mxnet.ndarray`) is listed under the first.
    """
    listed = names(dialect)
    seen: set[tuple[object, object]] = set()
    found = []
    for module in {**listed.covered, **listed.refused}:
        contents = (listed.covered.get(module), frozenset(listed.refused.get(module, {}).items()))
        if contents in seen:
            continue
        seen.add(contents)
        found += [(f"{module}.{name}", "covered", "") for name in listed.covered.get(module, ())]
        for name, refusal in listed.refused.get(module, {}).items():
            reason = "; ".join(filter(None, (refusal.why, refusal.instead and f"use {refusal.instead}")))
            found.append((f"{module}.{name}" + (" (module)" if refusal.is_module else ""), "refused", reason))
    return sorted(found, key=lambda row: (row[0].rpartition(".")[0].lower(), row[0].lower()))


class DialectNames(Directive):
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        dialect = self.arguments[0]
        self.state.document.settings.env.note_dependency(str(resources.files(roots()[dialect]).joinpath("names.txt")))
        table = rows(dialect)
        counts = {kind: sum(row[1] == kind for row in table) for kind in ("covered", "refused")}
        summary = f"{counts['covered']:,} names are covered, {counts['refused']:,} are refused by name."
        return [nodes.paragraph(text=summary), _table(table)]


def _table(table: list[tuple[str, str, str]]) -> nodes.table:
    group = nodes.tgroup("", *(nodes.colspec(colwidth=width) for width in (43, 14, 43)), cols=3)
    group += nodes.thead("", nodes.row("", *(_cell(nodes.Text(text)) for text in HEAD)))
    body = nodes.tbody()
    for name, kind, reason in table:
        row = nodes.row("", _cell(nodes.literal(text=name)), _cell(nodes.Text(kind)), _cell(nodes.Text(reason)))
        row["classes"].append(kind)
        body += row
    group += body
    return nodes.table("", group, classes=["filtered"])


def _cell(content: nodes.Node) -> nodes.entry:
    return nodes.entry("", nodes.paragraph("", "", content))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("dialect-names", DialectNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
