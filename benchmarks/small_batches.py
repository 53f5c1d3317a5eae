"""How far the gradient of a small batch is from that of all rows.

python benchmarks/small_batches.py

Prints tables for `docs/scale.md`: the mean square of the difference, relative to the
gradient of all rows, over the last 200 of 500 batches with fixed scores. The second is
of KL, "pr" and two traits with more and more groups.
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
STEPS, LAST = 500, 200
LOSSES: tuple[type[FairnessLoss], ...] = (
    NormLoss,
    SmoothMaxLoss,
    KLProjectionLoss,
    JensenShannonProjectionLoss,
    SquaredEuclideanProjectionLoss,
)


def main() -> None:
    """Print the table."""
    data = make(1, ROWS)
    people = [torch.from_numpy(x[0]) for x in (data.logit, data.sens, data.label)]
    print("| statistic | loss | 32 | 32, memory | 128 | 128, memory |")
    print("|---|---|---|---|---|---|")
    for statistic in ("pr", "tpr", "ppv", "fn_fp"):
        for kind in LOSSES:
            whole = gradient(kind(statistic), *people)
            errors = [
                error(kind(statistic, memory=memory), people, whole, size)
                for size in (32, 128)
                for memory in (0, MEMORY)
            ]
            words = " | ".join(f"{x:.2g}" for x in errors)
            print(f"| {statistic} | {kind.__name__} | {words} |", flush=True)
    print("\n| groups | 32 | 32, memory | 128 | 128, memory |\n|---|---|---|---|---|")
    for groups in (8, 32, 90, 300):
        people = with_groups(groups // 2)
        whole = gradient(KLProjectionLoss("pr"), *people)
        errors = [
            error(KLProjectionLoss("pr", memory=memory), people, whole, size)
            for size in (32, 128)
            for memory in (0, MEMORY)
        ]
        words = " | ".join(f"{x:.2g}" for x in errors)
        print(f"| {groups} | {words} |", flush=True)


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
    loss: FairnessLoss, people: list[torch.Tensor], whole: torch.Tensor, size: int
) -> float:
    """Compare batches, drawn at random, with the whole."""
    rng = torch.Generator().manual_seed(0)
    found = []
    for _ in range(STEPS):
        rows = torch.randint(ROWS, (size,), generator=rng)
        own = gradient(loss, *(x[rows] for x in people))
        found.append((own - whole[rows]).square().mean() / whole.square().mean())
    return float(torch.stack(found[-LAST:]).mean())


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
