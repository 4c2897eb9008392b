"""From files to sentences: treebanks, brackets, raw text, vocabularies, downloads, and minilang, the embedded corpus.
In: CoNLL-U, brackets, text; nothing for minilang. Out: a `Treebank` of `Sentence`s, and a `Vocabulary` of their words.
Read first: treebank.py, then corpora.py.
"""
