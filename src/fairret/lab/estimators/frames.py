"""People as users have them: a data frame of features and one of traits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fairret.lab.tolerance.people import People
from fairret.lab.tolerance.table import import_pandas
from fairret.training import Rows

if TYPE_CHECKING:
    import pandas as pd

UNKNOWN = "unknown"  # the group of people without one, for packages that need one


class Frames(NamedTuple):
    """Features, labels and traits of the same people."""

    X: pd.DataFrame
    y: np.ndarray[Any, np.dtype[np.int64]]
    traits: pd.DataFrame  # text, None if missing; an amount is a number

    def categories(self) -> pd.DataFrame:
        """Return the traits that are not amounts."""
        return self.traits.select_dtypes(exclude="number").fillna(UNKNOWN)

    def arrays(self) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
        """Return the traits as arrays without objects; missing text is empty."""
        found = {}
        for name, column in self.traits.items():
            amount = column.dtype.kind == "f"
            found[str(name)] = (
                column.to_numpy() if amount else column.fillna("").to_numpy(str)
            )
        return found

    def one(self, trait: str) -> pd.Series:
        """Return one trait that is not an amount."""
        return self.categories()[trait]


def make_frames(people: People, rows: Rows, feat_names: Sequence[str]) -> Frames:
    """Turn rows into frames; the names of groups have the form "trait=group"."""
    pandas = import_pandas()
    sens = rows.sens.numpy()
    columns: dict[str, Any] = {}
    for trait, places in people.traits.items():
        own = sens[:, places]
        if len(places) == 1:
            columns[trait] = own[:, 0]
            continue
        words = [people.names[k].removeprefix(f"{trait}=") for k in places]
        named = np.array(words, dtype=object)[own.argmax(1)]
        named[own.sum(1) == 0] = None
        columns[trait] = named
    return Frames(
        pandas.DataFrame(rows.feat.numpy(), columns=list(feat_names)),
        rows.label.numpy().astype(np.int64),
        pandas.DataFrame(columns),
    )
