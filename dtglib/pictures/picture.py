"""A picture, which a notebook shows as SVG, and the colours of all pictures."""

import io

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dtglib.basics.files import repository, write_atomically

BLUE, ORANGE, GREY = "#1f5fa8", "#e07b00", "#666666"

# The same picture gives the same bytes: there are no random ids and no date in the file.
matplotlib.rcParams["svg.hashsalt"] = "dtglib"
# A word with dollar signs is not a formula.
matplotlib.rcParams["text.parse_math"] = False


class Picture(Figure):
    """A figure that a notebook shows as SVG, sharp at every size, with any backend."""

    def _repr_svg_(self) -> str:
        content = io.StringIO()
        self.savefig(content, format="svg", bbox_inches="tight", metadata={"Date": None})
        return content.getvalue()

    def _repr_png_(self) -> bytes:
        """For JupyterLab, which does not show SVG in a notebook that somebody else has run."""
        content = io.BytesIO()
        self.savefig(content, format="png", bbox_inches="tight", metadata={"Software": None})
        return content.getvalue()


def save(picture: Picture, name: str) -> Picture:
    """Write a picture to figures/NAME.svg in the notebook's repository, and return it, so that it is shown."""
    with write_atomically(repository() / "figures" / f"{name}.svg") as file:
        file.write(picture._repr_svg_())
    return picture


def single(width: float, height: float) -> tuple[Picture, Axes]:
    """A picture with one pair of axes; the size is in inches."""
    picture = Picture(figsize=(width, height))
    return picture, picture.add_subplot()
