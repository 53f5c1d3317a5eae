"""The network keeps scikit-learn's contract, in searches and pipelines too."""

import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch import nn

from fairret.estimator import FairretClassifier

QUICK = {
    "module": nn.LazyLinear(1),
    "loss": "norm",
    "strength": 1e-3,
    "sensitive": -1,
    "epochs": 5,
    "warm_up": 1,
    "learning_rate": 0.2,
    "batch_size": 32,
    "random_state": 0,
}
SHUFFLED = {
    "check_sample_weight_equivalence_on_dense_data": "repeated rows come in other "
    "batches than weighted ones; a test of the classifier compares them in one batch"
}
DROPPED = {
    "check_classifiers_train": "of the two features that the check needs, a blind "
    "classifier drops one"
}


@parametrize_with_checks(
    [FairretClassifier(**QUICK, informed=informed) for informed in (False, True)],
    expected_failed_checks=lambda x: SHUFFLED if x.informed else SHUFFLED | DROPPED,
    xfail_strict=False,  # batches decide whether they fail
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_strength_is_searched_and_pipelines_pass_the_traits_on(people):
    model = FairretClassifier(
        **{**QUICK, "sensitive": None, "epochs": 3, "batch_size": 200}
    )
    pipeline = make_pipeline(StandardScaler(), model)
    grid = {"fairretclassifier__strength": [0.0, 1.0]}
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(clone(pipeline), grid, cv=2)
        search.fit(people.X, people.y, sensitive_features=people.S)
        assert search.best_params_["fairretclassifier__strength"] in (0.0, 1.0)
        assert search.best_score_ > 0.6
    assert set(search.predict(people.X)) == {"no", "yes"}
