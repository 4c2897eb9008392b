"""The only room that draws: trees, masks, curves and bars.
In: sentences, structures, tables of numbers. Out: a `Picture`, which a notebook shows and `save` writes as SVG.
Read first: plot.py.
"""
