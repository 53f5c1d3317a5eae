"""Rows are split at random, without overlap, and standardised without the test rows."""

import pytest
import torch

from fairret.training import split_rows

N, D_X, D_S = 53, 4, 3  # different on purpose


@pytest.fixture
def data():
    rng = torch.Generator().manual_seed(5)
    feat = torch.randn(N, D_X, generator=rng) * 7 + 20
    feat[:, 1] = (feat[:, 1] > 19).float()  # a yes or no
    feat[:, 3] = 4.0  # the same for everybody
    sens = torch.rand(N, D_S, generator=rng)
    return feat, sens, torch.arange(N).float()  # labels that tell the row


@pytest.mark.parametrize(
    ("validation", "sizes"), [(0.0, (42, 0, 11)), (0.25, (32, 10, 11))]
)
def test_sizes_add_up_and_no_row_is_in_two_parts(data, validation, sizes):
    train, chosen, test = split_rows(*data, seed=0, validation=validation)
    parts = [train.label, *([] if chosen is None else [chosen.label]), test.label]
    assert (chosen is None) == (validation == 0)
    assert [len(part) for part in parts] == [size for size in sizes if size]
    assert sorted(torch.cat(parts).tolist()) == list(range(N))


def test_rows_stay_together(data):
    feat, sens, _ = data
    for part in split_rows(*data, seed=1, validation=0.3):
        rows = part.label.long()
        torch.testing.assert_close(part.sens, sens[rows], rtol=0, atol=0)
        assert torch.equal(part.feat[:, 1], feat[rows, 1])


def test_amounts_are_standardised_by_the_training_rows_alone(data):
    feat, _, _ = data
    train, chosen, test = split_rows(*data, seed=2, validation=0.2)
    amounts = [0, 2]
    zero, one = torch.zeros(2), torch.ones(2)
    close = {"rtol": 0, "atol": 1e-5}  # float32, at a mean of 20
    torch.testing.assert_close(train.feat[:, amounts].mean(0), zero, **close)
    sd = train.feat[:, amounts].std(0, correction=0)
    torch.testing.assert_close(sd, one, **close)
    own = feat[train.label.long()][:, amounts]
    for part in (chosen, test):
        expected = feat[part.label.long()][:, amounts] - own.mean(0)
        expected /= own.std(0, correction=0)
        torch.testing.assert_close(part.feat[:, amounts], expected)


def test_yes_or_no_and_constant_columns_are_left_alone(data):
    train, _, test = split_rows(*data, seed=3)
    for part in (train, test):
        assert set(part.feat[:, 1].tolist()) <= {0.0, 1.0}
        assert (part.feat[:, 3] == 4).all()


def test_a_seed_gives_one_split_and_another_seed_another(data):
    first, again, other = (split_rows(*data, seed=seed) for seed in (6, 6, 7))
    assert torch.equal(first.test.label, again.test.label)
    assert not torch.equal(first.test.label.sort()[0], other.test.label.sort()[0])


def test_test_rows_are_the_same_with_and_without_validation(data):
    without = split_rows(*data, seed=8)
    with_it = split_rows(*data, seed=8, validation=0.5)
    assert torch.equal(without.test.label, with_it.test.label)


def test_inputs_are_unchanged(data):
    before = [x.clone() for x in data]
    split_rows(*data, seed=0)
    assert all(map(torch.equal, data, before))
