"""Intersections: membership in the groups of several traits at once (App. B.2)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairret.errors import ArgumentError, DtypeError, RangeError
from fairret.sensitive.coded import Numbers, listing
from fairret.sensitive.column import ColumnName
from fairret.sensitive.frame import Block, Frame
from fairret.sensitive.trait import Encoding, Rules, Trait, check_column_name

SIGN = " × "
MAX_COMBINATIONS = 100_000  # each has an entry in the table of sizes


@dataclass(frozen=True, init=False, repr=False)
class Intersection:
    """All combinations of the groups of two or more traits.

    Fairness in each trait does not imply fairness in their intersections (Remark 2 of
    the paper). The membership in an intersection is the product of the memberships, so
    soft and continuous traits can be crossed too.

    Args:
        traits: The traits to cross. A name refers to the trait of that column in the
            encoder's list or, if there is none, to one that is encoded for the
            intersection only.
        min_size: Keep a combination only if its memberships in the training rows sum
            to at least this; the others are in :attr:`SensitiveEncoder.dropped`.

    Raises:
        ArgumentError: If there are fewer than two traits, or a column is in two.
        DtypeError: If one is neither a name nor a trait.
        RangeError: If ``min_size`` is not a positive number.
    """

    traits: tuple[ColumnName | Trait, ...]
    min_size: float

    def __init__(self, *traits: ColumnName | Trait, min_size: float = 1) -> None:
        for trait in traits:
            if isinstance(trait, Intersection):
                raise DtypeError(
                    f"`traits` of an intersection must be plain traits; got {trait}. "
                    "Name all traits in a single intersection."
                )
            if not isinstance(trait, Trait):
                check_column_name(trait)
        object.__setattr__(self, "traits", traits)
        object.__setattr__(self, "min_size", min_size)
        if len(traits) < 2 or len(set(self.columns)) < len(self.columns):
            raise ArgumentError(
                "`traits` must be at least two traits with no column in common; got "
                f"{listing(traits) or 'none'}. Add a trait, or remove the repeated one."
            )
        if not (min_size > 0 and math.isfinite(min_size)):
            raise RangeError(
                f"`min_size` must be a positive number; got {min_size!r}. Use 1 to "
                "keep every combination that occurs."
            )

    def __repr__(self) -> str:
        traits = ", ".join(map(repr, self.traits))
        return f"Intersection({traits}, min_size={self.min_size!r})"

    @property
    def columns(self) -> tuple[ColumnName, ...]:
        """The columns of the data that the traits read."""
        return tuple(
            column
            for trait in self.traits
            for column in (trait.columns if isinstance(trait, Trait) else (trait,))
        )

    @property
    def parts(self) -> tuple[Trait, ...]:
        """The traits, once no bare names are left."""
        return tuple(trait for trait in self.traits if isinstance(trait, Trait))

    @property
    def label(self) -> str:
        """The names of the traits, crossed."""
        return SIGN.join(part.label for part in self.parts)

    @property
    def long_label(self) -> str:
        """The names of the traits with their kinds, crossed."""
        return SIGN.join(part.long_label for part in self.parts)

    def learn(
        self, parts: Sequence[Encoding], frame: Frame, rules: Rules
    ) -> FittedIntersection:
        """Keep the combinations that are large enough.

        Raises:
            RangeError: If none is, or too many are.
        """
        count = math.prod(len(part.names) for part in parts)
        if count > MAX_COMBINATIONS:
            raise RangeError(
                f"The intersection {self.label!r} in `traits` must have at most "
                f"{MAX_COMBINATIONS} combinations; got {count}. Merge small "
                "categories, or cross fewer traits."
            )
        blocks = [frame.encode(part) for part in parts]
        rows = np.arange(len(frame))
        sizes = dict(combination_sizes(blocks, rows, frame.count))
        # Memberships are rounded to float32: ten of 0.7 must reach a size of 7.
        limit = self.min_size * (1 - 1e-6)
        kept = [c for c, size in sizes.items() if size >= limit]
        if not 0 < len(kept) <= rules.max_categories:
            remedy = "Raise" if kept else "Lower"
            raise RangeError(
                f"The intersection {self.label!r} in `traits` must keep at least one "
                f"combination and at most {rules.max_categories} (`max_categories`); "
                f"got {len(kept)} of `min_size` {self.min_size:g} or more, the largest "
                f"being {max(sizes.values()):g}. {remedy} `min_size`."
            )
        dropped = {_name(parts, c): size for c, size in sizes.items() if size < limit}
        names = tuple(_name(parts, c) for c in kept)
        return FittedIntersection(names, tuple(parts), tuple(kept), dropped)


@dataclass(frozen=True, eq=False)
class FittedIntersection(Encoding):
    """A fitted intersection."""

    names: tuple[str, ...]
    parts: tuple[Encoding, ...]
    combinations: tuple[tuple[int, ...], ...]
    dropped: Mapping[str, float]

    def reads(self) -> tuple[ColumnName, ...]:
        """Name the columns of all parts."""
        return tuple(name for part in self.parts for name in part.reads())

    def encode(self, frame: Frame) -> Block:
        """Multiply the memberships of each combination that was kept."""
        blocks = [frame.encode(part) for part in self.parts]
        block = np.empty((len(frame), len(self.names)), dtype=np.float32, order="F")
        for j, combination in enumerate(self.combinations):
            columns = [s[:, k] for s, k in zip(blocks, combination, strict=True)]
            block[:, j] = np.prod(columns, axis=0)
        return block


def combination_sizes(
    blocks: Sequence[Block],
    rows: npt.NDArray[np.intp],
    weight: Numbers,
    prefix: tuple[int, ...] = (),
) -> Iterator[tuple[tuple[int, ...], float]]:
    r"""Sum the memberships of each combination, :math:`\sum_i \prod_p S^p_{i k_p}`.

    Each level continues with the remaining rows, so one-hot traits cost
    :math:`O(n \sum_p d_p)`, not the product of all :math:`d_p`.
    """
    if not blocks:
        yield prefix, float(weight.sum())
        return
    for k in range(blocks[0].shape[1]):
        w = weight * blocks[0][rows, k]
        some = np.flatnonzero(w)
        yield from combination_sizes(blocks[1:], rows[some], w[some], (*prefix, k))


def _name(parts: Sequence[Encoding], combination: tuple[int, ...]) -> str:
    names = (part.names[k] for part, k in zip(parts, combination, strict=True))
    return SIGN.join(names)
