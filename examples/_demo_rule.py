"""The end of the demonstration: a stated tolerance, and what it promises."""

import warnings
from typing import NamedTuple

import torch
from _demo_audit import HeldOut
from _demo_table import group_table
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

from fairret.control import Certificate, certificate, control_network
from fairret.errors import RangeError
from fairret.statistic import PositiveRate

LIMIT = 0.1


class Decided(NamedTuple):
    """Decisions on the test set and what they show about the population."""

    decisions: Tensor  # (n,)
    accuracy: float
    certificate: Certificate


def show_rule(
    console: Console,
    network: nn.Module,
    data: tuple[Tensor, Tensor, Tensor],
    feat: Tensor,
    test: HeldOut,
) -> None:
    """Build a rule on a trained network, and print its decisions on the test set."""
    console.print(
        f"A tolerance instead of a strength: at most {LIMIT:.0%} apart on the fit rows,"
        " with a certificate for the population",
        style="bold",
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the report says the same
            rule = control_network(
                network, data, notion="pr", max_violation=LIMIT, names=test.groups
            )
    except RangeError as error:
        console.print(f"{error}\n", markup=False, highlight=False, width=88)
        return
    with torch.no_grad():
        before = decide((network(feat) > 0).float(), test)
        after = decide(rule(feat).decision, test)
    console.print(f"{rule.report}\n", markup=False, highlight=False, width=88)
    console.print(tabulate(before, after, test))
    console.print(f"\n{after.certificate}\n", markup=False, highlight=False, width=88)


def decide(decisions: Tensor, test: HeldOut) -> Decided:
    """Certify decisions."""
    return Decided(
        decisions,
        float((decisions == test.label).float().mean()),
        certificate(decisions, test.sens, notion="pr", names=test.groups),
    )


def tabulate(before: Decided, after: Decided, test: HeldOut) -> Table:
    """Tabulate share accepted and violation per group, without → with the rule."""
    table = group_table("Decisions of the first network, without → with the rule")
    for header in ("share\naccepted", "violation", "with the rule,\nin the population"):
        table.add_column(header, justify="right", no_wrap=True)
    statistic = PositiveRate()
    sides = before, after
    shares = [statistic(side.decisions, test.sens).tolist() for side in sides]
    everybody = " → ".join(f"{float(side.decisions.mean()):.2f}" for side in sides)
    table.add_row("everybody", str(len(test.label)), everybody, style="bold")
    for k, (name, size) in enumerate(zip(test.groups, test.sizes, strict=True)):
        gaps = [side.certificate.gaps[k] for side in sides]
        table.add_row(
            name,
            "" if size is None else str(size),
            " → ".join(f"{share[k]:.2f}" for share in shares),
            " → ".join(f"{gap.estimate:.0%}" for gap in gaps),
            f"{gaps[1].low:.0%} to {gaps[1].high:.0%}" if gaps[1].certified else "–",
        )
    table.add_section()
    accuracy = " → ".join(f"{side.accuracy:.3f}" for side in sides)
    table.add_row("accuracy", "", accuracy)
    return table
