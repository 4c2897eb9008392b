"""Input fields in a notebook for a sentence, its tree and a transition system, above an output that depends on them.

    >>> from dtglib.transitions import oracle
    >>> actions = lambda system, words, heads: " ".join(map(str, oracle(SYSTEMS[system], heads)))
    >>> explore(actions, ["There", "is", "a", "difference"], (2, 0, 4, 2))
    'GEN GEN LEFTARC GEN GEN LEFTARC RIGHTARC RIGHTARC END'

In JupyterLab the fields can be edited, and the output below is updated. It is an ordinary output of its cell, so where
no widgets are shown (on GitHub, in HTML, in a script) it still shows the sentence of the cell.
"""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

from dtglib.basics.errors import UserError, require
from dtglib.sequences.describe import numbers
from dtglib.transitions import SYSTEMS
from dtglib.transitions.protocol import as_tree

# A function from the name of a transition system, words and heads to the output.
Make = Callable[[str, list[str], list[int]], Any]


def explore(make: Make, words: Sequence[str], heads: Sequence[int], system: str = "arc-standard") -> Any:
    """Show the output of `make` for the sentence, with fields to edit it; outside of Jupyter, only return it."""
    first = make(system, list(words), list(heads))
    if not _in_jupyter():
        return first
    import ipywidgets
    from IPython.display import display

    fields = {
        "system": ipywidgets.Dropdown(options=list(SYSTEMS), value=system, description="system"),
        "words": _field(ipywidgets, "words", " ".join(words)),
        "heads": _field(ipywidgets, "heads", " ".join(map(str, heads))),
    }
    message = ipywidgets.Label()
    _display(ipywidgets.VBox([*fields.values(), message]), "(In JupyterLab there are fields here to change it.)")
    below = display(first, display_id=True)

    def follow(change: Any) -> None:
        try:
            below.update(made(make, **{name: field.value for name, field in fields.items()}))
            message.value = ""
        except UserError as error:
            message.value = str(error)

    for field in fields.values():
        field.observe(follow, "value")
    return None


def made(make: Make, system: str, words: str, heads: str) -> Any:
    """The output for the contents of the fields; a UserError says what is wrong with them."""
    tokens, tree = words.split(), numbers(heads, "heads")
    require(len(tokens) == len(tree), f"{len(tokens)} words, but {len(tree)} heads; each word needs one")
    as_tree(tree)  # raises an error if the heads are not a tree
    return make(system, tokens, tree)


def _field(ipywidgets: Any, name: str, value: str) -> Any:
    # No update at every key: half a sentence has no tree.
    return ipywidgets.Text(
        value=value, description=name, continuous_update=False, layout=ipywidgets.Layout(width="40em")
    )


def _display(widget: Any, instead: str) -> None:
    """Show a widget, or a text where widgets cannot be shown."""
    from IPython.display import display

    display({**widget._repr_mimebundle_(), "text/plain": instead}, raw=True)


def _in_jupyter() -> bool:
    if not find_spec("ipywidgets"):
        return False
    from IPython import get_ipython

    return get_ipython() is not None
