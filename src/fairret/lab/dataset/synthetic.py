r"""A simulated population with known biases."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from fairret.errors import DtypeError, RangeError

Array: TypeAlias = npt.NDArray[np.float64]


class Group(NamedTuple):
    """What is known of one group."""

    share: float
    base_rate: float  # P(Y = 1 | group), exact


BASE_RATE = 0.40
SEX = {"woman": Group(0.40, 0.28), "man": Group(0.60, 0.48)}
REGION = {
    "centre": Group(0.45, 0.48),
    "north": Group(0.28, 0.40),
    "coast": Group(0.18, 0.20),
    "islands": Group(0.09, 0.40),
}
YOUNGEST, OLDEST = 20.0, 65.0
AGE_SLOPE = 0.06  # half the difference in base rate between the oldest and the youngest

COMMUTE = {"centre": -0.7, "north": 0.0, "islands": 0.7, "coast": 1.4}
SIGNAL = {  # d_j: how far a feature lies apart for Y = 1 and Y = 0, halved
    "assessment": 0.4,
    "reference": 0.4,
    "work_sample": 0.6,
    "experience": 0.1,
    "hours": 0.0,
    "commute": 0.0,
}


@dataclass(frozen=True, eq=False)
class Population:
    """People as a model and an audit see them, in one row order."""

    feat: Tensor
    """Features without the traits, float32, `(n, 6)`."""
    feature_names: tuple[str, ...]
    """The name of every column of `feat`."""
    traits: Mapping[str, npt.NDArray[np.generic]]
    """Sensitive columns: "sex" and "region" as text, "age" in years."""
    label: Tensor
    """Y, 0 or 1, float32, `(n,)`."""
    true_prob: Tensor
    """P(Y = 1 | features, traits), which no model can better, float32, `(n,)`."""

    def __len__(self) -> int:
        return len(self.label)


def synthetic_population(n: int = 8000, seed: int = 0) -> Population:
    r"""Draw applicants for a job, of whom some would do well (Y = 1).

    Sex, region and age are drawn independently of each other. They fix the base rate,
    and the features follow from the label and the traits:

    .. math::
        u_i &= (\text{age}_i - 42.5) / 22.5, \qquad \text{age}_i \sim U(20, 65) \\
        \pi_i &= 0.40 + (p_{\text{sex}} - 0.40) + (p_{\text{region}} - 0.40)
                 + 0.06 \, u_i, \qquad Y_i \sim \text{Bernoulli}(\pi_i) \\
        X_{ij} &= m_{ij} + d_j (2 Y_i - 1) + \sigma_{ij} \varepsilon_{ij},
                 \qquad \varepsilon_{ij} \sim N(0, 1)

    The terms of :math:`\pi` are additive and average to zero, so that the base rate of
    every group is its p exactly, and 0.40 overall:

    =======  ===========  =====  =========
    trait    group        share  base rate
    =======  ===========  =====  =========
    sex      woman        0.40   0.28
    sex      man          0.60   0.48
    region   centre       0.45   0.48
    region   north        0.28   0.40
    region   coast        0.18   0.20
    region   islands      0.09   0.40
    =======  ===========  =====  =========

    It goes from 0.34 at the age of 20 to 0.46 at 65. The features are

    ===========  ===  ============================================  ==============
    feature      d    m                                             :math:`\sigma`
    ===========  ===  ============================================  ==============
    assessment   0.4  -1.5 for women                                1; islands 2
    reference    0.4  -1.5 for women, +2 on the coast               1
    work_sample  0.6  0                                             1
    experience   0.1  1.5 u                                         1
    hours        0    +1 for men, -1 for women                      1
    commute      0    centre -0.7, north 0, islands 0.7, coast 1.4  1
    ===========  ===  ============================================  ==============

    The biases, and what a model that sees only the features makes of them:

    - *Base rates differ*, most on the coast (0.20 against 0.40, a violation of 0.50)
      and for women (0.28, a violation of 0.30). A model that predicts well accepts
      fewer of them, decisions at 1/2 even more so (demographic parity).
    - *Women are marked down* by assessment and reference, whether Y is 1 or 0. Fewer of
      their good ones are found (equal opportunity), and more are missed for each one
      wrongly accepted (treatment equality).
    - *The coast is flattered* by the reference, and its low base rate is hard to see:
      fewer of those accepted there are good (predictive parity).
    - *The islands are few and measured badly*: the assessment has twice the noise
      there. They see more errors than the north, which has the same base rate, and
      their statistics are the least certain.
    - *Proxies*: hours tell the sex, commute the region, experience the age. So leaving
      the traits out does not make a model fair, and a fair model can find in them what
      it has to correct. The work sample is the one measure that prefers nobody.

    Bayes' rule gives the true probability:

    .. math::
        \text{logit} \, P(Y_i = 1 \mid X_i, \text{traits}_i) = \text{logit} \, \pi_i
            + \sum_j 2 d_j (X_{ij} - m_{ij}) / \sigma_{ij}^2

    Taken as scores it has the base rates as positive rates, and in every group one
    positive missed for one negative accused.

    Args:
        n: Number of people.
        seed: The same seed gives the same people; global random state is not used.

    Returns:
        The people, each with features, traits, label and true probability.

    Raises:
        DtypeError: If an argument is not a whole number.
        RangeError: If `n` is below 1 or `seed` below 0.

    Example:
        >>> people = synthetic_population(1000, seed=3)
        >>> people.feat.shape, sorted(people.traits)
        (torch.Size([1000, 6]), ['age', 'region', 'sex'])
        >>> women = torch.from_numpy(people.traits["sex"] == "woman")
        >>> people.label[women].mean() < people.label[~women].mean()
        tensor(True)
    """
    n, seed = _whole("n", n, least=1), _whole("seed", seed, least=0)
    rng = np.random.default_rng(seed)
    sex, region = _draw(SEX, n, rng), _draw(REGION, n, rng)
    age = rng.uniform(YOUNGEST, OLDEST, n)
    u = (2 * age - YOUNGEST - OLDEST) / (OLDEST - YOUNGEST)

    p_sex, p_region = _base_rate(SEX, sex), _base_rate(REGION, region)
    pi = p_sex + p_region - BASE_RATE + AGE_SLOPE * u
    y = (rng.uniform(size=n) < pi).astype(np.float64)

    m, sigma = _measurement(sex == "woman", region, u)
    d = np.array(list(SIGNAL.values()))
    x = m + d * (2 * y[:, None] - 1) + sigma * rng.normal(size=m.shape)
    logit = np.log(pi / (1 - pi)) + (2 * d * (x - m) / sigma**2).sum(1)
    return Population(
        feat=_as_tensor(x),
        feature_names=tuple(SIGNAL),
        traits={"sex": sex, "region": region, "age": age},
        label=_as_tensor(y),
        true_prob=_as_tensor(1 / (1 + np.exp(-logit))),
    )


def _measurement(
    woman: npt.NDArray[np.bool_], region: npt.NDArray[np.str_], u: Array
) -> tuple[Array, Array]:
    r"""How every person is measured: :math:`m` and :math:`\sigma`, `(n, 6)` each."""
    one = np.ones_like(u)
    m = {
        "assessment": -1.5 * woman,
        "reference": -1.5 * woman + 2.0 * (region == "coast"),
        "work_sample": 0 * one,
        "experience": 1.5 * u,
        "hours": one - 2 * woman,
        "commute": np.array([COMMUTE[name] for name in region.tolist()]),
    }
    sigma = {"assessment": 1.0 + (region == "islands")}
    return (
        np.stack([m[name] for name in SIGNAL], axis=1),
        np.stack([sigma.get(name, one) for name in SIGNAL], axis=1),
    )


def _draw(
    groups: Mapping[str, Group], n: int, rng: np.random.Generator
) -> npt.NDArray[np.str_]:
    return rng.choice(list(groups), n, p=[group.share for group in groups.values()])


def _base_rate(groups: Mapping[str, Group], names: npt.NDArray[np.str_]) -> Array:
    return np.array([groups[name].base_rate for name in names.tolist()])


def _as_tensor(values: Array) -> Tensor:
    return torch.from_numpy(values.astype(np.float32))


def _whole(name: str, value: object, *, least: int) -> int:
    hint = "Leave it out for the default."
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # tried, not known
    except TypeError:
        raise DtypeError(
            f"`{name}` must be a whole number; got {value!r}. {hint}"
        ) from None
    if number < least:
        raise RangeError(f"`{name}` must be at least {least}; got {number}. {hint}")
    return number
