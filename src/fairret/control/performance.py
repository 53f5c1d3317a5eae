"""How good decisions are, whoever gets them."""

from typing import NamedTuple

from torch import Tensor


class Performance(NamedTuple):
    """Three numbers on decisions."""

    accuracy: float
    balanced_accuracy: float  # mean of that among positives and among negatives
    rate: float  # of people who get a yes


def measure_performance(f: Tensor, label: Tensor, share: Tensor) -> Performance:
    """Compare decisions with labels, `(n,)` each; weights sum to 1."""
    right = (f == label).to(share)
    rates = [
        float(share[own] @ right[own] / share[own].sum())
        for own in (label == 1, label == 0)
        if bool(share[own].sum() > 0)
    ]
    return Performance(
        float(share @ right), sum(rates) / len(rates), float(share @ f.to(share))
    )
