"""The settings of Sphinx for the book; build.py writes its sources."""

project = "dtglib"
author = "the dtglib authors"
project_copyright = "2026 the dtglib authors, MIT licence"
extensions = ["myst_nb"]
html_theme = "furo"
html_title = "dtglib"
html_static_path = ["book.css"]
html_css_files = ["book.css"]
html_copy_source = False
nb_execution_mode = "off"  # the notebooks come with their outputs
nb_code_prompt_show = "Show the imports"  # only cells with imports are folded
nb_code_prompt_hide = "Hide the imports"
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]  # formulas
suppress_warnings = ["mystnb.unknown_mime_type"]  # input fields, which a book does not have
