"""Any classifier with probabilities, and decisions that keep a tolerance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from fairret.control.find import BAND
from fairret.estimator.base import (
    ParameterError,
    allows_missing,
    check_bool,
    check_classifier,
    check_group_estimator,
    takes_sparse,
)
from fairret.estimator.models import Models, Plan, fit_models
from fairret.estimator.options import check_count
from fairret.estimator.rule_classifier import RuleClassifier
from fairret.estimator.threads import few_threads
from fairret.metric.studentised_test import MIN_SIZE
from fairret.sensitive.resolve import TraitLike
from fairret.statistic.base import LinearFractionalStatistic


class ToleranceClassifier(RuleClassifier):
    r"""A classifier whose decisions keep groups within a tolerance.

    It fits a classifier, and estimates of the groups, on all folds but one at a time,
    and finds the most accurate rule whose decisions on the remaining rows keep the
    tolerance. Decisions use the average of two of these models.

    Args:
        estimator: A classifier with `predict_proba`; by default gradient boosting that
            also takes text and missing values.
        notion: What should be equal: a name such as "demographic_parity",
            "equal_opportunity" or "equalized_odds", the name of a statistic such as
            "tpr", a list of names, or a statistic.
        max_violation: Tolerance: the largest relative distance of a group from the
            overall value. A number, or one per name of a group; 0.1 if no tolerance is
            given.
        max_difference: Tolerance: the largest difference of two groups of a trait.
        min_ratio: Tolerance: the smallest ratio of two groups of a trait; 0.8 is the
            four-fifths rule.
        sensitive: Which traits to compare, as names of columns or as traits of
            :mod:`fairret.sensitive`. They are columns of `sensitive_features` or, if
            `fit` gets none, of `X`; a blind classifier removes them from the features.
            By default, all columns of `sensitive_features`.
        informed: Whether decisions use the traits of a person. If not, the rule is
            blind, and estimates the groups from the features.
        confidence: Confidence that the tolerance also holds in the population. It
            costs accuracy, and needs enough rows.
        cv: Number of folds, or a splitter of scikit-learn that scores each row once.
        n_models: How many of the models, one per fold, are averaged in decisions; None
            for all, which takes longer and is hardly better.
        threshold: Probability from which a yes pays off without a tolerance.
        min_rate: How much of the positive rate, and of the negative rate, must remain.
        min_size: Rows that must count for a group to be constrained. Smaller groups
            are named in the report.
        adapt: Whether small groups get a tolerance of at least two standard errors, and
            more if a blind rule cannot tell who they are.
        prefit: Whether `estimator` is fitted. Then `fit` needs rows that did not train
            it.
        group_estimator: How a blind rule estimates groups: a classifier, or a
            regressor, which also estimates amounts. It is fitted per fold, label and
            trait. By default, one small network per fold.
        pos_label: The label that is a yes; by default the larger one.
        n_jobs: How many folds of `estimator` to fit at once. Tables of fewer than
            50,000 rows are fitted with one thread each.
        random_state: Seed of folds, networks and the default classifier.

    Attributes:
        classes_: The two labels.
        status_: Whether the tolerance is met on the rows of the fit, out of fold:
            "met" or "missed".
        groups_: Every group under every notion: rows, statistic, violation, and how the
            tolerance treats it.
        certificate_: Bounds for the population, from the rows of the fit.
        solution_: The rule and all that is known of it; not in a saved classifier.
        tradeoff_: What other tolerances would cost; not in a saved classifier.
        audit_: Decisions without and with the rule, audited out of fold; not in a
            saved classifier.
        report_: What was reached, in words.
        estimators_: The fitted classifiers that decide.
        encoder_: Encodes the traits.
        n_features_in_: Number of features.
        feature_names_in_: Their names, if `X` had some.

    Example:
        >>> import numpy as np
        >>> from sklearn.linear_model import LogisticRegression
        >>> rng = np.random.default_rng(0)
        >>> sex = rng.choice(["f", "m"], 2000)
        >>> X = rng.normal(size=(2000, 3)) + 0.5 * (sex == "m")[:, None]
        >>> y = (X.sum(1) + rng.normal(size=2000) > 1).astype(int)
        >>> classifier = ToleranceClassifier(
        ...     LogisticRegression(), notion="equal_opportunity", min_ratio=0.8
        ... )
        >>> classifier.fit(X, y, sensitive_features=sex).status_
        'met'
        >>> classifier.predict(X[:3]).shape
        (3,)
    """

    models_: Models

    def __init__(
        self,
        estimator: Any = None,
        notion: LinearFractionalStatistic | str | Iterable[str] = "demographic_parity",
        *,
        max_violation: float | Mapping[str, float] | None = None,
        max_difference: float | None = None,
        min_ratio: float | None = None,
        sensitive: TraitLike | Iterable[TraitLike] | None = None,
        informed: bool = False,
        confidence: float | None = None,
        cv: Any = 5,
        n_models: int | None = 2,
        threshold: float = 0.5,
        min_rate: float = BAND,
        min_size: float = MIN_SIZE,
        adapt: bool = True,
        prefit: bool = False,
        group_estimator: Any = None,
        pos_label: object = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.notion = notion
        self.max_violation = max_violation
        self.max_difference = max_difference
        self.min_ratio = min_ratio
        self.sensitive = sensitive
        self.informed = informed
        self.confidence = confidence
        self.cv = cv
        self.n_models = n_models
        self.threshold = threshold
        self.min_rate = min_rate
        self.min_size = min_size
        self.adapt = adapt
        self.prefit = prefit
        self.group_estimator = group_estimator
        self.pos_label = pos_label
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
    ) -> ToleranceClassifier:
        """Fit the classifier, the estimates of the groups and the rule.

        Args:
            X: Features: a data frame, an array, or whatever `estimator` takes.
            y: Labels of two classes.
            sensitive_features: Sensitive traits: a data frame, a mapping from names to
                columns, or one column. Missing values are allowed.
            sample_weight: Weights of rows.

        Raises:
            ValueError: If the data or the options are invalid, or no decisions can keep
                the tolerance. The classifier is then as it was before.
            TypeError: If an argument is missing, or has the wrong type.
        """
        setting = self._setting()
        plan = self._plan()
        data = self._read_fit(X, y, sensitive_features, sample_weight)
        with few_threads(len(data)):
            fitted = fit_models(plan, data)
            self._fit_rule(setting, data, fitted, sensitive_features is None)
        return self

    @property
    def estimators_(self) -> list[Any]:
        """The fitted classifiers that decide."""
        check_is_fitted(self)
        return self.models_.estimators

    def _plan(self) -> Plan:
        """Read the options of the models."""
        if self.estimator is not None:
            check_classifier(self.estimator)
        if self.group_estimator is not None:
            check_group_estimator(self.group_estimator)
        if self.n_models is not None:
            check_count("n_models", self.n_models, 1)
        check_bool("informed", self.informed)
        check_bool("prefit", self.prefit)
        if self.estimator is None and self.prefit:
            raise ParameterError(
                "`prefit` needs a fitted `estimator`; got none. Pass the classifier "
                "that is deployed."
            )
        return Plan(
            self.estimator,
            self.group_estimator,
            self.informed,
            self.prefit or isinstance(self.estimator, FrozenEstimator),
            self.cv,
            self.n_models,
            self.n_jobs,
            self.random_state,
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        base = self.estimator
        tags.input_tags.allow_nan = base is None or allows_missing(base)
        networks = not self.informed and self.group_estimator is None
        dense = networks or self.sensitive is not None
        tags.input_tags.sparse = not dense and takes_sparse(base)
        return tags
