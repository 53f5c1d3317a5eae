"""How well a stated tolerance is kept, as tables in Markdown."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

import numpy as np

from fairret.lab.dataset import TITLES
from fairret.lab.experiment.trade_off import NOTIONS
from fairret.lab.tolerance.blocks import Writer
from fairret.lab.tolerance.cases import DATASETS
from fairret.lab.tolerance.goals import LEAD, judge
from fairret.lab.tolerance.leads import OPPONENTS, Lead, find_leads
from fairret.lab.tolerance.methods import DEFAULT, EXACT
from fairret.lab.tolerance.people import ALL

if TYPE_CHECKING:
    import pandas as pd

WIDTH = 100  # of a line of text
TOLERANCE = 0.1  # of the table of rules
RULES = {  # columns of that table
    "trees": ("boosting", math.inf),
    "blind": ("exact blind boosting", TOLERANCE),
    "informed": ("exact informed boosting", TOLERANCE),
    "network": ("network", math.inf),
    "blind network": ("exact blind network", TOLERANCE),
    "informed network": ("exact informed network", TOLERANCE),
}
PEERS = {"grid": "our losses, best of a grid of 20"}
LEARNERS = {"boosting": "trees", "network": "network"}


def write_goals(data: pd.DataFrame) -> str:
    """Write what was promised beside what was measured."""
    rows = ["| goal | wanted | measured |", "|---|---|---|"]
    for goal in judge(data, find_leads(data)):
        right = round(goal.share * goal.cases) if goal.cases else 0
        rows.append(f"| {goal.name} | {goal.wanted:.0%} | {right} of {goal.cases} |")
    return "\n".join(rows)


def write_rules(data: pd.DataFrame) -> str:
    """Write accuracy and violation on the test rows, in the mean over the seeds."""
    done = data[(data["traits"] == ALL) & data["test/violation"].notna()]
    place = ["dataset", "notion", "method", "tolerance"]
    means = done.groupby(place)[["test/accuracy", "test/violation"]].mean()
    rows = [f"| dataset, notion | {' | '.join(RULES)} |"]
    rows.append("|---" * (1 + len(RULES)) + "|")
    for dataset in DATASETS:
        for notion, short in NOTIONS.items():
            keys = [(dataset, notion, *rule) for rule in RULES.values()]
            cells = [
                "{:.3f}, {:.2f}".format(*means.loc[key]) if key in means.index else "–"
                for key in keys
            ]
            rows.append(f"| {TITLES[dataset]}, {short} | {' | '.join(cells)} |")
    return "\n".join(rows)


def write_peers(data: pd.DataFrame) -> str:
    """Write by how much other packages lead at equal violation."""
    rows = ["| package | compared with | comparisons | mean lead | largest lead |"]
    rows.append("|---|---|---|---|---|")
    leads = [one for one in find_leads(data) if one.reached]
    for peer, ours in sorted(OPPONENTS.items()):
        own = [one.lead for one in leads if one.peer == peer]
        *_, kind, learner = ours.split()
        means = f"{np.mean(own):+.4f} | {max(own):+.4f}" if own else "– | –"
        words = f"{kind} rule, {LEARNERS[learner]}"
        rows.append(f"| {PEERS.get(peer, peer)} | {words} | {len(own)} | {means} |")
    return "\n".join(rows)


def write_leads(data: pd.DataFrame) -> str:
    """Say where a package leads by more than noise."""
    found = sorted(find_leads(data), key=lambda one: -one.lead)
    ahead = [_wrap(f"- {_describe(one)}.") for one in found if one.lead > LEAD]
    return "\n".join(ahead) or f"No package leads by more than {LEAD:g}."


def _describe(one: Lead) -> str:
    where = f"{TITLES[one.dataset]}, {one.traits}, {NOTIONS[one.notion]}"
    return (
        f"{where}: {PEERS.get(one.peer, one.peer)} (bound {one.tolerance:g}) has an "
        f"accuracy of {one.accuracy:.3f} at a violation of {one.violation:.2f}, our "
        f"rule {one.our_accuracy:.3f}; balanced {one.balanced_accuracy:.3f} and "
        f"{one.our_balanced_accuracy:.3f}"
    )


def write_notes(data: pd.DataFrame) -> str:
    """Count what the other tables leave out."""
    exact = data[data["method"].isin(EXACT) & (data["traits"] == ALL)]
    known = exact[exact["test/low"].notna()]
    reaches = int((known["test/low"] <= known["tolerance"]).sum())
    assured = data[data["method"] == "assured rule"]
    found = int((assured["status"] == "met").sum())
    beyond = [one.lead for one in find_leads(data) if not one.reached]
    rules = data["method"].isin([*EXACT, *DEFAULT])
    missed = data[(data["status"] == "missed") & rules]
    ends = (missed[name] for name in ("fit/violation", "reachable"))
    notes = [
        f"For {reaches} of {len(known)} exact rules for all traits, the interval of "
        "the largest violation on the test rows reaches down to the tolerance.",
        f"{found} of {len(assured)} assured rules that were asked for were found.",
    ]
    if beyond:
        notes.append(
            f"In {len(beyond)} further comparisons the other package had a smaller "
            f"violation than any of our rules; its largest lead was {max(beyond):+.3f}."
        )
    notes += [
        f"Missed: {one.method}, {TITLES[one.dataset]}, {NOTIONS[one.notion]} within "
        f"{one.tolerance:g} (seed {one.seed}), which ended at "
        f"{value:.3f}; the smallest that was found to be reachable is {least:.3f}."
        for one, value, least in zip(missed.itertuples(), *ends, strict=True)
    ]
    return "\n".join(_wrap(f"- {note}") for note in notes)


def _wrap(text: str) -> str:
    return textwrap.fill(text, WIDTH, subsequent_indent="  ")


BLOCKS: dict[str, Writer] = {
    "goals": write_goals,
    "rules": write_rules,
    "notes": write_notes,
    "peers": write_peers,
    "leads": write_leads,
}
