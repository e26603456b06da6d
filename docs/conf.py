"""Settings of Sphinx, which builds the documentation: `make docs`."""

import anygru

project = "anygru"
author = "The anygru authors"
version = release = anygru.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
default_role = "code"
html_theme = "furo"
html_title = "anygru"

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
# Links from a page to a file of the repository outside `docs/` are for readers of the repository.
suppress_warnings = ["myst.xref_missing"]

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
