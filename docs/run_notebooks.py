"""Runs the notebooks and keeps their outputs in them: python docs/run_notebooks.py [NAME.ipynb ...]

Needs nbclient and ipykernel (the dependency group `docs`); forecasting_libraries.ipynb also needs
.ci/downstream/notebook.txt. A test runs the same and compares the words of the outputs.
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def run(path: Path) -> nbformat.NotebookNode:
    """The notebook with the outputs of a run, without the times and versions of that run and what went to standard error."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": EXAMPLES}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    notebook.metadata.language_info = {"name": "python"}
    return notebook


def main() -> None:
    for path in [EXAMPLES / name for name in sys.argv[1:]] or sorted(EXAMPLES.glob("*.ipynb")):
        nbformat.write(run(path), path)
        print(path.name)


if __name__ == "__main__":
    main()
