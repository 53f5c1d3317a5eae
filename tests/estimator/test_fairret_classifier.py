"""A network trained with a fairret: what it learns, remembers and refuses."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from torch import nn

from estimator.conftest import People
from fairret.errors import RangeError
from fairret.estimator import FairretClassifier, load, save
from fairret.loss import KLProjectionLoss, NormLoss
from fairret.training import Network

pytestmark = pytest.mark.slow  # trains many networks

NOISE = 0.05  # of a violation, on 20,000 new people


def linear(d):
    return nn.Linear(d, 1)


def quick(**options):
    """A small network that learns in few epochs."""
    usual = {
        "module": linear,
        "loss": "norm",
        "strength": 1.0,
        "epochs": 6,
        "warm_up": 2,
        "batch_size": 150,
        "learning_rate": 0.15,
        "random_state": 0,
    }
    return FairretClassifier(**{**usual, **options})


def fit(people, **options):
    return quick(**options).fit(people.X, people.y, sensitive_features=people.S)


def weights(classifier):
    return torch.cat([x.flatten() for x in classifier.network_.parameters()])


def share_of_yes(classifier, people):
    """Mean score per group."""
    p = classifier.predict_proba(people.X)[:, 1]
    return [p[people.sex == s].mean() for s in "fm"]


@pytest.fixture(scope="module")
def plain(people):
    return fit(people, strength=0)


def test_without_a_fairret_it_is_a_logistic_regression(people, new):
    large = People(4000, seed=2)
    found = fit(large, strength=0, epochs=15)
    known = LogisticRegression(C=1e6).fit(large.X, large.y)
    np.testing.assert_allclose(
        found.predict_proba(new.X), known.predict_proba(new.X), atol=0.06
    )
    assert list(found.classes_) == ["no", "yes"]
    assert found.score(new.X, new.y) > 0.7


@pytest.mark.parametrize(
    ("loss", "strength"),
    [
        ("kl", 30),
        ("js", 100),
        ("sed", 30),
        ("chi2", 10),
        ("norm", 1),
        ("smoothmax", 2),
        (KLProjectionLoss("pr", memory=300), 30),
    ],
    ids=str,
)
def test_fairret_brings_the_scores_of_groups_together(people, plain, loss, strength):
    before, after = (
        np.subtract(*share_of_yes(own, people))
        for own in (plain, fit(people, loss=loss, strength=strength))
    )
    assert before < -0.15
    assert abs(after) < 0.5 * abs(before)


def test_notion_is_what_becomes_equal(people):
    yes = people.y == "yes"
    ratios = {}
    for notion in ("pr", "tpr"):
        p = fit(people, notion=notion, strength=2).predict_proba(people.X)[:, 1]
        for name, own in (("pr", yes | True), ("tpr", yes)):
            means = [p[own & (people.sex == s)].mean() for s in "fm"]
            ratios[notion, name] = means[0] / means[1]
    assert ratios["pr", "pr"] > 0.95
    assert ratios["tpr", "pr"] < 0.92 < 0.93 < ratios["tpr", "tpr"]


def test_default_network_is_that_of_the_paper(people):
    found = fit(people, module=None, epochs=1, warm_up=0, learning_rate=1e-3)
    assert isinstance(found.network_, Network)
    sizes = [x.out_features for x in found.network_.modules() if hasattr(x, "bias")]
    assert sizes == [256, 128, 32, 1]
    usual = FairretClassifier()
    assert (usual.epochs, usual.learning_rate) == (100, 1e-3)


def test_rule_keeps_the_tolerance_for_new_people(new):
    people = People(4000, seed=2)
    found = fit(people, strength=0, max_violation=0.1)
    assert found.status_ == "met"
    assert new.violation(fit(people, strength=0).predict(new.X)) > 0.15
    assert new.violation(found.predict(new.X)) <= 0.1 + NOISE
    assert len(found.networks_) == 3
    assert found.certificate_.estimate <= 0.1 + 1e-9
    assert "is met on the fit rows" in found.report_
    first = found.predict(new.X)
    found.set_tolerance(min_ratio=0.95)
    assert found.get_params()["max_violation"] is None
    assert new.violation(found.predict(new.X)) < new.violation(first)
    assert {point.mode for point in found.tradeoff_.points} >= {"plain", "blind"}
    assert found.audit_.settings.rows == 4000
    saved = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(saved.predict(new.X), found.predict(new.X))
    with pytest.raises(AttributeError, match="`audit_` needs a tolerance and the rows"):
        saved.audit_  # noqa: B018 -- a property


def test_informed_network_takes_the_traits(people, plain):
    found = fit(people, informed=True, strength=0, epochs=12)
    assert found.network_.in_features == plain.network_.in_features + 2
    p = found.predict_proba(people.X, sensitive_features=people.S)
    other = people.S.assign(sex=np.where(people.sex == "f", "m", "f"))
    assert not np.allclose(p, found.predict_proba(people.X, sensitive_features=other))
    with pytest.raises(TypeError, match="decides with the groups of a person"):
        found.predict(people.X)
    with pytest.raises(TypeError, match="A blind classifier decides without"):
        plain.predict(people.X, sensitive_features=people.S)


def test_informed_rule_uses_the_traits(people):
    found = fit(people, informed=True, strength=0, max_violation=0.1)
    decisions = found.predict(people.X, sensitive_features=people.S)
    assert found.status_ == "met"
    assert people.violation(decisions) < 0.15
    p = found.predict_proba(people.X, sensitive_features=people.S)
    assert p.shape == (len(people.y), 2)


def test_text_and_missing_values_need_no_preparation(people):
    X = people.X.assign(hobby=np.where(people.X["hobby"] > 0, "chess", "tennis"))
    X.loc[::7, "skill"] = np.nan
    X.loc[::11, "hobby"] = None
    found = fit_to(X, people)
    inputs = found.models_.inputs
    assert inputs.table.names_ == (
        "skill",
        "hobby=chess",
        "hobby=tennis",
        "hobby missing",
    )
    assert found.network_.in_features == 5  # one tells where the skill is missing
    new = X.iloc[:2].assign(hobby=["sailing", None], skill=[np.nan, 1.0])
    x = inputs.scaled(inputs.numbers(new, None))
    assert x[:, 1:].tolist() == [[0, 0, 0, 1], [0, 0, 1, 0]]
    middle = (X["skill"].median() - X["skill"].mean()) / X["skill"].std(ddof=0)
    assert float(x[0, 0]) == pytest.approx(middle, abs=1e-6)


def fit_to(X, people, **options):
    return quick(**options).fit(X, people.y, sensitive_features=people.S)


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame.to_numpy])
def test_every_kind_of_table_gives_the_same_scores(people, plain, make):
    found = fit_to(make(people.X), people, strength=0)
    p = found.predict_proba(make(people.X))
    np.testing.assert_allclose(p, plain.predict_proba(people.X), atol=1e-6)
    assert found.n_features_in_ == 2
    assert hasattr(found, "feature_names_in_") == (make is pl.DataFrame)


def test_label_that_is_a_yes_turns_the_scores_around(people, plain):
    y = np.where(people.y == "yes", "accept", "reject")
    found = quick(strength=0, pos_label="accept")
    found.fit(people.X, y, sensitive_features=people.S)
    np.testing.assert_allclose(
        found.predict_proba(people.X)[:, ::-1], plain.predict_proba(people.X)
    )
    same = np.where(plain.predict(people.X) == "yes", "accept", "reject")
    np.testing.assert_array_equal(found.predict(people.X), same)


def test_seed_decides_and_global_numbers_are_untouched(people):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    state = np.random.get_state()[1].copy()
    first = fit(people, module=lambda d: nn.Sequential(nn.Dropout(0.2), linear(d)))
    assert torch.equal(torch.rand(3), expected)
    np.testing.assert_array_equal(np.random.get_state()[1], state)
    again = clone(first).fit(people.X, people.y, sensitive_features=people.S)
    assert torch.equal(weights(first), weights(again))
    other = clone(first).set_params(random_state=1)
    other.fit(people.X, people.y, sensitive_features=people.S)
    assert not torch.equal(weights(first), weights(other))


def test_history_has_a_row_per_epoch(people):
    found = fit(people)
    history = pd.DataFrame(found.history_)
    assert len(history) == found.n_iter_ == len(found.loss_curve_) <= 6
    assert history["fairret"].isna().tolist() == [
        True,
        True,
        *[False] * (len(history) - 2),
    ]
    assert history["validation_loss"].notna().sum() == len(history) - 2
    assert history["loss"][1] < history["loss"][0]


def test_training_stops_without_improvement_and_keeps_the_best_epoch(people):
    options = {"epochs": 60, "patience": 3, "learning_rate": 0.3, "strength": 0.1}
    found = fit(people, **options)
    value = [row["validation_loss"] for row in found.history_]
    best = int(np.nanargmin(value))
    assert best == found.n_iter_ - 1 - 3
    until = fit(people, **{**options, "epochs": best + 1})
    assert torch.equal(weights(found), weights(until))
    assert fit(people, early_stopping=False).n_iter_ == 6


@pytest.mark.parametrize("loss", ["norm", "kl"])
def test_warm_start_goes_on_where_the_last_fit_stopped(people, loss):
    options = {"loss": loss, "early_stopping": False, "warm_up": 1}
    whole = fit(people, epochs=5, **options)
    parts = fit(people, epochs=2, warm_start=True, **options)
    saved = pickle.loads(pickle.dumps(parts))
    for own in (parts, saved):
        own.set_params(epochs=3)
        own.fit(people.X, people.y, sensitive_features=people.S)
        assert torch.equal(weights(own), weights(whole))
        assert own.loss_curve_ == whole.loss_curve_


def test_partial_fit_is_an_epoch(people):
    options = {"early_stopping": False, "memory": 500}
    whole = fit(people, epochs=3, warm_up=0, **options)
    parts = quick(**options)
    for _ in range(3):
        parts.partial_fit(people.X, people.y, sensitive_features=people.S)
    assert torch.equal(weights(parts), weights(whole))
    assert parts.n_iter_ == 3


def test_partial_fit_keeps_the_classes_and_groups_of_the_first_rows(people):
    yes = np.flatnonzero(people.y == "yes")
    X, S = people.X.iloc[yes], people.S.iloc[yes]
    with pytest.raises(RangeError, match="`y` must have two classes; got one class"):
        quick().partial_fit(X, people.y[yes], sensitive_features=S)
    found = quick().partial_fit(X, people.y[yes], ["no", "yes"], sensitive_features=S)
    found.partial_fit(people.X, people.y, sensitive_features=people.S)
    assert list(found.classes_) == ["no", "yes"]
    other = S.assign(sex="x")
    with pytest.warns(UserWarning, match="have a 'sex' that the fit did not have"):
        found.partial_fit(X, people.y[yes], sensitive_features=other)
    assert found.encoder_.names == ("sex=f", "sex=m")
    with pytest.raises(RangeError, match="`y` must have the classes"):
        found.partial_fit(X, np.full(len(yes), "maybe"), sensitive_features=S)
    with pytest.raises(ValueError, match="has no tolerance"):
        quick(max_violation=0.1).partial_fit(X, people.y[yes], sensitive_features=S)


def test_weights_count_like_repeated_rows(people):
    """In one batch of all rows, where the order does not matter."""
    times = np.random.default_rng(3).integers(1, 4, len(people.y))
    rows = np.repeat(np.arange(len(people.y)), times)
    options = {"batch_size": 10_000, "early_stopping": False, "memory": 0}
    repeated = quick(**options).fit(
        people.X.iloc[rows], people.y[rows], sensitive_features=people.S.iloc[rows]
    )
    for scale in (1, 7.0):
        weighted = quick(**options).fit(
            people.X,
            people.y,
            sensitive_features=people.S,
            sample_weight=scale * times,
        )
        torch.testing.assert_close(weights(weighted), weights(repeated))
    plain = fit(people, **options)
    assert not torch.allclose(weights(plain), weights(repeated), rtol=1e-3)


def test_module_is_copied_and_may_be_lazy(people):
    module = nn.LazyLinear(1)
    found = fit(people, module=module)
    assert isinstance(module, nn.LazyLinear)
    assert found.network_.in_features == 2
    given = nn.Linear(2, 1)
    before = given.weight.clone()
    assert not torch.equal(fit(people, module=given).network_.weight, before)
    assert torch.equal(given.weight, before)


def test_missing_traits_belong_to_no_group(people):
    S = people.S.copy()
    S.loc[::4, "sex"] = None
    found = quick().fit(people.X, people.y, sensitive_features=S)
    assert found.encoder_.names == ("sex=f", "sex=m")
    informed = quick(informed=True).fit(people.X, people.y, sensitive_features=S)
    assert informed.network_.in_features == 2 + 2 + 2  # traits, and where they miss
    informed.predict(people.X, sensitive_features=S)


@pytest.mark.parametrize(
    ("options", "strength"),
    [
        ({"loss": "kl"}, 10),
        ({"loss": "smoothmax"}, 0.3),
        ({"loss": NormLoss("pr")}, 0.1),
        ({"loss": "kl", "max_violation": 0.1}, 0),
        ({"loss": "kl", "min_ratio": 0.8, "strength": 2}, 2),
    ],
    ids=str,
)
def test_strength_has_a_default_for_every_loss(options, strength):
    assert quick(**{"strength": None, **options})._recipe().strength == strength


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"strength": -1},
            "`strength` must be a number, at least 0 and finite; got -1",
        ),
        ({"strength": "1"}, "`strength` must be a number"),
        ({"learning_rate": 0}, "`learning_rate` must be a number, above 0"),
        ({"epochs": 0}, "`epochs` must be a whole number of at least 1; got 0"),
        ({"epochs": 2.0}, "`epochs` must be a whole number"),
        ({"batch_size": True}, "`batch_size` must be a whole number"),
        ({"memory": -1}, "`memory` must be a whole number of at least 0"),
        ({"warm_up": 6}, "`warm_up` must be less than `epochs`, 6, .* got 6"),
        ({"patience": 0}, "`patience` must be a whole number of at least 1"),
        ({"validation_fraction": 1}, "`validation_fraction` must be .* below 1"),
        ({"loss": "norn"}, "Unknown loss 'norn'. Did you mean 'norm'"),
        ({"loss": 3}, "`loss` must be a name or an object of `fairret.loss`; got int"),
        (
            {"loss": NormLoss("tpr"), "notion": "fpr"},
            "got a loss for 'tpr' and the notion 'fpr'",
        ),
        ({"notion": "equal_oportunity"}, "Unknown notion .* Did you mean"),
        ({"device": "cuda:77"}, "`device` must be available here; got 'cuda:77'"),
        ({"module": nn.Linear(9, 1)}, "must take the 2 inputs .* torch says: mat1"),
        ({"module": nn.Linear(2, 3)}, r"`module` must return one number per row"),
        ({"module": str}, "an nn.Module, or a function .* got str"),
        ({"module": 3}, "an nn.Module, or a function .* got int"),
        ({"module": nn.Linear(2, 1).requires_grad_(False)}, "that can be trained"),
    ],
    ids=str,
)
def test_wrong_options_are_errors_and_leave_the_fit_as_it_was(people, options, words):
    found = fit(people, epochs=1, warm_up=0)
    before = found.predict_proba(people.X)
    found.set_params(**{"epochs": 6, **options})
    with pytest.raises((ValueError, TypeError), match=words):
        found.fit(people.X, people.y, sensitive_features=people.S)
    np.testing.assert_array_equal(found.predict_proba(people.X), before)


class Interrupted(nn.Linear):
    """Stops as if a user had pressed a key."""

    def forward(self, x):
        if self.training:
            raise KeyboardInterrupt
        return super().forward(x)


def test_interrupted_fit_leaves_the_old_one(people):
    found = fit(people, epochs=1, warm_up=0)
    before = found.predict_proba(people.X)
    found.set_params(module=Interrupted(2, 1))
    with pytest.raises(KeyboardInterrupt):
        found.fit(people.X, people.y, sensitive_features=people.S)
    np.testing.assert_array_equal(found.predict_proba(people.X), before)


def test_other_columns_or_no_traits_are_errors(people, plain):
    with pytest.raises(ValueError, match="feature names"):
        plain.predict(people.X.rename(columns={"skill": "wit"}))
    with pytest.raises(TypeError, match="need the sensitive traits"):
        quick().fit(people.X, people.y)
    with pytest.raises(RangeError, match="two groups"):
        quick().fit(people.X, people.y, sensitive_features=np.zeros(len(people.y)))
    going_on = fit(people, epochs=1, warm_up=0, warm_start=True)
    with pytest.raises(ValueError, match="`warm_start` and a tolerance exclude"):
        going_on.set_params(max_violation=0.1).fit(
            people.X, people.y, sensitive_features=people.S
        )


@pytest.mark.parametrize("informed", [True, False])
@pytest.mark.parametrize("way", ["fit", "partial_fit"])
def test_network_is_not_trained_further_with_other_inputs(people, informed, way):
    going_on = fit(people, epochs=1, warm_up=0, warm_start=True, informed=informed)
    traits = people.S if informed else None
    before = going_on.predict_proba(people.X, sensitive_features=traits)
    going_on.set_params(informed=not informed)
    with pytest.raises(ValueError, match="`informed` must stay as it was"):
        getattr(going_on, way)(people.X, people.y, sensitive_features=people.S)
    going_on.set_params(informed=informed)
    again = going_on.predict_proba(people.X, sensitive_features=traits)
    np.testing.assert_array_equal(again, before)


def test_saved_classifier_decides_alike_and_can_be_trained_further(people, tmp_path):
    file = tmp_path / "network.skops"
    found = FairretClassifier(loss="kl", epochs=2, warm_up=1, random_state=0)
    found.fit(people.X, people.y, sensitive_features=people.S)
    save(found, file)
    read = load(file)
    np.testing.assert_array_equal(
        read.predict_proba(people.X), found.predict_proba(people.X)
    )
    pd.testing.assert_frame_equal(*(pd.DataFrame(x.history_) for x in (read, found)))
    for own in (found, read):
        own.partial_fit(people.X, people.y, sensitive_features=people.S)
    assert torch.equal(weights(read), weights(found))


def test_rule_and_network_can_be_saved_without_pickle(people, tmp_path):
    file = tmp_path / "rule.skops"
    found = fit(people, module=None, learning_rate=1e-3, max_violation=0.3)
    save(found.set_params(module=None), file)
    np.testing.assert_array_equal(load(file).predict(people.X), found.predict(people.X))


def test_new_people_are_audited_and_certified(people, new):
    for options in ({"max_violation": 0.1}, {}, {"informed": True}):
        found = fit(people, epochs=3, **options)
        given = {"sensitive_features": new.S}
        audit = found.audit(new.X, new.y, **given)
        before, after = (m.decisions for m in audit.sections[0].measured)
        assert (before.max_violation == after.max_violation) == (
            "max_violation" not in options
        )
        own = given if "informed" in options else {}
        yes = found.predict(new.X, **own)
        assert float(after.max_violation) == pytest.approx(new.violation(yes))
        certificate = found.certify(new.X, new.y, **given)
        assert certificate.estimate == pytest.approx(new.violation(yes))


def test_progress_is_on_standard_error(people, capsys):
    fit(people, verbose=True, early_stopping=False)
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.split(":")[0] for line in err.splitlines()] == [
        f"Training, epoch {k} of 6" for k in range(1, 7)
    ]
