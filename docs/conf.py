"""How the site is built: Markdown pages, examples executed, the reference from docstrings, nothing from the network."""

import sys
from pathlib import Path

from noap import __version__

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "noap"
author = "The noap developers"
release = version = __version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "adapt",
    "executed",
    "mathml",
    "thumbnails",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_executed/**", "_extensions/**"]
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say it, with shapes
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"noap {release}"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
# Pages that examples write, such as a report; made while the examples run.
(HERE / "_executed").mkdir(exist_ok=True)
html_extra_path = ["_executed"]
