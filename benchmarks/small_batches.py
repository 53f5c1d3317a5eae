"""The error of the gradient of a small batch, relative to the gradient of all rows.

    python benchmarks/small_batches.py

Prints the tables of `docs/measurements.md`: the mean squared error over the last 200 of
500 batches with fixed scores, averaged over four draws of the batches. The second table
is for "pr" and two traits with more and more groups. The last column has large batches
without a memory. Takes ten minutes.
"""

import torch
from samples import make

from fairret.loss import (
    FairnessLoss,
    JensenShannonProjectionLoss,
    KLProjectionLoss,
    NormLoss,
    SmoothMaxLoss,
    SquaredEuclideanProjectionLoss,
)

ROWS, MEMORY = 20_000, 4096
WAYS = ((32, 0), (32, MEMORY), (128, 0), (128, MEMORY), (4096, 0))
STEPS, LAST, DRAWS = 500, 200, 4
LOSSES: tuple[type[FairnessLoss], ...] = (
    NormLoss,
    SmoothMaxLoss,
    KLProjectionLoss,
    JensenShannonProjectionLoss,
    SquaredEuclideanProjectionLoss,
)


def main() -> None:
    """Print the tables."""
    data = make(1, ROWS)
    people = [torch.from_numpy(x[0]) for x in (data.logit, data.sens, data.label)]
    heads = (
        "32 | 32, memory | 128 | 128, memory | 4096 |\n|---|---|---|---|---|---|---|"
    )
    print(f"| statistic | loss | {heads}")
    for statistic in ("pr", "tpr", "ppv", "fn_fp"):
        for kind in LOSSES:
            words = errors(kind, statistic, people)
            print(f"| {statistic} | {kind.__name__} | {words} |", flush=True)
    print(f"\n| groups | loss | {heads}")
    for groups in (8, 32, 90, 300):
        people = with_groups(groups // 2)
        for kind in (SmoothMaxLoss, KLProjectionLoss):
            words = errors(kind, "pr", people)
            print(f"| {groups} | {kind.__name__} | {words} |", flush=True)


def errors(kind: type[FairnessLoss], statistic: str, people: list[torch.Tensor]) -> str:
    """Measure one loss with batches of several sizes."""
    whole = gradient(kind(statistic), *people)
    found = []
    for size, memory in WAYS:
        draws = [
            error(kind(statistic, memory=memory), people, whole, size, seed)
            for seed in range(DRAWS)
        ]
        found.append(f"{sum(draws) / DRAWS:.2g}")
    return " | ".join(found)


def with_groups(d: int) -> list[torch.Tensor]:
    """Two traits of d groups each, the last four times as large as the first."""
    rng = torch.Generator().manual_seed(0)
    sizes = torch.linspace(1, 4, d).expand(2, d)
    codes = torch.multinomial(sizes, ROWS, replacement=True, generator=rng)
    effect = torch.randn(2, d, generator=rng)
    logit = 1.2 * torch.randn(ROWS, generator=rng) - 1
    logit = logit + 0.5 * effect[0, codes[0]] + 0.3 * effect[1, codes[1]]
    sens = torch.nn.functional.one_hot(codes.T, d).flatten(1)
    label = torch.bernoulli(logit.sigmoid(), generator=rng)
    return [logit.double(), sens.double(), label.double()]


def gradient(
    loss: FairnessLoss, logit: torch.Tensor, *rest: torch.Tensor
) -> torch.Tensor:
    """Compute the gradient in the logits, times the number of rows."""
    logit = logit.clone().requires_grad_()
    torch.autograd.backward(loss(logit, *rest))
    assert logit.grad is not None  # it was asked for
    return len(logit) * logit.grad


def error(
    loss: FairnessLoss,
    people: list[torch.Tensor],
    whole: torch.Tensor,
    size: int,
    seed: int,
) -> float:
    """Compare batches, drawn at random, with the whole."""
    rng = torch.Generator().manual_seed(seed)
    found = []
    for _ in range(STEPS if loss.memory is not None else LAST):
        rows = torch.randint(ROWS, (size,), generator=rng)
        own = gradient(loss, *(x[rows] for x in people))
        found.append((own - whole[rows]).square().mean() / whole.square().mean())
    return float(torch.stack(found[-LAST:]).mean())


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
