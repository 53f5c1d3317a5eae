"""Rows with scores of models that have not seen them: what a rule is fitted on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from fairret.auditing import Audit, audit
from fairret.auditing.notions import DEFAULT
from fairret.auditing.promise import Promise
from fairret.control import (
    Certificate,
    Solution,
    Tolerance,
    Tradeoff,
    find_rule,
    membership,
    tradeoff,
)
from fairret.control.rows import explained_share
from fairret.control.tradeoffs import list_tolerances
from fairret.estimator.base import FitData
from fairret.estimator.features import Numbers
from fairret.estimator.models import Known
from fairret.estimator.promises import Measured, make_promise
from fairret.estimator.traits import Table, listed
from fairret.sensitive.resolve import TraitLike
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.registry import get_name

SOURCE = "data frame"
CONFIDENCE = 0.95  # of certificates and audits


class Setting(NamedTuple):
    """What to ask of a rule."""

    statistic: LinearFractionalStatistic
    tolerance: Tolerance
    threshold: float
    min_rate: float
    min_size: float
    adapt: bool
    confidence: float | None


class OutOfFold:
    """The rows of a fit, with scores; a blind rule has estimates of the groups."""

    def __init__(
        self, data: FitData, eta: Numbers, known: Known, *, blind: bool
    ) -> None:
        self.data, self.eta, self.known, self.blind = data, eta, known, blind

    @property
    def _rows(self) -> dict[str, Any]:
        """Arguments that :func:`find_rule` and :func:`tradeoff` share."""
        traits = self.data.traits
        return {
            "eta": self.known.eta,
            "sens": traits.sens,
            "label": self.data.labels.binary,
            "q": (self.known.q0, self.known.q1) if self.blind else None,
            "weight": self.data.weight,
            "names": traits.names,
            "traits": traits.columns,
        }

    def solve(self, setting: Setting) -> Solution:
        """Find the rule."""
        stated = setting.tolerance
        return find_rule(
            **self._rows,
            notion=setting.statistic,
            max_violation=stated.max_violation,
            max_difference=stated.max_difference,
            min_ratio=stated.min_ratio,
            threshold=setting.threshold,
            min_rate=setting.min_rate,
            min_size=setting.min_size,
            adapt=setting.adapt,
            confidence=setting.confidence,
        )

    def tradeoff(self, setting: Setting, fitted: Solution) -> Tradeoff:
        """Solve for the usual tolerances of the same kind.

        The fitted rule is the one for its tolerance. A rule that keeps the tolerance
        with confidence, or has several tolerances, is not on the curve.
        """
        kind, value = setting.tolerance.kind, setting.tolerance.value
        is_on_it = setting.confidence is None and setting.tolerance.is_single
        curve = tradeoff(
            **self._rows,
            notion=setting.statistic,
            kind=kind,
            tolerances=list_tolerances(kind, value if is_on_it else None),
            threshold=setting.threshold,
            min_rate=setting.min_rate,
            min_size=setting.min_size,
            adapt=setting.adapt,
        )
        if not is_on_it:
            return curve
        return curve.with_rule(value, "blind" if self.blind else "informed", fitted)

    def warn_of_extremes(self, solution: Solution) -> None:
        """Warn if the features determine a group, or tell almost nothing about it."""
        if not self.blind:
            return
        rows, q = solution.rows, (self.known.q0, self.known.q1)
        share = explained_share(
            torch.as_tensor(self.data.traits.sens),
            rows.label,
            rows.weight,
            (torch.as_tensor(q[0]), torch.as_tensor(q[1])),
        )
        membership.warn_of_extremes(solution, share, "features")

    def audit(
        self,
        solution: Solution,
        certified: Certificate,
        sensitive: TraitLike | Iterable[TraitLike] | None,
        curve: Callable[[], Tradeoff],
        *,
        favourable: bool,
    ) -> Audit:
        """Audit decisions without and with the rule, with what the rule promised.

        Args:
            solution: The rule.
            certified: The certificate of these rows.
            sensitive: Traits to compare; by default all.
            curve: Computes what other tolerances cost.
            favourable: Whether a yes benefits a person.
        """
        data, traits = self.data, self.data.traits
        plain = self.eta > solution.rule.threshold
        decisions = solution.decisions.numpy()
        rows = Measured(
            traits.sens, data.labels.binary, data.weight, traits.names, traits.columns
        )
        promise = make_promise(
            rows,
            solution.rule.statistic,
            solution.tolerance,
            certified,
            plain=plain,
            decisions=decisions,
            groups=solution.groups,
            reached=(solution.met_on_rows, solution.value),
            required=solution.confidence is not None,
            informed=not self.blind,
            curve=curve,
        )
        return audit_decisions(
            traits.table,
            plain=plain,
            decisions=decisions,
            label=data.labels.binary,
            positive=str(data.labels.classes[data.labels.positive]),
            weight=data.weight if data.weighted else None,
            sensitive=sensitive,
            statistic=solution.rule.statistic,
            promise=promise,
            favourable=favourable,
        )


def audit_decisions(
    table: Table,
    *,
    plain: NDArray[np.bool_],
    decisions: Numbers,
    label: Numbers,
    positive: str,
    weight: Numbers | None,
    sensitive: TraitLike | Iterable[TraitLike] | None,
    statistic: LinearFractionalStatistic,
    promise: Promise | None,
    favourable: bool = True,
) -> Audit:
    """Compare decisions without and with a rule.

    Args:
        table: Columns of traits.
        plain: Decisions by the scores alone.
        decisions: Decisions of the rule.
        label: Labels 0 and 1.
        positive: The label that is a yes.
        weight: Sample weights.
        sensitive: Traits to compare; by default all columns.
        statistic: What should be equal; it comes before the usual notions.
        promise: What was asked of the rule, if there is one.
        favourable: Whether a yes benefits a person.
    """
    columns: dict[Any, Any] = dict(table)
    added = {
        "without the rule": plain.astype(np.float64),
        "with the rule": decisions,
        "label": label,
        "weight": np.ones_like(label) if weight is None else weight,
    }
    names = [_unused(name, columns) for name in added]
    columns.update(zip(names, added.values(), strict=True))
    usual = [x for x in DEFAULT if x != get_name(statistic)]
    found = audit(
        columns,
        score=names[:2],
        label=names[2],
        weight=None if weight is None else names[3],
        sensitive=listed(sensitive) or list(table),
        notions=[statistic, *usual],
        confidence=CONFIDENCE if promise is None else promise.confidence,
        favourable=favourable,
    )
    settings = replace(
        found.settings, positive=positive, notions_named=False, source=SOURCE
    )
    return replace(found, settings=settings, promise=promise)


def _unused(name: str, table: Table) -> str:
    while name in table:
        name += " "
    return name
