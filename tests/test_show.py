"""One sentence's structure with names, in Python and on the command line."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from dtglib.basics.errors import UserError
from dtglib.cli.main import main
from dtglib.sequences.describe import as_json, as_rows, show

DIFFERENCE = (["There", "is", "a", "difference"], [2, 0, 4, 2])
COMMAND = ["structure", "--words", "There is a difference", "--heads", "2 0 4 2", "--system"]


def test_inputs_attention_and_predictions_are_those_of_figure_2():
    seen = show("arc-standard", *DIFFERENCE)
    figure = """
        <ROOT>                 STACK    There
        There                  STACK    is
        is                     STACK    LEFTARC
        LEFTARC + is           COMPOSE  -
        LEFTARC2 + is          STACK    a
        a                      STACK    difference
        difference             STACK    LEFTARC
        LEFTARC + difference   COMPOSE  -
        LEFTARC2 + difference  STACK    RIGHTARC
        RIGHTARC + is          COMPOSE  -
        RIGHTARC2 + is         STACK    RIGHTARC
        RIGHTARC + <ROOT>      COMPOSE  -
        RIGHTARC2 + <ROOT>     STACK    <END>
    """
    rows = [f"{row['input']:22} {row['attention']:8} {row['predicts']}" for row in as_rows(seen)]
    assert rows == [line.strip() for line in figure.strip().splitlines()]


def test_a_word_of_several_pieces_is_seen_and_goes_as_a_whole():
    seen = show("arc-standard", *DIFFERENCE, [1, 1, 1, 2])
    compose = seen.inputs.index("LEFTARC + difference/2")
    assert [seen.inputs[j] for j in np.flatnonzero(seen.visible[compose])] == [
        "a", "difference/1", "difference/2", "LEFTARC + difference/2",
    ]  # fmt: skip
    assert not seen.visible[compose + 1 :, [compose - 1, compose - 2]].any()


def test_the_json_has_the_promised_keys_and_null_where_nothing_is_visible(capsys):
    assert main([*COMMAND, "arc-eager", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    keys = "actions inputs kind last height level settled top floor head_first head_last visible relpos targets"
    assert list(printed) == keys.split()
    assert printed == as_json(show("arc-eager", *DIFFERENCE))
    for visible, relpos in zip(printed["visible"], printed["relpos"], strict=True):
        assert set(visible) <= {0, 1}
        assert [distance is not None for distance in relpos] == [bool(cell) for cell in visible]


@pytest.mark.parametrize("system", ["arc-standard", "arc-hybrid", "arc-eager", "arc-swift"])
def test_every_system_is_shown_as_a_table(system, capsys):
    assert main([*COMMAND, system]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("actions: GEN GEN LEFTARC")
    assert lines[-1].split()[-1] == "<END>"


def test_the_picture_is_an_svg_that_names_every_input(tmp_path):
    assert main([*COMMAND, "arc-standard", "--svg", str(tmp_path / "mask.svg")]) == 0
    assert ElementTree.parse(tmp_path / "mask.svg").getroot().tag.endswith("svg")


def test_a_word_may_hold_dollar_signs_and_a_folder_is_no_picture(tmp_path, capsys):
    command = ["structure", "--system", "arc-swift", "--words", "$^$ is $a_b$", "--heads", "2 0 2", "--svg"]
    assert main([*command, str(tmp_path / "mask.svg")]) == 0
    assert main([*command, str(tmp_path / "mask.pdf")]) == 2
    assert "mask.pdf: let its name end in .svg" in capsys.readouterr().err
    (tmp_path / "folder.svg").mkdir()
    assert main([*command, str(tmp_path / "folder.svg")]) == 2
    assert "is no file; name a file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--words", "a b c", "--heads", "3 0 2"], "not projective: arc 0->2 crosses 3->1"),
        (["--words", "a b c", "--heads", "3 0"], "3 words, but 2 heads; each word needs one"),
        (["--words", "a b", "--heads", "2 5"], "word 2: head 5 is out of range (there are 2 words)"),
        (["--words", "a b", "--heads", "2 x"], "heads: 'x' is not a number; write them like \"2 0 4 2\""),
        (["--words", "a b", "--heads", "2 --1"], "heads: '--1' is not a number; write them like \"2 0 4 2\""),
        (["--words", "a b", "--heads", "2 1"], "no word has head 0 (ROOT)"),
        (["--words", "a b c", "--heads", "0 3 2"], "word 2 is above itself: its heads go round in a circle"),
        (["--words", "a b", "--heads", "0 0"], "words 1 and 2 all have head 0; one may"),
        (["--words", "a b", "--heads", "0 1", "--pieces", "1 0"], "every word has at least one piece"),
        (["--words", "", "--heads", ""], "a tree needs at least one word"),
    ],
)
def test_a_malformed_tree_is_one_line_and_status_2(arguments, complaint, capsys):
    assert main(["structure", "--system", "arc-swift", *arguments]) == 2
    assert capsys.readouterr().err == f"dtglib: {complaint}\n"


def test_an_unknown_system_names_the_known_ones():
    with pytest.raises(UserError, match="'arc-lazy'; there are arc-standard, arc-hybrid, arc-eager, arc-swift"):
        show("arc-lazy", *DIFFERENCE)
