"""Classifiers for data frames, with scikit-learn's contract.

>>> import numpy as np
>>> from fairret.estimator import ToleranceClassifier
>>> rng = np.random.default_rng(0)
>>> sex = rng.choice(["f", "m"], 2000)
>>> X = rng.normal(size=(2000, 3)) + 0.5 * (sex == "m")[:, None]
>>> y = np.where(X.sum(1) + rng.normal(size=2000) > 1, "yes", "no")
>>> classifier = ToleranceClassifier(max_violation=0.1, random_state=0)
>>> classifier.fit(X, y, sensitive_features={"sex": sex}).status_
'met'
>>> decisions = classifier.predict(X)  # without sensitive features
"""

from fairret.errors import missing_extra

try:
    import sklearn  # noqa: F401 -- only tried
except ImportError:
    raise missing_extra(
        "`fairret.estimator` needs", "scikit-learn", "sklearn"
    ) from None

from fairret.estimator.fairret_classifier import FairretClassifier
from fairret.estimator.saving import load, save
from fairret.estimator.scorer import FairnessScorer, fairness_scorer
from fairret.estimator.tolerance_classifier import ToleranceClassifier

__all__ = [
    "FairnessScorer",
    "FairretClassifier",
    "ToleranceClassifier",
    "fairness_scorer",
    "load",
    "save",
]
