"""The sums that a metric keeps, against plain loops, and two ways to them."""

import numpy as np
import pytest
import torch

import reference
from batches import KINDS, STACKS, STATISTICS, sample
from fairret.batch import read_batch
from fairret.metric import by_label, moments
from fairret.metric.delta_method import ROUNDING, covariance, standard_error
from fairret.metric.moments import (
    add,
    batch_moments,
    no_moments,
    product_pairs,
    select_notion,
)
from fairret.statistic import (
    ConditionalPositiveRate,
    LinearFractionalStatistic,
    get_statistic,
)

N = 29
EXACT = 1e-12  # relative: sums of tens of terms in float64, in another order


def checked(batch, weight=None, label="given", **inputs):
    y = batch.label if isinstance(label, str) else label
    named = {"sens": batch.sens, "label": y, "weight": weight, **inputs}
    return read_batch(batch.logit.sigmoid(), (), named)


def weights(n=N):
    rng = torch.Generator().manual_seed(11)
    return 0.2 + torch.rand(n, generator=rng, dtype=torch.float64)


def of_one(total, notion):
    """The first channel of the only notion."""
    own = select_notion(total, [len(notion.parts)], 0)
    return type(own)(*(x[0] for x in own))


def with_everybody(s):
    return np.concatenate((np.ones((len(s), 1)), s), 1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", STATISTICS)
def test_statistic_and_standard_error_equal_the_loops(name, weighted):
    kind = KINDS[(STATISTICS.index(name) + weighted) % 3]
    batch = sample(N, kind, seed=1)
    w = weights() if weighted else None
    statistic = get_statistic(name)
    inputs = checked(batch, w)
    own = of_one(batch_moments(inputs, [statistic], [inputs.pred]), statistic)
    h, s, y = batch.numpy()
    w = None if w is None else w.numpy()
    every = with_everybody(s)
    gamma = [reference.gamma(name, h, y, member, w) for member in every.T]
    se = [reference.standard_error(name, h, y, member, w) for member in every.T]
    np.testing.assert_allclose(own.gamma[0], gamma, rtol=EXACT)
    # the variance is a difference of sums: it loses a few of their digits, and that of
    # a single row is 0 up to 1e-16, whose root is 1e-8
    np.testing.assert_allclose(standard_error(own)[0], se, rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", STACKS)
def test_covariance_of_a_stack_equals_the_loop(name, kind, weighted):
    batch = sample(N, kind, seed=2)
    w = weights() if weighted else None
    stack = get_statistic(name)
    inputs = checked(batch, w)
    own = of_one(batch_moments(inputs, [stack], [inputs.pred]), stack)
    h, s, y = batch.numpy()
    w = None if w is None else w.numpy()
    expected = reference.covariance(name.split("+"), h, with_everybody(s), y, w)
    scale = np.nanmax(np.abs(expected))  # a group without positives is NaN
    np.testing.assert_allclose(covariance(own), expected, atol=1e-12 * scale, rtol=0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_fast_way_equals_the_general_one(kind, weighted):
    batch = sample(N, kind, seed=3)
    inputs = checked(batch, weights() if weighted else None)
    notions = [get_statistic(name) for name in (*STATISTICS, *STACKS)]
    channels = [inputs.pred, (inputs.pred > 0.5).double(), 0 * inputs.pred]
    assert by_label.applies(inputs, notions)
    fast = by_label.moments_by_label(inputs, notions, channels)
    slow = batch_moments(inputs, notions, channels)
    for one, other in zip(fast[:4], slow[:4], strict=True):
        scale = other.abs().max()
        torch.testing.assert_close(one, other, atol=EXACT * scale.item(), rtol=EXACT)


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("name", STATISTICS)
def test_both_ways_see_the_same_properties_of_the_rows(name, hard):
    # the last statistic, the F-score, is an exception below: it gets 0.4 and hard
    positive = (0.4, 2.0, -1.0)[(STATISTICS.index(name) + hard) % 3]
    batch = sample(N, "one", seed=4, positive=positive)
    label = batch.label
    if positive != 0.4:  # one class alone: the other must not be looked at
        label = torch.full_like(label, float(positive > 1))
    inputs = checked(batch, label=label)
    h = (inputs.pred > 0.5).double() if hard else inputs.pred
    statistic = [get_statistic(name)]
    both = [
        way(inputs, statistic, [h])
        for way in (by_label.moments_by_label, batch_moments)
    ]
    fast, slow = (x.excess[:, :4] > ROUNDING for x in both)
    assert fast.tolist() == slow.tolist()
    if hard and name not in ("fn_fp", "f_score"):
        assert not slow.any()  # shares of rows: 0 <= u <= v, plain counting
    alike = [of_one(x, statistic[0]).counts_alike.item() for x in both]
    assert alike[0] == alike[1]
    if positive == 0.4:  # else there may be nobody who counts
        assert alike[0] is (hard and name != "f_score")


@pytest.mark.parametrize("name", ["pr", "tpr", "ppv", "fn_fp"])
def test_rows_of_different_weight_do_not_count_alike(name):
    inputs = checked(sample(N, "one", seed=4), weights())
    statistic = get_statistic(name)
    h = [(inputs.pred > 0.5).double()]
    for way in (by_label.moments_by_label, batch_moments):
        assert not of_one(way(inputs, [statistic], h), statistic).counts_alike


def test_shares_are_told_from_ratios():
    inputs = checked(sample(N, seed=5))
    notions = [get_statistic(name) for name in ("accuracy", "fn_fp")]
    excess = batch_moments(inputs, notions, [inputs.pred]).excess[0] > ROUNDING
    assert excess[:4, 0].tolist() == [False, False, False, True]  # soft, so not plain
    assert excess[1, 1]  # fn is not part of fp
    assert not excess[[0, 2], 1].any()


@pytest.mark.parametrize("name", STATISTICS)
def test_soft_labels_take_the_general_way(name):
    batch = sample(N, "three", seed=6)
    soft = 0.1 + 0.7 * batch.label
    statistic = get_statistic(name)
    inputs = checked(batch, label=soft)
    assert not by_label.applies(inputs, [statistic])
    own = of_one(batch_moments(inputs, [statistic], [inputs.pred]), statistic)
    h, s, _ = batch.numpy()
    se = [
        reference.standard_error(name, h, soft.numpy(), member)
        for member in with_everybody(s).T
    ]
    np.testing.assert_allclose(standard_error(own)[0], se, rtol=1e-10)


class ShareOfMoney(LinearFractionalStatistic):
    def nom_slope(self, amount, label):
        return amount * label

    def denom_intercept(self, amount):
        return amount


def test_statistic_of_a_keyword_takes_the_general_way():
    batch = sample(N, "one", seed=7)
    amount = 5 * weights()
    inputs = checked(batch, amount=amount)
    statistic = ShareOfMoney()
    assert not by_label.applies(inputs, [statistic])
    own = of_one(batch_moments(inputs, [statistic], [inputs.pred]), statistic)
    h, s, y = batch.numpy()
    a = amount.numpy()
    for k, member in enumerate(with_everybody(s).T):
        gamma = (member * a * y * h).sum() / (member * a).sum()
        psi = member * a * (y * h - gamma) / (member * a).sum()
        assert own.gamma[0, k].item() == pytest.approx(gamma, rel=EXACT)
        se = standard_error(own)[0, k].item()
        assert se == pytest.approx(np.sqrt((psi**2).sum()), rel=1e-10)


def test_statistic_of_features_takes_the_general_way():
    batch = sample(N, "one", seed=8)
    feat = weights()
    inputs = read_batch(batch.logit.sigmoid(), (feat, batch.sens, None), {})
    statistic = ConditionalPositiveRate(lambda feat: (feat > 0.6).double())
    assert not by_label.applies(inputs, [statistic])
    own = of_one(batch_moments(inputs, [statistic], [inputs.pred]), statistic)
    kept = (feat > 0.6).numpy()
    h, s, y = batch.numpy()
    for k, member in enumerate(with_everybody(s).T):
        expected = reference.standard_error("pr", h, y, member * kept)
        assert standard_error(own)[0, k].item() == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("way", [batch_moments, by_label.moments_by_label])
def test_rows_in_many_pieces_give_the_same_sums(way, monkeypatch):
    inputs = checked(sample(N, "three", seed=9), weights())
    notions = [get_statistic("tpr+ppv"), get_statistic("accuracy")]
    whole = way(inputs, notions, [inputs.pred])
    monkeypatch.setattr(moments, "WORKSPACE", 1000)
    monkeypatch.setattr(moments, "LEAST_ROWS", 1)  # a few rows a piece
    pieces = way(inputs, notions, [inputs.pred])
    for one, other in zip(pieces, whole, strict=True):
        torch.testing.assert_close(one, other, atol=1e-13, rtol=EXACT)


@pytest.mark.parametrize("width", [40, 200])
def test_pairs_of_members_give_the_same_sums_as_all_pairs(width, monkeypatch):
    rng = torch.Generator().manual_seed(11)
    n, traits = 57, 3
    s = torch.zeros(width, n, dtype=torch.float64)
    for first in range(0, width - width % traits, width // traits):
        group = torch.randint(width // traits, (n,), generator=rng)
        s[first + group, torch.arange(n)] = 1
    s[: width // traits, ::5] = 0  # missing
    s[1, 7] = 0.25  # soft
    z = torch.rand(2, 5, n, generator=rng, dtype=torch.float64)
    assert moments._pairs_of_members(s) is not None
    few = moments.sum_over_pairs(z, s)
    monkeypatch.setattr(moments, "FEW_GROUPS", width)
    torch.testing.assert_close(few, moments.sum_over_pairs(z, s), atol=1e-13, rtol=0)
    assert moments._pairs_of_members(torch.ones_like(s)) is None


def test_sums_add_up_and_nothing_is_neutral():
    inputs = checked(sample(N, "one", seed=10))
    notions = [get_statistic("fpr+for"), get_statistic("pr")]
    total = batch_moments(inputs, notions, [inputs.pred])
    start = no_moments(1, [2, 1], 4)
    for one, other in zip(add(start, total), total, strict=True):
        torch.testing.assert_close(one, other, atol=0, rtol=0)
    assert add(total, total).members.tolist() == (2 * total.members).tolist()
    assert add(total, total).excess.tolist() == total.excess.tolist()


def test_products_are_kept_within_a_notion_alone():
    pairs = product_pairs([1, 2])
    assert pairs[:3] == [(0, 0), (0, 1), (1, 1)]
    assert len(pairs) == 3 + 10
    assert all((a < 2) == (b < 2) for a, b in pairs)
