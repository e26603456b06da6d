"""A page that begins with the directive `notebook` shows that notebook: its texts, code and outputs.

Notebooks are committed with their outputs, so the site is built without running them; `docs/run_notebooks.py` renews them.
This needs only JSON; the usual extensions bring the whole of Jupyter.
"""

import json
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

_DIRECTIVE = re.compile(r"```\{notebook\} (\S+)\n```\n")


def markdown(path: Path) -> str:
    """A notebook as a page in Markdown; pictures are inside, as data URIs."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            parts.append(f"```python\n{source}\n```")
            parts += _outputs(cell["outputs"])
    return "\n\n".join(parts) + "\n"


def _outputs(outputs: list[dict[str, Any]]) -> list[str]:
    printed = "".join("".join(output["text"]) for output in outputs if output["output_type"] == "stream").rstrip()
    pictures = [output["data"]["image/png"] for output in outputs if "image/png" in output.get("data", {})]
    texts = [f"```{{code-block}} text\n:class: output\n\n{printed}\n```"] if printed else []
    return texts + [f"![picture that the code above draws](data:image/png;base64,{each.strip()})" for each in pictures]


def _replace(app: Sphinx, page: str, source: list[str]) -> None:
    found = _DIRECTIVE.match(source[0])
    if found is not None:
        path = (Path(app.srcdir) / page).parent / found[1]
        app.env.note_dependency(str(path.resolve()))
        source[0] = markdown(path) + source[0][found.end() :]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", _replace)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
