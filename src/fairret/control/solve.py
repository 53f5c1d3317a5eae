"""Rounds of the dual: multipliers whose decisions meet a tolerance on real groups.

A rule decides with what is known of a person, and the dual is smooth, so its means are
not those of hard decisions on real groups. This defect is an additive vector that moves
slowly with the multipliers; every round replaces it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple

import torch
from torch import Tensor

from fairret.control.dual import CLOSE, PROXIMAL, Programme, emptiness, minimise
from fairret.control.task import Level, Task

TEMPERATURE = 0.02
WARMEST = 0.08  # temperature of the first round, halved every second one
WARM_ROUNDS = 4
ROUNDS = 40
FRACTIONAL_ROUNDS = 25  # for one c
ENOUGH = 3  # iterates within the tolerance
ENOUGH_ON_PATH = 2  # the same where a similar task was solved before
LEAST_ROUNDS = 11
LEAST_ON_PATH = 2
MOST_ON_PATH = 25
MOST_ON_SAMPLE = 3
LEAST_FREE = 24  # rounds that free levels need to settle
TIGHTNESS = 0.98
TIGHTEN = 0.98  # every second round, if no iterate was within the tolerance yet
TIGHTEN_AFTER = 7
TIGHTEN_ON_PATH = 2
EMPTY_AFTER = 6  # rounds after which a c without feasible decisions is given up
CLOSE_ON_PATH = 1e-5  # of the dual's gradient: the defect of a round is larger
GAP = 2e-4  # of the objective
SAMPLE = 20_000  # rows that the first multipliers of a larger task come from
FINALISTS = 3  # values of c that are tried on all rows
SHARES = (0.8, 0.9, 1.0, 1.05, 1.1)  # c of a share, over its value without tolerance
NEARBY = (0.95, 1.05)  # c of the next tolerance, over that of the one before
RATIOS = (0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 3.0)  # c of any other statistic
TIED = 0.999  # squared cosine between a column and the gain
TIE = 0.02  # reward of a decision where many are equally good
TIE_SCALE = 4.0
ROUNDING = 1e-9


@dataclass(frozen=True)
class Effort:
    """When rounds end."""

    most: int = ROUNDS
    least: int | None = None  # by default as many as usually settle
    enough: int = ENOUGH  # iterates within the tolerance
    close: float = CLOSE  # how small the dual's gradient becomes in a round
    gap: float = -torch.inf  # to the optimum, at which one iterate is enough
    patience: int = TIGHTEN_AFTER  # rounds before the constraints are tightened

    def least_rounds(self, *, warm: bool, free: bool) -> int:
        """Rounds at least, from a similar solution and with free levels."""
        if self.least is not None and warm:
            return self.least
        return (LEAST_FREE if free else LEAST_ROUNDS) // (2 if warm else 1)


THOROUGH = Effort()
FOR_ONE_C = Effort(most=FRACTIONAL_ROUNDS)
ON_PATH = Effort(
    MOST_ON_PATH, LEAST_ON_PATH, ENOUGH_ON_PATH, CLOSE_ON_PATH, GAP, TIGHTEN_ON_PATH
)
ON_SAMPLE = replace(ON_PATH, most=MOST_ON_SAMPLE)


class State(NamedTuple):
    """Where rounds begin and end."""

    nu: Tensor  # (m,)
    defect: Tensor  # (p,)
    centre: Tensor  # (t,)


@dataclass(frozen=True)
class Iterate:
    """One rule, and what its decisions are on the rows that fit it."""

    price: Tensor  # (p,): the rule is a yes where the gain exceeds price · columns
    statistics: Tensor  # (J, 1 + d_s)
    excess: float  # over the tolerance; 0 or less if it is met
    rate: float  # of people who get a yes
    objective: float  # mean(s f)
    in_band: bool
    level: dict[int, float]  # c of every statistic that needs one
    rounds: int
    state: State

    @property
    def met(self) -> bool:
        """Whether the decisions keep tolerance and band."""
        return self.in_band and self.excess <= 0

    @property
    def rank(self) -> tuple[bool, bool, float]:
        """Larger is better: tolerance and band, then band, then objective."""
        return (
            self.met,
            self.in_band,
            self.objective if self.excess <= 0 else -self.excess,
        )


def solve(task: Task, start: Iterate | None = None) -> Iterate:
    """Find the best rule that meets the tolerance, or the one closest to it.

    Args:
        task: What to maximise under which tolerance.
        start: The solution of a similar task, such as another tolerance.
    """
    if has_ties(task):
        return better(*(_break_ties(task, reward) for reward in (TIE, -TIE)))
    return _solve(task, start)


def _solve(task: Task, start: Iterate | None = None) -> Iterate:
    if start is not None:
        found = run(task, start.level, start.state)
        if found.met:
            return found
    large = len(task.gain) > 2 * SAMPLE
    rough = search(task.sample(SAMPLE) if large else task)
    if not large:
        return rough[0]
    found = run(task, rough[0].level, rough[0].state)
    for other in rough[1:FINALISTS]:
        if found.met:
            return found
        found = better(found, run(task, other.level, other.state))
    return found if found.met else better(found, run(task, found.level))


def has_ties(task: Task) -> bool:
    r"""Whether a column of a constraint is proportional to the gain within a group.

    It is so for the accuracy if a rule knows the groups and :math:`\tau = ½`: within
    a group, the optimum fixes :math:`\mathrm{mean}(s f)` and nothing else.
    """
    own = task.share * task.gain
    for notion in task.notions:
        start = task.layout.start(notion.part, denominator=False)
        if start is None or not task.is_linear(notion):
            continue
        columns = task.known[start + 1 : start + task.layout.groups]
        inner = columns @ own
        sizes = columns.square() @ task.share
        gains = (columns != 0).to(own) @ (own * task.gain)
        if bool((inner.square() > TIED * sizes * gains)[notion.compared].any()):
            return True
    return False


def _break_ties(task: Task, reward: float) -> Iterate:
    """Solve with a small reward for a yes, or for a no if it is negative.

    The reward becomes a part of the price that everybody pays. A larger scale stands
    for a lower temperature.
    """
    found = _solve(replace(task, gain=TIE_SCALE * (task.gain + reward)))
    price = found.price / TIE_SCALE
    price[-1] -= reward
    objective = found.objective / TIE_SCALE - reward * found.rate
    return replace(found, price=price, objective=objective)


def solve_path(tasks: Sequence[Task]) -> list[Iterate]:
    """Solve the same task for several tolerances, best from loose to strict.

    Each starts from the one before, and takes over a rule of another tolerance that
    is better for it. Of many rows, a sample is solved first, so that few rounds on all
    rows are left.
    """
    found = _solve_each(tasks)

    def best(task: Task, own: Iterate) -> Iterate:
        others = (replace(x, excess=task.excess(x.statistics)) for x in found)
        return reduce(better, others, own)

    return [best(task, own) for task, own in zip(tasks, found, strict=True)]


def _solve_each(tasks: Sequence[Task]) -> list[Iterate]:
    if tasks and has_ties(tasks[0]):
        return [solve(task) for task in tasks]
    if not tasks or len(tasks[0].gain) <= 2 * SAMPLE:
        return _path(tasks)
    some = tasks[0].sample(SAMPLE)
    rough = _path([some.with_notions(task.notions) for task in tasks], sure=False)
    found: list[Iterate] = []
    for task, near in zip(tasks, rough, strict=True):
        start = near.state
        if found:  # what the sample misses of the defect hardly depends on tolerances
            more = found[-1].state.defect - rough[len(found) - 1].state.defect
            start = start._replace(defect=start.defect + more)
        best = run(task, near.level, start, ON_PATH)
        found.append(best if best.met else better(best, solve(task)))
    return found


def _path(tasks: Sequence[Task], *, sure: bool = True) -> list[Iterate]:
    """Solve every task from the one before.

    Args:
        tasks: From loose to strict.
        sure: Whether to start from nothing where that misses the tolerance.
    """
    found = [solve(task) for task in tasks[:1]]
    for task in tasks[1:]:
        c, state = found[-1].level, found[-1].state
        effort = ON_PATH if sure else ON_SAMPLE
        best = run(task, c, state, effort)
        for part in c:
            for factor in NEARBY:
                near = run(task, {**c, part: c[part] * factor}, state, effort)
                best = better(best, near)
        if sure and not best.met:
            best = better(best, solve(task))
        found.append(best)
    return found


def search(task: Task) -> list[Iterate]:
    """Find rules for every value of c that is tried, the best one first."""
    fractional = [n for n in task.notions if not task.is_linear(n)]
    if not fractional:
        return [run(task, {})]
    level = {n.part: float(task.plain_statistics[n.part, 0]) for n in fractional}
    tried: list[Iterate] = []
    for notion in fractional:  # one after the other, if there are several
        c0 = level[notion.part]
        grid = [c0 * x for x in (SHARES if notion.share else RATIOS)]
        grid = [c for c in grid if c < 1 or not notion.share]
        tried += _try_values(task, level, notion.part, grid)
        tried.sort(key=lambda found: found.rank, reverse=True)
        level = dict(tried[0].level)
    if not tried[0].met:  # many groups need more rounds
        tried += [run(task, found.level) for found in tried[:FINALISTS]]
        tried.sort(key=lambda found: found.rank, reverse=True)
    return tried


def _try_values(
    task: Task, level: dict[int, float], part: int, grid: list[float]
) -> list[Iterate]:
    """Try values of one c, then the two midpoints beside the best."""
    tried: dict[float, Iterate] = {}

    def try_all(values: Iterable[float]) -> None:
        for c in values:
            tried[c] = run(task, {**level, part: c}, effort=FOR_ONE_C)

    try_all(grid)
    order = sorted(tried)
    best = max(tried, key=lambda c: tried[c].rank)
    at = order.index(best)
    beside = [order[i] for i in (at - 1, at + 1) if 0 <= i < len(order)]
    try_all([(best + c) / 2 for c in beside])
    return list(tried.values())


def run(
    task: Task,
    level: dict[int, float],
    start: State | None = None,
    effort: Effort = THOROUGH,
) -> Iterate:
    """Alternate between multipliers and defect, and keep the best rule.

    Args:
        task: What to maximise under which tolerance.
        level: c of every statistic that needs one.
        start: Where to begin; by default without multipliers.
        effort: When to stop.
    """
    points = {
        n.part: Level.point(level[n.part], n.tolerance.distance)
        for n in task.notions
        if n.part in level
    }
    tightness = TIGHTNESS
    programme = task.programme(points, tightness)
    warm = start is not None and len(start.nu) == len(programme.constant)
    state = start if start is not None and warm else _first_state(task, programme)
    least = effort.least_rounds(warm=warm, free=len(state.centre) > 0)
    best: Iterate | None = None
    within = 0
    for t in range(effort.most):
        hot = t < WARM_ROUNDS and not warm
        temperature = WARMEST / 2 ** (t / 2) if hot else TEMPERATURE
        shifted = programme.shifted(state.defect)
        state, margin, true = _next_state(
            task, shifted, state, t, temperature, effort.close
        )
        found = _measure(task, programme, margin, true, level, state)
        best = found if best is None else better(best, found)
        within += found.met
        if found.met and _slackness(programme, state.nu, true) < effort.gap:
            break
        if t >= least and within >= effort.enough:
            break
        if within:
            continue
        if level and t >= EMPTY_AFTER and emptiness(shifted, state.nu) > 0:
            break
        if t >= effort.patience and (t - effort.patience) % 2 == 0:
            tightness *= TIGHTEN
            programme = task.programme(points, tightness)
    assert best is not None
    return replace(best, rounds=t + 1, state=state)


def _first_state(task: Task, programme: Programme) -> State:
    nu = torch.zeros_like(programme.constant)
    return State(nu, nu.new_zeros(task.layout.width), task.first_levels())


def _next_state(
    task: Task,
    shifted: Programme,
    state: State,
    t: int,
    temperature: float,
    close: float,
) -> tuple[State, Tensor, Tensor]:
    """Do one round: multipliers for the present defect, then the defect for them.

    Returns:
        The new state, the margins `(n,)`, and the true means of the columns `(p,)` for
        hard decisions.
    """
    nu = minimise(
        shifted,
        state.nu,
        temperature=temperature,
        steps=30 if t < 3 else 12,
        centre=state.centre,
        close=close,
    )
    margin = shifted.margin(nu)
    true = task.true @ (task.share * (margin > 0))
    soft = shifted.means(torch.sigmoid(margin / temperature))
    theta = 0.7 if t < 10 else 0.4 if t < 25 else 0.2
    defect = state.defect + theta * (true - soft - state.defect)
    centre = state.centre - nu @ shifted.level / PROXIMAL
    return State(nu, defect, centre), margin, true


def _slackness(programme: Programme, nu: Tensor, true: Tensor) -> float:
    r"""What unused constraints cost: :math:`-\nu \cdot (b + M \, \mathrm{mean}(C f))`.

    The rule maximises the Lagrangian for its defect, so its objective is at most that
    far from the optimum for this defect. Free levels do not have this bound.
    """
    if programme.level.shape[1]:
        return torch.inf
    return -float(nu @ (programme.constant + programme.matrix @ true))


def better(one: Iterate, other: Iterate) -> Iterate:
    """Choose between two rules for the same task; the first, if they are alike."""
    return other if other.rank > one.rank else one


def _measure(
    task: Task,
    programme: Programme,
    margin: Tensor,
    true: Tensor,
    level: dict[int, float],
    state: State,
) -> Iterate:
    """Measure the decisions of one round on real groups and labels."""
    gamma = task.statistics(true)
    rate = float(true[-1])
    low, high = task.band
    return Iterate(
        price=state.nu @ programme.matrix,
        statistics=gamma,
        excess=task.excess(gamma),
        rate=rate,
        objective=float((task.share * task.gain) @ (margin > 0).to(margin)),
        in_band=low - ROUNDING <= rate <= high + ROUNDING,
        level=level,
        rounds=0,
        state=state,
    )
