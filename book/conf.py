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
sidebars = {}  # by folder


def setup(app):
    """Called by Sphinx."""
    app.connect("html-page-context", share_sidebars, priority=400)  # before the theme, which asks for the sidebar


def share_sidebars(app, pagename, templatename, context, doctree):
    """Make one sidebar for all source files of a folder, which are not in it: more than half of the time of a build."""
    if pagename.startswith("source/") and "toctree" in context:
        make = context["toctree"]

        def toctree(**options):
            key = pagename.rpartition("/")[0], *sorted(options.items())
            if key not in sidebars:
                sidebars[key] = make(**options)
            return sidebars[key]

        context["toctree"] = toctree
