"""`fairret tolerance`: how well a stated tolerance is kept, beside other packages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table as Shown

from fairret.console import error_exit, stdout_console
from fairret.errors import FairretError
from fairret.lab.commands import comparison as shared
from fairret.lab.commands.tables import plain_table
from fairret.lab.experiment.trade_off import NOTIONS
from fairret.lab.tolerance.blocks import renew
from fairret.lab.tolerance.goals import LEAD, Goal, judge
from fairret.lab.tolerance.leads import Lead, find_leads
from fairret.lab.tolerance.methods import RULES
from fairret.lab.tolerance.page import BLOCKS
from fairret.lab.tolerance.table import Table

OUTPUT = Path("results/tolerance.parquet")
DATASETS = shared.joined(RULES.datasets)
SEEDS = shared.joined(RULES.seeds)
METHODS = shared.joined(RULES.methods)
STATISTICS = shared.joined(RULES.notions)
LEADS = f"""\
Peers that lead by more than {LEAD:g} in accuracy at equal test violation, in the mean
over the seeds. Our curve is interpolated at the violation of the peer."""


def command(
    output: shared.Output = OUTPUT,
    datasets: shared.Datasets = DATASETS,
    seeds: shared.Seeds = SEEDS,
    methods: shared.Methods = METHODS,
    notions: Annotated[
        str, typer.Option(help="Names of statistics, separated by commas.")
    ] = STATISTICS,
    draws: Annotated[
        int, typer.Option(help="Samples from each population.", min=0)
    ] = RULES.draws,
    figure: Annotated[
        Path | None, typer.Option(help="Folder for a PNG and a PDF of the results.")
    ] = None,
    page: shared.Page = None,
    show: shared.Show = False,
) -> None:
    """Compare rules that keep a tolerance with those of other packages.

    Safe to interrupt: rerun the command to resume. It ends with the goals, and with
    the peers that are ahead.
    """
    try:
        comparison = RULES.only(
            datasets=shared.words(datasets),
            seeds=shared.whole_numbers(seeds),
            methods=shared.words(methods),
            notions=shared.words(notions),
            draws=draws,
        )
        table = Table(output)
        if not show:
            shared.run_missing(comparison, table)
        data = table.frame()
        if data.empty:
            typer.echo(f"{output} has no results yet.")
            return
        leads = find_leads(data)
        console = stdout_console()
        console.print(_goal_table(judge(data, leads)))
        console.print(_lead_table([one for one in leads if one.lead > LEAD]))
        if page is not None:
            renew(page, data, BLOCKS)
            typer.echo(f"Written: {page}.")
        if figure is not None:
            from fairret.lab.plot.tolerance import draw

            typer.echo(f"Written: {', '.join(map(str, draw(data, figure)))}.")
    except (FairretError, OSError) as error:
        error_exit(error)


def _goal_table(goals: Sequence[Goal]) -> Shown:
    table = plain_table("–: no cases.")
    for header in ("goal", "wanted", "measured", "cases", "reached"):
        table.add_column(header, justify="left" if header == "goal" else "right")
    for one in goals:
        known = not math.isnan(one.share)
        table.add_row(
            one.name,
            f"{one.wanted:.0%}",
            f"{one.share:.1%}" if known else "–",
            str(one.cases),
            ("yes" if one.reached else "no") if known else "–",
        )
    return table


def _lead_table(leads: Sequence[Lead]) -> Shown:
    table = plain_table(LEADS if leads else f"No peer leads by more than {LEAD:g}.")
    numbers = ("violation", "accuracy", "ours", "lead", "balanced", "ours", "seeds")
    for header in ("dataset", "trait", "notion", "peer", "bound"):
        table.add_column(header, no_wrap=True)
    for header in numbers:
        table.add_column(header, justify="right")
    for one in sorted(leads, key=lambda one: -one.lead):
        table.add_row(
            *(one.dataset, one.traits, NOTIONS[one.notion], one.peer),
            *(f"{one.tolerance:g}", f"{one.violation:.3f}", f"{one.accuracy:.4f}"),
            *(f"{one.our_accuracy:.4f}", f"{one.lead:.4f}"),
            *(f"{one.balanced_accuracy:.3f}", f"{one.our_balanced_accuracy:.3f}"),
            str(one.seeds),
        )
    return table
