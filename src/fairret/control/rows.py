"""The rows that fit a rule: scores, groups and labels, checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairret.checks import example_of_text
from fairret.errors import ArgumentError, DtypeError, RangeError, ShapeError

Array: TypeAlias = Tensor | NDArray[np.generic]
UNRELATED = 0.01  # share of a membership's variance below which q tells nothing


@dataclass(frozen=True)
class FitRows:
    r"""What a rule is fitted on, in float64."""

    eta: Tensor  # (n,): P(Y = 1 | x), or P(Y = 1 | x, s) if informed
    sens: Tensor  # (n, d_s)
    label: Tensor  # (n,)
    q: tuple[Tensor, Tensor] | None  # E[S | x, Y = 0] and E[S | x, Y = 1]; blind
    weight: Tensor  # (n,)
    names: tuple[str, ...]
    traits: tuple[tuple[int, ...], ...]
    inputs: Mapping[str, object]

    @property
    def everybody(self) -> Tensor:
        """Memberships with everybody first, `(n, 1 + d_s)`."""
        return torch.cat((torch.ones_like(self.eta)[:, None], self.sens), 1)

    @property
    def share(self) -> Tensor:
        """Weights that sum to 1."""
        return self.weight / self.weight.sum()

    @property
    def vague(self) -> Tensor:
        """Groups that a blind rule cannot tell from others, `(d_s,)`."""
        if self.q is None:
            return torch.zeros(self.sens.shape[1], dtype=torch.bool)
        share = explained_share(self.sens, self.label, self.weight, self.q)
        return share < UNRELATED


def explained_share(
    sens: Tensor, label: Tensor, weight: Tensor, q: tuple[Tensor, Tensor]
) -> Tensor:
    r"""How much of each membership the features and the label explain, `(d_s,)`.

    .. math:: 1 - E[(S_k - q_k(x, y))^2] / \mathrm{Var}(S_k)
    """
    w = torch.where(sens.isnan(), 0.0, weight[:, None])
    w = w / w.sum(0).clamp_min(1e-12)
    s = sens.nan_to_num(nan=0.0)
    own = torch.where(label[:, None] == 1, q[1], q[0])
    spread = (w * (s - (w * s).sum(0)).square()).sum(0)
    return 1 - (w * (s - own).square()).sum(0) / spread.clamp_min(1e-12)


def read_rows(
    eta: Array,
    sens: Array,
    label: Array,
    *,
    q: tuple[Array, Array] | None = None,
    weight: Array | None = None,
    names: Sequence[str] | None = None,
    traits: Mapping[str, Sequence[int]] | Sequence[Sequence[int]] | None = None,
    inputs: Mapping[str, object] | None = None,
) -> FitRows:
    """Check the arrays of a fit, and bring them to float64.

    A missing membership (NaN in `sens`) counts as no membership.
    """
    h = as_column("eta", eta)
    n = len(h)
    if n == 0:
        raise ShapeError("`eta` must have at least one row; got none.")
    _check_values("eta", h, "Scores must be out-of-fold or held-out for every row.")
    if bool((h == h[0]).all()):
        raise RangeError(
            f"`eta` must vary; all {n} scores are {float(h[0]):.3g}. A rule needs "
            "scores that tell people apart."
        )
    y = as_column("label", label, n)
    if not bool(((y == 0) | (y == 1)).all()):
        raise RangeError(
            f"`label` must be 0 or 1 in every row; got values from {float(y.min()):g} "
            f"to {float(y.max()):g}."
        )
    s = as_matrix("sens", sens, n).nan_to_num(nan=0.0)
    _check_values("sens", s, "Encode traits with `fairret.sensitive`.")
    w = torch.ones_like(h) if weight is None else as_column("weight", weight, n)
    if not bool((w >= 0).all()) or not bool(w.sum() > 0):
        raise RangeError("`weight` must be at least 0, and positive in some rows.")
    both = None if q is None else (_read_q(0, q, s), _read_q(1, q, s))
    d_s = s.shape[1]
    names = (
        tuple(names) if names is not None else tuple(f"group {k}" for k in range(d_s))
    )
    if len(names) != d_s:
        raise ShapeError(
            f"`names` must have one name per column of `sens`, {d_s}; got {len(names)}."
        )
    if isinstance(traits, Mapping):
        traits = list(traits.values())
    own = [range(d_s)] if traits is None else traits
    return FitRows(h, s, y, both, w, names, tuple(map(tuple, own)), dict(inputs or {}))


def _read_q(place: int, q: tuple[Array, Array], s: Tensor) -> Tensor:
    """Read estimates of memberships, of the shape of these memberships."""
    own = as_matrix(f"q[{place}]", q[place], len(s))
    if own.shape != s.shape:
        raise ShapeError(
            f"`q[{place}]` must have the shape of `sens`, {tuple(s.shape)}; "
            f"got {tuple(own.shape)}."
        )
    _check_values(f"q[{place}]", own, "Clip regressions to [0, 1].")
    return own


def as_column(name: str, x: Array, n: int | None = None) -> Tensor:
    """Read `(n,)` or `(n, 1)` as float64."""
    rows = _as_numbers(name, x)
    if rows.dim() == 2 and rows.shape[1] == 1:
        rows = rows[:, 0]
    if rows.dim() != 1 or (n is not None and len(rows) != n):
        wanted = "(n,)" if n is None else f"({n},)"
        raise ShapeError(f"`{name}` must have shape {wanted}; got {tuple(rows.shape)}.")
    return rows


def _as_numbers(name: str, x: Array) -> Tensor:
    """Read numbers as float64."""
    try:
        return torch.as_tensor(x).detach().to(torch.float64)
    except (TypeError, ValueError, RuntimeError):
        text = example_of_text(x)
        got = type(x).__name__ if text is None else f"text such as {text!r}"
        hint = {
            "label": "Compare labels with the positive class: `label == 'yes'`.",
            "sens": "Encode traits with `fairret.sensitive.SensitiveEncoder`.",
        }.get(name, "Convert it with `numpy.asarray(x, dtype=float)`.")
        raise DtypeError(
            f"`{name}` must be a tensor or an array of numbers; got {got}. {hint}"
        ) from None


def check_amounts(
    kind: str,
    s: Tensor,
    traits: Mapping[str, Sequence[int]] | Sequence[Sequence[int]] | None,
    names: Sequence[str] | None,
) -> None:
    """Refuse to compare the groups of a trait that is an amount, such as the age.

    Args:
        kind: The form of the tolerance.
        s: Memberships, `(n, d_s)`.
        traits: Which columns belong to the same trait.
        names: Names of the groups.
    """
    if kind == "max_violation":
        return
    own = [range(s.shape[1])] if traits is None else traits
    named = own.items() if isinstance(own, Mapping) else ((None, k) for k in own)
    for trait, columns in named:
        if len(columns) != 1:
            continue
        amount = s[:, columns[0]]
        if bool(((amount > 0) & (amount < 1)).any()):
            name = trait or (names[columns[0]] if names is not None else "The trait")
            raise ArgumentError(
                f"{name} is an amount, and `{kind}` compares the groups of a trait. "
                "Cut it into groups (with `fairret.sensitive.Binned`, or `--bins` on "
                "the command line), leave it out, or use `max_violation`."
            )


def as_matrix(name: str, x: Array, n: int) -> Tensor:
    """Read `(n, d_s)` as float64."""
    rows = _as_numbers(name, x)
    if rows.dim() != 2 or len(rows) != n or rows.shape[1] == 0:
        raise ShapeError(
            f"`{name}` must have shape ({n}, d_s); got {tuple(rows.shape)}. "
            "Pass a single trait as `sens[:, None]`, and one-hot encode categories."
        )
    return rows


def _check_values(name: str, x: Tensor, hint: str) -> None:
    missing = int(x.isnan().sum())
    if missing:
        raise RangeError(
            f"`{name}` must not have missing values; got {missing}. {hint}"
        )
    if not bool(((x >= 0) & (x <= 1)).all()):
        raise RangeError(
            f"`{name}` must be between 0 and 1; got values from {float(x.min()):g} to "
            f"{float(x.max()):g}. {hint}"
        )
