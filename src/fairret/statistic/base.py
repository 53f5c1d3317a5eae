r"""The base class of linear-fractional statistics (Def. 2)."""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from fairret.batch import Batch, read_batch
from fairret.device import full_precision, result_dtype
from fairret.errors import ArgumentError, StatisticError, did_you_mean
from fairret.statistic.constraint import Line, fix
from fairret.statistic.functions import (
    FUNCTIONS,
    Coefficient,
    Need,
    as_coefficient,
    read_inputs,
    unify_spelling,
)
from fairret.statistic.registry import register
from fairret.statistic.sums import Coefficients, Sums, over_groups, ratio, summands


class LinearFractionalStatistic(nn.Module):
    r"""A ratio of two sums that are linear in the scores (Def. 2).

    .. math::
        \gamma(k; h) = \frac{\sum_i w_i S_{ik} (\alpha_0 + h_i \beta_0)}
                            {\sum_i w_i S_{ik} (\alpha_1 + h_i \beta_1)}

    A subclass has up to four functions: `nom_intercept` for :math:`\alpha_0`,
    `nom_slope` for :math:`\beta_0`, `denom_intercept` for :math:`\alpha_1` and
    `denom_slope` for :math:`\beta_1`. Each names the inputs that it needs: `feat`,
    `label`, or any keyword argument of the call. It returns a number or one number per
    row. A missing function means 0.

    Example:
        >>> import torch
        >>> class SharePaid(LinearFractionalStatistic, name="share_paid"):
        ...     def nom_slope(self, amount):
        ...         return amount
        ...
        ...     def denom_intercept(self, amount):
        ...         return amount
        >>> prob = torch.tensor([0.2, 0.4, 0.6])
        >>> sens = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        >>> SharePaid()(prob, sens, amount=torch.tensor([1.0, 3.0, 5.0]))
        tensor([0.3500, 0.6000])
    """

    name: ClassVar[str | None] = None
    stacked: ClassVar[bool] = False
    _needs: dict[str, tuple[Need, ...]] = {}  # noqa: RUF012 -- never changed in place

    def __init_subclass__(
        cls, name: str | None = None, aliases: Sequence[str] = (), **kwargs: object
    ) -> None:
        """Unify the spellings, read the inputs of each function, register the name."""
        super().__init_subclass__(**kwargs)
        unify_spelling(cls)
        cls._needs = {
            function: read_inputs(getattr(cls, function), cls, function)
            for function in FUNCTIONS
            if hasattr(cls, function)
        }
        if cls._needs and not any(f.startswith("denom") for f in cls._needs):
            raise StatisticError(
                f"`{cls.__name__}` must define `denom_intercept` or `denom_slope`; "
                f"got only {', '.join(cls._needs)}. A statistic is a ratio (Def. 2); a "
                "plain mean has `denom_intercept` 1."
            )
        cls.name = name
        for key in (name, *aliases):
            if key is not None:
                register(key, cls)

    @property
    def parts(self) -> tuple["LinearFractionalStatistic", ...]:
        """The K statistics computed side by side: itself, or the members of a stack."""
        return (self,)

    @property
    def inputs(self) -> frozenset[str]:
        """Names of the inputs that the statistic requires."""
        return frozenset(need.source for need in self._all_needs() if need.required)

    @property
    def asks_for(self) -> frozenset[str]:
        """Names of all inputs that the statistic uses, required or not."""
        return frozenset(need.source for need in self._all_needs())

    def forward(
        self,
        prob: Tensor,
        *args: Tensor | None,
        **inputs: object,
    ) -> Tensor:
        r"""Compute :math:`\gamma(k; h)` of every group (Eq. 3).

        Args:
            prob: Probabilities or decisions, `(n,)` or `(n, 1)`.
            *args: `[feat,] sens[, label]`: features for a statistic that uses them,
                memberships `(n, d_s)`, labels `(n,)` or `(n, 1)`.
            **inputs: The same by keyword; `weight`, sample weights `(n,)` or `(n, 1)`;
                and further inputs of the statistic, by name.

        Returns:
            `(d_s,)`, or `(K, d_s)` for a stack; NaN for a group without counted rows.
        """
        everybody = len(args) in (1, 2) and args[0] is None
        if everybody and inputs.get("sens") is None:  # 0.1.3's form
            inputs.pop("sens", None)
            return self.overall_statistic(prob, *args[1:], **inputs)
        sums = self.sums(prob, *args, **inputs)
        return ratio(sums).to(result_dtype(prob))

    def sums(self, prob: Tensor, *args: Tensor | None, **inputs: object) -> Sums:
        """Sum numerator and denominator per group, in float64 (Def. 2)."""
        return self._sums(read_batch(prob, args, inputs))

    def overall(self, prob: Tensor, *args: Tensor | None, **inputs: object) -> Tensor:
        r"""Compute :math:`\bar\gamma(h)` of the whole batch: `()`, stacked `(K,)`.

        The positional arguments after `prob` are `[feat,] label`.
        """
        sums = self._sums(read_batch(prob, args, inputs, grouped=False))
        return ratio(sums)[..., 0].to(result_dtype(prob))

    def overall_statistic(
        self, prob: Tensor, *args: Tensor | None, **inputs: Any
    ) -> Tensor:
        """0.1.3's :meth:`overall`, with a last dimension of 1."""
        return self.overall(prob, *args, **inputs).unsqueeze(-1)

    def num(self, prob: Tensor, *args: Tensor | None, **inputs: Any) -> Tensor:
        """0.1.3's name of the numerator in :meth:`sums`."""
        return self.sums(prob, *args, **inputs).num.to(result_dtype(prob))

    def denom(self, prob: Tensor, *args: Tensor | None, **inputs: Any) -> Tensor:
        """0.1.3's name of the denominator in :meth:`sums`."""
        return self.sums(prob, *args, **inputs).den.to(result_dtype(prob))

    def fixed_constraint(
        self, fix_value: Tensor | float, *args: Tensor | None, **inputs: object
    ) -> Line:
        r"""Write :math:`\gamma(k; f) = c` as a linear constraint (Prop. 1, Eq. 6).

        The arguments after `fix_value`, which is c, are those of the statistic.

        Returns:
            Intercept and slope, `(n, K d_s)`: parity holds at c if and only if
            `(intercept + slope * f[:, None]).sum(0)` is zero.
        """
        sens = inputs.get("sens", args[len(args) == 3] if args else None)
        nothing = sens[:, 0] * 0.0 if isinstance(sens, Tensor) else sens
        batch = read_batch(nothing, args, inputs)
        s = batch.sens.unsqueeze(1)
        c = torch.as_tensor(fix_value).to(batch.pred).flatten()
        line = fix(self.coefficients(batch), c.expand(len(self.parts)))
        dtype = torch.as_tensor(sens).dtype
        dtype = dtype if dtype.is_floating_point else torch.float32
        rows = [(side.T.unsqueeze(2) * s).flatten(1).to(dtype) for side in line]
        return Line(*rows)

    def coefficients(self, batch: Batch) -> Coefficients:
        """Evaluate the four functions of every part: numbers, or `(K, n)`."""
        self._check_names(batch)
        return Coefficients(*(self._rows(function, batch) for function in FUNCTIONS))

    def _rows(self, function: str, batch: Batch) -> Coefficient:
        values = [part._evaluate(function, batch) for part in self.parts]
        if all(isinstance(x, float) and x == values[0] for x in values):
            return values[0]
        full = torch.full_like
        rows = [x if isinstance(x, Tensor) else full(batch.pred, x) for x in values]
        return rows[0][None] if len(rows) == 1 else torch.stack(rows)

    def _sums(self, batch: Batch) -> Sums:
        coef = self.coefficients(batch)
        with full_precision(batch.pred.device):
            rows = summands(batch.pred, batch.weight, coef)
            sums = over_groups(rows, batch.sens)
        return sums if self.stacked else Sums(sums.num[0], sums.den[0])

    def _evaluate(self, function: str, batch: Batch) -> Coefficient:
        if function not in self._needs:
            return 0.0
        given = {
            need.parameter: batch.named[need.source]
            for need in self._needs[function]
            if need.source in batch.named
        }
        value = getattr(self, function)(**given)
        return as_coefficient(value, batch, f"{type(self).__name__}.{function}")

    def _all_needs(self) -> list[Need]:
        return [
            need
            for part in self.parts
            for needs in part._needs.values()
            for need in needs
        ]

    def _check_names(self, batch: Batch) -> None:
        needs = self._all_needs()
        for need in needs:
            if need.required and need.source not in batch.named:
                raise ArgumentError(
                    f"`{need.source}` is required by {type(self).__name__}; got "
                    f"nothing. Pass `{need.source}=...`."
                )
        known = {need.source for need in needs}
        for name in batch.named:
            if name not in known and name not in ("feat", "label"):
                raise ArgumentError(
                    f"`{name}` must be an input of the statistic or an option of the "
                    f"call; {type(self).__name__} uses "
                    f"{', '.join(sorted(known)) or 'no inputs'}."
                    f"{did_you_mean(name, ['weight', *known])} Otherwise leave it out."
                )
