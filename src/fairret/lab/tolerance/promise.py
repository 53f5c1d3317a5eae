"""Whether promises hold: rules and certificates from samples of a known population.

Some rows of a dataset train the models. The rest is the population, whose violations
are known. A draw is a sample of it, with replacement, that fits or judges a rule.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from fairret.control import Certificate, Rule, Solution, certificate, find_rule
from fairret.control.boosting import BoostedGroups
from fairret.control.task import violation
from fairret.errors import RangeError
from fairret.lab.tolerance.learners import make_trees
from fairret.lab.tolerance.ours import quietly
from fairret.lab.tolerance.people import Case, load_some
from fairret.lab.tolerance.results import Result
from fairret.statistic import get_statistic

MODEL_ROWS = 10_000  # that train the models
JUDGED = 10_000  # rows of a draw for a certificate
ASSURED = 30_000  # rows of a draw for an assured rule
CONFIDENCE = 0.95


class Population(NamedTuple):
    """Everybody, with scores from models of other people."""

    eta: Tensor
    q: tuple[Tensor, Tensor]
    sens: Tensor
    label: Tensor
    names: tuple[str, ...]

    def draw(self, size: int, seed: int) -> Population:
        """Draw people with replacement."""
        rng = torch.Generator().manual_seed(seed)
        rows = torch.randint(len(self.eta), (size,), generator=rng)
        q = self.q[0][rows], self.q[1][rows]
        return self._replace(
            eta=self.eta[rows], q=q, sens=self.sens[rows], label=self.label[rows]
        )

    def find(
        self, notion: str, tolerance: float, confidence: float | None = None
    ) -> Solution:
        """Find a blind rule on these rows."""
        with quietly():
            return find_rule(
                self.eta,
                self.sens,
                self.label,
                q=self.q,
                notion=notion,
                max_violation=tolerance,
                names=self.names,
                confidence=confidence,
            )

    def decide(self, rule: Rule) -> Tensor:
        """Decide by a rule."""
        return rule.decide(self.eta, q=self.q)

    def violations(self, decisions: Tensor, notion: str) -> dict[str, float]:
        """Violation of every group, by its name."""
        everybody = torch.cat((torch.ones(len(self.eta), 1), self.sens), 1)
        gamma = get_statistic(notion)(decisions, everybody.double(), self.label)
        return dict(zip(self.names, violation(gamma.flatten()).tolist(), strict=True))


@lru_cache(maxsize=2)
def load_population(dataset: str) -> Population:
    """Train on some rows, and score the others."""
    data = load_some(dataset)
    order = torch.randperm(len(data), generator=torch.Generator().manual_seed(0))
    model, rest = order[:MODEL_ROWS], order[MODEL_ROWS:]
    x, label = data.feat[model], data.label[model]
    trees = make_trees(0).fit(x.numpy(), label.numpy().astype(int))
    groups = BoostedGroups()
    groups.fit(x, data.sens[model], label, torch.ones_like(label), seed=0)
    q0, q1 = torch.sigmoid(groups(data.feat[rest]).double()).chunk(2, 1)
    eta = torch.from_numpy(trees.predict_proba(data.feat[rest].numpy())[:, 1])
    own = data.sens[rest].double(), data.label[rest].double()
    return Population(eta, (q0, q1), *own, data.sens_names)


@lru_cache(maxsize=16)
def _fixed_rule(dataset: str, notion: str, tolerance: float) -> Rule:
    return load_population(dataset).find(notion, tolerance).rule


def held_out(case: Case) -> Result:
    """Certify a rule that other rows have fitted."""
    people = load_population(case.dataset)
    rule = _fixed_rule(case.dataset, case.notion, case.tolerance)
    start = time.process_time()
    sample = people.draw(JUDGED, case.seed)
    f = sample.decide(rule)
    proof = certificate(
        f, sample.sens, sample.label, notion=case.notion, names=sample.names
    )
    return _compare(case, people, rule, proof, "done", start)


def fitted(case: Case) -> Result:
    """Certify a rule on the rows that fitted it."""
    people = load_population(case.dataset)
    start = time.process_time()
    found = people.draw(JUDGED, case.seed).find(case.notion, case.tolerance)
    proof = found.certify_fit(CONFIDENCE)
    return _compare(case, people, found.rule, proof, found.status, start)


def assured(case: Case) -> Result:
    """Find a rule whose tolerance shall hold in the population."""
    people = load_population(case.dataset)
    start = time.process_time()
    sample = people.draw(ASSURED, case.seed)
    try:
        found = sample.find(case.notion, case.tolerance, CONFIDENCE)
    except RangeError:  # it says how many rows would suffice
        return Result({"status": "too few rows"}, time.process_time() - start)
    proof = found.certify_fit(CONFIDENCE)
    return _compare(case, people, found.rule, proof, found.status, start)


def _compare(
    case: Case,
    people: Population,
    rule: Rule,
    proof: Certificate,
    status: str,
    start: float,
) -> Result:
    """Measure the population, in the groups that the certificate is about."""
    seconds = time.process_time() - start
    f = people.decide(rule)
    truth = people.violations(f, case.notion)
    judged = [gap.groups[0] for gap in proof.gaps if gap.certified]
    values: dict[str, float | str] = {
        "status": status,
        "population/violation": max((truth[k] for k in judged), default=0.0),
        "population/accuracy": float((f == people.label).double().mean()),
        "fit/violation": proof.estimate,
        "fit/low": proof.low,
        "fit/high": proof.high,
        "fit/bound": proof.bound,
        "fit/rows": float(proof.n),
    }
    return Result(values, seconds)
