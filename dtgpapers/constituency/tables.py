"""The orders of systems in the paper of DTG that are about models of constituents.

It took all numbers of PLM and Pushdown, and TG's score in SG, from other papers.
"""

from dtglib.evaluate.measures import MODELS

ORDERS = (
    (MODELS, "SG", "DTG", "TG"),
    (MODELS, "SG", "DTG", "PLM"),
    (MODELS, "SG", "DTG", "Pushdown-TXL"),
    (MODELS, "SG", "TG", "TXL (trans)"),
    (MODELS, "SG", "TG", "TXL (tokens)"),
    (MODELS, "SG", "PLM", "TXL (tokens)"),
    (MODELS, "SG", "Pushdown-TXL", "TXL (tokens)"),
    (MODELS, "BLiMP", "DTG", "TG"),
    (MODELS, "BLiMP", "DTG", "PLM"),
    (MODELS, "BLiMP", "DTG", "Pushdown-TXL"),
    (MODELS, "perplexity", "DTG", "TG"),
)
