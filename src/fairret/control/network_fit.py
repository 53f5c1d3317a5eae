"""The steps from a network and its rows to a fitted rule, blind or informed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias

import torch
from torch import Tensor, nn

from fairret.checks import FEW
from fairret.control.boosting import BoostedGroups
from fairret.control.calibration import recalibrate
from fairret.control.columns import evaluate, true_columns
from fairret.control.early_stopping import fit_convex, fit_early, fit_standardised
from fairret.control.loading import (
    People,
    find_device,
    in_blocks,
    read_logits,
)
from fairret.control.membership import (
    GroupNetwork,
    check_groups,
    last_linear,
    membership_loss,
    warn_of_extremes,
)
from fairret.control.rows import FitRows, explained_share, read_rows
from fairret.control.rule import Rule, gain
from fairret.control.rule_module import AVERAGE, RuleModule
from fairret.control.solution import Solution
from fairret.control.solve import solve
from fairret.errors import ArgumentError, RangeError
from fairret.training import Network
from fairret.training.network import as_vector

GroupModel: TypeAlias = Literal["network", "head", "boosting"] | nn.Module
GROUP_MODELS = ("network", "head", "boosting")
Traits: TypeAlias = Mapping[str, Sequence[int]] | Sequence[Sequence[int]]


@dataclass(frozen=True)
class Sample:
    """People with the scores of a network."""

    feat: Tensor
    sens: Tensor  # (n, d_s), NaN where a trait is missing
    rows: FitRows

    @classmethod
    def score(
        cls,
        network: nn.Module,
        people: People,
        names: Sequence[str] | None,
        traits: Traits | None,
    ) -> Sample:
        """Apply a network, and check the rows."""
        logit = read_logits(network, people.feat)
        if not bool(logit.isfinite().all()):
            raise RangeError(
                "`network` must return finite logits; got "
                f"{int((~logit.isfinite()).sum())} that are not. Look for missing "
                "values in the features."
            )
        low, high = float(logit.min()), float(logit.max())
        if 0 <= low < 0.5 < high <= 1 and len(logit) > FEW:
            warnings.warn(
                f"`network` must return logits; all {len(logit)} values lie between "
                f"{low:.3g} and {high:.3g} and look like probabilities.",
                stacklevel=3,
            )
        rows = read_rows(
            torch.sigmoid(logit),
            people.sens,
            people.label,
            weight=people.weight,
            names=names,
            traits=traits,
        )
        return cls(people.feat, people.sens.double(), rows)


@dataclass(frozen=True)
class NetworkFit:
    """All that blind and informed rules for one network are fitted from."""

    network: nn.Module  # a copy, in evaluation mode
    train: Sample  # fits q and the second network
    fit: Sample  # fits the multipliers
    find: partial[Solution]  # find_rule with its tolerance
    q: GroupModel
    refit: bool | nn.Module
    recalibrate: bool
    seed: int

    def informed(self) -> RuleModule:
        """Fit a rule that takes S."""
        rows = self.fit.rows
        module = RuleModule(
            self.network, None, rows.names, recalibrated=self.recalibrate
        )
        eta, fitted = rows.eta, None
        if self.recalibrate:
            fitted = recalibrate(eta, rows.sens, rows.label, rows.weight)
            eta = fitted(eta, rows.sens)
        module.solution = self._solve(eta, None)
        module.write(module.solution.rule, fitted)
        return module

    def blind(self) -> RuleModule:
        """Fit a rule that does not take S, and refit it."""
        module, q = self._with_groups()
        feat, sens, rows = self.fit.feat, self.fit.sens, self.fit.rows
        if q is None:
            q = in_blocks(lambda x: module.read(x).groups, feat, find_device(module))
        q0, q1 = q.double().chunk(2, 1)
        found = self._solve(rows.eta, (q0, q1))
        share = explained_share(sens, rows.label, rows.weight, (q0, q1))
        source = "last hidden layer" if self.q == "head" else "features"
        warn_of_extremes(found, share, source)
        if self.refit is not False:
            found = self._average(module, found)
        module.solution = found
        module.write(found.rule)
        return module

    def _solve(self, eta: Tensor, q: tuple[Tensor, Tensor] | None) -> Solution:
        rows = self.fit.rows
        return self.find(eta, rows.sens, rows.label, q=q, weight=rows.weight)

    def _with_groups(self) -> tuple[RuleModule, Tensor | None]:
        """Fit q; the second is its out-of-fold values on the fit rows, if there are."""
        feat, sens, rows = self.train.feat, self.train.sens, self.train.rows
        names, d_s = rows.names, len(rows.names)
        loss = membership_loss(sens, rows.label, rows.weight)
        if isinstance(self.q, RuleModule):  # of another rule, as it is
            assert self.q.groups is not None
            groups = self.q.groups.to(find_device(self.network))
            check_groups(groups, feat, d_s)
        elif isinstance(self.q, nn.Module):
            groups = deepcopy(self.q).to(find_device(self.network))
            check_groups(groups, feat, d_s)
            fit_early(groups, feat, loss, seed=self.seed)
        elif self.q == "boosting":
            trees = BoostedGroups()
            q = trees.fit(feat, sens, rows.label, rows.weight, seed=self.seed)
            module = RuleModule(self.network, trees, names)
            return module, torch.sigmoid(q) if self.fit is self.train else None
        elif self.q == "head":
            name, width = last_linear(self.network, feat)
            groups = self._make(lambda: nn.Linear(width, 2 * d_s))
            module = RuleModule(self.network, groups, names, tapped=name)
            hidden = in_blocks(module.hidden, feat, find_device(module))
            fit_standardised(groups, hidden, loss, seed=self.seed, fit=fit_convex)
            return RuleModule(self.network, groups, names, tapped=name), None
        else:
            groups = self._make(lambda: GroupNetwork(self._width("q"), d_s))
            fit_standardised(groups, feat, loss, seed=self.seed)
        return RuleModule(self.network, groups, names), None

    def _average(self, module: RuleModule, found: Solution) -> Solution:
        """Average the margin with a network that is fitted to the combined target."""
        feat, rows, rule = self.train.feat, self.train.rows, found.rule
        target = combined_target(rows, rule, found.found.price)

        def loss(out: Tensor, own: Tensor) -> Tensor:
            w, z = rows.weight[own].to(out), target[own].to(out)
            return (w * (as_vector(out) - z).square()).sum() / w.sum()

        if isinstance(self.refit, nn.Module):
            second = deepcopy(self.refit).to(find_device(self.network))
            read_logits(second.eval(), feat[:1], "refit")
            fit_early(second, feat, loss, seed=self.seed)
        else:
            second = self._make(lambda: Network(self._width("refit")))
            fit_standardised(second, feat, loss, seed=self.seed)
        average = solve_average(found, read_logits(second, self.fit.feat, "refit"))
        worse = found.status == "met" and average.accuracy <= found.accuracy
        if average.status != "met" or worse:
            return found
        module.refit = second
        return average

    def _make(self, make: Callable[[], nn.Module]) -> nn.Module:
        """Make a module for the features, with weights that depend on the seed only."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            module = make()
        flat = self.train.feat.dim() == 2 or isinstance(module, nn.Linear)
        module = module if flat else nn.Sequential(nn.Flatten(), module)
        return module.to(find_device(self.network))

    def _width(self, option: str) -> int:
        """Number of features, for a network of ours."""
        if not self.train.feat.is_floating_point():
            raise ArgumentError(
                f"`{option}` must be a module of your own for features of dtype "
                f'{self.train.feat.dtype}. You may also pass `q="head"` and '
                "`refit=False`, which do not read the features."
            )
        return self.train.feat[0].numel()


def combined_target(rows: FitRows, rule: Rule, price: Tensor) -> Tensor:
    r"""What a yes is worth in truth, after the prices of real groups, `(n,)`.

    .. math:: Z = 2 (y - \tau) - \lambda \cdot A
    """
    coef = evaluate(rule.statistic, rows.label, {})
    columns = true_columns(rule.layout, rows.everybody, coef)
    return gain(rows.label, rule.threshold) - price @ columns


def solve_average(plain: Solution, second: Tensor) -> Solution:
    r"""Solve again with the mean of the margin and a second one, g.

    With :math:`m = s - \lambda_0 \cdot C`, the new gain is
    :math:`s' = (1 - w) m + w g + \lambda_0 \cdot C`. With prices :math:`\lambda_1` for
    it, the margin is

    .. math::
        s' - \lambda_1 \cdot C = (1 - w) \Bigl( s -
            \frac{\lambda_1 - w \lambda_0}{1 - w} \cdot C \Bigr) + w g,

    the mean of g and of a rule without it, which is the `rule` of the result.
    """
    task, old = plain.task, plain.found.price
    cost = old @ task.known
    task = replace(task, gain=torch.lerp(task.gain, second.to(cost) + cost, AVERAGE))
    found = solve(task, plain.found)
    price = (found.price - AVERAGE * old) / (1 - AVERAGE)
    return replace(
        plain,
        rule=replace(plain.rule, price=price),
        status="met" if found.met else "missed",
        found=found,
        task=task,
        reachable=None,
    )
