"""What is measured of decisions, in every case alike."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from fairret.control import Solution, certificate
from fairret.control.performance import measure_performance
from fairret.lab.tolerance.people import People
from fairret.training import Rows


class Decisions(NamedTuple):
    """Yes (1) or no (0), on the fit rows and on the test rows."""

    fit: Tensor
    test: Tensor


class Result(NamedTuple):
    """The outcome of a case: numbers and words by name."""

    values: dict[str, float | str]
    seconds: float  # of the processor, without the learner
    learner_seconds: float = 0.0


def measure(people: People, decisions: Decisions, notion: str) -> dict[str, float]:
    """Measure decisions on both sets of rows."""
    found: dict[str, float] = {}
    for part, rows, f in (
        ("fit", people.fit, decisions.fit),
        ("test", people.test, decisions.test),
    ):
        own = measure_part(people, rows, f, notion, fitted=part == "fit")
        found |= {f"{part}/{name}": value for name, value in own.items()}
    return found


def measure_part(
    people: People, rows: Rows, f: Tensor, notion: str, *, fitted: bool
) -> dict[str, float]:
    """Violation with its interval, accuracy, balanced accuracy and rate."""
    proof = certificate(
        f,
        rows.sens,
        rows.label,
        notion=notion,
        names=people.names,
        traits=people.traits,
        fitted=fitted,
    )
    share = torch.full((len(f),), 1 / len(f), dtype=torch.float64)
    done = measure_performance(f.double(), rows.label.double(), share)
    return {
        "violation": proof.estimate,
        "low": proof.low,
        "high": proof.high,
        "bound": proof.bound,
        **done._asdict(),
        "rows": float(len(f)),
    }


def describe(solution: Solution) -> dict[str, float | str]:
    """Say whether a rule keeps its tolerance, and how wide it was for small groups."""
    limits = [n.allowed[n.compared] for n in solution.task.notions]
    return {
        "status": solution.status,
        "constrained_violation": solution.max_violation,
        "widest_tolerance": float(torch.cat(limits).max()),
        "reachable": math.nan if solution.reachable is None else solution.reachable,
    }
