"""Classifiers that decide by a rule for a tolerance: what the rule can report."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from fairret.auditing import Audit
from fairret.auditing.rows import YES
from fairret.control import (
    Certificate,
    GroupOutcome,
    Solution,
    Tolerance,
    Tradeoff,
    certificate,
)
from fairret.control.solution import Status
from fairret.errors import ToleranceError
from fairret.estimator.base import FitData, TraitClassifier, find_notion
from fairret.estimator.features import Numbers
from fairret.estimator.labels import Labels, read_labels, read_weights
from fairret.estimator.linear_rule import LinearRule
from fairret.estimator.models import Known
from fairret.estimator.out_of_fold import (
    CONFIDENCE,
    OutOfFold,
    Setting,
    audit_decisions,
)
from fairret.estimator.promises import Measured, limited_groups, make_promise
from fairret.estimator.traits import Table, read_traits
from fairret.statistic.base import LinearFractionalStatistic

DEFAULT = 0.1  # `max_violation`, without another tolerance
OUT_OF_FOLD = "All numbers are of models that did not see the rows they score."
Self = TypeVar("Self", bound="RuleClassifier")


class Predictor(Protocol):
    """Fitted models: what they know of new people."""

    def read(self, X: Any, sens: Numbers | None) -> Known:
        """Score new people, and find out about their groups."""

    def score(self, X: Any, sens: Numbers | None) -> Numbers:
        """Score new people, `(n,)`, given their groups if a rule is informed."""

    def score_alone(self, X: Any, sens: Numbers | None) -> Numbers:
        """Score new people, `(n,)`, as if there were no rule."""


class HeldOut(NamedTuple):
    """New people whose labels and traits are known."""

    X: Any
    labels: Labels
    weight: Numbers
    table: Table
    sens: Numbers


def _find_tradeoff(
    rows: OutOfFold, setting: Setting, fitted: Solution, reports: dict[str, object]
) -> Tradeoff:
    """Compute the curve once for each rule."""
    if "tradeoff" not in reports:
        reports["tradeoff"] = rows.tradeoff(setting, fitted)
    return cast("Tradeoff", reports["tradeoff"])


class RuleClassifier(TraitClassifier):
    """A classifier with fitted models, and a rule for decisions on top of them.

    A subclass fits models, and a rule to what they know of rows out of fold
    (`_fit_rule`).
    """

    notion: LinearFractionalStatistic | str | Iterable[str]
    max_violation: float | Mapping[str, float] | None
    max_difference: float | None
    min_ratio: float | None
    confidence: float | None
    threshold: float
    min_rate: float
    min_size: float
    adapt: bool

    status_: Status
    groups_: tuple[GroupOutcome, ...]
    certificate_: Certificate
    report_: str
    models_: Predictor
    rule_: LinearRule
    _rows: OutOfFold

    def set_tolerance(
        self: Self,
        max_violation: float | Mapping[str, float] | None = None,
        *,
        max_difference: float | None = None,
        min_ratio: float | None = None,
        confidence: float | Literal["same"] | None = "same",
    ) -> Self:
        """State another tolerance: only the rule changes, no model is fitted.

        Args:
            max_violation: As in the constructor.
            max_difference: As in the constructor.
            min_ratio: As in the constructor.
            confidence: As in the constructor; by default it stays as it is.

        Raises:
            ArgumentError: If there is no tolerance, or more than one.
            ToleranceError: If no decisions can keep it. The rule is then as it was.
        """
        rows = self._fit_rows("set_tolerance")
        tolerance = Tolerance(max_violation, max_difference, min_ratio)
        fitted = self._fitted_setting()
        wanted = fitted.confidence if confidence == "same" else confidence
        stated = fitted._replace(tolerance=tolerance, confidence=wanted)
        solution = rows.solve(stated)
        self._check(solution)
        self.max_violation, self.max_difference = max_violation, max_difference
        self.min_ratio, self.confidence = min_ratio, wanted
        self._take(solution, stated)
        return self

    def predict_proba(self, X: Any, *, sensitive_features: Any = None) -> Numbers:
        """Estimate the probabilities of both classes, `(n, 2)`.

        Decisions do not follow from them alone: they also depend on likely groups. Use
        :meth:`predict` and :meth:`decision_function` for decisions.

        Args:
            X: Features, with the columns of the fit.
            sensitive_features: Traits of these people, if `informed`.
        """
        X = self._read_features(X)
        sens = self._read_sens(X, sensitive_features)
        eta = self.models_.score(self._drop_traits(X), sens)
        both = np.column_stack((1 - eta, eta))
        return both if self._positive else both[:, ::-1]

    def audit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
    ) -> Audit:
        """Audit decisions about new people, without and with the rule.

        Args:
            X: Features of people who are not in the fit.
            y: Their labels.
            sensitive_features: Their traits, also for a blind classifier.
            sample_weight: Weights of rows.
        """
        held_out = self._read_held_out(X, y, sensitive_features, sample_weight)
        X, labels, weight, table, sens = held_out
        setting = self._fitted_setting()
        plain = self.models_.score_alone(X, sens) > self.rule_.threshold
        decisions = self._decide(*held_out)
        names, traits = self.encoder_.names, self.encoder_.traits
        promise = None
        if hasattr(self, "groups_"):  # a network need not have a tolerance
            promise = make_promise(
                Measured(sens, labels.binary, weight, names, traits),
                setting.statistic,
                setting.tolerance,
                self._certify(decisions, held_out),
                plain=plain,
                decisions=decisions,
                groups=self.groups_,
                required=setting.confidence is not None,
                informed=self.informed,
            )
        return audit_decisions(
            table,
            plain=plain,
            decisions=decisions,
            label=labels.binary,
            positive=str(labels.classes[labels.positive]),
            weight=None if sample_weight is None else weight,
            sensitive=self.sensitive,
            statistic=setting.statistic,
            promise=promise,
        )

    def certify(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        confidence: float | None = None,
    ) -> Certificate:
        """Bound the violation in the population from new people.

        Args:
            X: Features of people who are not in the fit.
            y: Their labels.
            sensitive_features: Their traits, also for a blind classifier.
            sample_weight: Weights of rows.
            confidence: Of the bounds; by default that of the tolerance, or 0.95.
        """
        held_out = self._read_held_out(X, y, sensitive_features, sample_weight)
        return self._certify(self._decide(*held_out), held_out, confidence)

    def _certify(
        self, decisions: Numbers, held_out: HeldOut, confidence: float | None = None
    ) -> Certificate:
        _, labels, weight, _, sens = held_out
        setting = self._fitted_setting()
        if confidence is None:
            confidence = setting.confidence or CONFIDENCE
        return certificate(
            decisions,
            sens,
            labels.binary,
            notion=setting.statistic,
            kind=setting.tolerance.kind,
            weight=weight,
            names=self.encoder_.names,
            traits=self.encoder_.traits,
            confidence=confidence,
            groups=limited_groups(setting.tolerance),
        )

    @property
    def solution_(self) -> Solution:
        """The rule and all that is known of it."""
        self._fit_rows("solution_")
        return self._solution

    @property
    def tradeoff_(self) -> Tradeoff:
        """What other tolerances would cost, on the rows of the fit."""
        rows = self._fit_rows("tradeoff_")
        setting = self._fitted_setting()
        return _find_tradeoff(rows, setting, self._solution, self._reports)

    @property
    def audit_(self) -> Audit:
        """An audit of the rows of the fit, out of fold, without and with the rule."""
        self._fit_rows("audit_")
        if "audit" not in self._reports:
            self._reports["audit"] = self._audit_fit(favourable=True)
        return cast("Audit", self._reports["audit"])

    def _audit_fit(self, *, favourable: bool) -> Audit:
        """Audit the rows of the fit; a yes may be a harm."""
        rows, setting = self._rows, self._fitted_setting()
        return rows.audit(
            self._solution,
            self.certificate_,
            self.sensitive,
            partial(_find_tradeoff, rows, setting, self._solution, self._reports),
            favourable=favourable,
        )

    def _margin(self, X: Any, sens: Numbers | None) -> Numbers:
        return self.rule_.margin(*self.models_.read(X, sens))

    def _decide(
        self, X: Any, labels: Labels, weight: Numbers, table: Table, sens: Numbers
    ) -> Numbers:
        """Decide about people whose traits are known: 1 for yes."""
        margin = self._margin(X, sens if self.informed else None)
        return (margin > 0).astype(np.float64)

    def _read_held_out(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any
    ) -> HeldOut:
        """Check new rows with their labels and traits."""
        X = self._read_features(X)
        positive = self.classes_[self._positive]
        labels = read_labels(y, positive, self.classes_)
        weight = read_weights(sample_weight, labels)
        table = self._table(X, sensitive_features)
        sens = read_traits(self.encoder_, table, len(labels.given))
        self._warn_of_strangers(sens)
        return HeldOut(self._drop_traits(X), labels, weight, table, sens)

    def _setting(self) -> Setting:
        """Read the options of the rule."""
        given = self.max_violation, self.max_difference, self.min_ratio
        stated = Tolerance(
            *(given if any(x is not None for x in given) else (DEFAULT,))
        )
        return Setting(
            find_notion(self.notion),
            stated,
            self.threshold,
            self.min_rate,
            self.min_size,
            self.adapt,
            self.confidence,
        )

    def _fitted_setting(self) -> Setting:
        """The options that the rule was solved with, even if others are set now."""
        stated: Setting | None = getattr(self, "_stated", None)
        return self._setting() if stated is None else stated

    def _fit_rule(
        self,
        setting: Setting,
        data: FitData,
        fitted: tuple[Predictor, Numbers, Known],
        in_features: bool,
    ) -> None:
        """Find a rule, and store everything.

        Args:
            setting: What to ask of the rule.
            data: The rows of the fit.
            fitted: The models, and the scores and all that they know of these rows, out
                of fold.
            in_features: Whether the traits are columns of the features.
        """
        models, eta, known = fitted
        rows = OutOfFold(data, eta, known, blind=not self.informed)
        solution = rows.solve(setting)
        self._check(solution, stacklevel=4)
        rows.warn_of_extremes(solution)
        self._store(data, in_features, models_=models, _rows=rows)
        self._take(solution, setting)

    def _check(self, solution: Solution, stacklevel: int = 3) -> None:
        """Refuse a tolerance that is out of reach; warn of one that was missed."""
        said = " ".join(str(solution).splitlines())
        if solution.status == "infeasible":
            raise ToleranceError(said)
        if solution.status == "missed":
            warnings.warn(said, ConvergenceWarning, stacklevel=stacklevel)

    def _take(self, solution: Solution, setting: Setting) -> None:
        """Store a rule, and what was asked of it."""
        self._solution, self._stated = solution, setting
        self._reports: dict[str, object] = {}
        self.rule_ = LinearRule.read(solution.rule)
        self.status_, self.groups_ = solution.status, solution.groups
        self.certificate_ = solution.certify_fit(setting.confidence or CONFIDENCE)
        positive = self.classes_[self._positive]
        unclear = isinstance(positive, str) and positive.lower() not in YES
        said = f"A yes is {str(positive)!r}.\n" if unclear else ""
        self.report_ = f"{said}{solution}\n{OUT_OF_FOLD}"

    def _fit_rows(self, wanted: str) -> OutOfFold:
        check_is_fitted(self)
        rows: OutOfFold | None = getattr(self, "_rows", None)
        if rows is None:
            raise AttributeError(
                f"`{wanted}` needs a tolerance and the rows of the fit, which copies "
                "and saved classifiers do not hold. Use it before you save, or fit "
                "again."
            )
        return rows

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        gone = ("_rows", "_solution", "_reports", "_stated")  # the people of the fit
        return {name: value for name, value in state.items() if name not in gone}
