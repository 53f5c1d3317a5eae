"""From scores, groups and a tolerance to the best rule that meets it."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import NormalDist

import torch
from torch import Tensor

from fairret.checks import check_positive, check_share
from fairret.control.assurance import assure
from fairret.control.certify import check_confidence, read_notion
from fairret.control.columns import (
    evaluate,
    known_columns,
    lay_out,
    read_memberships,
    true_columns,
)
from fairret.control.feasibility import (
    is_infeasible,
    smallest_reachable,
    solve_stricter,
)
from fairret.control.rows import Array, FitRows, check_amounts, read_rows
from fairret.control.rule import Rule, evaluate_both, gain
from fairret.control.scores import warn_if_too_good
from fairret.control.solution import Solution, Status
from fairret.control.solve import Iterate, solve
from fairret.control.task import Notion, Task
from fairret.control.tolerance import Tolerance
from fairret.errors import RangeError
from fairret.metric.studentised_test import MIN_SIZE
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.sums import Coefficients, Sums

STANDARD_ERRORS = 2.0  # that a group may be off in any case
FAMILY = 0.95  # the same for all groups at once that a blind rule cannot tell apart
BAND = 0.8


class Fit:
    """A task and all that its solution reports: built once, solved per tolerance."""

    def __init__(
        self,
        rows: FitRows,
        statistic: LinearFractionalStatistic,
        *,
        threshold: float,
        min_rate: float,
        min_size: float = MIN_SIZE,
    ) -> None:
        self.rows, self.statistic, self.threshold = rows, statistic, threshold
        self.min_size = min_size
        zero, one = evaluate_both(statistic, rows.eta, rows.inputs)
        coef = evaluate(statistic, rows.label, rows.inputs)
        everybody, share = rows.everybody, rows.share
        layout = lay_out(zero, one, everybody.shape[1])
        q0, q1 = rows.q if rows.q is not None else (rows.sens, rows.sens)
        known = known_columns(layout, read_memberships(rows.eta, q0, q1), zero, one)
        worth = gain(rows.eta, threshold)
        f = (worth > 0).to(worth)
        rate = float(share @ f)
        intercept = Sums(*(a * share @ everybody for a in (coef.alpha0, coef.alpha1)))
        task = Task(
            gain=worth,
            known=known,
            true=true_columns(layout, everybody, coef),
            share=share,
            layout=layout,
            intercept=intercept,
            notions=(),
            band=(min_rate * rate, 1 - min_rate * (1 - rate)),
            plain=intercept,
        )
        self.task = replace(task, plain=task.sums(task.true @ (share * f)))
        self.is_share = [_is_share(zero, one, j) for j in range(len(statistic.parts))]
        self.counted, self.error = self._errors(coef, f)

    def _errors(self, coef: Coefficients, f: Tensor) -> tuple[Tensor, Tensor]:
        r"""Count the rows behind every statistic, and its relative error at parity.

        The error of :math:`\gamma_k / \bar\gamma - 1`, where a group is a part of
        everybody, is

        .. math::
            \mathrm{se}_k^2 = \frac{\sigma^2}{\bar\gamma^2} \sum_i w_i^2
                \left(\frac{S_{ik}}{D_k} - \frac{1}{D}\right)^2, \qquad
            \sigma^2 = \overline{(n_i - \bar\gamma d_i)^2}

        over the rows that count: for a share,
        :math:`(1/n_k - 1/n) (1 - \bar\gamma) / \bar\gamma`.
        """
        rows, w = self.rows, self.rows.weight
        num = torch.as_tensor(coef.alpha0) + f * torch.as_tensor(coef.beta0)
        den = torch.as_tensor(coef.alpha1) + f * torch.as_tensor(coef.beta1)
        counts = ((num != 0) | (den != 0)).to(f)
        overall = self.task.plain_statistics[:, :1]
        spread = (num - overall * den).square() * w
        spread = spread.sum(1, keepdim=True) / (counts * w).sum(1, keepdim=True)
        squares = counts * w.square()
        size = (self.task.plain.den * w.sum() * overall).abs()
        own = squares @ rows.everybody.square() / size.square()
        shared = squares @ rows.everybody / size / size[:, :1]
        parts = (own - 2 * shared + own[:, :1]).clamp_min(0)
        return (counts @ rows.everybody)[:, 1:], (spread * parts).sqrt()[:, 1:]

    def with_tolerance(
        self,
        tolerances: Sequence[Tolerance],
        *,
        adapt: bool = True,
        margin: Tensor | None = None,
    ) -> Task:
        """Write a tolerance per part of the statistic into the task.

        Args:
            tolerances: One per part.
            adapt: Whether to allow small groups what chance explains.
            margin: What to keep away from the tolerance, for a promise, relative to the
                overall statistic, `(J, d_s)`.
        """
        notions = []
        for part, tolerance in enumerate(tolerances):
            limit = tolerance.per_group(self.rows.names)
            few = (self.counted[part] < self.min_size) | self.error[part].isnan()
            limit = limit.masked_fill(few, torch.inf)
            notion = Notion(
                part,
                tolerance,
                limit,
                torch.zeros_like(limit),
                self.rows.traits,
                self.is_share[part],
            )
            unit = notion.unit(self.task)
            if margin is not None:
                slack = -margin[part]
            elif adapt:
                slack = self._chance(limit) * self.error[part] - limit / unit
                slack = slack.clamp_min(0)
            else:
                slack = torch.zeros_like(limit)
            slack = slack.masked_fill(~limit.isfinite(), 0)
            notions.append(replace(notion, slack=slack))
        return self.task.with_notions(notions)

    def _chance(self, limit: Tensor) -> Tensor:
        """Count the standard errors that chance explains, `(d_s,)`.

        They are 2, and more for groups that a blind rule cannot tell from others: it
        could follow the luck of such a group only by treating everybody alike. All of
        them are within c standard errors in 95 % of fair populations.
        """
        groups = len(self.error) * int(limit.isfinite().sum())
        c = NormalDist().inv_cdf(1 - (1 - FAMILY) / (2 * max(groups, 1)))
        two = torch.full_like(limit, STANDARD_ERRORS)
        return two.masked_fill(self.rows.vague, max(c, STANDARD_ERRORS))

    def check_groups(self, task: Task) -> None:
        """Refuse a task without a single group that is large enough."""
        if any(n.compared for n in task.notions):
            self._check_pairs(task)
            return
        rate = float(self.rows.share @ (self.task.gain > 0).to(self.rows.share))
        if rate in {0, 1}:
            raise RangeError(
                f"Without a tolerance, the rule {'accepts' if rate else 'refuses'} "
                f"everybody: every score is {'above' if rate else 'at most'} the "
                f"`threshold` of {self.threshold:g}. Choose one between the scores, "
                f"which range from {float(self.rows.eta.min()):.3g} to "
                f"{float(self.rows.eta.max()):.3g}."
            )
        if float(self.counted.max()) < self.min_size:
            raise RangeError(
                f"No group has the {self.min_size:g} counted rows that a tolerance "
                f"needs; the largest has {float(self.counted.max()):.0f}."
            )
        kind, overall = task.notions[0].tolerance.kind, self.task.plain_statistics[:, 0]
        if kind != "max_violation" and bool((overall.abs() > 0).any()):
            raise RangeError(
                f"No trait has two groups with the {self.min_size:g} counted rows that "
                f"`{kind}` needs, so there is nothing to compare. Pass two columns for "
                "a trait with two groups, or use `max_violation`."
            )
        raise RangeError(
            "Without a tolerance, the statistic of everybody is 0 or undefined, so "
            "violations of it are too; choose another `threshold` or another notion."
        )

    def _check_pairs(self, task: Task) -> None:
        """Refuse to compare a group with nobody but itself."""
        compared = {k for notion in task.notions for k in notion.compared}
        # a group without a limit can be compared with, if others have one
        large = (self.counted >= self.min_size).any(0)
        free = task.notions[0].tolerance.per_group(self.rows.names).isinf()
        known = compared | set((large & free).nonzero()[:, 0].tolist())
        own = [
            set(trait) & known
            for trait in self.rows.traits
            if len(trait) > 1 and set(trait) & compared
        ]
        amounts = any(
            len(trait) == 1 and trait[0] in compared for trait in self.rows.traits
        )
        if amounts or not own or any(len(groups) > 1 for groups in own):
            return
        names = ", ".join(self.rows.names[k] for k in sorted(compared))
        raise RangeError(
            f"Only {names} has the {self.min_size:g} counted rows that a tolerance "
            "needs, so there is nothing to compare."
        )

    def warn_of_granularity(self, task: Task) -> None:
        """Name groups in which one person moves the violation by more than allowed."""
        for n in task.notions:
            if n.tolerance.kind != "max_violation":
                continue
            overall = float(self.task.plain_statistics[n.part, 0])
            for k in n.compared:
                counted, allowed = float(self.counted[n.part, k]), float(n.allowed[k])
                step = 1 / max(counted * overall, 1e-12)
                if allowed < step / 2:
                    assured = float(n.slack[k]) < 0
                    why = (
                        " (what the margin for `confidence` leaves)" if assured else ""
                    )
                    warnings.warn(
                        f"{self.rows.names[k]} has {counted:.0f} counted rows, so one "
                        f"person moves its violation by {step:.3f}; a tolerance of "
                        f"{allowed:.3g}{why} can be met only by luck.",
                        stacklevel=3,
                    )

    def report(
        self, task: Task, found: Iterate, status: Status, reachable: float | None = None
    ) -> Solution:
        """Describe what was found."""
        rule = Rule(
            self.statistic,
            self.rows.names,
            self.task.layout,
            found.price,
            self.threshold,
            self.rows.q is None,
        )
        return Solution(rule, status, found, task, self.rows, self.counted, reachable)

    def solve(self, task: Task, start: Iterate | None = None) -> Solution:
        """Find the rule of a task; where it misses, prove why or find what is met."""
        found = solve(task, start)
        if found.met:
            return self.report(task, found, "met")
        status: Status = "infeasible" if is_infeasible(task) else "missed"
        if status == "missed":
            found = solve_stricter(task, found)
            if found.met:
                return self.report(task, found, "met")
        reachable, best = smallest_reachable(task, found)
        if not best.met:
            return self.report(task, found, status)
        best = replace(best, excess=task.excess(best.statistics))
        if best.met:  # a looser task led to it
            return self.report(task, best, "met")
        return self.report(task, best, status, reachable)


def _is_share(zero: Coefficients, one: Coefficients, j: int) -> bool:
    """Whether the numerator is a part of the denominator, for labels 0 and 1."""
    for coef in (zero, one):
        alpha0, beta0, alpha1, beta1 = (torch.as_tensor(x)[j] for x in coef)
        for f in (0.0, 1.0):
            num, den = alpha0 + f * beta0, alpha1 + f * beta1
            if not bool(((num >= 0) & (num <= den)).all()):
                return False
    return True


def find_rule(
    eta: Array,
    sens: Array,
    label: Array,
    *,
    notion: LinearFractionalStatistic | str | Sequence[str] = "pr",
    max_violation: float | Mapping[str, float] | None = None,
    max_difference: float | None = None,
    min_ratio: float | None = None,
    q: tuple[Array, Array] | None = None,
    weight: Array | None = None,
    names: Sequence[str] | None = None,
    traits: Mapping[str, Sequence[int]] | Sequence[Sequence[int]] | None = None,
    threshold: float = 0.5,
    min_rate: float = BAND,
    min_size: float = MIN_SIZE,
    adapt: bool = True,
    confidence: float | None = None,
    **inputs: object,
) -> Solution:
    r"""Find the most accurate rule whose decisions keep a tolerance.

    It maximises :math:`\mathrm{mean}((2\eta - 1) f)` over rules
    :math:`f = 1[2\eta - 1 > \nu \cdot G]` subject to the tolerance on real groups.

    Args:
        eta: Scores :math:`P(Y = 1 | x)`, `(n,)`, out-of-fold or held-out. For an
            informed rule, calibrated given S (see :func:`recalibrate`).
        sens: Memberships S, `(n, d_s)`; NaN for a missing trait.
        label: Labels 0 and 1, `(n,)`.
        notion: Which statistics should be equal: a name, names, or a statistic.
        max_violation: Tolerance; see :class:`Tolerance` for the three forms.
        max_difference: Tolerance within a trait.
        min_ratio: Tolerance within a trait; 0.8 is the four-fifths rule.
        q: Estimates of :math:`E[S | x, y]`, `(n, d_s)` for y = 0 and for y = 1, for a
            blind rule, which decides without S. Without them, the rule is informed.
        weight: Sample weights, `(n,)`.
        names: Names of the groups.
        traits: Which columns of `sens` belong to the same trait.
        threshold: Score from which a yes pays off without a tolerance.
        min_rate: How much of the positive rate, and of the negative rate, must remain.
            A rule that refuses everybody is fair, and useless.
        min_size: Rows that must count for a group to be constrained.
        adapt: Whether small groups get a tolerance of at least two standard errors, and
            more if a blind rule cannot tell who they are.
        confidence: Confidence that the tolerance also holds in the population. It
            costs accuracy, and needs enough rows.
        **inputs: Further inputs of the statistic, `(n,)` or `(n, ...)`.

    Returns:
        The rule with its status.

    Raises:
        ArgumentError: If there is no tolerance, or more than one.
        RangeError: If a value is out of range, or rows do not suffice for `confidence`.
        ShapeError: If arrays do not fit together.

    Example:
        >>> import torch
        >>> seed = torch.Generator().manual_seed(0)
        >>> group = torch.randint(2, (4000,), generator=seed)
        >>> x = torch.randn(4000, generator=seed) + 0.8 * group
        >>> eta = torch.sigmoid(2 * x - 1)
        >>> label = (torch.rand(4000, generator=seed) < eta).float()
        >>> sens = torch.nn.functional.one_hot(group, 2)
        >>> solution = find_rule(eta, sens, label, notion="pr", max_violation=0.1)
        >>> solution.status
        'met'
        >>> decisions = solution.rule.decide(eta, sens=sens)
    """
    statistic = read_notion(notion)
    tolerance = Tolerance(max_violation, max_difference, min_ratio)
    check_share("threshold", threshold)
    if not 0 <= min_rate <= 1:
        raise RangeError(f"`min_rate` must be between 0 and 1; got {min_rate!r}.")
    check_positive("min_size", min_size, "For example, pass 30.")
    rows = read_rows(
        eta,
        sens,
        label,
        q=q,
        weight=weight,
        names=names,
        traits=traits,
        inputs=inputs,
    )
    check_amounts(tolerance.kind, rows.sens, traits, names)
    fit = Fit(
        rows, statistic, threshold=threshold, min_rate=min_rate, min_size=min_size
    )
    task = fit.with_tolerance([tolerance] * len(statistic.parts), adapt=adapt)
    fit.check_groups(task)
    if confidence is not None:
        warn_if_too_good(rows.eta, rows.label, rows.weight)
        check_confidence(confidence)
        return assure(fit, tolerance, confidence)
    fit.warn_of_granularity(task)
    return fit.solve(task)
