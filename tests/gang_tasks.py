"""What the processes of a gang do in the tests; a process gets it by its name."""

from contextlib import contextmanager

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from batches import sample
from fairret import distributed
from fairret.errors import FairretError
from fairret.loss import NormLoss, base

SHARES = {  # of the rows of a batch, for every process of three
    "even": (10, 10, 10),
    "uneven": (21, 2, 7),
    "one without rows": (13, 0, 17),
    "one has all": (0, 30, 0),
}


def batch_of(case, seed=0):
    """A batch of 30 rows, and what makes it hard."""
    batch = sample(30, "three", seed)
    if case == "sorted by group":  # so that processes lack groups
        return type(batch)(*(x[batch.sens[:, 0].argsort()] for x in batch))
    if case == "saturated":
        return batch._replace(logit=40 * batch.logit.sign())
    if case == "without positives":
        return batch._replace(label=0 * batch.label)
    return batch


def own_rows(batch, shares, rank):
    start = sum(shares[:rank])
    return type(batch)(*(x[start : start + shares[rank]] for x in batch))


def weigh(batch):
    return torch.linspace(0.5, 2, len(batch.logit), dtype=torch.float64)


def evaluate(loss, batch, **options):
    """The loss, and its gradient in the logits."""
    logit = batch.logit.clone().requires_grad_()
    value = loss(logit, *batch[1:], **options)
    value.backward()
    return value.detach(), logit.grad


def losses_of(rank, size, cases, numbers=None):
    """Values, and gradients as DDP would average them, of several losses."""
    answers = []
    for make, case, shares, weighted in cases:
        whole = batch_of(case)
        batch = own_rows(whole, SHARES[shares], rank)
        options = {}
        if weighted:
            kept = own_rows(whole._replace(label=weigh(whole)), SHARES[shares], rank)
            options["weight"] = kept.label
        with gather_at_most(numbers):
            value, grad = evaluate(make(), batch, **options)
        answers.append((value, grad / size))
    return answers


def projections_of(rank, size, make, case, shares):
    batch = own_rows(batch_of(case), SHARES[shares], rank)
    return make().project(*batch)


def weights_after_training(rank, size, make, wrap, shares):
    """Train a small network for a few steps; give its weights."""
    torch.manual_seed(0)
    feat = torch.randn(30, 5, dtype=torch.float64)
    rows = own_rows(batch_of("plain")._replace(logit=feat), SHARES[shares], rank)
    network = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 1)).double()
    if wrap == "ddp":
        network = nn.parallel.DistributedDataParallel(network)
    elif wrap == "fsdp":
        mesh = init_device_mesh("cpu", (size,))
        fully_shard(network, mesh=mesh)
    optimizer = torch.optim.SGD(network.parameters(), 0.5)
    for _ in range(5):
        logit = network(rows.logit)[:, 0]
        loss = F.binary_cross_entropy_with_logits(logit, rows.label)
        if make is not None:
            loss = loss + 0.3 * make()(logit, rows.sens, rows.label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    whole = [x.full_tensor() if wrap == "fsdp" else x for x in network.parameters()]
    return torch.cat([x.detach().flatten() for x in whole])


def remembered(rank, size, make, numbers=None):
    """A loss that remembers, over batches of 30 rows that three processes share."""
    loss, answers = make(), []
    for seed in range(8):
        batch = own_rows(batch_of("plain", seed), SHARES["uneven"], rank)
        with gather_at_most(numbers):
            value, grad = evaluate(loss, batch)
        answers.append((value, grad / size))
    return answers


def many_groups(rank, size, make):
    """More groups than a factorisation is worth: over processes, and at once."""
    rng = torch.Generator().manual_seed(0)
    codes = torch.randint(150, (600, 2), generator=rng)
    sens = F.one_hot(codes, 150).flatten(1).double()
    whole = sample(600)._replace(sens=sens)
    own = slice(200 * rank, 200 * (rank + 1))
    value, grad = evaluate(make(), type(whole)(*(x[own] for x in whole)))
    expected, of_all = evaluate(make(process_group=False), whole)
    return (value, grad / size), (expected, of_all[own])


def compiled_and_eager(rank, size, make, backend):
    batch = own_rows(batch_of("plain"), SHARES["uneven"], rank)
    compiled = torch.compile(make(), fullgraph=True, backend=backend)
    return evaluate(make(), batch), evaluate(compiled, batch)


@contextmanager
def count_messages():
    """Note how many numbers each message to the other processes has."""
    sent, add_up, gather = [], dist.all_reduce, dist.all_gather

    def watched_sum(tensor, *args, **options):
        sent.append(tensor.numel())
        return add_up(tensor, *args, **options)

    def watched_gather(found, tensor, *args, **options):
        sent.append(tensor.numel())
        return gather(found, tensor, *args, **options)

    dist.all_reduce, dist.all_gather = watched_sum, watched_gather
    try:
        yield sent
    finally:
        dist.all_reduce, dist.all_gather = add_up, gather


@contextmanager
def gather_at_most(numbers):
    """Change how many numbers are gathered; beyond that, sums are sent."""
    usual = base.GATHERED
    base.GATHERED = usual if numbers is None else numbers
    try:
        yield
    finally:
        base.GATHERED = usual


def errors_of(rank, size, call):
    """What a call says that goes wrong in every process, as it must."""
    try:
        call(rank)
    except FairretError as error:
        return str(error)
    return None


def give_other_columns(rank):
    batch = batch_of("plain")
    NormLoss("pr")(batch.logit, batch.sens[:, : 9 - rank])


def messages_of_two_traits(rank, size):
    batch, loss = batch_of("plain"), NormLoss("pr")
    traits = batch.sens[:, :4], batch.sens[:, 4:]
    with count_messages() as sent:
        for _ in range(2):
            for sens in traits:
                loss(batch.logit, sens)
    return sent


def choose_a_group_of_others(rank):
    NormLoss("pr", process_group=dist.new_group([0, 1]))


def lose_the_group(rank):
    loss = NormLoss("pr", process_group=dist.new_group([0, 1, 2]))
    distributed._GROUPS.clear()  # as after unpickling it in another process
    loss(*batch_of("plain"))


def messages_of(rank, size, make, case, shares, numbers=None):
    """How many numbers the messages of one call have, and how many steps it takes."""
    batch = own_rows(batch_of(case), SHARES[shares], rank)
    loss = make()
    with gather_at_most(numbers):
        loss.project(*batch)  # the first call also compares the columns
        with count_messages() as sent:
            found = loss.project(*batch)
    return sent, found.iterations, found.status.name


def messages_of_loss(rank, size, make, case, shares, numbers=None):
    """How many numbers the messages of a forward and a backward pass have."""
    batch = own_rows(batch_of(case), SHARES[shares], rank)
    loss = make()
    with gather_at_most(numbers):
        evaluate(loss, batch)  # the first call also compares the columns
        with count_messages() as sent:
            evaluate(loss, batch)
    return sent


def losses_of_groups(rank, size, make):
    """Values over the first two processes, over all, and in each by itself."""
    pair = dist.new_group([0, 1])
    batch = own_rows(batch_of("plain"), SHARES["even"], rank)
    values = [make(process_group=choice)(*batch) for choice in (None, False)]
    if rank < 2:
        values.append(make(process_group=pair)(*batch))
    return values
