"""A text field in JupyterLab, for a sentence of the reader's own."""

import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any


def with_field(draw: Callable[..., Any], text: str, **choices: Sequence[str]) -> Any:
    """draw(text, ...); in JupyterLab with a field for the text, and a menu for each choice, whose first is taken.

    Jupyter's server names the session to the kernels of its readers. Where a notebook runs without a reader, there is
    no field: its output is stored, and a stored field does nothing.
    """
    if "JPY_SESSION_NAME" not in os.environ or not find_spec("ipywidgets"):
        return draw(text, **{name: values[0] for name, values in choices.items()})
    from ipywidgets import Layout, Text, interactive

    def of_a_sentence(text: str, **chosen: str) -> Any:
        return draw(text, **chosen) if text.strip() else None  # nothing, while the field is empty

    field = Text(text, continuous_update=False, layout=Layout(width="40em"))
    return interactive(of_a_sentence, {"auto_display": True}, text=field, **choices)
