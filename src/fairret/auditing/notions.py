"""What each notion of fairness means, in words for people who decide."""

from __future__ import annotations

from typing import NamedTuple

from fairret.statistic import LinearFractionalStatistic
from fairret.statistic.registry import name_of


class Notion(NamedTuple):
    """A notion of fairness in plain words."""

    title: str
    measure: str  # what the statistic is, of decisions
    meaning: str
    blind_spot: str
    unit: str = "share"  # "share" is shown in percent, "number" as it is


NOTIONS = {
    "pr": Notion(
        "Demographic parity",
        "share of people who get a yes",
        "Everybody gets a yes equally often, whatever the group.",
        "It does not look at what people are like or what became of them: groups that "
        "differ in what the score is about will differ here even if every single "
        "decision is right, and equal shares can hide decisions made at random.",
    ),
    "tpr": Notion(
        "Equal opportunity",
        "share of the positives who get a yes",
        "People whose label is positive are found equally often in all groups.",
        "It says nothing about people with a negative label, and it takes the labels "
        "as true: if they were recorded with a bias, so is this.",
    ),
    "fpr": Notion(
        "False positive parity",
        "share of the negatives who get a yes",
        "People whose label is negative get a yes by mistake equally often.",
        "It says nothing about the positives who were missed, and it takes the labels "
        "as true.",
    ),
    "ppv": Notion(
        "Predictive parity",
        "share of positives among those who get a yes",
        "A yes means the same in all groups: as many of those chosen are positive.",
        "It does not see who was left out. Where base rates differ it cannot hold "
        "together with equal error rates, except for a perfect model.",
    ),
    "for": Notion(
        "False omission parity",
        "share of positives among those who get a no",
        "A no means the same in all groups: as many of those left out were positive.",
        "It does not see how many were left out, only what they were like.",
    ),
    "accuracy": Notion(
        "Accuracy equality",
        "share of decisions that are right",
        "Decisions are right equally often in all groups.",
        "Both kinds of mistake count the same: one group may bear the wrong yes and "
        "another the wrong no.",
    ),
    "fn_fp": Notion(
        "Treatment equality",
        "positives missed for each negative who gets a yes",
        "The two kinds of mistake are in the same proportion in all groups.",
        "It does not see how many mistakes there are, and it is a ratio of two small "
        "numbers, so that it is noisy.",
        "number",
    ),
    "f_score": Notion(
        "F-score parity",
        "F-score of the decisions",
        "Precision and recall, taken together, are equal in all groups.",
        "It does not see the negatives who rightly got a no.",
    ),
    "fnr": Notion(
        "False negative parity",
        "share of the positives who get a no",
        "People whose label is positive are missed equally often in all groups.",
        "It is the complement of equal opportunity, yet a small rate makes the same "
        "gap look larger, since violations are relative.",
    ),
    "tnr": Notion(
        "True negative parity",
        "share of the negatives who get a no",
        "People whose label is negative rightly get a no equally often.",
        "It is the complement of false positive parity; relative gaps look smaller.",
    ),
    "npv": Notion(
        "Negative predictive parity",
        "share of negatives among those who get a no",
        "A no is right equally often in all groups.",
        "It does not see how many were left out.",
    ),
    "fdr": Notion(
        "False discovery parity",
        "share of negatives among those who get a yes",
        "A yes is wrong equally often in all groups.",
        "It does not see who was left out.",
    ),
}
DEFAULT = ("pr", "tpr", "fpr", "ppv", "for", "accuracy", "fn_fp")


def notion_of(statistic: LinearFractionalStatistic) -> Notion:
    """Describe a single statistic; one that is not known, in the words of its class."""
    name = name_of(statistic)
    if name in NOTIONS:
        return NOTIONS[name]
    doc = (type(statistic).__doc__ or "").strip().split("\n")[0]
    return Notion(
        f"Parity of {name}",
        name,
        doc or f"The statistic {name} is equal in all groups.",
        "Nobody has written down yet what this statistic does not see.",
        "number",
    )


def title_of(statistic: LinearFractionalStatistic) -> str:
    """Name a notion: that of a single statistic, or of a stack."""
    name = name_of(statistic)
    if not statistic.stacked:
        return notion_of(statistic).title
    if sorted(name.split("+")) == ["fpr", "tpr"]:
        return "Equalized odds"
    return " and ".join(notion_of(part).title for part in statistic.parts)
