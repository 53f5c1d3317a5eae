r"""Proof that no decisions meet a tolerance, and the smallest one that can be met.

Any multipliers with :func:`~fairret.control.dual.emptiness` above 0 prove that a
programme is infeasible, in the manner of Farkas. They are looked for on a sample; the
proof itself is checked on all rows. It is about what the rule knows: real groups, up to
the scores, if it is informed, and the estimates of them if it is blind.
"""

from dataclasses import replace

import torch

from fairret.control.dual import Programme, emptiness, minimise
from fairret.control.solve import SAMPLE, TEMPERATURE, Iterate, better, solve
from fairret.control.task import Level, Task

RIDGES = (1e-5, 1e-6, 1e-8, 1e-10)
STEPS = 60
INTERVALS = 80  # of c that are looked at
NARROW = 1.005  # ratio of the ends of an interval that is not split again
WIDEST = 64.0  # c above and below its value without a tolerance, before the tails
BISECTIONS = 7
STRICTER = (0.5, 0.25)  # shares of a tolerance that was missed


def is_never_infeasible(task: Task) -> bool:
    """Whether equal decisions for everybody meet any tolerance, as for rates."""
    parts = [n.part for n in task.notions]
    linear = all(task.is_linear(n) for n in task.notions)
    return linear and not bool(task.intercept.num[parts].any())


def is_infeasible(task: Task) -> bool:
    """Whether no decisions in [0, 1] meet the tolerance, as far as a proof is found."""
    if is_never_infeasible(task):
        return False
    fractional = [n for n in task.notions if not task.is_linear(n)]
    if not fractional:
        return _is_empty(task, {})
    if any(n.tolerance.kind != "max_violation" for n in fractional):
        return False  # one c for all traits is sufficient for these, not necessary
    first = fractional[0]
    free = {n.part: Level.interval(0.0, torch.inf) for n in fractional[1:]}
    c0 = float(task.plain_statistics[first.part, 0])
    top = 1.0 if first.share else WIDEST * c0
    waiting = [(0.0, c0 / WIDEST), (c0 / WIDEST, top)]
    if not first.share:
        waiting.append((top, torch.inf))
    for _ in range(INTERVALS):
        low, high = waiting.pop()
        if not _is_empty(task, {**free, first.part: Level.interval(low, high)}):
            if low == 0 or high == torch.inf or high < NARROW * low:
                return False
            middle = (low * high) ** 0.5
            waiting += [(low, middle), (middle, high)]
        if not waiting:
            return True
    return False


def solve_stricter(task: Task, found: Iterate) -> Iterate:
    """Look for a rule by stricter tolerances, where the stated one was missed.

    With many groups and a ratio of errors, rounds may end beside a tolerance that
    others meet: those that aim lower.
    """
    stated = min(n.tolerance.distance for n in task.notions)
    for share in STRICTER:
        tried = solve(_loosened(task, (share - 1) * stated))
        tried = replace(tried, excess=task.excess(tried.statistics))
        found = better(found, tried)
        if found.met:
            break
    return found


def smallest_reachable(task: Task, found: Iterate) -> tuple[float, Iterate]:
    """Bisect the tolerance between what is infeasible and what was found.

    Returns:
        The smallest distance from parity that a rule met, and that rule.
    """
    stated = max(n.tolerance.distance for n in task.notions)
    low, high = stated, stated + max(found.excess, 0.0) * 1.01 + 1e-6
    widest = _loosened(task, high - stated)
    best = replace(found, excess=widest.excess(found.statistics))
    if not best.met:
        best = solve(widest, found)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        loosened = _loosened(task, middle - stated)
        if is_infeasible(loosened):
            low = middle
            continue
        tried = solve(loosened, best)
        if tried.met:
            high, best = middle, tried
        else:
            low = middle
    return high, best


def _loosened(task: Task, more: float) -> Task:
    """The same with a tolerance that is wider by `more`."""
    return task.with_notions(
        [replace(n, slack=n.slack + more / n.unit(task)) for n in task.notions]
    )


def _is_empty(task: Task, level: dict[int, Level]) -> bool:
    programme = task.programme(level, 1.0)
    small = task.sample(SAMPLE) if len(task.gain) > SAMPLE else task
    sample = replace(
        programme,
        gain=torch.zeros_like(small.gain),
        columns=small.known,
        share=small.share,
    )
    full = replace(programme, gain=torch.zeros_like(task.gain))
    return _prove(sample, full)


def _prove(sample: Programme, full: Programme) -> bool:
    """Minimise the dual of an objective of 0, with less and less of a ridge."""
    nu = torch.zeros_like(sample.constant)
    for ridge in RIDGES:
        nu = minimise(sample, nu, temperature=TEMPERATURE, steps=STEPS, ridge=ridge)
        if emptiness(full, nu) > 0:
            return True
    return False
