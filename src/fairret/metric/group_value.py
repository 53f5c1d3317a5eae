"""The results of one statistic as plain numbers, group by group."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from fairret.metric.delta_method import effective_rows, standard_error
from fairret.metric.wilson import interval

if TYPE_CHECKING:
    from fairret.metric.result import ParityResult

EVERYBODY = "everybody"


@dataclass(frozen=True)
class GroupValue:
    """A statistic of one group."""

    name: str
    count: float  # members; the sum of memberships if these are soft
    counted: float  # effective rows of the statistic, such as positives for recall
    statistic: float
    standard_error: float
    low: float  # confidence interval of the statistic
    high: float
    violation: float  # |statistic / overall - 1| (Eq. 9)
    violation_low: float  # simultaneous interval of the violation
    violation_high: float
    z: float  # deviation from parity in standard errors
    p_value: float  # adjusted for the number of groups
    chance_low: float  # statistics from here to `chance_high` are within chance
    chance_high: float
    needed: float  # counted rows at which a gap of 20 % would be found
    estimable: bool  # else no row is counted, and all of these are NaN
    judged: bool  # whether enough rows are counted
    beyond_chance: bool  # whether the deviation is larger than chance explains


def group_values(result: "ParityResult") -> list[GroupValue]:
    """List everybody and the groups of a single statistic."""
    m, test, gaps = result.moments, result.studentised, result.intervals.each
    low, high = interval(m, result.confidence)
    of_all = {
        "counted": effective_rows(m),
        "statistic": m.gamma,
        "standard_error": standard_error(m),
        "low": low,
        "high": high,
    }
    of_groups = {
        "violation": result.violation.reshape(1, -1),
        "violation_low": gaps.low,
        "violation_high": gaps.high,
        "z": test.z,
        "p_value": test.p_value,
        "chance_low": test.low,
        "chance_high": test.high,
        "needed": test.needed,
    }
    nan = torch.full((1,), torch.nan, dtype=torch.float64)
    table = {field: x[0] for field, x in of_all.items()}
    table |= {field: torch.cat((nan, x[0])) for field, x in of_groups.items()}
    known = m.estimable[0]
    rows = torch.stack(list(table.values()), -1).masked_fill(~known[:, None], torch.nan)
    judged, beyond = ([False, *x[0].tolist()] for x in (test.judged, test.beyond))
    return [
        GroupValue(
            name=name,
            count=float(result.members[k]),
            estimable=bool(known[k]),
            judged=judged[k],
            beyond_chance=beyond[k],
            **dict(zip(table, row, strict=True)),
        )
        for k, (name, row) in enumerate(
            zip((EVERYBODY, *result.names), rows.tolist(), strict=True)
        )
    ]
