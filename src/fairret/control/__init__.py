"""A tolerance instead of a strength: decision rules that keep groups together."""

from fairret.control.calibration import Recalibration, recalibrate
from fairret.control.certificates import Certificate, CertifiedGap
from fairret.control.certify import certificate
from fairret.control.constrained import Constrained, Progress
from fairret.control.find import find_rule
from fairret.control.network import control_network
from fairret.control.rule import Rule
from fairret.control.rule_module import Choice, Comparison, Decided, RuleModule
from fairret.control.selection import Candidate, Selection, select_checkpoint
from fairret.control.solution import GroupOutcome, Solution
from fairret.control.tolerance import Tolerance
from fairret.control.tradeoffs import Tradeoff, TradeoffPoint, tradeoff

__all__ = [
    "Candidate",
    "Certificate",
    "CertifiedGap",
    "Choice",
    "Comparison",
    "Constrained",
    "Decided",
    "GroupOutcome",
    "Progress",
    "Recalibration",
    "Rule",
    "RuleModule",
    "Selection",
    "Solution",
    "Tolerance",
    "Tradeoff",
    "TradeoffPoint",
    "certificate",
    "control_network",
    "find_rule",
    "recalibrate",
    "select_checkpoint",
    "tradeoff",
]
