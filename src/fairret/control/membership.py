r"""Estimates of :math:`q(x, y) = E[S \mid x, y]`: which groups a person may be in.

A module returns logits, `(n, 2 d_s)`: those for y = 0, then those for y = 1. Each
column has its own sigmoid, so that traits with several groups, shares and amounts in
[0, 1] are treated alike, and a missing trait leaves the others as they are.
"""

import warnings
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairret.control.loading import find_device
from fairret.control.rows import UNRELATED
from fairret.control.solution import Solution
from fairret.errors import ArgumentError, ShapeError

HIDDEN = (64, 32)
DETERMINED = 0.95  # share of a membership's variance that the features explain


class GroupNetwork(nn.Module):
    """The network that estimates memberships by default.

    Args:
        d_x: Number of features.
        d_s: Number of groups.
        hidden: Sizes of the hidden layers.

    Example:
        >>> GroupNetwork(7, 3)(torch.zeros(5, 7)).shape
        torch.Size([5, 6])
    """

    def __init__(self, d_x: int, d_s: int, hidden: Sequence[int] = HIDDEN) -> None:
        super().__init__()
        sizes = [d_x, *hidden, 2 * d_s]
        self.layers = nn.ModuleList(map(nn.Linear, sizes[:-1], sizes[1:]))

    def forward(self, feat: Tensor) -> Tensor:
        """Compute logits, `(n, 2 d_s)`."""
        x = feat
        for place, layer in enumerate(self.layers):
            assert isinstance(layer, nn.Linear)
            x = x.relu_() if place else x
            x = F.linear(x, layer.weight, layer.bias)  # a call takes a third longer
        return x


def membership_loss(
    sens: Tensor, label: Tensor, weight: Tensor
) -> Callable[[Tensor, Tensor], Tensor]:
    """Cross-entropy of the logits for the actual label, where S is not missing."""

    def loss(logits: Tensor, rows: Tensor) -> Tensor:
        zero, one = logits.chunk(2, 1)
        s, y, w = (x[rows].to(logits) for x in (sens, label, weight))
        own = torch.where(y[:, None] == 1, one, zero)
        w = torch.where(s.isnan(), 0.0, w[:, None])
        each = F.binary_cross_entropy_with_logits(
            own, s.nan_to_num(nan=0.0), w, reduction="sum"
        )
        return each / w.sum().clamp_min(torch.finfo(w.dtype).tiny)

    return loss


class Tap:
    """A hook that keeps the input of a layer, for heads on it.

    It holds a list and no tensor attribute, so that a graph can be traced through it.
    """

    def __init__(self) -> None:
        self.kept: list[Tensor] = []

    def __call__(self, layer: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        """Keep the input."""
        self.kept[:] = [inputs[0]]

    def take(self) -> Tensor:
        """Give the last input, and forget it."""
        return self.kept.pop()


@torch.no_grad()
def last_linear(network: nn.Module, feat: Tensor) -> tuple[str, int]:
    """Find name and width of the `nn.Linear` that a network applies last.

    Raises:
        ArgumentError: If it applies none, or not to one row of numbers per person.
    """
    called: list[tuple[nn.Module, torch.Size]] = []

    def note(layer: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        called.append((layer, inputs[0].shape))

    names = {m: name for name, m in network.named_modules() if isinstance(m, nn.Linear)}
    handles = [layer.register_forward_pre_hook(note) for layer in names]
    try:
        network(feat[:2].to(find_device(network)))
    finally:
        for handle in handles:
            handle.remove()
    if not called or len(called[-1][1]) != 2:
        raise ArgumentError(
            '`q="head"` needs a network that ends in an nn.Linear on (n, width); this '
            'one does not. Pass `q="network"`, or a module of your own.'
        )
    layer, shape = called[-1]
    assert isinstance(layer, nn.Linear)
    return names[layer], shape[1]


def check_groups(module: nn.Module, feat: Tensor, d_s: int) -> None:
    """Insist that a module of the user returns `(n, 2 d_s)`.

    Raises:
        ShapeError: If it does not.
    """
    with torch.no_grad():
        shape = module.eval()(feat[:1].to(find_device(module))).shape
    if shape != (1, 2 * d_s):
        raise ShapeError(
            f"`q` must return {2 * d_s} logits per row, one per group for y = 0, then "
            f"for y = 1; got {tuple(shape)} for one row."
        )


def warn_of_extremes(solution: Solution, explained: Tensor, source: str) -> None:
    """Warn where the features determine a group, or tell almost nothing about it.

    The second matters only where decisions without a tolerance exceed it.
    """
    clear = [k for k, share in enumerate(explained) if share > DETERMINED]
    known = solution.rule.names
    if clear:
        names = ", ".join(known[k] for k in clear)
        warnings.warn(
            f"The {source} can tell who belongs to {names} (explained variance above "
            f"{DETERMINED:.0%}): a blind rule is informed in effect.",
            stacklevel=3,
        )
    task = solution.task
    apart = {
        k
        for notion in task.notions
        for k in notion.exceeding(task.plain_statistics[notion.part])
    }
    vague = [k for k in sorted(apart) if explained[k] < UNRELATED]
    if vague:
        names = ", ".join(known[k] for k in vague)
        warnings.warn(
            f"The {source} can hardly tell who belongs to {names} (explained variance "
            f"below {UNRELATED:.0%}): a blind rule can bring these groups together "
            "only by treating everybody alike.",
            stacklevel=3,
        )
