"""How fair the decisions of a classifier are, as a score for searches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRequest
from sklearn.utils.validation import _num_samples, check_is_fitted

from fairret.control import certificate
from fairret.control.tolerance import KINDS, Kind
from fairret.errors import DtypeError, did_you_mean
from fairret.estimator.base import ParameterError, find_notion
from fairret.estimator.traits import find_table, fit_traits
from fairret.sensitive.resolve import TraitLike
from fairret.statistic.base import LinearFractionalStatistic


class FairnessScorer:
    """Scores a fitted classifier by the statistics of groups: larger is fairer.

    Made by :func:`fairness_scorer`, which describes the arguments.
    """

    def __init__(
        self,
        notion: LinearFractionalStatistic,
        measure: Kind,
        *,
        sensitive: TraitLike | Iterable[TraitLike] | None,
        confidence: float | None,
    ) -> None:
        self.notion, self.measure = notion, measure
        self.sensitive, self.confidence = sensitive, confidence

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
    ) -> float:
        """Score the decisions of a classifier.

        Args:
            estimator: A fitted classifier of two classes.
            X: Features.
            y: Labels.
            sensitive_features: Traits of these people.
            sample_weight: Weights of rows.

        Returns:
            The negative violation or difference, or the ratio. NaN if no group has
            enough rows.
        """
        classes = _classes(estimator)
        table = self._table(X, sensitive_features)
        traits = fit_traits(self.sensitive, table, _num_samples(X))
        last = _last(estimator)
        options = {}
        if getattr(last, "informed", False) and sensitive_features is not None:
            options["sensitive_features"] = sensitive_features
        chosen = getattr(last, "pos_label", None)
        positive = classes[1] if chosen is None else chosen
        yes = np.asarray(estimator.predict(X, **options)) == positive
        found = certificate(
            yes.astype(np.float64),
            traits.sens,
            (np.asarray(y) == positive).astype(np.float64),
            notion=self.notion,
            kind=self.measure,
            weight=None if sample_weight is None else np.array(sample_weight),
            names=traits.names,
            traits=traits.columns,
            confidence=self.confidence or 0.95,
        )
        value = found.estimate if self.confidence is None else found.bound
        return value if self.measure == "min_ratio" else -value

    def _table(self, X: Any, sensitive_features: Any) -> Any:
        return find_table(
            X,
            sensitive_features,
            self.sensitive,
            missing="A fairness scorer needs `sensitive_features`. In searches and "
            "cross validation, call `sklearn.set_config(enable_metadata_routing=True)` "
            "and pass them there; or name columns of `X` with `sensitive`.",
        )

    def get_metadata_routing(self) -> MetadataRequest:
        """Tell scikit-learn which metadata to pass."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="sensitive_features", alias=True)
        request.score.add_request(param="sample_weight", alias=False)
        return request

    def __repr__(self) -> str:
        return f"fairness_scorer({self.notion}, {self.measure!r})"


def fairness_scorer(
    notion: LinearFractionalStatistic | str | Iterable[str] = "demographic_parity",
    measure: Kind = "max_violation",
    *,
    sensitive: TraitLike | Iterable[TraitLike] | None = None,
    confidence: float | None = None,
) -> FairnessScorer:
    """Make a scorer for `cross_validate` and `GridSearchCV`.

    Groups with fewer than 30 rows that count are left out. The score is NaN if the
    measure is undefined, as the ratio is if everybody is refused.

    Args:
        notion: What should be equal, as in :class:`ToleranceClassifier`.
        measure: "max_violation" and "max_difference" are negated, so that larger is
            fairer; "min_ratio" is not.
        sensitive: Traits to compare; columns of `sensitive_features` or, without them,
            of `X`.
        confidence: If given, score the bound that holds in the population with this
            confidence instead of the estimate.

    Raises:
        ParameterError: If a name is unknown.

    Example:
        >>> import numpy as np
        >>> from sklearn.linear_model import LogisticRegression
        >>> X = np.array([[0.0], [1.0], [2.0], [3.0]] * 40)
        >>> y = X[:, 0] > 1
        >>> group = np.where(X[:, 0] % 2, "a", "b")
        >>> model = LogisticRegression().fit(X, y)
        >>> fairness_scorer("pr")(model, X, y, sensitive_features=group)
        -0.0
    """
    if measure not in KINDS:
        raise ParameterError(
            f"`measure` must be one of {', '.join(KINDS)}; got {measure!r}."
            f"{did_you_mean(measure, KINDS)}"
        )
    return FairnessScorer(
        find_notion(notion), measure, sensitive=sensitive, confidence=confidence
    )


def _classes(estimator: Any) -> Any:
    """Find the two classes of a fitted classifier.

    Raises:
        DtypeError: If it is no classifier of two classes.
    """
    check_is_fitted(_last(estimator))
    classes = getattr(estimator, "classes_", ())
    if len(classes) != 2:
        found = f"{len(classes)} classes" if len(classes) else "no classes"
        raise DtypeError(
            "A fairness scorer needs a classifier of two classes; got "
            f"{type(_last(estimator)).__name__} with {found}."
        )
    return classes


def _last(estimator: Any) -> Any:
    """Find the classifier within a search or a pipeline."""
    found = getattr(estimator, "best_estimator_", estimator)
    return found.steps[-1][1] if isinstance(found, Pipeline) else found
