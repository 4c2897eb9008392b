"""Dependency Transformer Grammars: language models that generate a sentence together with its dependency tree."""

__version__ = "0.1.0"
