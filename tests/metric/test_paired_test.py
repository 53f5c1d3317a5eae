"""The change between two models: its variance, its level, and its power."""

import numpy as np
import pytest
import torch

import reference
from cell_loops import read
from fairret.auditing.groups import find_groups
from fairret.auditing.measure import Measurable
from fairret.metric.by_label import Cells, cell_moments, cross_moments
from fairret.metric.moments import select_notion
from fairret.metric.paired_test import paired_test
from fairret.statistic import get_statistic
from people import people

N = 211
NAMES = ["pr", "tpr", "ppv", "fn_fp", "accuracy"]


def two_models(seed=0):
    frame = people(N, seed=seed)
    rng = np.random.default_rng(seed)
    return frame.assign(q=np.clip(0.7 * frame["p"] + 0.3 * rng.random(N), 0, 1))


def compared(frame, name, weight):
    """Compare scores, then decisions, of two columns."""
    statistic = get_statistic(name)
    table, _ = read(frame, ["sex", "race"], score=["p", "q"], weight=weight)
    groups = find_groups(table, ["sex", "race"], 30)
    rows = Measurable(table, groups, {0: 0, 1: 1})
    sums = [
        select_notion(rows.sums([statistic], model), [len(statistic.parts)], 0)
        for model in (0, 1)
    ]
    found = paired_test(sums[0], sums[1], rows.cross(statistic), 0.95, 30)
    return groups, found


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("name", NAMES)
def test_change_and_its_error_equal_plain_loops(name, weight):
    frame = two_models()
    groups, found = compared(frame, name, weight)
    y = frame["y"].to_numpy(dtype=float)
    w = None if weight is None else frame[weight].to_numpy()
    every = np.ones(N)
    for channel in (0, 1):
        h = [frame[x].to_numpy() for x in "pq"]
        if channel:
            h = [(x > 0.5).astype(float) for x in h]
        for k, group in enumerate(groups.names):
            trait, value = group.split("=")
            member = (frame[trait] == value).to_numpy(dtype=float)
            r = [
                reference.gamma(name, x, y, member, w)
                / reference.gamma(name, x, y, every, w)
                - 1
                for x in h
            ]
            at = (channel, 0, k)
            # sums of products in another order
            assert float(found.before[at]) == pytest.approx(r[0], rel=1e-9)
            assert float(found.after[at]) == pytest.approx(r[1], rel=1e-9)
            if not found.judged[at]:
                assert found.z[at].isnan()
                continue
            error = reference.change_error(name, *h, y, member, w)
            z = (r[1] - r[0]) / error
            assert float(found.z[at]) == pytest.approx(z, rel=1e-6, abs=1e-9)
    assert found.judged.any()
    assert not found.judged.all()  # race=late has too few


def test_stack_is_its_statistics_one_by_one():
    frame = two_models(seed=1)
    _, stack = compared(frame, "tpr+fpr", None)
    for k, name in enumerate(("tpr", "fpr")):
        _, alone = compared(frame, name, None)
        for one, other in zip(stack, alone, strict=True):
            torch.testing.assert_close(
                one[:, k], other[:, 0], rtol=1e-9, atol=1e-12, equal_nan=True
            )


def test_identical_models_have_no_change_and_a_p_value_of_one():
    _, found = compared(two_models().assign(q=lambda x: x["p"]), "ppv", None)
    assert (found.p_value[found.judged] == 1).all()
    assert (found.z[found.judged] == 0).all()
    assert not found.beyond.any()
    assert (found.low[found.judged] == 0).all()


TABLES, ROWS = 1500, 700
SHARES = (0.55, 0.3, 0.15)


def simulated(less, seed):
    """Draw many tables at once, as sums over cells of label, group and decisions.

    Two noisy models of the same people are wrong for different people; with `less`
    the second one says yes less often to the last group.
    """
    rng = np.random.default_rng(seed)
    group = rng.choice(len(SHARES), (TABLES, ROWS), p=SHARES)
    merit = rng.normal(size=(TABLES, ROWS)) + 0.4 * group
    y = merit + rng.normal(size=merit.shape) > 0.5
    h = [merit + 0.7 * rng.normal(size=merit.shape) > 0.3 for _ in range(2)]
    h[1] = h[1] & ~((group == 2) & (rng.random(group.shape) < less))
    keys = ((y * 3 + group) * 2 + h[0]) * 2 + h[1]
    counts = np.stack([(keys == key).sum(1) for key in range(24)], 1)
    return torch.tensor(counts.reshape(TABLES, 2, 3, 2, 2)).double()


def beyond(counts, name):
    """Tell in which tables some group's change is beyond chance."""
    statistic = get_statistic(name)
    s = torch.eye(3)
    points = torch.tensor([0.0, 0.0, 1.0]).double().expand(len(counts), 2, 3)

    def moments(model):
        yes = counts.sum(4 - model)[..., 1].transpose(0, 1)  # (2, T, 3): class first
        whole = counts.sum((3, 4)).transpose(0, 1)
        powers = torch.stack((whole, yes, yes), 2)  # (2, T, powers, groups)
        rows = counts.sum((1, 3, 4)).sum(0)
        one = torch.tensor(1.0, dtype=torch.float64)
        cells = Cells(powers, powers, rows, one)
        total = cell_moments(cells, s, [statistic], points, labelled=True)
        return select_notion(total, [1], 0)

    whole, first = counts.sum((3, 4)), counts.sum(4)[..., 1]
    second, both = counts.sum(3)[..., 1], counts[..., 1, 1]
    products = torch.stack((whole, second, first, both), 2).transpose(0, 1)
    cross = cross_moments(products, s, statistic, labelled=True)
    found = paired_test(moments(0), moments(1), cross, 0.95, 30)
    return found.beyond.flatten(1).any(-1)


@pytest.mark.simulation
@pytest.mark.parametrize("name", ["pr", "tpr", "ppv"])
def test_exchangeable_models_differ_beyond_chance_in_5_percent(name):
    share = beyond(simulated(0.0, seed=3), name).double().mean()
    assert float(share) == pytest.approx(0.05, abs=0.015)  # 2.7 standard errors


@pytest.mark.simulation
def test_real_change_is_found():
    share = beyond(simulated(0.5, seed=4), "pr").double().mean()
    assert float(share) > 0.9
