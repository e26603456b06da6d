"""The directive `command-help`: what `anygru COMMAND --help` prints."""

import contextlib
import io
import os

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from anygru import cli

WIDTH = 100


class CommandHelp(Directive):
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        text = io.StringIO()
        os.environ["COLUMNS"] = str(WIDTH)
        with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
            cli.main([self.arguments[0], "--help"])
        return [nodes.literal_block(text=text.getvalue(), language="text")]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
