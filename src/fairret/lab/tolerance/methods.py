"""Rules that keep a stated tolerance, and what they are compared with."""

from __future__ import annotations

import math
from functools import partial

from fairret.lab.tolerance import grid, ours, peers, promise
from fairret.lab.tolerance.cases import SINGLE, WIDE, Comparison, Method, Try
from fairret.lab.tolerance.people import ALL

POPULATIONS = ("lawschool", "acsincome", "synthetic")
NOTIONS = ("pr", "tpr", "ppv", "fn_fp")
RATES = ("pr", "tpr")  # what Fairlearn supports
TOLERANCES = (0.05, 0.1, 0.2)
STRICT = (0.02, *TOLERANCES)  # one more, so that peers are not below our curve
NONE = (math.inf,)
DRAWS = 21  # of rows from a population

_ALL = Try(ALL, NOTIONS, TOLERANCES)
_PLAIN = (
    Try(ALL, NOTIONS, NONE),
    Try(WIDE, RATES, NONE),
    Try(SINGLE, NOTIONS, NONE),
)
_BLIND = (_ALL, Try(WIDE, RATES, STRICT))
_INFORMED = (*_BLIND, Try(SINGLE, NOTIONS, STRICT))
_ONE = (Try(WIDE, RATES, TOLERANCES),)
_FEW = (Try(SINGLE, NOTIONS, TOLERANCES),)  # groups
_SLOW = (Try(WIDE, RATES, (0.05, 0.2)),)  # dozens of fits each
_CERTIFIED = (Try(ALL, NOTIONS, (0.1,)),)
_ASSURED = (Try(ALL, ("pr", "tpr", "ppv"), (0.2,)),)
_exact_blind = partial(ours.blind_boosting, adapt=False)
_exact_informed = partial(ours.informed_boosting, adapt=False)
_blind_network = partial(ours.control, informed=False, adapt=False)
_informed_network = partial(ours.control, informed=True, adapt=False)
# An exact rule has the stated tolerance; the default allows two standard errors.
METHODS = {
    "boosting": Method(ours.plain_boosting, _PLAIN),
    "exact blind boosting": Method(_exact_blind, _BLIND),
    "exact informed boosting": Method(_exact_informed, _INFORMED),
    "blind boosting": Method(ours.blind_boosting, (_ALL,)),
    "informed boosting": Method(ours.informed_boosting, (_ALL,)),
    "ThresholdOptimizer": Method(peers.threshold_optimizer, _ONE),
    "OxonFair": Method(peers.oxonfair, _FEW),
    "ExponentiatedGradient": Method(peers.exponentiated_gradient, _SLOW),
    "grid": Method(grid.choose, (_ALL,), datasets=grid.DATASETS),
    "network": Method(ours.plain_network, _PLAIN[:1], late=True),
    "exact informed network": Method(_informed_network, (_ALL,), late=True),
    "exact blind network": Method(_blind_network, (_ALL,), late=True),
    "held-out certificate": Method(promise.held_out, _CERTIFIED, POPULATIONS, True),
    "fitted certificate": Method(promise.fitted, _CERTIFIED, POPULATIONS, True),
    "assured rule": Method(promise.assured, _ASSURED, POPULATIONS, True),
}
DEFAULT = ("blind boosting", "informed boosting")
EXACT = (
    *("exact blind boosting", "exact informed boosting"),
    *("exact blind network", "exact informed network"),
)
RULES = Comparison(METHODS, NOTIONS, draws=DRAWS)
