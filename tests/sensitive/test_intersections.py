"""Intersections of sensitive traits: which are kept, and what they reveal."""

import numpy as np
import pandas as pd
import pytest
import torch

from fairret.sensitive import Binned, Continuous, Intersection, SensitiveEncoder, Soft


def encode(traits, data):
    encoder = SensitiveEncoder(traits)
    return encoder, encoder.fit_transform(data).tolist()


def rates(score, s):
    return (score @ s / s.sum(0)).tolist()


def test_intersections_reveal_what_the_two_traits_hide():
    score = torch.tensor([0.7, 0.3, 0.7, 0.3])  # the toy example of App. B.2
    data = {"s0": [1, 1, 0, 0], "s1": [1, 0, 0, 1]}
    apart = SensitiveEncoder().fit_transform(data)
    assert rates(score, apart) == pytest.approx([0.5] * 4)
    encoder = SensitiveEncoder(Intersection("s0", "s1"))
    together = rates(score, encoder.fit_transform(data))
    # By the paper's own numbers row 2 is the one with S = (0, 0) and its score is
    # 0.7; the rows with a low score are those where the traits differ.
    assert dict(zip(encoder.names, together, strict=True)) == pytest.approx(
        {
            "s0=0 × s1=0": 0.7,
            "s0=0 × s1=1": 0.3,
            "s0=1 × s1=0": 0.3,
            "s0=1 × s1=1": 0.7,
        }
    )


def test_an_intersection_multiplies_memberships_of_every_kind():
    data = {"p": [0.5, 0.25, 1], "age": [20.5, 40.5, 60.5], "sex": ["f", "m", "f"]}
    traits = Intersection(Soft("p"), Continuous("age"), "sex", min_size=0.1)
    encoder, s = encode(traits, data)
    assert encoder.names == ("p × age × sex=f", "p × age × sex=m")
    assert s == [[0, 0], [0, 0.125], [1, 0]]


def test_an_intersection_takes_the_trait_of_the_list_or_one_of_its_own():
    data = {"p": [0.5, 0.25], "q": [0.5, 0.75], "age": [20, 60], "sex": ["f", "m"]}
    own = Binned("age", [40])
    encoder, s = encode(
        [Soft("p", "q"), Continuous("age"), Intersection("q", own, min_size=0.5)], data
    )
    assert encoder.names == ("p", "q", "age", "q × age<40", "q × age>=40")
    assert list(encoder.traits) == ["p, q", "age", "q × age"]
    assert s[1] == [0.25, 0.75, 1, 0, 0.75]


def test_ten_memberships_of_seven_tenths_reach_a_size_of_seven():
    data = {"p": [0.7] * 10, "x": ["t"] * 10}
    encoder, _ = encode(Intersection(Soft("p"), "x", min_size=7), data)
    assert encoder.dropped == {}


def test_sizes_of_intersections_of_three_traits_are_those_of_a_plain_count():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({c: rng.choice(list("tuvw"), 61) for c in ("x", "y", "z")})
    encoder = SensitiveEncoder(Intersection("x", "y", "z", min_size=2))
    sens = encoder.fit_transform(frame)
    sizes = dict(zip(encoder.names, sens.sum(0).tolist(), strict=True))
    for (x, y, z), rows in frame.groupby(["x", "y", "z"]):
        kept = sizes if len(rows) >= 2 else encoder.dropped
        assert kept[f"x={x} × y={y} × z={z}"] == len(rows)
    assert len(sizes) + len(encoder.dropped) == 4**3
