"""The papers beside that of DTG, each whole in a folder of its own; they import dtglib, and dtglib none of them."""
