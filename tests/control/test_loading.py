"""Data in every form become the same rows."""

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

from fairret.control.loading import load_people
from fairret.errors import ArgumentError, DtypeError, ShapeError


class Rows(Dataset):
    def __init__(self, crowd, as_mapping):
        self.crowd, self.as_mapping = crowd, as_mapping

    def __len__(self):
        return 30

    def __getitem__(self, i):
        row = tuple(x[i] for x in self.crowd.data)
        keys = ("feat", "sens", "label")
        return dict(zip(keys, row, strict=True)) if self.as_mapping else row


@pytest.mark.parametrize(
    "form",
    [
        lambda c: tuple(x[:30] for x in c.data),
        lambda c: [x[:30].numpy() for x in c.data],
        lambda c: {"label": c.label[:30], "feat": c.feat[:30], "sens": c.sens[:30]},
        lambda c: TensorDataset(*(x[:30] for x in c.data)),
        lambda c: Rows(c, as_mapping=False),
        lambda c: DataLoader(Rows(c, as_mapping=True), batch_size=7),
        lambda c: [tuple(x[:9] for x in c.data), tuple(x[9:30] for x in c.data)],
    ],
    ids=["tensors", "arrays", "mapping", "tensor set", "set", "loader", "batches"],
)
def test_data_come_in_many_forms(crowd, form):
    people = load_people(form(crowd))
    for found, given in zip(people[:3], crowd.data, strict=True):
        torch.testing.assert_close(found, given[:30])
    assert people.weight is None


def test_unpack_reads_any_batch(crowd):
    loader = DataLoader(
        TensorDataset(crowd.label, crowd.feat, crowd.sens, crowd.label), batch_size=512
    )
    people = load_people(
        loader, unpack=lambda batch: (batch[1], batch[2], batch[0], batch[3] + 1)
    )
    assert torch.equal(people.feat, crowd.feat)
    assert torch.equal(people.weight, crowd.label + 1)


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ([], ShapeError, "at least one row; it yielded none"),
        (torch.zeros(3), DtypeError, "or a loader; got one tensor"),
        (3, DtypeError, "a Dataset or a DataLoader; got int"),
        ((torch.zeros(3, 2),), ArgumentError, "got tuple of 1. Pass `unpack=`"),
        ({"x": torch.zeros(3)}, ArgumentError, "got dict. Pass `unpack=`"),
        (
            (torch.zeros(3, 2), torch.zeros(4, 2), torch.zeros(3)),
            ShapeError,
            "got 3, 4 and 3",
        ),
        (
            (torch.zeros(3, 2), torch.zeros(3), torch.zeros(3, 2)),
            ShapeError,
            "seem to be swapped",
        ),
    ],
    ids=["empty", "tensor", "number", "few", "mapping", "lengths", "swapped"],
)
def test_data_that_do_not_fit_are_refused(data, error, message):
    with pytest.raises(error, match=message):
        load_people(data)
