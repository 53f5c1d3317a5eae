"""Sensitive traits: encode columns of a data frame as the matrix S, with names.

S has one row per person and one column per group or amount, with values in [0, 1]:
one-hot for groups, scaled for amounts, memberships as given, and products for
intersections (Section 2.3 and App. B.2 of the paper).

>>> from fairret.sensitive import Binned, Intersection, SensitiveEncoder
>>> data = {"sex": ["f", "m", "m", "m", "f"], "age": [25, 61, 34, 30, 52]}
>>> encoder = SensitiveEncoder(
...     ["sex", Binned("age", edges=[30, 50]), Intersection("sex", "age", min_size=2)]
... )
>>> encoder.fit_transform(data)
tensor([[1., 0., 1., 0., 0., 0.],
        [0., 1., 0., 0., 1., 0.],
        [0., 1., 0., 1., 0., 1.],
        [0., 1., 0., 1., 0., 1.],
        [1., 0., 0., 0., 1., 0.]])
>>> encoder.names[2:]
('age<30', '30<=age<50', 'age>=50', 'sex=m × 30<=age<50')
>>> encoder.dropped["sex=f × age<30"]
1.0
"""

from fairret.sensitive.binned import Binned
from fairret.sensitive.categorical import Categorical
from fairret.sensitive.continuous import Continuous
from fairret.sensitive.encoder import NotFittedError, SensitiveEncoder
from fairret.sensitive.intersection import Intersection
from fairret.sensitive.soft import Soft

__all__ = [
    "Binned",
    "Categorical",
    "Continuous",
    "Intersection",
    "NotFittedError",
    "SensitiveEncoder",
    "Soft",
]
