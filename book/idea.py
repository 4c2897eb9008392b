"""Draw the first picture of the README and of the book: figures/00_idea.svg, and the same as PNG, 1,700 pixels wide.

python book/idea.py
"""

from dtglib.basics.files import repository
from dtglib.data.treebank import Sentence
from dtglib.pictures.idea import draw_idea
from dtglib.pictures.plot import save

SENTENCE = Sentence(("There", "is", "a", "difference"), (2, 0, 4, 2), ("expl", "root", "det", "nsubj"))

if __name__ == "__main__":
    picture = save(draw_idea(SENTENCE), "00_idea")
    png = repository() / "figures" / "00_idea.png"
    picture.savefig(png, dpi=160, bbox_inches="tight", metadata={"Software": None})
