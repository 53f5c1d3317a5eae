"""People who come in small batches, and losses that may remember them."""

import copy

import torch
from torch.nn.functional import one_hot

from batches import SMOOTH_PROJECTIONS, VIOLATIONS, Sample, sample

N, SIZE = 6000, 32
REMEMBERING = (*VIOLATIONS, *SMOOTH_PROJECTIONS)
PEOPLE = sample(N, "three", seed=2)


def take(rows, people=PEOPLE):
    return type(people)(*(x[rows] for x in people))


def with_many_groups(d, seed):
    """Two traits of d groups each, the last four times as large as the first."""
    rng = torch.Generator().manual_seed(seed)
    sizes = torch.linspace(1, 4, d).expand(2, d)
    codes = torch.multinomial(sizes, N, replacement=True, generator=rng)
    effect = torch.randn(2, d, generator=rng, dtype=torch.float64)
    own = 0.5 * effect[0, codes[0]] + 0.3 * effect[1, codes[1]]
    logit = own + 1.2 * torch.randn(N, generator=rng, dtype=torch.float64) - 1
    label = (torch.rand(N, generator=rng) < logit.sigmoid()).double()
    return Sample(logit, one_hot(codes.T, d).flatten(1).double(), label)


def evaluate(loss, batch):
    logit = batch.logit.clone().requires_grad_()
    value = loss(logit, *batch[1:])
    value.backward()
    return value.item(), len(logit) * logit.grad


def stream(loss, steps, seed=0, people=PEOPLE):
    """Values of small batches, and how far their gradients are from those of all."""
    rng = torch.Generator().manual_seed(seed)
    _, whole = evaluate(copy.deepcopy(loss).eval(), people)
    values, errors = [], []
    for _ in range(steps):
        rows = torch.randint(N, (SIZE,), generator=rng)
        value, grad = evaluate(loss, take(rows, people))
        values.append(value)
        errors.append((grad - whole[rows]).square().mean() / whole.square().mean())
    return torch.tensor(values), torch.stack(errors)
