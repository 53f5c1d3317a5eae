"""A network and its decision rule as one module: features in, decisions out."""

from __future__ import annotations

from copy import deepcopy
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._pytree import _register_namedtuple

from fairret.control.calibration import LARGEST_LOGIT, Recalibration
from fairret.control.columns import evaluate
from fairret.control.loading import find_device
from fairret.control.membership import Tap
from fairret.control.rule import Rule, check_margin
from fairret.control.solution import Solution, Status
from fairret.device import reads_are_free
from fairret.errors import ArgumentError, ShapeError
from fairret.training.network import as_vector

AVERAGE = 0.5  # weight of the refitted margin


class Decided(NamedTuple):
    """What a rule says about each row."""

    decision: Tensor  # (n,): 1 for yes, 0 for no
    margin: Tensor  # (n,): how far from the other decision; yes above 0


# so that `torch.export.save` can write it
_register_namedtuple(Decided, serialized_type_name="fairret.control.Decided")


class Known(NamedTuple):
    """What a rule knows about each row when it decides."""

    logit: Tensor  # (n,)
    groups: Tensor  # (n, 2 d_s): q(x, 0) and q(x, 1); (n, d_s): S, if informed


class Choice(NamedTuple):
    """How a blind or an informed rule does on the fit rows."""

    accuracy: float
    balanced_accuracy: float
    rate: float
    status: Status

    @classmethod
    def summarise(cls, found: Solution) -> Choice:
        """Summarise a solution."""
        return cls(found.accuracy, found.balanced_accuracy, found.rate, found.status)

    def __str__(self) -> str:
        return f"{self.accuracy:.3f}" + f" ({self.status})" * (self.status != "met")


class Comparison(NamedTuple):
    """What deciding without and with the sensitive traits would give."""

    blind: Choice
    informed: Choice

    def __str__(self) -> str:
        return f"blind {self.blind}, informed {self.informed}"


class RuleModule(nn.Module):
    r"""Decides by the scores of a network and by likely groups, within a tolerance.

    :func:`~fairret.control.control_network` builds and fits it. The margin is that of
    the fitted :class:`~fairret.control.Rule`, or its mean with a second network. It is
    affine in the score :math:`\eta` and in q, so one small matrix holds the rule:

    .. math::
        m = u_0 + \eta u_1, \qquad u = W q(x) + b

    All parts are copies, in evaluation mode for good: multipliers belong to the very
    models that they were fitted with. `state_dict` holds all that decisions need;
    copies and saved modules do not hold the people that fitted it.

    Args:
        network: Maps features to one logit, `(n,)` or `(n, 1)`.
        groups: Maps features, or the last hidden layer if `tapped` is given, to
            the logits of q, `(n, 2 d_s)`. None for an informed rule.
        names: Names of the groups.
        refit: Maps features to a second margin, which is averaged with the first.
        tapped: Name of the layer of `network` whose input `groups` takes; "" for the
            network itself.
        recalibrated: Whether scores depend on the groups, if informed.

    Attributes:
        informed: Whether decisions need the groups of a person.
        solution: The solved task, or None in a copy. With a refit, its `rule` is the
            half of the margin that does not come from the second network.
        comparison: What the other choice, blind or informed, would give.
        report: What was reached, in words.
    """

    weight: Tensor  # (2, 2 d_s), or (4, d_s) if informed
    bias: Tensor

    def __init__(
        self,
        network: nn.Module,
        groups: nn.Module | None,
        names: tuple[str, ...],
        *,
        refit: nn.Module | None = None,
        tapped: str | None = None,
        recalibrated: bool = False,
    ) -> None:
        super().__init__()
        self.network, self.groups = deepcopy(network), deepcopy(groups)
        self.refit = deepcopy(refit)
        self.informed = groups is None
        self.names, self.recalibrated = names, recalibrated
        self.tap: Tap | None = None
        if tapped is not None:
            self.tap = Tap()
            layer = self.network.get_submodule(tapped)
            layer.register_forward_pre_hook(self.tap)
        device = find_device(network)
        dtype = torch.float32 if device.type == "mps" else torch.float64
        shape = (4, len(names)) if groups is None else (2, 2 * len(names))
        self.register_buffer("weight", torch.zeros(shape, dtype=dtype, device=device))
        plain = torch.tensor([-1.0, 2.0, 0.0, 1.0], dtype=dtype, device=device)
        self.register_buffer("bias", plain[: shape[0]].clone())  # η > ½
        self.solution: Solution | None = None
        self.comparison: Comparison | None = None
        self.report = "No rule has been fitted: a yes where the score exceeds ½."
        self.requires_grad_(False).eval()

    def forward(self, feat: Tensor, sens: Tensor | None = None) -> Decided:
        """Decide.

        A margin that is NaN is an error on the CPU. Compiled, exported or on a GPU,
        where looking is not free, such a row gets a NaN margin and the decision 0.

        Args:
            feat: Features, as the network takes them.
            sens: Memberships, `(n, d_s)`, for an informed rule only; NaN or all zeros
                if unknown.

        Raises:
            ArgumentError: If a blind rule gets `sens`, or an informed one does not.
            RangeError: If a margin is NaN, as for missing features.
            ShapeError: If `sens` has another number of groups.
        """
        logit, groups = self.read(feat, sens)
        u = F.linear(groups, self.weight, self.bias).unbind(1)
        if self.recalibrated:
            logit = torch.addcmul(u[2], u[3], logit.clamp(*LOGITS))
        margin = torch.addcmul(u[0], u[1], torch.sigmoid(logit))
        refit = self.refit
        if refit is not None:
            margin = torch.lerp(margin, as_vector(refit(feat)).to(margin), AVERAGE)
        if reads_are_free(margin):
            check_margin(margin, "feat")
        return Decided((margin > 0).to(margin.dtype), margin)

    def read(self, feat: Tensor, sens: Tensor | None = None) -> Known:
        """Compute the logit and what is known of the groups."""
        if (sens is None) == self.informed:
            raise ArgumentError(
                "An informed rule decides with the groups of a person: pass `sens`."
                if self.informed
                else "A blind rule decides without the groups of a person: leave "
                "`sens` out, or build it with `informed=True`."
            )
        dtype = self.weight.dtype
        logit = as_vector(self.network(feat)).to(dtype)
        if sens is None:
            assert self.groups is not None
            x = feat if self.tap is None else self.tap.take()
            return Known(logit, torch.sigmoid(self.groups(x)).to(dtype))
        if sens.dim() != 2 or sens.shape[1] != len(self.names):
            raise ShapeError(
                f"`sens` must have shape (n, {len(self.names)}), one column per group "
                f"that the rule was fitted with; got {tuple(sens.shape)}."
            )
        return Known(logit, sens.to(dtype).nan_to_num(nan=0.0))

    def hidden(self, feat: Tensor) -> Tensor:
        """Compute the input of the tapped layer."""
        assert self.tap is not None
        self.network(feat)
        return self.tap.take()

    @torch.no_grad()
    def write(self, rule: Rule, recalibration: Recalibration | None = None) -> None:
        r"""Take over a fitted rule.

        With the prices of a column summed per label, :math:`c_y`, everybody first,

        .. math::
            m = 2 (\eta - \tau) - p - (1 - \eta)\, c_0 \cdot (1, q_0)
                - \eta\, c_1 \cdot (1, q_1).
        """
        c0, c1 = (label_prices(rule, y) for y in (0.0, 1.0))
        base = -2 * rule.threshold - float(rule.price[-1]) - c0[:1]
        slope = 2 + c0[:1] - c1[:1]
        zero = torch.zeros_like(c0[1:])
        if not self.informed:
            rows = [torch.cat((-c0[1:], zero)), torch.cat((c0[1:], -c1[1:]))]
            bias = [base, slope]
        else:
            rows, bias = [-c0[1:], c0[1:] - c1[1:], zero, zero], [base, slope]
            first = torch.tensor([0.0, 1.0], dtype=c0.dtype)
            if recalibration is not None:
                sizes = [2, len(self.names), len(self.names)]
                first, *rows[2:] = torch.split(recalibration.weight.to(c0), sizes)
            bias.append(first)
        self.weight.copy_(torch.stack(rows))
        self.bias.copy_(torch.cat(bias))

    def train(self, mode: bool = True) -> RuleModule:
        """Stay in evaluation mode, in which the rule was fitted."""
        return super().train(False)

    def extra_repr(self) -> str:
        """Show the kind of rule and its groups."""
        kind = "informed" if self.informed else "blind"
        return f"{kind}, names={self.names}"

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "solution": None}  # it holds people


LOGITS = (-LARGEST_LOGIT, LARGEST_LOGIT)


def label_prices(rule: Rule, label: float) -> Tensor:
    r"""Sum price times :math:`\beta(y)` over both halves, `(1 + d_s,)`."""
    coef = evaluate(rule.statistic, torch.tensor([label], dtype=torch.float64), {})
    total = torch.zeros(rule.layout.groups, dtype=torch.float64)
    for side in rule.layout.sides:
        slope = torch.as_tensor(coef.beta1 if side.denominator else coef.beta0)
        own = rule.price[side.start : side.start + rule.layout.groups]
        total += own.cpu() * slope[side.part]
    return total
