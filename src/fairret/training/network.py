"""The network of the paper's experiments."""

from collections.abc import Sequence

from torch import Tensor, nn

HIDDEN = (256, 128, 32)


class Network(nn.Module):
    """A fully connected network with ReLU between the layers and one logit out.

    Args:
        d_x: Number of features.
        hidden: Sizes of the hidden layers (App. D.2).

    Example:
        >>> import torch
        >>> Network(7)(torch.zeros(5, 7)).shape
        torch.Size([5])
    """

    def __init__(self, d_x: int, hidden: Sequence[int] = HIDDEN) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for width in hidden:
            layers += [nn.Linear(d_x, width), nn.ReLU(inplace=True)]  # saves memory
            d_x = width
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(d_x, 1)

    def forward(self, feat: Tensor) -> Tensor:
        """Compute logits, `(n,)`."""
        return self.with_hidden(feat)[0]

    def with_hidden(self, feat: Tensor) -> tuple[Tensor, Tensor]:
        """Compute logits, `(n,)`, and the last hidden layer, for an adversary."""
        hidden = self.body(feat)
        logit: Tensor = self.head(hidden)[:, 0]
        return logit, hidden


def as_vector(x: Tensor) -> Tensor:
    """Read `(n,)` or `(n, 1)` as `(n,)`."""
    return x.select(1, 0) if x.dim() == 2 else x
