"""What one of several processes does with its rows of three batches."""

import torch

from batches import sample
from fairret.control import Constrained

SHARES = (11, 19)  # of 30 rows


def terms_of_three_batches(rank, size):
    """The last value, its gradient in this process's logits, and the multipliers."""
    term = Constrained("tpr", max_violation=0.1, rows=90)
    for seed in range(3):
        batch = sample(30, "three", seed)
        if size > 1:
            start = sum(SHARES[:rank])
            own = slice(start, start + SHARES[rank])
            batch = type(batch)(*(x[own] for x in batch))
        logit = batch.logit.clone().requires_grad_()
        value = term(logit, *batch[1:])
        (grad,) = torch.autograd.grad(value, logit)
    state = torch.cat([x.flatten().double() for x in term.memory.kept()])
    return value.detach(), grad, state
