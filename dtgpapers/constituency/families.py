"""The families of models that read brackets."""

from dtgpapers.constituency.family import BracketReading, bracket_family
from dtgpapers.constituency.sides import PLM_MASK

FAMILIES = (
    bracket_family("plm", "PLM", BracketReading(composes=False, typed=False)),
    PLM_MASK,
    bracket_family("txl-trees", "TXL (trees)", BracketReading(composes=False, typed=True)),
    bracket_family("tg", "TG", BracketReading(composes=True, typed=True)),
    bracket_family("tg-untyped", "TG, untyped", BracketReading(composes=True, typed=False)),
)
