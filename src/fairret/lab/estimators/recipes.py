"""The code that a user of each package writes; the comparison runs it as it is.

`fit` and `predict` are what is timed, and their lines are counted. `score`, for the
AUROC, and `status` are not part of it.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from fairret.lab.estimators import released_recipe

if TYPE_CHECKING:
    import pandas as pd

MOMENTS = {"pr": "DemographicParity", "tpr": "TruePositiveRateParity"}
CONSTRAINTS = {"pr": "demographic_parity", "tpr": "true_positive_rate_parity"}
MEASURES = {"pr": "pos_pred_rate", "tpr": "recall"}


class Goal(NamedTuple):
    """What is asked for."""

    notion: str
    tolerance: float
    bound: float  # the tolerance as a difference, for packages that bound those
    seed: int


class Recipe(NamedTuple):
    """How a package is used.

    Args:
        modules: What `fit` imports; imported before the clock starts.
        traits: What it takes: all traits, all categories (it forms the intersections),
            or one trait.
        fit: Called with features, labels, traits and the goal; returns a model.
        predict: Called with the model, features, traits and the goal.
        score: Ranks people; called like `predict`.
        status: Says how the fit ended.
    """

    modules: tuple[str, ...]
    traits: Literal["all", "categories", "one"]
    fit: Callable[..., Any]
    predict: Callable[..., Any]
    score: Callable[..., Any]
    status: Callable[[Any], str] = lambda model: "done"

    @property
    def lines(self) -> int:
        """Lines of code of `fit` and `predict`."""
        return sum(count_lines(one) for one in (self.fit, self.predict))


def count_lines(function: Callable[..., Any]) -> int:
    """Count the lines in the body of a function, without docstring and comments."""
    source = textwrap.dedent(inspect.getsource(function))
    (tree,) = ast.parse(source).body
    assert isinstance(tree, ast.FunctionDef)
    body = tree.body[1:] if ast.get_docstring(tree) else tree.body
    own = source.splitlines()[body[0].lineno - 1 : tree.end_lineno]
    return sum(bool(line.strip()) and line.strip()[0] != "#" for line in own)


def fit_plain(X: pd.DataFrame, y: Any, traits: Any, goal: Goal) -> Any:
    """Boost without a tolerance: the reference."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=goal.seed).fit(X, y)


def fit_blind(X: pd.DataFrame, y: Any, traits: Any, goal: Goal) -> Any:
    """Boost within a tolerance."""
    from fairret.estimator import ToleranceClassifier

    model = ToleranceClassifier(
        notion=goal.notion, max_violation=goal.tolerance, random_state=goal.seed
    )
    return model.fit(X, y, sensitive_features=traits)


def fit_informed(X: pd.DataFrame, y: Any, traits: Any, goal: Goal) -> Any:
    """Boost within a tolerance, and decide with the traits."""
    from fairret.estimator import ToleranceClassifier

    model = ToleranceClassifier(
        notion=goal.notion,
        max_violation=goal.tolerance,
        informed=True,
        random_state=goal.seed,
    )
    return model.fit(X, y, sensitive_features=traits)


def fit_network(X: pd.DataFrame, y: Any, traits: Any, goal: Goal) -> Any:
    """Train networks, and decide within a tolerance."""
    from fairret.estimator import FairretClassifier

    model = FairretClassifier(
        notion=goal.notion, max_violation=goal.tolerance, random_state=goal.seed
    )
    return model.fit(X, y, sensitive_features=traits)


def predict_blind(model: Any, X: pd.DataFrame, traits: Any, goal: Goal) -> Any:
    """Decide by the features."""
    return model.predict(X)


def predict_informed(model: Any, X: pd.DataFrame, traits: Any, goal: Goal) -> Any:
    """Decide by features and traits."""
    return model.predict(X, sensitive_features=traits)


def fit_reduction(X: pd.DataFrame, y: Any, traits: Any, goal: Goal) -> Any:
    """Reduce to weighted boosting, with Fairlearn."""
    from fairlearn import reductions
    from sklearn.ensemble import HistGradientBoostingClassifier

    parity = getattr(reductions, MOMENTS[goal.notion])
    model = reductions.ExponentiatedGradient(
        HistGradientBoostingClassifier(random_state=goal.seed),
        parity(difference_bound=goal.bound),
    )
    model.fit(X, y, sensitive_features=traits)
    return model


def predict_reduction(model: Any, X: pd.DataFrame, traits: Any, goal: Goal) -> Any:
    """Draw decisions from the mixture."""
    return model.predict(X, random_state=goal.seed)


def fit_thresholds(X: pd.DataFrame, y: Any, traits: Any, goal: Goal) -> Any:
    """Find thresholds per group, with Fairlearn."""
    from fairlearn.postprocessing import ThresholdOptimizer
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = ThresholdOptimizer(
        estimator=HistGradientBoostingClassifier(random_state=goal.seed),
        constraints=CONSTRAINTS[goal.notion],
        predict_method="predict_proba",
        tol=goal.bound,
    )
    return model.fit(X, y, sensitive_features=traits)


def predict_thresholds(model: Any, X: pd.DataFrame, traits: Any, goal: Goal) -> Any:
    """Decide by features and groups; some decisions are random."""
    return model.predict(X, sensitive_features=traits, random_state=goal.seed)


def fit_oxonfair(X: pd.DataFrame, y: Any, traits: Any, goal: Goal) -> Any:
    """Find thresholds per group on validation rows, with OxonFair."""
    from oxonfair import DataDict, FairPredictor, group_metrics
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import train_test_split

    X, X_val, y, y_val, _, traits_val = train_test_split(
        X, y, traits, test_size=0.3, random_state=goal.seed
    )
    model = HistGradientBoostingClassifier(random_state=goal.seed).fit(X, y)
    fair = FairPredictor(model, DataDict(y_val, X_val, traits_val))
    measure = getattr(group_metrics, MEASURES[goal.notion]).max_diff
    fair.fit(group_metrics.accuracy, measure, goal.bound)
    return fair


def predict_oxonfair(model: Any, X: pd.DataFrame, traits: Any, goal: Goal) -> Any:
    """Decide by features and groups."""
    from oxonfair import DataDict

    return model.predict(DataDict(np.zeros(len(X)), X, traits))  # labels are unknown


def _prob(model: Any, X: Any, traits: Any, goal: Goal) -> Any:
    return model.predict_proba(X)[:, 1]


def _margin(model: Any, X: Any, traits: Any, goal: Goal) -> Any:
    return model.decision_function(X)


def _informed_margin(model: Any, X: Any, traits: Any, goal: Goal) -> Any:
    return model.decision_function(X, sensitive_features=traits)


def _chance(model: Any, X: Any, traits: Any, goal: Goal) -> Any:
    """Probability of a yes; Fairlearn has no public name for it."""
    known = {} if traits is None else {"sensitive_features": traits}
    return model._pmf_predict(X, **known)[:, 1]


def _reduced(model: Any, X: Any, traits: Any, goal: Goal) -> Any:
    return _chance(model, X, None, goal)


def _oxonfair(model: Any, X: Any, traits: Any, goal: Goal) -> Any:
    from oxonfair import DataDict

    data = DataDict(np.zeros(len(X)), X, traits)
    no, yes = np.asarray(model.predict_proba(data)).T
    return yes - no


def _own_status(model: Any) -> str:
    return str(model.status_)


def _converged(model: Any) -> str:
    return "done" if model.best_gap_ < model.nu else "not converged"


_TREES = "sklearn.ensemble"
RECIPES = {
    "boosting": Recipe((_TREES,), "all", fit_plain, predict_blind, _prob),
    "ToleranceClassifier": Recipe(
        ("fairret.estimator",), "all", fit_blind, predict_blind, _margin, _own_status
    ),
    "informed ToleranceClassifier": Recipe(
        ("fairret.estimator",),
        "all",
        fit_informed,
        predict_informed,
        _informed_margin,
        _own_status,
    ),
    "FairretClassifier": Recipe(
        ("fairret.estimator",), "all", fit_network, predict_blind, _margin, _own_status
    ),
    "ThresholdOptimizer": Recipe(
        (_TREES, "fairlearn.postprocessing"),
        "categories",
        fit_thresholds,
        predict_thresholds,
        _chance,
    ),
    "OxonFair": Recipe(
        (_TREES, "oxonfair"), "one", fit_oxonfair, predict_oxonfair, _oxonfair
    ),
    "ExponentiatedGradient": Recipe(
        (_TREES, "fairlearn.reductions"),
        "categories",
        fit_reduction,
        predict_reduction,
        _reduced,
        _converged,
    ),
    "fairret 0.1.3": Recipe(
        (),
        "all",
        released_recipe.fit,
        released_recipe.predict,
        released_recipe.score,
    ),
}
