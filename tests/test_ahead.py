"""Items are made ahead in another thread, and come in their order as if they had not been."""

import threading
import time
from collections.abc import Iterator

import pytest
import torch

from dtglib.training.prefetch import MOST_WAITING, ahead

GPU = torch.device("cuda")  # nothing is computed on it


def noted(made: list[int], count: int = 10) -> Iterator[int]:
    for number in range(count):
        made.append(number)
        yield number


@pytest.mark.parametrize("count", [0, 1, MOST_WAITING, MOST_WAITING + 1, 10])
def test_all_items_come_in_their_order(count):
    assert list(ahead(range(count), GPU)) == list(range(count))


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_gpu_is_what_they_are_made_ahead_for(device):
    here, items = threading.get_ident(), ahead((threading.get_ident() for _ in range(10)), torch.device(device))
    (thread,) = {*items}
    assert (thread == here) == (device == "cpu")
    items.close()


def test_no_more_are_made_than_may_wait():
    made = []
    items = ahead(noted(made), GPU)
    for number in items:
        deadline = time.monotonic() + 10
        while len(made) < min(number + 1 + MOST_WAITING, 10) and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(0.01)
        assert len(made) == min(number + 1 + MOST_WAITING, 10)


def test_none_is_made_before_one_is_asked_for():
    made = []
    ahead(noted(made), GPU)
    assert made == []


def test_an_error_comes_up_where_its_item_would_have_come():
    items, found = ahead((1 / number for number in (1, 2, 0, 4)), GPU), []
    with pytest.raises(ZeroDivisionError):
        for item in items:
            found.append(item)
    assert found == [1, 0.5]


def test_who_stops_asking_leaves_no_thread_behind():
    before, made = threading.active_count(), []
    items = ahead(noted(made, 1000), GPU)
    assert next(items) == 0
    items.close()
    assert threading.active_count() == before
    assert len(made) <= 2 + MOST_WAITING
