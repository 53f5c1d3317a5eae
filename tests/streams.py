"""Every metric, and its results as plain numbers to compare."""

import torch

from fairret.metric import (
    LinearFractionalParity,
    MaxViolation,
    Measured,
    Parity,
    ParityDifference,
    ParityRatio,
    ParityResult,
    ParityTable,
    ViolationNorm,
    ViolationSmoothMax,
)

NUMBERS = (
    MaxViolation,
    ParityDifference,
    ParityRatio,
    ViolationNorm,
    ViolationSmoothMax,
)
SHARED = ("notion", "part_names", "names", "traits", "n")
TENSORS = (
    "count",
    "statistic",
    "overall",
    "standard_error",
    "low",
    "high",
    "violation",
    "judged",
    "p_value",
    "group_beyond_chance",
    "violation_beyond_chance",
    "covariance",
    "max_violation",
    "difference",
    "ratio",
    "norm",
    "smooth_max",
    "noise_floor",
)
METRICS = {
    "Parity": lambda d: Parity("tpr", threshold=0.4),
    "ParityTable": lambda d: ParityTable(["pr", "tpr+ppv", "fn_fp"], threshold=0.6),
    **{cls.__name__: (lambda d, cls=cls: cls("f_score", d_s=d)) for cls in NUMBERS},
    "MaxViolation of decisions": lambda d: MaxViolation("accuracy", threshold=0.5),
    "LinearFractionalParity": lambda d: LinearFractionalParity("ppv", d),
}


def numbers_of(value):
    """What a metric computed, as a flat dictionary."""
    if isinstance(value, torch.Tensor):
        return {"value": value}
    if isinstance(value, dict):
        inner = {key: numbers_of(own) for key, own in value.items()}
    elif isinstance(value, Measured):
        both = value._asdict().items()
        inner = {key: numbers_of(own) for key, own in both if own is not None}
    else:
        assert isinstance(value, ParityResult)
        test = {f"test {k}": v for k, v in value.test._asdict().items()}
        settings = {name: getattr(value, name) for name in SHARED}
        return settings | {name: getattr(value, name) for name in TENSORS} | test
    return {f"{a} {b}": x for a, own in inner.items() for b, x in own.items()}


def assert_same(ours, theirs):
    """Equal up to the order in which float64 numbers were added up."""
    ours, theirs = numbers_of(ours), numbers_of(theirs)
    assert ours.keys() == theirs.keys()
    for key, value in ours.items():
        if isinstance(value, torch.Tensor):
            torch.testing.assert_close(
                value,
                theirs[key],
                rtol=1e-9,
                atol=1e-8,  # the root of a variance of 1e-16
                equal_nan=True,
                msg=lambda text, key=key: f"{key}: {text}",
            )
        else:
            assert value == theirs[key], key
