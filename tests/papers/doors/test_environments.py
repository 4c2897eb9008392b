"""Environments on top of the running one."""

import json

import pytest
import torch
from environments import environment

# Slow: packages are installed.
pytestmark = pytest.mark.slow

PROGRAM = """
import json, torch, dtglib, transformers
print(json.dumps([transformers.__version__, torch.__version__, torch.__file__, dtglib.__file__]))
"""


def test_a_package_of_another_version_is_found_beside_the_packages_of_the_running_environment():
    import dtglib

    version, *others = json.loads(environment(["transformers==4.57.6"]).run(PROGRAM))
    assert version == "4.57.6"
    assert others == [torch.__version__, torch.__file__, dtglib.__file__]
