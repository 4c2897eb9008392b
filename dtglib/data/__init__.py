"""From files to sentences: treebanks, text, vocabularies, corpora, downloads, and minilang, the embedded corpus.
In: CoNLL-U, brackets or text; nothing for minilang. Out: a `Treebank` of `Sentence`s, and a `Vocabulary` of words.
Read first: treebank.py, then corpora.py.
"""
