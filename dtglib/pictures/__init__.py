"""The only room that draws: trees, masks, curves and bars, and the input fields of notebooks.
In: sentences, structures, tables of numbers. Out: a `Picture`, which a notebook shows and `save` writes as SVG.
Read first: plot.py.
"""
