"""The lab: the paper's experiments, and what fairrets are compared with."""

import importlib

PARTS = ("baseline", "dataset", "experiment", "plot", "tolerance")


def __getattr__(name: str) -> object:
    """Import a part of the lab on first use: some need extras."""
    if name in PARTS:
        return importlib.import_module(f"fairret.lab.{name}")
    raise AttributeError(f"module 'fairret.lab' has no attribute {name!r}")
