"""Run the cases that a table lacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import distributions

import torch

from fairret.errors import DataFileError, MissingExtraError
from fairret.lab.experiment.work import provenance
from fairret.lab.plugins import describe
from fairret.lab.tolerance.cases import Method
from fairret.lab.tolerance.people import Case
from fairret.lab.tolerance.table import Table

NOT_READY = (DataFileError, MissingExtraError)
PEERS = ("scikit-learn", "fairlearn", "oxonfair")


def run_cases(
    cases: Sequence[Case],
    table: Table,
    methods: Mapping[str, Method],
    on_case: Callable[[Case], object] = lambda case: None,
) -> int:
    """Run the missing cases; a case that fails is stored with its reason.

    Args:
        cases: What to run, in this order.
        table: Where results go, and which ones there are.
        methods: What runs the cases, by name.
        on_case: Called before every case.

    Returns:
        The number of cases that were run.

    Raises:
        DataFileError: If data are not available.
        MissingExtraError: If a package is not installed.
    """
    torch.set_num_threads(1)
    made = {**provenance(), **_versions()}
    missing = [case for case in cases if case not in table]
    try:
        for case in missing:
            on_case(case)
            table.add(case, {**_run(case, methods[case.method]), **made})
    finally:
        table.write()
    return len(missing)


def _run(case: Case, method: Method) -> dict[str, object]:
    try:
        done = method.fit(case)
    except NOT_READY:
        raise
    except Exception as error:  # a peer may raise anything; the other cases go on
        return {"status": "failed", "reason": describe(error)}
    return {
        **done.values,
        "seconds": done.seconds,
        "learner_seconds": done.learner_seconds,
    }


def _versions() -> dict[str, str]:
    here = {one.name: one.version for one in distributions()}
    return {name: here[name] for name in PEERS if name in here}
