"""Dependency Transformer Grammars (Zhao, Lou and Tu 2024), which generate sentences together with their trees.

There is one family for each transition system. A sequence contains the transitions, with every arc doubled, and
attention follows the system's stack. DTG's sequence for "There is a difference" is

    <ROOT> There is LEFTARC LEFTARC a difference LEFTARC LEFTARC RIGHTARC RIGHTARC RIGHTARC RIGHTARC

The first copy of an arc (COMPOSE) sees the two words that the arc joins, and represents both from then on.
"""

from dataclasses import replace

from dtglib.families.base import BASE, OWN, Variant
from dtglib.families.sequence_model import sequence_family
from dtglib.sequences.readings import on_a_stack

# The paper asks the first of these and that about parsers (its Tables 4 and 5); the others concern what it leaves open.
QUESTIONS = {
    "arc representation": {"w+arc": BASE, "arc": Variant({"arcs": "arc"}), "w": Variant({"arcs": "w"})},
    "output layer": {
        "one softmax, legal": BASE,
        "factored, legal": Variant({"output": "factored"}),
        "one softmax, whole vocabulary": Variant({"output": "whole"}),
    },
    "transition system": {
        "arc-standard": BASE,
        "arc-eager": Variant({"model": "dtg-eager"}),
        "arc-swift": Variant({"model": "dtg-swift"}),
    },
    "parser": {
        "the treebank's own trees": Variant({}, parsed_by=OWN),
        "strong parser": Variant({}, parsed_by="strong"),
        "weak parser": Variant({}, parsed_by="weak", summed_over="weak"),
        "weak parser, but summed over the strong one's trees": Variant({}, parsed_by="weak"),
    },
    "labels": {"unlabelled": Variant({}, searched=True), "labelled": Variant({"labels": True}, searched=True)},
}

FAMILIES = (
    replace(sequence_family("dtg", "DTG", on_a_stack("arc-standard"), "dtg"), questions=QUESTIONS),
    sequence_family("dtg-eager", "DTG-eager", on_a_stack("arc-eager"), "dtg"),
    sequence_family("dtg-swift", "DTG-swift", on_a_stack("arc-swift"), "dtg"),
)
