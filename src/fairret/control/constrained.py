"""A tolerance during training: multipliers that follow the decisions of the model."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from fairret.checks import check_positive
from fairret.control.tolerance import Tolerance
from fairret.device import full_precision, result_dtype
from fairret.errors import RangeError
from fairret.loss.base import Evaluated, FairnessLoss
from fairret.loss.memory import Memory
from fairret.loss.violation import SmoothMaxLoss
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.registry import get_name
from fairret.statistic.sums import Sums, over_all, over_groups, ratio, summands

INTEGRAL = 3.0  # gain of the multipliers per epoch
PROPORTIONAL = 4.0  # gain of the present excess
LARGEST = 8.0  # multiplier, so that training that lags behind does not wind it up
FASTEST = 60  # steps in which multipliers move by their gain of an epoch, at least
SLACK = 0.02  # by which the multipliers aim below the tolerance, at least
STANDARD_ERRORS = 0.5  # by which they aim below it for small groups
SHARPNESS = 3.0  # of the scores that pass the gradient
WINDOW = 0.5  # of an epoch: rows that the running sums hold
SUMS = ("group_num", "group_den", "num", "den")


class Progress(NamedTuple):
    """Whether decisions are within tolerance; not if no statistic is defined."""

    max_violation: float
    tolerance: float
    reached: bool
    violation: Tensor  # (K, d_s); NaN where nobody counts


class Constrained(nn.Module):
    r"""A term that steers the decisions of a model below a violation.

    Every group has a multiplier :math:`\nu_k` that grows while the violation of hard
    decisions, :math:`v_k = \gamma_k / \bar\gamma - 1`, exceeds the tolerance. The
    gradient is that of

    .. math:: \sum_k \nu_k \, v_k(h) \,/\, \max(1, \gamma_k / \bar\gamma)

    with the ratios linearised at running sums, so that small batches give the gradient
    of large ones on average. Add the term to the loss that you minimise; it has no
    strength.

    Args:
        term: A statistic, its name, or a fairret whose statistic and processes to use.
        max_violation: Largest violation of decisions, such as 0.1.
        rows: Rows of an epoch, over all processes.
        sharpness: How closely scores follow decisions, for the gradient.

    Example:
        >>> import torch
        >>> term = Constrained("pr", max_violation=0.1, rows=1000)
        >>> logit = torch.tensor([-1.0, 2.0, 0.5, 1.0], requires_grad=True)
        >>> sens = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
        >>> loss = term(logit, sens)
        >>> loss.backward()
        >>> logit.grad.sign()  # more for the first group, less for the second
        tensor([-1., -1.,  1.,  1.])
        >>> term.progress().reached
        False
    """

    def __init__(
        self,
        term: FairnessLoss | LinearFractionalStatistic | str,
        *,
        max_violation: float,
        rows: int,
        sharpness: float = SHARPNESS,
    ) -> None:
        super().__init__()
        self.tolerance = Tolerance(max_violation=max_violation)
        if rows < 1:
            raise RangeError(
                f"`rows` must be the number of rows of an epoch; got {rows!r}. "
                "Pass the length of the training data."
            )
        self.rows = rows
        self.sharpness = check_positive("sharpness", sharpness, "The default is 3.")
        self.loss = term if isinstance(term, FairnessLoss) else SmoothMaxLoss(term)
        names = (*SUMS, "above", "below")
        window = max(1, round(WINDOW * rows))
        self.memory = Memory(window, names, get_name(self.loss.statistic))

    def forward(self, logit: Tensor, *args: Tensor | None, **options: Any) -> Tensor:
        """Compute the term of a batch; called like the fairret.

        In training, with gradients, the batch also moves the multipliers.
        """
        batch = self.loss.read(logit, *args, **{"sharpness": self.sharpness, **options})
        with full_precision(batch.pred.device):
            return self._evaluate(batch).to(result_dtype(logit))

    def progress(self) -> Progress:
        """Say whether the decisions of about the last half epoch are within tolerance.

        Raises:
            RangeError: If no batch was seen in training.
        """
        if not int(self.memory.seen):
            raise RangeError("No batch was seen in training: there are no decisions.")
        sums = [self.memory.get_buffer(name) for name in SUMS]
        return self._progress(Sums(*sums[:2]), Sums(*sums[2:]))

    def measure(self, logit: Tensor, *args: Tensor | None, **options: Any) -> Progress:
        """Say whether the decisions on given rows are within tolerance.

        Args:
            logit: Logits of all rows to judge, such as those of the training data.
            *args: As in a call.
            **options: As in a call.
        """
        with torch.no_grad():
            batch = self.loss.read(logit, *args, **options)
            groups, overall = _decided_sums(batch)
            sums = batch.over.total(*groups, *overall)
        return self._progress(Sums(*sums[:2]), Sums(*sums[2:]))

    def _progress(self, groups: Sums, overall: Sums) -> Progress:
        v = _signed_violation(groups, overall)
        defined = v.isfinite()
        largest = float(v.abs().masked_fill(~defined, 0).max())
        limit = self.tolerance.value
        reached = largest <= limit and bool(defined.any())
        return Progress(largest, limit, reached, v)

    def _evaluate(self, batch: Evaluated) -> Tensor:
        rows = summands(batch.h, batch.w, batch.coef)
        scored = over_groups(rows, batch.s.to(batch.pred)), over_all(rows)
        decided = _decided_sums(batch)
        n, *sums = batch.over.total(batch.rows, *decided[0], *decided[1])
        means = [x / n.clamp_min(1) for x in sums]
        if self.training and torch.is_grad_enabled():
            share = self.memory.add_rows(n, *means)
            means = [
                self.memory.mix(name, x, share)
                for name, x in zip(SUMS, means, strict=True)
            ]
        groups, overall = Sums(*means[:2]), Sums(*means[2:])
        v = _signed_violation(groups, overall)
        nu = self._multipliers(v, groups, overall, n)
        slope = _linearised(batch.over.add_up(*scored[0], *scored[1]), groups, overall)
        return (nu * slope).sum() / n.clamp_min(1)

    def _multipliers(self, v: Tensor, groups: Sums, overall: Sums, n: Tensor) -> Tensor:
        r"""Move the multipliers, and add the proportional part.

        .. math::
            \mu^\pm_k \leftarrow
                \mathrm{clip}(\mu^\pm_k + 3\, q\, (\pm v_k - e_k), 0, 8), \qquad
            \nu_k = \bar\gamma \sqrt{D_k / D} \, \bigl(\mu^+_k - \mu^-_k
                + 4\, \mathrm{sign}(v_k) \max(0, |v_k| - e_k)\bigr)

        with q the batch's share of an epoch, but at most 1/60, since a model needs
        steps to respond. The factor :math:`\bar\gamma` makes up for that of
        :math:`v_k(h)`: a person near the threshold is moved as much where few are
        accepted as where many are.
        """
        gamma_bar = ratio(overall).unsqueeze(-1).nan_to_num().clamp(0, 1)
        unit = gamma_bar * _shares(groups, overall).sqrt()
        e = self._aims(groups, gamma_bar)
        v = v.nan_to_num().clamp(-1, 1)
        above, below = (self.memory.recall(x, v) for x in ("above", "below"))
        if self.training and torch.is_grad_enabled():
            step = INTEGRAL * (n / self.rows).clamp_max(1 / FASTEST)
            above = (above + step * (v - e)).clamp(0, LARGEST)
            below = (below + step * (-v - e)).clamp(0, LARGEST)
            self.memory.keep("above", above)
            self.memory.keep("below", below)
        excess = (v.abs() - e).clamp_min(0)
        return unit * (above - below + PROPORTIONAL * v.sign() * excess)

    def _aims(self, groups: Sums, gamma_bar: Tensor) -> Tensor:
        r"""Violations to aim at, `(K, d_s)`: lower ones for groups with few rows.

        .. math::
            e_k = \max\bigl(\epsilon / 2, \;
                \epsilon - \max(0.02, \mathrm{se}_k / 2)\bigr), \qquad
            \mathrm{se}_k^2 = (1 - \bar\gamma) / (\bar\gamma n_k)

        with :math:`n_k` the rows of an epoch that count for the group.
        """
        limit, tiny = self.tolerance.value, torch.finfo(gamma_bar.dtype).tiny
        yes = (gamma_bar * groups.den * self.rows).clamp_min(tiny)
        error = ((1 - gamma_bar) / yes).sqrt()
        return (limit - (STANDARD_ERRORS * error).clamp_min(SLACK)).clamp_min(limit / 2)

    def extra_repr(self) -> str:
        """Show the tolerance."""
        return f"max_violation={self.tolerance.value:g}, rows={self.rows}"


def _decided_sums(batch: Evaluated) -> tuple[Sums, Sums]:
    """Sum over groups and over everybody, for hard decisions."""
    f = (batch.pred.detach() > (0.0 if batch.is_logit else 0.5)).to(batch.pred)
    rows = summands(f, batch.w, batch.coef)
    return over_groups(rows, batch.s.to(batch.pred)), over_all(rows)


def _signed_violation(groups: Sums, overall: Sums) -> Tensor:
    r""":math:`\gamma_k / \bar\gamma - 1`, `(K, d_s)`; NaN where it is undefined."""
    return ratio(groups) / ratio(overall).unsqueeze(-1) - 1


def _shares(groups: Sums, overall: Sums) -> Tensor:
    """Share of every group in what counts, `(K, d_s)`."""
    return (groups.den / overall.den.unsqueeze(-1)).nan_to_num().clamp_min(0)


def _linearised(batch: tuple[Tensor, ...], groups: Sums, overall: Sums) -> Tensor:
    r"""Linearise the relative statistic at running means, `(K, d_s)`.

    .. math::
        \left( \frac{N_k - \gamma_k D_k}{\bar D_k} - \frac{\gamma_k}{\bar\gamma} \,
        \frac{N - \bar\gamma D}{\bar D} \right)
        \Big/ \bigl( \bar\gamma \max(1, \gamma_k / \bar\gamma) \bigr)

    with the sums N and D of the batch, which have the gradient, and all else fixed. The
    result is 0 for a group in which nobody counts.
    """
    num, den, all_num, all_den = batch
    gamma, gamma_bar = ratio(groups), ratio(overall).unsqueeze(-1)
    fine = gamma.isfinite() & gamma_bar.isfinite() & (gamma_bar != 0)
    # no division by zero, whose gradient would be NaN even if it is masked later
    unit = groups.den.masked_fill(~fine, 1)
    all_unit = overall.den.unsqueeze(-1).masked_fill(~fine, 1)
    gamma = gamma.masked_fill(~fine, 1)
    gamma_bar = gamma_bar.expand_as(gamma).masked_fill(~fine, 1)
    own = (num - gamma * den) / unit
    whole = (all_num.unsqueeze(-1) - gamma_bar * all_den.unsqueeze(-1)) / all_unit
    change = own - gamma / gamma_bar * whole
    return change.masked_fill(~fine, 0) / gamma_bar / (gamma / gamma_bar).clamp_min(1)
