r"""The four functions of a statistic (Def. 2): their inputs and their values."""

import inspect
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from torch import Tensor

from fairret.batch import Batch
from fairret.errors import ShapeError, StatisticError

Coefficient: TypeAlias = Tensor | float
FUNCTIONS = ("nom_intercept", "nom_slope", "denom_intercept", "denom_slope")
OTHER_SPELLING = {"nom_intercept": "num_intercept", "nom_slope": "num_slope"}


class Need(NamedTuple):
    """An input of one of the four functions."""

    parameter: str  # its name in the function
    source: str  # its name in the call
    required: bool


def as_coefficient(value: object, batch: Batch, where: str) -> Coefficient:
    """Check the value of a function: a number, or one number per row."""
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, Tensor):
        value = value.to(batch.pred)
        if value.dim() == 0:
            return value.expand_as(batch.pred)
        if value.dim() == 2 and value.shape[1] == 1:
            value = value[:, 0]
        if value.shape == batch.pred.shape:
            return value
        got = f"shape {tuple(value.shape)}"
    else:
        got = type(value).__name__
    raise ShapeError(
        f"`{where}` must return a number or a tensor of shape (n,) or (n, 1) with "
        f"n={batch.n}; got {got}. Return one number per row."
    )


def unify_spelling(cls: type) -> None:
    """Make `num_` of 0.1.3 and `nom_` names of the same function."""
    for ours, theirs in OTHER_SPELLING.items():
        own = vars(cls)
        if ours in own and theirs in own:
            raise StatisticError(
                f"`{cls.__name__}` must define only one of `{ours}` and `{theirs}`, "
                "which are the same; got both. Delete one of them."
            )
        if theirs in own:
            setattr(cls, ours, own[theirs])
        elif ours in own:
            setattr(cls, theirs, own[ours])


def read_inputs(
    function: Callable[..., object], cls: type, name: str
) -> tuple[Need, ...]:
    """Read the inputs of a function from its signature."""
    parameters = list(inspect.signature(function).parameters.values())
    if not isinstance(inspect.getattr_static(cls, name), staticmethod):
        parameters = parameters[1:]  # self
    for parameter in parameters:
        if parameter.name in ("sens", "logit", "prob", "weight"):
            raise StatisticError(
                f"`{cls.__name__}.{name}` must not depend on the groups or the scores "
                f"(Def. 2); got `{parameter.name}`. Use `feat`, `label` or an input of "
                "another name."
            )
        if parameter.kind not in (
            parameter.POSITIONAL_OR_KEYWORD,
            parameter.KEYWORD_ONLY,
        ):
            raise StatisticError(
                f"`{cls.__name__}.{name}` must name its inputs; got `{parameter}`. "
                "Write them out, as in `def nom_slope(self, feat, label)`."
            )
    return tuple(Need(p.name, p.name, p.default is p.empty) for p in parameters)
