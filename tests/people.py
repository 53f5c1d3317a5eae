"""People with predictions, and what the metrics say of them row by row."""

import numpy as np
import pandas as pd
import torch

from fairret.metric import ParityTable
from fairret.sensitive import SensitiveEncoder

SUMS = (
    *("statistic", "overall", "standard_error", "violation", "estimable", "count"),
    "covariance",
)
DERIVED = (
    *("low", "high", "judged", "p_value", "group_beyond_chance", "max_violation"),
    *("noise_floor", "difference", "ratio", "norm", "smooth_max"),
    "violation_beyond_chance",
)


def people(n=211, seed=0):
    """A table whose scores depend on sex; the last category of race comes late."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["m", "f"], n, p=[0.6, 0.4])
    race = rng.choice(["c", "a", "b"], n, p=[0.5, 0.2, 0.3]).astype(object)
    race[-n // 9 :: 2] = "late"
    score = np.clip(rng.beta(2, 3, n) + 0.15 * (sex == "m"), 0, 1)
    label = (rng.random(n) < 0.2 + 0.6 * score).astype(int)
    return pd.DataFrame(
        {
            "y": label,
            "p": score,
            "sex": sex,
            "race": race,
            "age": rng.normal(44, 13, n),
            "w": rng.gamma(2, 1, n),
        }
    )


def by_rows(frame, traits, notions, *, label="y", weight=None, **options):
    """Measure the rows themselves: no chunks, no cells."""
    encoder = SensitiveEncoder(traits)
    sens = encoder.fit_transform(frame)
    metric = ParityTable(notions, names=encoder.names, traits=encoder.traits, **options)
    named = {"label": label, "weight": weight}
    metric.update(
        torch.tensor(frame["p"].to_numpy(dtype=float)),
        sens=sens,
        **{
            argument: torch.tensor(frame[column].to_numpy(dtype=float))
            for argument, column in named.items()
            if column is not None
        },
    )
    return metric.compute()


def assert_same(found, expected, fields=SUMS):
    """Compare every notion, scores and decisions: what all else is computed from."""
    assert list(found) == list(expected)
    for notion in expected:
        for one, other in zip(found[notion], expected[notion], strict=True):
            assert one.names == other.names
            assert one.traits == other.traits
            for field in fields:
                # Sums in another order; a variance is a difference of them, and what
                # is left, 1e-16 where it should be 0, has a root of 1e-8.
                tiny = 1e-7 if field in ("standard_error", "noise_floor") else 1e-10
                torch.testing.assert_close(
                    *(getattr(x, field) for x in (one, other)),
                    rtol=1e-9,
                    atol=tiny,
                    equal_nan=True,
                    msg=lambda text, at=(notion, field): f"{at}: {text}",
                )
            assert one.test.df == other.test.df
            torch.testing.assert_close(
                one.test.p_value, other.test.p_value, rtol=1e-8, atol=1e-12
            )
