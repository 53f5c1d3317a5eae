"""A fitted classifier in a file, without pickle."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fairret import __version__
from fairret.cli.cells import NUMBER, TEXT
from fairret.cli.columns import check_numbers, check_words
from fairret.cli.table import Table
from fairret.errors import ArgumentError, DataFileError
from fairret.sensitive.categorical import FittedCategorical
from fairret.sensitive.coded import is_number
from fairret.sensitive.intersection import FittedIntersection
from fairret.sensitive.trait import Encoding

if TYPE_CHECKING:
    from fairret.estimator import ToleranceClassifier
    from fairret.estimator.features import TableEncoder

SUFFIX = ".skops"


class Decided(NamedTuple):
    """Decisions about people."""

    label: Any  # (n,)
    margin: Any  # (n,), positive for a yes


@dataclass(frozen=True)
class SavedModel:
    """A classifier, and the columns that it needs: numbers or text, as in its fit."""

    classifier: ToleranceClassifier
    table: TableEncoder

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The kinds of the features, in their order."""
        kinds = (NUMBER if own is None else TEXT for own in self.table.categories_)
        return dict(
            zip(map(str, self.classifier.feature_names_in_), kinds, strict=True)
        )

    @cached_property
    def traits(self) -> dict[str, str]:
        """The kinds of the traits that decisions need."""
        own = self.classifier
        return _trait_kinds(own.encoder_._fitted().encodings) if own.informed else {}

    @property
    def positive(self) -> str:
        """The label that is a yes."""
        return str(self.classifier.classes_[self.classifier._positive])

    def notes(self, table: Table) -> list[str]:
        """Name columns whose values the model does not know."""
        found = []
        for name, known in zip(self.kinds, self.table.categories_, strict=True):
            if known is not None:
                column = table.frame[name]
                new = int((column.notna() & ~column.isin(known)).sum())
                if new:
                    found.append(
                        f"Note: {new:,} of {len(column):,} rows have a {name!r} that "
                        "is new to the model, or was rare."
                    )
        return found

    def decide(self, table: Table) -> Decided:
        """Decide about the people of a table.

        Raises:
            FairretError: If a column is missing.
        """
        own = self.classifier
        table.check_model([*self.kinds, *self.traits])
        options = {}
        if own.informed:
            options["sensitive_features"] = table.frame[list(self.traits)]
        X = table.frame[list(self.kinds)]
        numbers = [name for name, kind in self.kinds.items() if kind == NUMBER]
        check_numbers(table.path.name, X[numbers], table.decimal, codes=False)
        check_words(table.path.name, X[numbers])
        margin = own.decision_function(X, **options)
        sign = 1 if own._positive else -1
        return Decided(own.classes_[(margin > 0).astype(int)], sign * margin)


def check_name(path: Path) -> None:
    """Require the name of a model file."""
    from fairret.estimator.saving import load_skops

    load_skops()
    if path.suffix != SUFFIX:
        raise ArgumentError(
            f"`--model` must end in {SUFFIX}; got {path.name!r}. For example, write "
            f"`--model {path.stem or 'model'}{SUFFIX}`."
        )


def dump_model(classifier: ToleranceClassifier) -> bytes:
    """Return the content of a model file."""
    from fairret.estimator.saving import to_bytes

    return to_bytes({"classifier": classifier, "fairret": __version__})


def read_model(path: Path) -> SavedModel:
    """Read a model; no code of the file is run.

    Raises:
        DataFileError: If the file is not a model of `fairret fit`, or contains types
            that are not trusted.
        OSError: If the file does not exist or may not be read.
    """
    from fairret.estimator.saving import from_bytes

    found = from_bytes(path.read_bytes(), path.name)
    own: Any = found.get("classifier") if isinstance(found, dict) else found
    table = getattr(getattr(own, "models_", None), "table", None)
    if table is None or not hasattr(own, "feature_names_in_"):
        raise DataFileError(
            f"{path.name} is not a model of `fairret fit`. Load it in Python with "
            "`fairret.estimator.load`."
        )
    return SavedModel(own, table)


def _trait_kinds(encodings: Iterable[Encoding]) -> dict[str, str]:
    """Tell numbers from text by the groups of the fit; amounts are numbers."""
    kinds: dict[str, str] = {}
    for part in encodings:
        if isinstance(part, FittedIntersection):
            kinds |= _trait_kinds(part.parts)
            continue
        values = part.categories if isinstance(part, FittedCategorical) else ()
        kind = NUMBER if all(map(is_number, values)) else TEXT
        kinds |= {str(name): kind for name in part.reads()}
    return kinds
