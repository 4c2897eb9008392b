"""The settings of the book, which build.py gathers."""

project = "dtglib"
author = "the dtglib developers"
extensions = ["myst_nb"]
html_theme = "furo"
html_title = "dtglib"
nb_execution_mode = "off"  # the notebooks come executed
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]  # formulas
suppress_warnings = ["mystnb.unknown_mime_type"]  # fields to edit, which a book does not have
