"""The people that a rule for a network is built from, in whatever form they come."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

from fairret.checks import check_order
from fairret.control.rows import Array
from fairret.errors import ArgumentError, DtypeError, ShapeError
from fairret.training.network import as_vector

BLOCK = 8192  # rows that go through a network at once
FIELDS = ("feat", "sens", "label", "weight")
FORMS = (
    "`(feat, sens, label)`, `(feat, sens, label, weight)`, or a mapping with these keys"
)

Batch: TypeAlias = Sequence[Array] | Mapping[str, Array]
Data: TypeAlias = Batch | Dataset[Batch] | Iterable[Batch]
Unpack: TypeAlias = Callable[[object], Batch]


class People(NamedTuple):
    """All rows of some data; `feat` stays as it came."""

    feat: Tensor  # (n, ...), on its own device; the rest is on the CPU
    sens: Tensor  # (n, d_s)
    label: Tensor  # (n,) or (n, 1)
    weight: Tensor | None


def load_people(data: Data, unpack: Unpack | None = None, name: str = "data") -> People:
    """Read tensors, a dataset or a loader into memory.

    Args:
        data: Tensors in the order `(feat, sens, label[, weight])` or by these names; or
            a `Dataset` or `DataLoader` that yields them.
        unpack: Turns whatever a loader yields into that form.
        name: What `data` is called in messages.
    """
    if isinstance(data, TensorDataset):
        data = data.tensors
    if isinstance(data, Tensor):
        raise DtypeError(f"`{name}` must be {FORMS}, or a loader; got one tensor.")
    batches: Iterable[object]
    if isinstance(data, Mapping | tuple) or _is_list_of_arrays(data):
        batches = [data]
    elif isinstance(data, Dataset):
        batches = DataLoader(data, batch_size=BLOCK)
    elif isinstance(data, Iterable):
        batches = data
    else:
        raise DtypeError(
            f"`{name}` must be tensors, a Dataset or a DataLoader; got "
            f"{type(data).__name__}."
        )
    read = [_read_batch(batch, unpack, name) for batch in batches]
    if not read or sum(len(x.feat) for x in read) == 0:
        raise ShapeError(f"`{name}` must have at least one row; it yielded none.")
    weight = [x.weight for x in read if x.weight is not None]
    return People(
        torch.cat([x.feat for x in read]),
        torch.cat([x.sens for x in read]),
        torch.cat([x.label for x in read]),
        torch.cat(weight) if weight else None,
    )


def _is_list_of_arrays(data: object) -> bool:
    """Tell a list of tensors from a list of batches."""
    if not isinstance(data, list) or not data:
        return False
    return not isinstance(data[0], tuple | list | Mapping)


def _read_batch(batch: object, unpack: Unpack | None, name: str) -> People:
    given = batch if unpack is None else unpack(batch)
    if isinstance(given, Mapping):
        unknown = [key for key in FIELDS[:3] if key not in given]
        fields = [given.get(key) for key in FIELDS]
        short = bool(unknown)
    elif isinstance(given, tuple | list):
        short = len(given) not in (3, 4)
        fields = [*given, None, None, None, None][:4]
    else:
        short, fields = True, []
    if short:
        size = f" of {len(given)}" if isinstance(given, tuple | list) else ""
        raise ArgumentError(
            f"`{name}` must yield {FORMS}; got {type(given).__name__}{size}. Pass "
            "`unpack=`, a function that brings a batch into one of these forms."
        )
    feat, sens, label = (torch.as_tensor(x) for x in fields[:3])
    weight = None if fields[3] is None else torch.as_tensor(fields[3]).cpu()
    check_order(sens, label)
    if not len(feat) == len(sens) == len(label):
        raise ShapeError(
            f"`{name}` must have as many rows of `feat` as of `sens` and `label`; got "
            f"{len(feat)}, {len(sens)} and {len(label)}."
        )
    return People(feat, sens.cpu(), label.cpu(), weight)


def find_device(module: nn.Module) -> torch.device:
    """Where a module is; the CPU if it has no parameters."""
    return next((p.device for p in module.parameters()), torch.device("cpu"))


@torch.no_grad()
def in_blocks(
    function: Callable[[Tensor], Tensor], feat: Tensor, device: torch.device
) -> Tensor:
    """Apply a function to all rows, in blocks, and bring the result to the CPU."""
    return torch.cat([function(x.to(device)) for x in torch.split(feat, BLOCK)]).cpu()


def read_logits(network: nn.Module, feat: Tensor, name: str = "network") -> Tensor:
    """Compute the output of a network, `(n,)` in float64, and check its shape.

    Raises:
        DtypeError: If the network returns anything but a tensor.
        ShapeError: If it returns anything but one number per row.
    """

    def checked(x: Tensor) -> Tensor:
        out: object = network(x)
        if not isinstance(out, Tensor):
            raise DtypeError(
                f"`{name}` must return one number per row, as a tensor; got "
                f"{type(out).__name__}. Wrap it in a module that does."
            )
        if out.shape not in ((len(x),), (len(x), 1)):
            raise ShapeError(
                f"`{name}` must return one number per row, (n,) or (n, 1); got "
                f"{tuple(out.shape)} for {len(x)} rows. For two classes, wrap it in a "
                "module that returns `out[:, 1] - out[:, 0]`."
            )
        return as_vector(out).double()

    return in_blocks(checked, feat, find_device(network))
