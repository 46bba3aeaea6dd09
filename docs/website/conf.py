"""Sphinx reads this file beside the assembled pages."""

project = "weft"
author = "the authors of weft"
copyright = "the authors of weft, BSD-3-Clause"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns: list[str] = []

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["myst.header"]  # a page may begin a section below its title with a third-level heading

html_theme = "furo"
html_title = "weft"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_copy_source = False
html_use_index = False  # nothing is marked for it; there is the search
html_show_sphinx = False
html_theme_options = {"sidebar_hide_name": False, "top_of_page_buttons": []}
highlight_language = "text"
pygments_style = "friendly"
pygments_dark_style = "native"
