"""Metrics side by side in a collection of torchmetrics, and what they refuse."""

import pytest
import torch
from torchmetrics import MetricCollection

from batches import sample
from fairret.errors import ArgumentError, DtypeError, RangeError, ShapeError
from fairret.metric import (
    LinearFractionalParity,
    MaxViolation,
    Parity,
    ParityDifference,
    ParityTable,
)
from fairret.metric.fingerprint import fingerprint, require_equal
from fairret.statistic import ConditionalPositiveRate, FScore
from streams import METRICS, NUMBERS, assert_same

N, D_S = 41, 3


def rows(seed=1, label=None):
    batch = sample(N, "one", seed=seed)
    y = batch.label if label is None else torch.full_like(batch.label, label)
    return batch.logit.sigmoid(), batch.sens, y


def test_metrics_of_equal_settings_share_one_state():
    together = MetricCollection({cls.__name__: cls("ppv") for cls in NUMBERS})
    for seed in (1, 2):
        together.update(*rows(seed))
    assert len(together.compute_groups) == 1
    for cls in NUMBERS:
        alone = cls("ppv")
        for seed in (1, 2):
            alone.update(*rows(seed))
        assert_same(together.compute()[cls.__name__], alone.compute())


FIRST = MaxViolation("pr", names=["a", "b", "c"], threshold=0.5)
OTHERS = {
    "statistic": lambda: MaxViolation("tpr", names=["a", "b", "c"], threshold=0.5),
    "threshold": lambda: MaxViolation("pr", names=["a", "b", "c"], threshold=0.6),
    "names": lambda: MaxViolation("pr", names=["c", "b", "a"], threshold=0.5),
    "no names": lambda: MaxViolation("pr", threshold=0.5),
}


@pytest.mark.parametrize("other", OTHERS)
def test_metrics_of_other_settings_do_not_share(other):
    together = MetricCollection({"one": FIRST.clone(), "other": OTHERS[other]()})
    h, s, y = rows(label=1.0)  # all positive: positive rate and recall are the same
    decided = (h > 0.55).double()  # the same at any threshold
    together.update(decided, s, y)
    assert len(together.compute_groups) == 2
    together.update(*rows(3))
    one, alone = FIRST.clone(), OTHERS[other]()
    for metric in (one, alone):
        metric.update(decided, s, y)
        metric.update(*rows(3))
    result = together.compute()
    assert_same(result["one"], one.compute())
    assert_same(result["other"], alone.compute())


PAIRS = {
    "0.1.3's metric": (
        lambda: LinearFractionalParity("pr", D_S),
        lambda: LinearFractionalParity("tpr", D_S),
    ),
    "settings of a statistic": (
        lambda: ParityDifference(FScore(1.0)),
        lambda: ParityDifference(FScore(2.0)),
    ),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_statistics_that_agree_on_the_first_batch_do_not_share(pair):
    first = [torch.ones(N, dtype=torch.float64), *rows(label=1.0)[1:]]
    together = MetricCollection({str(j): make() for j, make in enumerate(PAIRS[pair])})
    together.update(*first)
    together.update(*rows(4))
    for j, make in enumerate(PAIRS[pair]):
        alone = make()
        alone.update(*first)
        alone.update(*rows(4))
        assert_same(together.compute()[str(j)], alone.compute())


def test_functions_are_told_apart_by_what_they_are_and_not_by_their_name():
    left, right = (
        ConditionalPositiveRate(zeta)
        for zeta in (lambda feat: feat[:, 0], lambda feat: feat[:, 1])
    )
    together = MetricCollection(
        {"a": MaxViolation(left), "b": MaxViolation(right), "c": ParityDifference(left)}
    )
    h, s, y = rows(5)
    together.update(h, torch.ones(N, 2), s, y)
    assert sorted(map(sorted, together.compute_groups.values())) == [["a", "c"], ["b"]]
    # an address says nothing elsewhere
    assert fingerprint(left)[0] == fingerprint(right)[0]


@pytest.mark.slow
def test_metrics_of_all_kinds_fit_into_one_collection():
    together = MetricCollection({kind: make(D_S) for kind, make in METRICS.items()})
    first = together(*rows(6))
    together.update(*rows(7))
    for kind, make in METRICS.items():
        alone = make(D_S)
        alone.update(*rows(6))
        expected = alone.compute()
        table = isinstance(expected, dict)  # which a collection lays out flat
        ours = {name: first[name] for name in expected} if table else first[kind]
        assert_same(ours, expected)
        alone.update(*rows(7))
        assert_same(together[kind].compute(), alone.compute())
    together.reset()
    assert together["ParityTable"].members.sum() == 0


def test_processes_with_other_settings_are_refused():
    keys = torch.stack([fingerprint("pr", names) for names in (["a", "b"], ["b", "a"])])
    with pytest.raises(ArgumentError, match="All processes must measure the same"):
        require_equal(keys)
    assert require_equal(keys[[1, 1]]).tolist() == keys[1].tolist()


def test_groups_of_a_stack_are_asked_part_by_part():
    metric = Parity("tpr+ppv", names=["a", "b", "c"])
    metric.update(*rows(8))
    result = metric.compute().scores
    for ask in ("groups", "everybody"):
        with pytest.raises(ArgumentError, match=r"`result.parts\['tpr'\].groups`"):
            getattr(result, ask)
    assert list(result.parts["ppv"].groups) == ["a", "b", "c"]
    torch.testing.assert_close(result.parts["ppv"].statistic, result.statistic[1])


def test_traits_are_results_of_their_own_columns():
    batch = sample(N, "three", seed=9)
    h, s, y = batch.logit.sigmoid(), batch.sens, batch.label
    traits = {"sex": [0, 1], "race": [2, 3, 4, 5], "age": [6, 7, 8]}
    names = [f"{trait} {k}" for trait, own in traits.items() for k in own]
    metric = Parity("tpr+fpr", names=names, traits=traits, threshold=0.5)
    metric.update(h, s, y)
    for trait, own in traits.items():
        alone = Parity(
            "tpr+fpr",
            names=[names[k] for k in own],
            traits={trait: range(len(own))},
            threshold=0.5,
        )
        alone.update(h, s[:, own], y)
        for kind, result in metric.compute()._asdict().items():
            assert_same(result.by_trait[trait], getattr(alone.compute(), kind))


def test_compute_needs_groups():
    metric = Parity("pr")
    with (
        pytest.warns(UserWarning, match="before the ``update`` method"),
        pytest.raises(ShapeError, match="`compute` needs at least one batch"),
    ):
        metric.compute()


@pytest.mark.parametrize("way", ["update", "forward"])
def test_every_batch_has_the_same_groups(way):
    h, s, _ = rows(10)
    metric = MaxViolation("pr")
    getattr(metric, way)(h, s)
    with pytest.raises(ShapeError, match="`sens` must have d_s=3 columns"):
        getattr(metric, way)(h, s[:, :2])
    told = MaxViolation("pr", d_s=2)
    with pytest.raises(ShapeError, match="`sens` must have d_s=2 columns"):
        getattr(told, way)(h, s)


def test_inputs_that_nobody_asks_for_are_refused():
    h, s, y = rows(11)
    with pytest.raises(ArgumentError, match=r"Did you mean 'weight'"):
        MaxViolation("tpr").update(h, s, y, wieght=y)
    table = ParityTable([ConditionalPositiveRate("region"), "pr"])
    with pytest.raises(ArgumentError, match="`regions` must be an input"):
        table.update(h, s, y, regions=y, region=y)
    with pytest.raises(ArgumentError, match="`region` is required"):
        table.update(h, s, y)
    with pytest.raises(ArgumentError, match="`label` is required"):
        MaxViolation("tpr").update(h, s)
    with pytest.raises(RangeError, match=r"`prob` must lie in \[0, 1\]"):
        MaxViolation("pr").update(3 * h, s)


WRONG = {
    "`d_s` must be at least 1": (RangeError, {"d_s": 0}),
    "`names` must hold a different name": (RangeError, {"names": ["a", "a"]}),
    r"got \[\]. Take those of the encoder": (RangeError, {"names": []}),
    "`d_s` must be the number of `names`, 2": (
        ShapeError,
        {"names": ["a", "b"], "d_s": 3},
    ),
    "`traits` must give each trait its columns": (
        RangeError,
        {"names": ["a", "b"], "traits": {"t": [1, 2]}},
    ),
    "for 't' and no groups": (RangeError, {"traits": {"t": [0]}}),
    "`threshold` must be a number": (DtypeError, {"threshold": "0.5"}),
    "`threshold` must be between 0 and 1; got 1.5": (RangeError, {"threshold": 1.5}),
    "`confidence` must be a number": (DtypeError, {"confidence": True}),
    "`confidence` must be between 0 and 1; got 1. Pass 0.95, for": (
        RangeError,
        {"confidence": 1},
    ),
}


@pytest.mark.parametrize("message", WRONG)
def test_settings_are_checked(message):
    error, settings = WRONG[message]
    with pytest.raises(error, match=message):
        Parity("pr", **settings)


@pytest.mark.parametrize("statistics", ["pr", []])
def test_table_needs_a_list(statistics):
    with pytest.raises(ArgumentError, match="`statistics` must be a list"):
        ParityTable(statistics)


def test_table_needs_different_notions():
    with pytest.raises(ArgumentError, match="`statistics` must have different names"):
        ParityTable(["tpr", "pr", "recall"])
