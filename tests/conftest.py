"""What all tests share."""

import os
import signal
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

# A shell that starts the tests in the background lets them ignore Ctrl-C, and so would whatever they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of public data (treebanks, BLiMP, SG suites), or a skip that says how to get it."""
    folder = os.environ.get("DTG_DATA")
    if not folder:
        pytest.skip("DTG_DATA is not set: run `make data`, or name a folder that holds ud/, blimp/ and sg/")
    if not Path(folder).is_dir():
        pytest.skip(f"DTG_DATA names {folder}, which is not a folder")
    return Path(folder).resolve()


@contextmanager
def with_one_thread():
    """Products this small only wait for a second thread, which may also sum in another order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def one_thread():
    with with_one_thread():
        yield
