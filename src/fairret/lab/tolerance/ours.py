"""Rules of this package: blind and informed, on trees and on networks."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from fairret.control import Solution, control_network, find_rule, recalibrate
from fairret.control.network_fit import GroupModel
from fairret.lab.tolerance.learners import learn_groups, learn_network, learn_trees
from fairret.lab.tolerance.people import Case, People, load_people, take_columns
from fairret.lab.tolerance.results import Decisions, Result, describe, measure


@contextmanager
def quietly() -> Iterator[None]:
    """Hide warnings: the table has what they say."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def plain_network(case: Case) -> Result:
    """Decide by the network alone."""
    return _plain(case, *learn_network(case.dataset, case.seed)[1:])


def plain_boosting(case: Case) -> Result:
    """Decide by the trees alone."""
    own = learn_trees(case.dataset, case.seed)
    return _plain(case, own.fit, own.test, own.seconds)


def _plain(case: Case, fit: Tensor, test: Tensor, seconds: float) -> Result:
    decided = Decisions(*((x > 0.5).double() for x in (fit, test)))
    values = measure(load_people(case), decided, case.notion)
    return Result({**values, "status": "done"}, 0.0, seconds)


def blind_boosting(case: Case, *, adapt: bool = True) -> Result:
    """Find a rule that decides without S, from out-of-fold scores."""
    people, own = load_people(case), learn_trees(case.dataset, case.seed)
    q, q_test = (take_columns(x, people.columns) for x in (own.q_fit, own.q_test))
    start = time.process_time()
    solution = _find(case, people, own.fit, q, adapt)
    seconds = time.process_time() - start
    test = solution.rule.decide(own.test, q=q_test)
    return _result(case, people, solution, test, seconds, own.seconds)


def informed_boosting(case: Case, *, adapt: bool = True) -> Result:
    """Find a rule that decides with S, from recalibrated out-of-fold scores."""
    people, own = load_people(case), learn_trees(case.dataset, case.seed)
    start = time.process_time()
    sens, label = (x.double() for x in people.fit[1:])
    adjust = recalibrate(own.fit, sens, label)
    solution = _find(case, people, adjust(own.fit, sens), None, adapt)
    seconds = time.process_time() - start
    new = people.test.sens.double()
    test = solution.rule.decide(adjust(own.test, new), sens=new)
    return _result(case, people, solution, test, seconds, own.seconds)


def _find(
    case: Case,
    people: People,
    eta: Tensor,
    q: tuple[Tensor, Tensor] | None,
    adapt: bool,
) -> Solution:
    with quietly():
        return find_rule(
            eta,
            *people.fit[1:],
            notion=case.notion,
            max_violation=case.tolerance,
            q=q,
            names=people.names,
            traits=people.traits,
            adapt=adapt,
        )


def _result(
    case: Case,
    people: People,
    solution: Solution,
    test: Tensor,
    seconds: float,
    learner: float,
) -> Result:
    values = measure(people, Decisions(solution.decisions, test), case.notion)
    return Result({**values, **describe(solution)}, seconds, learner)


def control(case: Case, *, informed: bool, adapt: bool = True) -> Result:
    """Make a module from the network, which decides by the features, or also by S."""
    people, own = load_people(case), learn_network(case.dataset, case.seed)
    q: GroupModel = "network" if informed else learn_groups(case.dataset, case.seed)
    start = time.process_time()
    with quietly():
        rule = control_network(
            own.network,
            tuple(people.fit),
            notion=case.notion,
            max_violation=case.tolerance,
            informed=informed,
            q=q,
            names=people.names,
            traits=people.traits,
            adapt=adapt,
            compare=False,
            seed=case.seed,
        )
    seconds = time.process_time() - start
    assert rule.solution is not None
    with torch.no_grad():
        sens = (people.test.sens,) if informed else ()
        test = rule(people.test.feat, *sens).decision
    return _result(case, people, rule.solution, test, seconds, own.seconds)
