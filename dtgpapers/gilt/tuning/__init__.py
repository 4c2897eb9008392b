"""Fine-tuning (section 4.3): a trained Transformer-XL learns a task about sentences, with or without graphs.

In: prompts around judged sentences, and graphs that a GiLT has found in them. Out: scores, or labels. Read first:
prompts.py, then network.py.

    txl         the trained model as it is
    gilt-txl    the same with the graph term in its last layers
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from dtgpapers.gilt.tuning.config import TunedConfig, TunedTraining
from dtgpapers.gilt.tuning.examples import PromptExamples
from dtgpapers.gilt.tuning.network import load_tuned, tuned
from dtgpapers.tuning.tasks import Task
from dtgpapers.tuning.ways import Tuning


def _answers(task: Task, **more: Any) -> Mapping[str, Any]:
    return {"answers": "label" if task.labels else "score", **more}


def _tuning(name: str, title: str, reads: str | None = None, **fixed: Any) -> Tuning:
    return Tuning(
        name=name,
        title=title,
        family="txl-tokens",
        config=TunedConfig,
        build=tuned,
        load=load_tuned,
        examples=PromptExamples.of,
        training=TunedTraining,
        fixed=partial(_answers, **fixed),
        reads=reads,
    )


PLAIN = _tuning("txl", "TXL (tokens)", graph_layers=0)
GILT_TXL = _tuning("gilt-txl", "GiLT-TXL", reads="arcs")

TUNINGS = (PLAIN, GILT_TXL)
