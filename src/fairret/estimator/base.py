"""What the classifiers share: two classes, sensitive features, and their contract."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags, check_array, get_tags
from sklearn.utils.validation import (
    _num_samples,
    check_is_fitted,
    validate_data,
)

from fairret.control.certify import read_notion
from fairret.errors import (
    ArgumentError,
    DtypeError,
    FairretError,
    NameNotFoundError,
    RangeError,
)
from fairret.estimator.features import Numbers
from fairret.estimator.labels import Labels, read_labels, read_weights
from fairret.estimator.traits import (
    Traits,
    check_frame,
    check_in_memory,
    drop_columns,
    find_table,
    fit_traits,
    known_traits,
    listed,
    read_traits,
    warn_of_strangers,
)
from fairret.sensitive import SensitiveEncoder
from fairret.sensitive.resolve import TraitLike, column_names
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.registry import get_name


class ParameterError(FairretError, ValueError, TypeError):
    """An option has a value that it must not have, as in scikit-learn."""


@dataclass(frozen=True)
class FitData:
    """The rows of a fit, checked."""

    X: Any  # the features; without the columns of traits, unless informed
    labels: Labels
    traits: Traits
    weight: Numbers  # (n,)
    weighted: bool  # whether weights were given
    shape: dict[str, Any]  # n_features_in_, and feature_names_in_ if there are names

    def __len__(self) -> int:
        return len(self.weight)


class TraitClassifier(ClassifierMixin, BaseEstimator):
    """A binary classifier that is fitted with sensitive features.

    A subclass has the options `sensitive`, `informed` and `pos_label`, computes its
    fitted attributes in `fit` and stores them with `_store`, and decides in `_margin`.
    """

    sensitive: TraitLike | Iterable[TraitLike] | None
    informed: bool
    pos_label: object

    classes_: NDArray[np.generic]
    encoder_: SensitiveEncoder
    _positive: int  # which of the classes is a yes

    # Routing passes these on unless a user says otherwise.
    __metadata_request__fit = {"sensitive_features": True}  # noqa: RUF012
    __metadata_request__predict = {"sensitive_features": True}  # noqa: RUF012
    __metadata_request__decision_function = {"sensitive_features": True}  # noqa: RUF012
    __metadata_request__score = {"sensitive_features": True}  # noqa: RUF012

    @abstractmethod
    def _margin(self, X: Any, sens: Numbers | None) -> Numbers:
        """Compute how far people are from the other decision, `(n,)`: yes above 0."""

    def predict(self, X: Any, *, sensitive_features: Any = None) -> NDArray[np.generic]:
        """Decide.

        Args:
            X: Features, with the columns of the fit.
            sensitive_features: Traits of these people, if `informed`.

        Returns:
            One of the two classes per row.
        """
        margin = self._read_margin(X, sensitive_features)
        return self.classes_[np.where(margin > 0, self._positive, 1 - self._positive)]

    def decision_function(self, X: Any, *, sensitive_features: Any = None) -> Numbers:
        """Compute the margin of decisions: positive for the second of `classes_`.

        Args:
            X: Features, with the columns of the fit.
            sensitive_features: Traits of these people, if `informed`.
        """
        margin = self._read_margin(X, sensitive_features)
        return margin if self._positive else -margin

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        sensitive_features: Any = None,
    ) -> float:
        """Compute the accuracy.

        Args:
            X: Features.
            y: Labels.
            sample_weight: Weights of rows.
            sensitive_features: Traits; a blind classifier ignores them.
        """
        own = sensitive_features if self.informed else None
        found = self.predict(X, sensitive_features=own)
        return float(accuracy_score(y, found, sample_weight=sample_weight))

    def _read_margin(self, X: Any, sensitive_features: Any) -> Numbers:
        X = self._read_features(X)
        sens = self._read_sens(X, sensitive_features)
        return self._margin(self._drop_traits(X), sens)

    def _read_fit(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any,
        sample_weight: Any,
        *,
        further: bool = False,
        classes: NDArray[np.generic] | None = None,
    ) -> FitData:
        """Check what `fit` got, without changing the estimator.

        Args:
            X: Features.
            y: Labels.
            sensitive_features: Traits.
            sample_weight: Weights.
            further: Whether an earlier fit is continued: with its columns, classes and
                groups.
            classes: The classes, if `y` need not have both.
        """
        X = self._as_features(X)
        probe = self if further else BaseEstimator()
        validate_data(probe, X, skip_check_array=True, reset=not further)
        shape = {k: v for k, v in vars(probe).items() if k.endswith("_in_")}
        labels = read_labels(y, self.pos_label, self.classes_ if further else classes)
        n = len(labels.given)
        if _num_samples(X) != n:
            raise RangeError(
                "`X` and `y` must have the same number of rows; got "
                f"{_num_samples(X)} and {n}."
            )
        weight = read_weights(sample_weight, labels)
        table = self._table(X, sensitive_features)
        if further:
            traits = known_traits(self.encoder_, table, n)
            self._warn_of_strangers(traits.sens)
        else:
            traits = fit_traits(self.sensitive, table, n)
        return FitData(
            self._drop_traits(X, sensitive_features is None),
            labels,
            traits,
            weight,
            sample_weight is not None,
            shape,
        )

    def _read_features(self, X: Any) -> Any:
        """Check new features against those of the fit."""
        check_is_fitted(self)
        X = self._as_features(X)
        if not _num_samples(X):
            raise RangeError("`X` must have at least one row; got none.")
        return validate_data(self, X, reset=False, skip_check_array=True)

    def _as_features(self, X: Any) -> Any:
        """Read features: frames stay as they are, everything else becomes an array."""
        check_in_memory("X", X)
        if hasattr(X, "columns"):
            check_frame("X", X)
            return X
        if issparse(X):
            if not get_tags(self).input_tags.sparse:
                raise DtypeError(
                    "`X` must be dense; sparse input is not supported here. Pass "
                    "`X.toarray()`."
                )
            return X
        array = np.asarray(X)
        if array.ndim == 1 and array.dtype.kind in "OSTU":  # documents
            return array
        return check_array(array, dtype=None, ensure_all_finite=False, allow_nd=True)

    def _read_sens(self, X: Any, sensitive_features: Any) -> Numbers | None:
        """Encode the traits of new rows, if decisions need them."""
        if not self.informed:
            if sensitive_features is not None:
                raise ArgumentError(
                    "A blind classifier decides without the groups of a person: leave "
                    "`sensitive_features` out, or fit it with `informed=True`."
                )
            return None
        if sensitive_features is None and not self._in_features:
            raise ArgumentError(
                "An informed classifier decides with the groups of a person: pass "
                "`sensitive_features`."
            )
        table = self._table(X, sensitive_features)
        sens = read_traits(self.encoder_, table, _num_samples(X))
        self._warn_of_strangers(sens)
        return sens

    def _warn_of_strangers(self, sens: Numbers) -> None:
        warn_of_strangers(self.sensitive, self.encoder_, sens, stacklevel=4)

    def _table(self, X: Any, sensitive_features: Any) -> Any:
        """Find the columns of traits, in `sensitive_features` or in `X`."""
        return find_table(
            X,
            sensitive_features,
            self.sensitive,
            missing="`fit`, `audit` and `certify` need the sensitive traits of people "
            "to compare groups: pass `sensitive_features`, a data frame with one "
            "column per trait, or name columns of `X` with the option `sensitive`.",
        )

    def _drop_traits(self, X: Any, in_features: bool | None = None) -> Any:
        """Remove the traits from the features of a blind classifier."""
        own = self._in_features if in_features is None else in_features
        if self.informed or not own:
            return X
        return drop_columns(X, column_names(listed(self.sensitive)))

    def _store(self, data: FitData, in_features: bool, **fitted: Any) -> None:
        """Replace all that an earlier fit has left."""
        for name in [name for name in vars(self) if _is_fitted_name(name)]:
            delattr(self, name)
        self.classes_, self._positive = data.labels.classes, data.labels.positive
        self.encoder_ = data.traits.encoder
        self._in_features = in_features
        for name, value in {**data.shape, **fitted}.items():
            setattr(self, name, value)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _is_fitted_name(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


def find_notion(
    notion: LinearFractionalStatistic | str | Iterable[str],
) -> LinearFractionalStatistic:
    """Look up one notion, or stack several.

    Raises:
        ParameterError: If a name is unknown, or a statistic needs other inputs than
            decisions and labels.
    """
    try:
        known = isinstance(notion, str | LinearFractionalStatistic)
        if not known and not isinstance(notion, Iterable):
            raise ParameterError(
                "`notion` must be a name, a list of names, or a statistic; got "
                f"{notion!r}. For example, pass 'demographic_parity'."
            )
        statistic = read_notion(notion if known else list(notion))  # type: ignore[arg-type]
    except NameNotFoundError as error:
        said = str(error).replace("Unknown statistic", "Unknown notion")
        raise ParameterError(f"`notion`: {said}") from None
    further = statistic.asks_for - {"label"}
    if further:
        raise ParameterError(
            "`notion` must depend on decisions and labels alone; "
            f"{get_name(statistic)!r} asks for {', '.join(sorted(further))} too. Use "
            "`fairret.control.find_rule`."
        )
    return statistic


def check_classifier(estimator: Any) -> None:
    """Insist on a classifier with probabilities.

    Raises:
        ParameterError: If it has none.
    """
    if isinstance(estimator, type):
        raise ParameterError(
            f"`estimator` must be an object; got the class {estimator.__name__}. Call "
            f"it: `{estimator.__name__}()`."
        )
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict_proba"):
        raise ParameterError(
            "`estimator` must be a classifier with `predict_proba`; got "
            f"{type(estimator).__name__}. Wrap it in `CalibratedClassifierCV`, which "
            "turns scores into probabilities."
        )


def check_group_estimator(estimator: Any) -> None:
    """Insist on an estimator that predicts.

    Raises:
        ParameterError: If it is none.
    """
    if isinstance(estimator, type) or not hasattr(estimator, "predict"):
        raise ParameterError(
            "`group_estimator` must be a classifier or a regressor, or None for small "
            f"networks; got {estimator!r}."
        )


def check_bool(name: str, value: object) -> None:
    """Insist on true or false: the text "no" would be true.

    Raises:
        ParameterError: If it is something else.
    """
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"`{name}` must be True or False; got {value!r}.")


def allows_missing(estimator: Any) -> bool:
    """Whether a classifier takes NaN among its features."""
    return _has_tags(estimator) and bool(get_tags(estimator).input_tags.allow_nan)


def takes_sparse(estimator: Any) -> bool:
    """Whether a classifier takes sparse features."""
    return _has_tags(estimator) and bool(get_tags(estimator).input_tags.sparse)


def _has_tags(estimator: Any) -> bool:
    """Whether it is an object of scikit-learn; a deployed model need not be one."""
    return hasattr(estimator, "__sklearn_tags__")
