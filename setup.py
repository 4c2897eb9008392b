"""What pyproject.toml has no words for: the released models, which stand beside the package, are installed with it."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["dtglib*", "dtgpapers*"]), "dtglib.models"],
    package_dir={"dtglib.models": "models"},
)
