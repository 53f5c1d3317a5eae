"""Saved classifiers decide alike, and loading runs nothing of the file."""

import json
import threading
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from estimator.conftest import Scores, quick
from fairret.errors import ArgumentError, DataFileError, DtypeError
from fairret.estimator import ToleranceClassifier, load, save
from fairret.sensitive import Binned, Categorical, Continuous, Intersection, Soft

pytestmark = pytest.mark.slow  # fits many models

TRAITS = ["sex", Binned("age", [40]), Intersection("sex", Binned("age", [40]))]
AMOUNTS = [Continuous("age"), Categorical("sex", categories=["m", "f"]), Soft("p")]
KINDS = {
    "networks": quick(group_estimator=None, cv=2),
    "pipeline": quick(estimator=make_pipeline(StandardScaler(), LogisticRegression())),
    "forest": quick(estimator=RandomForestClassifier(5, random_state=0)),
    "informed": quick(informed=True, sensitive=TRAITS, max_violation=0.5),
    "amounts": quick(sensitive=AMOUNTS, group_estimator=LinearRegression()),
}


@pytest.mark.filterwarnings("ignore:The features can")
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_loaded_decides_alike(people, tmp_path, kind):
    rng = np.random.default_rng(0)
    n = len(people.y)
    S = people.S.assign(age=rng.normal(40, 9, n), p=rng.random(n))
    classifier = KINDS[kind]
    S = S if classifier.sensitive else S[["sex"]]
    classifier.fit(people.X, people.y, sensitive_features=S)
    path = save(classifier, tmp_path / "model.skops")
    again = load(path)
    given = {"sensitive_features": S} if classifier.informed else {}
    np.testing.assert_allclose(
        again.decision_function(people.X, **given),
        classifier.decision_function(people.X, **given),
        atol=1e-6,  # of float32, in another order
    )
    assert again.certificate_ == classifier.certificate_
    assert again.report_ == classifier.report_
    assert again.get_params().keys() == classifier.get_params().keys()


@pytest.mark.slow
def test_default_classifier_can_be_saved(people, tmp_path):
    classifier = ToleranceClassifier(cv=2, random_state=0)
    classifier.fit(people.X, people.y, sensitive_features=people.S)
    again = load(save(classifier, tmp_path / "model.skops"))
    np.testing.assert_array_equal(again.predict(people.X), classifier.predict(people.X))


def test_people_are_not_in_the_file(people, tmp_path):
    X = people.X.assign(skill=people.X["skill"].round(6) + 1000)
    classifier = quick().fit(X, people.y, sensitive_features=people.S)
    path = save(classifier, tmp_path / "model.skops")
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.endswith(".npy")]
        arrays = [np.load(archive.open(name)) for name in names]
        schema = json.loads(archive.read("schema.json"))
    assert max(array.size for array in arrays) < len(people.y)
    assert "_rows" not in json.dumps(schema)


def test_other_types_must_be_trusted(people, tmp_path):
    X, y = np.column_stack((people.eta, people.X)), (people.y == "yes").astype(int)
    classifier = quick(estimator=Scores(), prefit=True)
    classifier.fit(X, y, sensitive_features=people.S)
    path = save(classifier, tmp_path / "model.skops")
    with pytest.raises(DataFileError, match=r"not trusted: '.*conftest.Scores'"):
        load(path)
    name = f"{Scores.__module__}.Scores"
    np.testing.assert_array_equal(
        load(path, trusted=[name]).predict(X), classifier.predict(X)
    )


def test_groups_may_be_intervals(people, tmp_path):
    groups = pd.cut(people.X["skill"], [-9, 0, 9]).rename("level")
    classifier = quick(max_violation=0.9).fit(
        people.X, people.y, sensitive_features=groups
    )
    again = load(save(classifier, tmp_path / "model.skops"))
    assert again.encoder_.names == ("level=(-9, 0]", "level=(0, 9]")


def test_what_cannot_be_saved_leaves_no_file(people, tmp_path):
    model = make_pipeline(FunctionTransformer(lambda x: x), LogisticRegression())
    classifier = quick(estimator=model)
    classifier.fit(people.X, people.y, sensitive_features=people.S)
    with pytest.raises(DtypeError, match="Replace lambdas"):
        save(classifier, tmp_path / "model.skops")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ArgumentError, match="cannot be written"):
        save(classifier, tmp_path / "nowhere" / "model.skops")


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "model.skops"
    with pytest.raises(FileNotFoundError):
        load(path)
    path.write_bytes(b"not a model")
    with pytest.raises(DataFileError, match="not a model of this version"):
        load(path)
    pd.DataFrame({"x": [1]}).to_pickle(path)
    with pytest.raises(DataFileError, match="not a model of this version"):
        load(path)


class Locked(LogisticRegression):
    """Holds what no file can hold."""

    def fit(self, X, y):
        self.lock_ = threading.Lock()
        return super().fit(X, y)


def test_model_that_skops_does_not_know_is_named_with_the_remedy(people, tmp_path):
    classifier = quick(estimator=Locked())
    classifier.fit(people.X, people.y, sensitive_features=people.S)
    with pytest.raises(DtypeError, match=r"because of its Locked: .*`prefit=True`"):
        save(classifier, tmp_path / "model.skops")
    assert list(tmp_path.iterdir()) == []


def test_only_fitted_classifiers_are_saved(tmp_path):
    with pytest.raises(NotFittedError):
        save(quick(), tmp_path / "model.skops")
    with pytest.raises(TypeError, match="must be a fitted classifier; got dict"):
        save({"a": 1}, tmp_path / "model.skops")
    assert list(tmp_path.iterdir()) == []
