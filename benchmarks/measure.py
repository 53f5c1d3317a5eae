"""Time blocks of calls alternately, and compare their medians.

Needs the standard library only: the process of the released package uses it too.
"""

import gc
import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

Block = Callable[[int], list[float]]  # times so many calls, in seconds


@contextmanager
def without_collection() -> Iterator[None]:
    """Keep the garbage collector out of the measured time."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def time_calls(call: Callable[[], object], repeats: int) -> list[float]:
    """Give the seconds of CPU time that each of the calls took.

    With one thread that is the time on the wall of an idle machine. On a busy one the
    wall would flatter whoever has the short calls: a call of 2 ms mostly runs through,
    one of 200 ms always waits for its turn.
    """
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return seconds


def block_of(call: Callable[[], object]) -> Block:
    """Turn a call into a block of calls."""
    return lambda repeats: time_calls(call, repeats)


def interleave(
    blocks: Mapping[str, Block],
    repeats: Mapping[str, int],
    *,
    rounds: int,
    warm_up: int = 1,
) -> dict[str, list[list[float]]]:
    """Run a block of each in turn, forwards and then backwards, `rounds` times.

    What slows the machine down for a while then slows all of them down.
    """
    for block in blocks.values():
        block(warm_up)
    times: dict[str, list[list[float]]] = {name: [] for name in blocks}
    order = list(blocks)
    with without_collection():
        for _ in range(rounds):
            for name in order:
                times[name].append(blocks[name](repeats[name]))
            order.reverse()
    return times


class Ratio(NamedTuple):
    """A ratio of medians and the quartiles of its rounds."""

    value: float
    low: float
    high: float


def median(rounds: Sequence[Sequence[float]]) -> float:
    """Median of all calls of all rounds."""
    return statistics.median(x for block in rounds for x in block)


def ratio(top: Sequence[Sequence[float]], bottom: Sequence[Sequence[float]]) -> Ratio:
    """Compare neighbours in time: the median over rounds of the ratio of medians."""
    each = [
        statistics.median(a) / statistics.median(b)
        for a, b in zip(top, bottom, strict=True)
    ]
    if len(each) == 1:
        return Ratio(each[0], each[0], each[0])
    low, middle, high = statistics.quantiles(each, n=4, method="inclusive")
    return Ratio(middle, low, high)


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Slope of the line through the logarithms: cost ~ size ** exponent."""
    x, y = ([math.log(value) for value in values] for values in (sizes, costs))
    return statistics.linear_regression(x, y).slope
