"""The settings of Sphinx for the book; build.py writes its sources."""

from sphinx import addnodes

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
titles = {}  # by page: its title, and the lists of pages in it


def setup(app):
    """Called by Sphinx."""
    app.connect("html-page-context", shorten_sidebar, priority=400)  # before the theme, which asks for the sidebar


def shorten_sidebar(app, pagename, templatename, context, doctree):
    """Make the sidebar of titles alone, which it shows; Sphinx would copy all headings of all pages for each page."""
    if "toctree" in context:
        contents, make = app.env.tocs, context["toctree"]
        if not titles:
            titles.update((name, _titles(of_page)) for name, of_page in contents.items())

        def toctree(**options):
            app.env.tocs = titles
            try:
                return make(**options)
            finally:
                app.env.tocs = contents

        context["toctree"] = toctree


def _titles(contents):
    contents = contents.deepcopy()
    for item in contents.children:
        for rest in item.children[1:]:
            rest[:] = list(rest.findall(addnodes.toctree))
            if not rest.children:
                item.remove(rest)
    return contents
