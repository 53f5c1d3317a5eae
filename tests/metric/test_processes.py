"""Two processes: as if one had seen all rows."""

import pytest
import torch

import one_of_two
from fairret.errors import ArgumentError, ShapeError
from gang import Gang
from streams import METRICS, NUMBERS, assert_same

pytestmark = pytest.mark.process

RANKS = pytest.mark.parametrize("rank", [0, 1])


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What each process saw."""
    pair = Gang(2, tmp_path_factory.mktemp("processes"))
    try:
        return pair.ask(one_of_two.look)
    finally:
        pair.close()


@RANKS
@pytest.mark.parametrize("kind", METRICS)
def test_uneven_shards_equal_one_process(kind, rank, seen):
    first_group = one_of_two.own_rows(0, 1)[1][:, 3]
    assert first_group.sum() == 0  # nobody of that group in the first process
    metric = METRICS[kind](one_of_two.D_S)
    for seed, result in zip((1, 2), seen[rank]["uneven"][kind], strict=True):
        metric.update(*one_of_two.all_rows(seed))
        assert_same(result, metric.compute())


@RANKS
@pytest.mark.parametrize("case", ["idle", "empty"])
@pytest.mark.parametrize("kind", METRICS)
def test_process_without_rows_equals_one_process(kind, case, rank, seen):
    metric = METRICS[kind](one_of_two.D_S)
    metric.update(*one_of_two.all_rows(3))
    assert_same(seen[rank][case][kind], metric.compute())


@RANKS
@pytest.mark.parametrize("cls", NUMBERS)
def test_collection_over_processes_equals_one_process(cls, rank, seen):
    metric = cls("tpr")
    for seed in (1, 2):
        metric.update(*one_of_two.all_rows(seed))
    result = seen[rank]["collection"][cls.__name__]
    torch.testing.assert_close(result, metric.compute(), rtol=1e-12, atol=0)


@RANKS
@pytest.mark.parametrize("case", ["other names", "more notions", "other thresholds"])
def test_processes_that_measure_something_else_are_refused(case, rank, seen):
    error = seen[rank]["refused"][case]
    assert isinstance(error, ArgumentError)
    with pytest.raises(ArgumentError, match="All processes must measure the same"):
        raise error


@RANKS
def test_processes_with_other_columns_are_refused(rank, seen):
    error = seen[rank]["refused"]["other columns"]
    with pytest.raises(ShapeError, match=r"the same columns in all processes; got \[4"):
        raise error
