"""A fitted classifier in a file, without pickle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fairret import __version__
from fairret.cli.cells import NUMBER, TEXT
from fairret.cli.columns import check_numbers
from fairret.cli.table import Table
from fairret.errors import ArgumentError, DataFileError

if TYPE_CHECKING:
    from fairret.estimator import ToleranceClassifier

SUFFIX = ".skops"


class Decided(NamedTuple):
    """Decisions about people."""

    label: Any  # (n,)
    margin: Any  # (n,), positive for a yes


@dataclass(frozen=True)
class SavedModel:
    """A classifier, and the columns that it needs."""

    classifier: ToleranceClassifier
    kinds: Mapping[str, str]  # of the features, in their order

    @property
    def positive(self) -> str:
        """The label that is a yes."""
        return str(self.classifier.classes_[self.classifier._positive])

    def notes(self, table: Table) -> list[str]:
        """Name columns whose values the model does not know."""
        encoder = getattr(self.classifier.models_, "table", None)
        found = []
        for (name, kind), known in zip(
            self.kinds.items(), getattr(encoder, "categories_", ()), strict=False
        ):
            if kind == TEXT and known is not None:
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
        names = list(own.encoder_.traits) if own.informed else []
        table.check_model([*self.kinds, *names])
        options = {}
        if own.informed:
            options["sensitive_features"] = table.frame[names]
        X = table.frame[list(self.kinds)]
        numbers = [name for name, kind in self.kinds.items() if kind == NUMBER]
        check_numbers(table.path.name, X[numbers], table.decimal, codes=False)
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


def dump_model(saved: SavedModel) -> bytes:
    """Return the content of a model file."""
    content = {
        "classifier": saved.classifier,
        "kinds": dict(saved.kinds),
        "fairret": __version__,
    }
    from fairret.estimator.saving import to_bytes

    return to_bytes(content)


def read_model(path: Path) -> SavedModel:
    """Read a model; no code of the file is run.

    Raises:
        DataFileError: If the file is not a model of `fairret fit`, or contains types
            that are not trusted.
        OSError: If the file does not exist or may not be read.
    """
    from fairret.estimator.saving import from_bytes

    found = from_bytes(path.read_bytes(), path.name)
    if isinstance(found, dict) and {"classifier", "kinds"} <= set(found):
        return SavedModel(found["classifier"], found["kinds"])
    names = getattr(found, "feature_names_in_", None)
    table = getattr(getattr(found, "models_", None), "table", None)
    if names is None or table is None:
        raise DataFileError(
            f"{path.name} is not a model of `fairret fit`. Load it in Python with "
            "`fairret.estimator.load`."
        )
    kinds = (NUMBER if own is None else TEXT for own in table.categories_)
    return SavedModel(found, dict(zip(map(str, names), kinds, strict=True)))
