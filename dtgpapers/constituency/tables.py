"""The orders of systems in the paper of DTG that are about TG, whose numbers its authors computed anew."""

from dtglib.evaluate.measures import MODELS

ORDERS = (
    (MODELS, "SG", "DTG", "TG"),
    (MODELS, "SG", "TG", "TXL (trans)"),
    (MODELS, "BLiMP", "DTG", "TG"),
    (MODELS, "perplexity", "DTG", "TG"),
)
