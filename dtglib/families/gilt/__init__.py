"""GiLT: a Transformer-XL whose attention reads features of a dependency graph, which grows word by word.

In: sentences with dependency graphs. Out: families of models. Read first: graphs.py, then tape.py.
"""

from dtglib.families.base import Paper

PAPERS = (Paper("gilt", notebooks="2"),)
