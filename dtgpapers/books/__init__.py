"""Free English prose: 263 works of Standard Ebooks and OpenStax, the Brown corpus and MASC.

corpus.py       the corpora `books`, `books-ebooks`, `books-openstax`, `brown` and `masc`
ebooks.py       a Standard Ebook -> paragraphs
textbooks.py    an OpenStax textbook -> paragraphs
sentences.py    a paragraph -> sentences -> words as in UD English
with_trees.py   the corpora `books-and-ud` and `public-domain`: with trees that a parser draws
tagged.py       the tagged files of Brown and MASC -> the same
vectors.py      vectors of the words of books
parser.py       the training of a parser that knows these words
works.py        the works, their archives in the data folder, and how `git` fetches them
works.tsv       a line a work: its repository, commit, author, licence, and a checksum of its files
classes.tsv     the words by which textbooks name exercises, lists of references and the like
"""

from dtglib.basics.papers import Paper

PAPER = Paper(
    name="books", families=(), corpora="dtgpapers.books.corpus:READERS", parsers="dtgpapers.books.parser:PARSERS"
)
