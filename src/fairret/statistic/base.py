r"""Linear-fractional statistics (Def. 2): what a subclass says, and what it gets."""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from fairret.checks import (
    Inputs,
    check_batch,
    full_precision,
    nearest,
    result_dtype,
    sort_positional,
)
from fairret.errors import ArgumentError, StatisticError
from fairret.statistic.constraint import Line, fix
from fairret.statistic.functions import (
    FUNCTIONS,
    Coefficient,
    Need,
    as_coefficient,
    as_row,
    inputs_of,
    unify_spelling,
)
from fairret.statistic.registry import register
from fairret.statistic.sums import (
    Coefficients,
    Sums,
    over_all,
    over_groups,
    ratio,
    summands,
)


class LinearFractionalStatistic(nn.Module):
    r"""A ratio of two sums that are linear in the scores (Def. 2).

    .. math::
        \gamma(k; h) = \frac{\sum_i w_i S_{ik} (\alpha_0 + h_i \beta_0)}
                            {\sum_i w_i S_{ik} (\alpha_1 + h_i \beta_1)}

    A subclass has up to four functions: `nom_intercept` for :math:`\alpha_0`,
    `nom_slope` for :math:`\beta_0`, `denom_intercept` for :math:`\alpha_1` and
    `denom_slope` for :math:`\beta_1`. Each names the inputs that it needs: `feat`,
    `label`, or any keyword that the caller hands to the loss. It returns a number or
    one number for every row. A function that is left out stands for 0.

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
        """Unify the spellings, note the inputs of each function, register the name."""
        super().__init_subclass__(**kwargs)
        unify_spelling(cls)
        cls._needs = {
            function: inputs_of(getattr(cls, function), cls, function)
            for function in FUNCTIONS
            if hasattr(cls, function)
        }
        if cls._needs and not any(f.startswith("denom") for f in cls._needs):
            raise StatisticError(
                f"`{cls.__name__}` must define `denom_intercept` or `denom_slope`; "
                f"got only {', '.join(cls._needs)}. Without a denominator there is "
                "nothing to divide by (Def. 2); a plain mean has `denom_intercept` 1."
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
        """Names of the inputs that the statistic cannot do without."""
        return frozenset(need.source for need in self._all_needs() if need.required)

    @property
    def asks_for(self) -> frozenset[str]:
        """Names of all inputs that the statistic uses if they are there."""
        return frozenset(need.source for need in self._all_needs())

    def forward(
        self,
        prob: Tensor,
        *args: Tensor | None,
        feat: Tensor | None = None,
        sens: Tensor | None = None,
        label: Tensor | None = None,
        weight: Tensor | None = None,
        **inputs: object,
    ) -> Tensor:
        r"""Compute :math:`\gamma(k; h)` of every group.

        Args:
            prob: Probabilities or decisions, `(n,)` or `(n, 1)`.
            *args: `[feat,] sens[, label]`, each also by keyword.
            feat: Features, for a statistic that asks for them.
            sens: Memberships, `(n, d_s)`.
            label: Labels, `(n,)` or `(n, 1)`.
            weight: Sample weights, `(n,)` or `(n, 1)`.
            **inputs: Whatever else the statistic asks for by name.

        Returns:
            `(d_s,)`, or `(K, d_s)` for a stack; NaN for a group that nobody counts in.
        """
        everybody = len(args) in (1, 2) and args[0] is None and sens is None
        if everybody:  # 0.1.3's form
            return self.overall_statistic(
                prob, *args[1:], feat=feat, label=label, weight=weight, **inputs
            )
        sums = self.sums(
            prob, *args, feat=feat, sens=sens, label=label, weight=weight, **inputs
        )
        return ratio(sums).to(result_dtype(prob))

    def sums(
        self,
        prob: Tensor,
        *args: Tensor | None,
        feat: Tensor | None = None,
        sens: Tensor | None = None,
        label: Tensor | None = None,
        weight: Tensor | None = None,
        **inputs: object,
    ) -> Sums:
        """Sum both halves over every group, in float64; called like the statistic."""
        named = sort_positional(args, feat, sens, label)
        batch = check_batch(prob, *named, weight, inputs, name="prob")
        return self._sums(batch)

    def overall(
        self,
        prob: Tensor,
        *args: Tensor | None,
        feat: Tensor | None = None,
        label: Tensor | None = None,
        weight: Tensor | None = None,
        **inputs: object,
    ) -> Tensor:
        r"""Compute :math:`\bar\gamma(h)` of the whole batch: `()`, stacked `(K,)`.

        The positional arguments after `prob` are `[feat,] label`.
        """
        named = sort_positional(args, feat, None, label, grouped=False)
        batch = check_batch(prob, *named, weight, inputs, name="prob", grouped=False)
        return ratio(self._sums(batch)).to(result_dtype(prob))

    def overall_statistic(
        self, prob: Tensor, *args: Tensor | None, **inputs: Any
    ) -> Tensor:
        """0.1.3's :meth:`overall`, with a last dimension of 1 to set beside groups."""
        return self.overall(prob, *args, **inputs).unsqueeze(-1)

    def num(self, prob: Tensor, *args: Tensor | None, **inputs: Any) -> Tensor:
        """0.1.3's name of the numerator in :meth:`sums`."""
        num = self.sums(prob, *args, **inputs).num
        return num.to(result_dtype(prob))

    def denom(self, prob: Tensor, *args: Tensor | None, **inputs: Any) -> Tensor:
        """0.1.3's name of the denominator in :meth:`sums`."""
        den = self.sums(prob, *args, **inputs).den
        return den.to(result_dtype(prob))

    def fixed_constraint(
        self,
        fix_value: Tensor | float,
        *args: Tensor | None,
        feat: Tensor | None = None,
        sens: Tensor | None = None,
        label: Tensor | None = None,
        **inputs: object,
    ) -> Line:
        r"""Write :math:`\gamma(k; f) = c` as a linear constraint (Prop. 1).

        Returns:
            Intercept and slope, `(n, K d_s)`: parity holds at c if and only if
            `(intercept + slope * f[:, None]).sum(0)` is zero.
        """
        feat_, sens_, label_ = sort_positional(args, feat, sens, label)
        nothing = sens_[:, 0] * 0.0 if isinstance(sens_, Tensor) else sens_
        batch = check_batch(nothing, feat_, sens_, label_, None, inputs, name="prob")
        assert batch.sens is not None  # check_batch requires it
        s = batch.sens.unsqueeze(1)
        c = torch.as_tensor(fix_value).to(batch.pred).flatten()
        line = fix(self.coefficients(batch), c.expand(len(self.parts)))
        dtype = torch.as_tensor(sens_).dtype
        dtype = dtype if dtype.is_floating_point else torch.float32
        rows = [(side.T.unsqueeze(2) * s).flatten(1).to(dtype) for side in line]
        return Line(*rows)

    def coefficients(self, batch: Inputs) -> Coefficients:
        """Evaluate the four functions of every part: numbers, or `(K, n)`."""
        self._check_names(batch)
        return Coefficients(*(self._rows(function, batch) for function in FUNCTIONS))

    def _rows(self, function: str, batch: Inputs) -> Coefficient:
        values = [part._evaluate(function, batch) for part in self.parts]
        first = values[0]
        if isinstance(first, float) and all(
            isinstance(value, float) and value == first for value in values
        ):
            return first
        return torch.stack([as_row(value, batch) for value in values])

    def _sums(self, batch: Inputs) -> Sums:
        coef = self.coefficients(batch)
        with full_precision(batch.pred.device):
            rows = summands(batch.pred, batch.weight, coef)
            sums = (
                over_all(rows) if batch.sens is None else over_groups(rows, batch.sens)
            )
        return sums if self.stacked else Sums(sums.num[0], sums.den[0])

    def _evaluate(self, function: str, batch: Inputs) -> Coefficient:
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

    def _check_names(self, batch: Inputs) -> None:
        needs = self._all_needs()
        for need in needs:
            if need.required and need.source not in batch.named:
                raise ArgumentError(
                    f"`{need.source}` is required by {type(self).__name__}; it did not "
                    f"come with the call. Pass `{need.source}=...`."
                )
        known = {need.source for need in needs}
        for name in batch.named:
            if name not in known and name not in ("feat", "label"):
                raise ArgumentError(
                    f"`{name}` must be an input of the statistic or an option of the "
                    f"call; {type(self).__name__} asks for "
                    f"{', '.join(sorted(known)) or 'nothing'}."
                    f"{nearest(name, ['weight', *known])} Leave it out otherwise."
                )
