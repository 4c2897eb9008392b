"""Asking a trained model: about many trees of a sentence at once."""
