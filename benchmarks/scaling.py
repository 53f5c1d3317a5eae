"""Row 3: how time and memory grow with the batch and with the number of groups."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from measure import block_of, exponent, interleave, median
from report import Row, duration, verdict
from samples import many_groups

from fairret.loss import FairnessLoss, KLProjectionLoss, NormLoss

WORKER = Path(__file__).parent / "memory_worker.py"
LOSSES: dict[str, type[FairnessLoss]] = {
    "NormLoss": NormLoss,
    "KLProjectionLoss": KLProjectionLoss,
}
ROWS = (10**3, 10**4, 10**5, 10**6)
GROUPS = (2, 4, 8, 16, 32, 64, 128)
N, D_S = 16_384, 8  # what stays as it is while the other one grows
LINEAR = 1.1  # an exponent up to this counts as 1: large batches leave the caches
QUADRATIC = 2.0
LARGE_N, LARGE_D_S, LIMIT = 10**6, 16, 2e9


def run(quick: bool) -> list[Row]:
    """Measure time first, then memory."""
    sizes = ROWS[:3] if quick else ROWS
    groups = GROUPS[::2] if quick else GROUPS
    rounds = 3 if quick else 7
    by_rows = [(n, D_S) for n in sizes]
    by_groups = [(N, d_s) for d_s in groups]
    rows = [_time(loss, "n", by_rows, LINEAR, rounds) for loss in LOSSES]
    rows += [_time(loss, "d_s", by_groups, QUADRATIC, rounds) for loss in LOSSES]
    for loss in LOSSES:
        rows += _memory(loss, quick)
    return rows


def _call(loss: str, n: int, d_s: int) -> Callable[[], object]:
    logit, sens = (torch.from_numpy(x) for x in many_groups(n, d_s))
    logit.requires_grad_()
    fairret = LOSSES[loss]("pr")

    def forward_and_backward() -> None:
        logit.grad = None
        torch.autograd.backward(fairret(logit, sens))

    return forward_and_backward


def _time(
    loss: str, axis: str, sizes: list[tuple[int, int]], limit: float, rounds: int
) -> Row:
    names = [f"{n} × {d_s}" for n, d_s in sizes]
    calls = (_call(loss, n, d_s) for n, d_s in sizes)
    times = interleave(
        {name: block_of(call) for name, call in zip(names, calls, strict=True)},
        {
            name: max(2, min(20, 4 * 10**6 // (n * d_s)))
            for name, (n, d_s) in zip(names, sizes, strict=True)
        },
        rounds=rounds,
    )
    costs = [median(times[name]) for name in names]
    along = [float(n if axis == "n" else d_s) for n, d_s in sizes]
    slope = exponent(along, costs)
    end = exponent(along[-2:], costs[-2:])  # the fit alone hides where it bends
    worst = max(slope, end)
    fixed = f"d_s = {D_S}" if axis == "n" else f"n = {N:,}"
    return Row(
        f"3 {loss}, time against {axis} ({fixed})",
        f"{duration(costs[-1])} at {along[-1]:,.0f}",
        f"{duration(costs[0])} at {along[0]:,.0f}",
        f"exponent {slope:.2f} (last step {end:.2f})",
        f"≤ {limit:.1f}",
        verdict([] if worst <= limit else [f"by {worst - limit:.2f}"]),
    )


def _peak(loss: str, n: int, d_s: int) -> tuple[float, float]:
    """Peak in bytes, and its growth over the state before the call."""
    done = subprocess.run(
        [sys.executable, str(WORKER), loss, str(n), str(d_s)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    before, after = json.loads(done.stdout)
    return after, after - before


def _memory(loss: str, quick: bool) -> list[Row]:
    total, growth = _peak(loss, LARGE_N, LARGE_D_S)
    missed = [] if total < LIMIT else [f"by {(total - LIMIT) / 1e9:.2f} GB"]
    size = Row(
        f"3 {loss}, peak memory (n = 1e6, d_s = {LARGE_D_S})",
        f"{total / 1e9:.2f} GB in all",
        f"{(total - growth) / 1e9:.2f} GB before the call",
        f"+ {growth / 1e9:.2f} GB",
        f"< {LIMIT / 1e9:.0f} GB",
        verdict(missed),
    )
    if quick:
        return [size]
    _, small = _peak(loss, LARGE_N // 4, LARGE_D_S)
    _, wide = _peak(loss, LARGE_N // 4, 4 * LARGE_D_S)
    along_n, along_d_s = (exponent((1, 4), (small, x)) for x in (growth, wide))
    worst = max(along_n, along_d_s)
    order = Row(
        f"3 {loss}, memory against n and d_s",
        f"4 n: + {growth / 1e9:.2f} GB, 4 d_s: + {wide / 1e9:.2f} GB",
        f"+ {small / 1e9:.2f} GB",
        f"exponents {along_n:.2f}, {along_d_s:.2f}",
        f"≤ {LINEAR:.1f}",
        verdict([] if worst <= LINEAR else [f"by {worst - LINEAR:.2f}"]),
    )
    return [size, order]
