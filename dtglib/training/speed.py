"""The training speed of a network, measured while nothing else runs.

    positions_per_second(model, prepared.train, settings.train)

The record of a training contains a speed, too, but other processes may have shared the machine then.
"""

import itertools
import statistics
import time

import numpy as np
import torch

from dtglib.training.distributed import device_at_hand
from dtglib.training.loop import Data, Trainable, resolved_precision
from dtglib.training.schedule import TrainConfig

WARM_UP = 2  # batches


def positions_per_second(network: Trainable, data: Data, config: TrainConfig, batches: int = 10) -> float:
    """The median over the first batches of an epoch, forwards and backwards, padding not counted."""
    device = device_at_hand()
    dtype = getattr(torch, resolved_precision(config, device))
    network.to(device).train()
    plan = data.plan(config.batch_positions, np.random.default_rng(0), device)
    speeds = []
    for numbers in itertools.islice(itertools.cycle(plan), WARM_UP + batches):
        batch = data.batch(numbers, config.batch_positions, device)
        began = time.monotonic()
        with torch.autocast(device.type, dtype, enabled=dtype != torch.float32):
            nats, _ = network.loss(batch)
        nats.backward()
        nats.detach().item()  # waits until a GPU has finished
        network.zero_grad(set_to_none=True)
        speeds.append(int(data.lengths[numbers].sum()) / (time.monotonic() - began))
    return statistics.median(speeds[WARM_UP:])
