"""Other packages as methods: they train what ours train, and their bounds work."""

import sys
from functools import partial

import pytest
import torch
from sklearn import ensemble

from fairret.errors import ArgumentError, MissingExtraError
from fairret.lab.baseline import peers
from fairret.lab.baseline.peers import draw_decisions, group_numbers
from fairret.lab.baseline.released import ReleasedError, train_released
from fairret.lab.dataset import load
from fairret.lab.experiment.methods import METHODS
from fairret.statistic import get_statistic
from fairret.training import Split, TrainingSettings, score, split_rows, train

QUICK = TrainingSettings(epochs=8, warm_up=2, batch=500, hidden=(16, 8))
STATISTIC = """
class PositiveRate: pass
class TruePositiveRate: pass
class PositivePredictiveValue: pass
class FalseNegativeFalsePositiveFraction: pass
"""
LOSS = """
class LSELoss:
    def __init__(self, statistic, use_indirect=None):
        self.statistic, self.use_indirect = statistic, use_indirect
    def __call__(self, logit, sens, label=None):
        print("solver failed")  # as the released one does
        assert logit.shape == (len(sens), 1)
        assert (label is None) == (type(self.statistic).__name__ == "PositiveRate")
        return {value} * logit.mean()
class KLProjectionLoss(LSELoss):
    def __call__(self, *inputs):
        assert self.use_indirect is False
        return super().__call__(*inputs)
"""


@pytest.fixture(scope="module")
def split():
    """Train and test rows, with sex as the only trait."""
    people = load("synthetic", n=3000, seed=1)
    rows = split_rows(people.feat, people.sens, people.label, seed=1)
    sex = list(people.traits["sex"])
    return Split(*(x and x._replace(sens=x.sens[:, sex]) for x in rows))


@pytest.fixture
def released(tmp_path, monkeypatch):
    """A package that has the names of the released one; `released(value)` makes it."""

    def make(value):
        folder = tmp_path / "fairret-0.1.3"
        package = folder / "fairret"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "statistic.py").write_text(STATISTIC)
        (package / "loss.py").write_text(LOSS.format(value=value))
        (folder / ".installed").touch()
        return package

    monkeypatch.setenv("FAIRRET_PEERS", str(tmp_path))
    return make


def gap(prob, rows, statistic):
    """Largest difference between the groups, of decisions."""
    gamma = get_statistic(statistic)((prob > 0.5).double(), rows.sens, rows.label)
    return float(gamma.max() - gamma.min())


@pytest.mark.slow
def test_reduction_of_fairlearn_keeps_its_bound_on_train_rows(split, monkeypatch):
    few = partial(ensemble.HistGradientBoostingClassifier, max_iter=20, max_bins=16)
    monkeypatch.setattr(ensemble, "HistGradientBoostingClassifier", few)
    free, tight = (
        METHODS[name].fit(split, "pr", 0.02, QUICK, seed=0)
        for name in ("Unfair trees", "ExponentiatedGradient")
    )
    assert tight.scores["test"].shape == split.test.label.shape
    assert 0 <= tight.scores["train"].min() <= tight.scores["train"].max() <= 1
    assert gap(free.scores["train"], split.train, "pr") > 0.15
    assert gap(tight.scores["train"], split.train, "pr") < 0.06


def test_drawn_decisions_are_above_one_half_as_often_as_they_should_be():
    p = torch.linspace(0, 1, 20_000, dtype=torch.float64)
    yes = draw_decisions(p, torch.Generator().manual_seed(0)) > 0.5
    assert abs(yes.double().mean() - 0.5) < 0.01
    assert not yes[:2].any()
    assert yes[-2:].all()


def test_rounded_probabilities_give_scores_of_at_most_one():
    p = torch.tensor([-1e-17, 1 + 2**-52], dtype=torch.float64)
    assert draw_decisions(p, torch.Generator()).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("statistic", ["pr", "tpr", "ppv", "fn_fp"])
def test_thresholds_of_oxonfair_lower_the_gap(split, statistic):
    fit = METHODS["OxonFair"].fit
    loose, tight = (fit(split, statistic, b, QUICK, seed=0) for b in (9.0, 0.02))
    assert loose.epoch == QUICK.epochs - 1
    before = gap(loose.scores["train"], split.train, statistic)
    assert gap(tight.scores["train"], split.train, statistic) < 0.8 * before
    label = split.test.label == 1
    assert (loose.scores["test"] > 0.5).eq(label).double().mean() > 0.6


def test_network_of_oxonfair_is_trained_once_for_all_bounds(split, monkeypatch):
    trained = []
    monkeypatch.setattr(
        peers, "train", lambda *args, **how: trained.append(how) or train(*args, **how)
    )
    fit = METHODS["OxonFair"].fit
    copy = split._replace(train=split.train.take(torch.arange(2000)))
    first = [fit(split, "pr", bound, QUICK, seed=5) for bound in (0.02, 0.5)]
    fit(copy, "pr", 0.5, QUICK, seed=5)
    again = fit(split, "pr", 0.02, QUICK, seed=5)
    assert len(trained) == 3  # the first two are one; then other rows, and back
    assert torch.equal(first[0].scores["test"], again.scores["test"])


def test_amounts_are_refused_by_methods_for_groups(split):
    rows = split.train._replace(sens=split.train.sens * 0.5)
    with pytest.raises(ArgumentError, match="`traits` must be 'single'"):
        group_numbers(rows)


def test_people_in_no_group_are_one_more(split):
    rows = split.train.take(torch.arange(4))
    rows.sens[:] = torch.tensor([[1, 0], [0, 1], [0, 0], [1, 0]])
    assert group_numbers(rows).tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize(
    ("method", "package"),
    [("ExponentiatedGradient", "fairlearn"), ("OxonFair", "oxonfair")],
)
def test_missing_package_is_named(split, method, package, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'fairret\[peers\]'"):
        METHODS[method].fit(split, "pr", 0.1, QUICK, seed=0)


@pytest.mark.process
@pytest.mark.parametrize("statistic", ["pr", "fn_fp"])
def test_released_package_gets_the_same_network_and_batches(split, statistic, released):
    released(value=0.0)
    scores, seconds, epoch, last = train_released(
        "LSELoss", split, statistic, 5.0, QUICK, seed=3
    )
    ours = train(split, None, 0.0, QUICK, seed=3)
    for part in ("train", "test"):
        expected = score(ours.network, getattr(split, part).feat)
        assert torch.equal(scores[part], expected)
    assert (seconds > 0, epoch) == (True, ours.epoch)
    assert last == pytest.approx(ours.losses[-1])


@pytest.mark.process
def test_released_projection_is_solved_with_qdldl(split, released):
    released(value=0.0)
    METHODS["KL 0.1.3"].fit(split, "pr", 1.0, QUICK, seed=3)
    with pytest.raises(ReleasedError, match="AssertionError"):  # the default
        train_released("KLProjectionLoss", split, "pr", 1.0, QUICK, seed=3)


@pytest.mark.process
def test_released_package_that_diverges_is_told(split, released):
    released(value="float('nan')")
    with pytest.raises(
        ReleasedError, match=r"it ended with an error \(the loss is nan"
    ):
        train_released("LSELoss", split, "pr", 1.0, QUICK, seed=0)


@pytest.mark.process
def test_our_own_package_is_not_taken_for_the_released_one(split, released):
    (released(value=0.0) / "projection.py").touch()
    with pytest.raises(ReleasedError, match="this is not the released one"):
        train_released("LSELoss", split, "pr", 1.0, QUICK, seed=0)
