"""One of two processes: measures its share of the rows and tells what it saw."""

import warnings

from torchmetrics import MetricCollection

from batches import sample
from fairret.errors import FairretError
from fairret.metric import MaxViolation, Parity, ParityTable
from streams import METRICS, NUMBERS

N, D_S, ROWS_OF_FIRST = 61, 9, 17


def all_rows(seed):
    """Rows in an order that leaves the first process without anybody of group 3."""
    batch = sample(N, "three", seed=seed)
    order = batch.sens[:, 3].argsort(stable=True)
    return [x[order] for x in (batch.logit.sigmoid(), batch.sens, batch.label)]


def own_rows(rank, seed):
    rows = slice(None, ROWS_OF_FIRST) if rank == 0 else slice(ROWS_OF_FIRST, None)
    return [x[rows] for x in all_rows(seed)]


def uneven(rank, make):
    """Compute twice: the state after a computation is the process's own again."""
    metric = make(D_S)
    metric.update(*own_rows(rank, 1))
    first = metric.compute()
    metric.update(*own_rows(rank, 2))
    return first, metric.compute()


def idle(rank, make, *, empty):
    """The second process never gets a row."""
    metric = make(D_S)
    if rank == 0:
        metric.update(*all_rows(3))
    elif empty:  # a batch without rows, which adds nothing
        metric.update(*(x[:0] for x in all_rows(3)))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The ``compute`` method", UserWarning)
        return metric.compute()


def collection(rank):
    together = MetricCollection({cls.__name__: cls("tpr") for cls in NUMBERS})
    for seed in (1, 2):
        together.update(*own_rows(rank, seed))
    return together.compute()


def refused(rank, metrics):
    h, s, y = own_rows(rank, 1)
    metric, columns = metrics[rank]
    metric.update(h, s[:, :columns], y)
    try:
        metric.compute()
    except FairretError as error:
        return error


names = [f"group {k}" for k in range(D_S)]
REFUSED = {
    "other names": lambda: (
        (MaxViolation("pr", names=names), D_S),
        (MaxViolation("pr", names=names[::-1]), D_S),
    ),
    "more notions": lambda: (
        (ParityTable(["pr"]), D_S),
        (ParityTable(["pr", "tpr"]), D_S),
    ),
    "other thresholds": lambda: (
        (Parity("pr"), D_S),
        (Parity("pr", threshold=0.5), D_S),
    ),
    "other columns": lambda: ((Parity("pr"), D_S), (Parity("pr"), 4)),
}


def look(rank, size):
    """Measure all cases at once, for a process takes seconds to start."""
    return {
        "uneven": {kind: uneven(rank, make) for kind, make in METRICS.items()},
        **{
            name: {
                kind: idle(rank, make, empty=name == "empty")
                for kind, make in METRICS.items()
            }
            for name in ("idle", "empty")
        },
        "collection": collection(rank),
        "refused": {case: refused(rank, make()) for case, make in REFUSED.items()},
    }
