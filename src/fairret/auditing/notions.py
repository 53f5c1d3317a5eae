"""What each notion of fairness asks for, in plain words."""

from __future__ import annotations

from typing import NamedTuple

from fairret.statistic import LinearFractionalStatistic
from fairret.statistic.registry import get_name


class Notion(NamedTuple):
    """A notion of fairness in plain words."""

    title: str
    measure: str  # what the statistic is, of decisions
    meaning: str
    blind_spot: str
    unit: str = "share"  # "share" is shown in percent, "number" as it is


# What a positive decision is called: a loan is a benefit, an arrest is a harm.
FAVOURABLE = {
    "get_yes": "get a yes",
    "gets_yes": "gets a yes",
    "get_no": "get a no",
    "got_no": "got a no",
    "A_yes": "A yes",
    "A_no": "A no",
    "a_yes": "a yes",
    "a_no": "a no",
    "chosen": "chosen",
    "left_out": "left out",
}
UNFAVOURABLE = {
    "get_yes": "are flagged",
    "gets_yes": "is flagged",
    "get_no": "are not flagged",
    "got_no": "were not flagged",
    "A_yes": "A flag",
    "A_no": "The absence of a flag",
    "a_yes": "a flag",
    "a_no": "no flag",
    "chosen": "flagged",
    "left_out": "not flagged",
}
ASKS = "This notion asks that "

NOTIONS = {
    "pr": Notion(
        "Demographic parity",
        "share of people who {get_yes}",
        "everybody {gets_yes} equally often, whatever the group.",
        "It does not look at what people are like or what became of them. Groups that "
        "differ in what the score is about will differ here even if every single "
        "decision is right, and equal shares can hide decisions made at random.",
    ),
    "tpr": Notion(
        "Equal opportunity",
        "share of the positives who {get_yes}",
        "people whose label is positive {get_yes} equally often in all groups.",
        "It says nothing about people with a negative label. It takes the labels as "
        "true: if they were recorded with a bias, so is this.",
    ),
    "fpr": Notion(
        "False positive parity",
        "share of the negatives who {get_yes}",
        "people whose label is negative {get_yes} by mistake equally often.",
        "It says nothing about the positives who were missed, and it takes the labels "
        "as true.",
    ),
    "ppv": Notion(
        "Predictive parity",
        "share of positives among those who {get_yes}",
        "{a_yes} means the same in all groups: the same share of those {chosen} is "
        "positive.",
        "It does not see who was {left_out}. Where base rates differ it cannot hold "
        "together with equal error rates, except for a perfect model.",
    ),
    "for": Notion(
        "False omission parity",
        "share of positives among those who {get_no}",
        "{a_no} means the same in all groups: the same share of those {left_out} is "
        "positive.",
        "It does not see how many were {left_out}, only what they were like.",
    ),
    "accuracy": Notion(
        "Accuracy equality",
        "share of decisions that are right",
        "decisions are right equally often in all groups.",
        "Both kinds of mistake count the same: one group may bear the false positives "
        "and another the false negatives.",
    ),
    "fn_fp": Notion(
        "Treatment equality",
        "number of false negatives per false positive",
        "the two kinds of mistake are in the same proportion in all groups.",
        "It does not see how many mistakes there are. It is a ratio of two small "
        "numbers, so it is noisy.",
        "number",
    ),
    "f_score": Notion(
        "F-score parity",
        "F-score of the decisions",
        "precision and recall, taken together, are equal in all groups.",
        "It does not see the negatives who rightly {got_no}.",
    ),
    "fnr": Notion(
        "False negative parity",
        "share of the positives who {get_no}",
        "people whose label is positive are missed equally often in all groups.",
        "It is the complement of equal opportunity. As violations are relative, a "
        "small rate makes the same gap look larger.",
    ),
    "tnr": Notion(
        "True negative parity",
        "share of the negatives who {get_no}",
        "people whose label is negative rightly {get_no} equally often.",
        "It is the complement of false positive parity. Relative gaps look smaller.",
    ),
    "npv": Notion(
        "Negative predictive parity",
        "share of negatives among those who {get_no}",
        "{a_no} is right equally often in all groups.",
        "It does not see how many were {left_out}.",
    ),
    "fdr": Notion(
        "False discovery parity",
        "share of negatives among those who {get_yes}",
        "{a_yes} is wrong equally often in all groups.",
        "It does not see who was {left_out}.",
    ),
}
DEFAULT = ("pr", "tpr", "fpr", "ppv", "for", "accuracy", "fn_fp")


def describe(
    statistic: LinearFractionalStatistic, *, favourable: bool = True
) -> Notion:
    """Describe a single statistic; an unknown one by the docstring of its class.

    Args:
        statistic: The statistic.
        favourable: Whether a positive decision benefits a person.
    """
    name = get_name(statistic)
    if name not in NOTIONS:
        doc = (type(statistic).__doc__ or "").strip().split("\n")[0]
        return Notion(
            f"Parity of {name}",
            name,
            f"{ASKS}the statistic {name} is equal in all groups. {doc}".strip(),
            "The blind spots of this statistic have not been described.",
            "number",
        )
    words = FAVOURABLE if favourable else UNFAVOURABLE
    found = NOTIONS[name]
    return found._replace(
        measure=found.measure.format_map(words),
        meaning=ASKS + found.meaning.format_map(words),
        blind_spot=found.blind_spot.format_map(words),
    )


def title(statistic: LinearFractionalStatistic) -> str:
    """Name a notion: that of a single statistic, or of a stack."""
    name = get_name(statistic)
    if not statistic.stacked:
        return describe(statistic).title
    if sorted(name.split("+")) == ["fpr", "tpr"]:
        return "Equalized odds"
    return " and ".join(describe(part).title for part in statistic.parts)
