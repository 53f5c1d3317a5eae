"""The audit that users get: its findings, and every form in which to read them."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairret.auditing.card import render_card
from fairret.auditing.findings import Findings, Section
from fairret.auditing.gate import Gate, judge
from fairret.auditing.page import render_fragment, render_page
from fairret.auditing.plain import as_dict, as_frame
from fairret.auditing.wording import notes, verdict
from fairret.errors import ArgumentError

if TYPE_CHECKING:
    import pandas as pd


class Audit(Findings):
    """How a model's decisions and scores treat groups of people.

    It prints as one paragraph per notion and is shown as a page in a notebook. With two
    models, it is about the last one, and compares it with the first.
    """

    def verdict(self, section: Section) -> str:
        """Describe in a few sentences whether a gap is beyond chance, and how large."""
        return verdict(self, section)

    @cached_property
    def notes(self) -> list[str]:
        """Sentences to read before the numbers."""
        return notes(self)

    def gate(
        self,
        *,
        max_violation: float | None = None,
        min_ratio: float | None = None,
        max_difference: float | None = None,
        mode: str = "evidence",
        notions: Sequence[str] | None = None,
    ) -> Gate:
        """Compare the decisions with limits.

        Args:
            max_violation: The largest violation allowed: 0.2 for 20 %.
            min_ratio: The smallest ratio of two groups of a trait; 0.8 is the
                four-fifths rule.
            max_difference: The largest difference of two groups of a trait.
            mode: "evidence" fails if the data show that a limit is exceeded,
                "assurance" unless they show that it is kept, "estimate" uses the
                estimates alone.
            notions: Names of the notions that must keep the limits. Required if the
                audit did not name its notions.

        Raises:
            FairretError: If a limit is out of range, or no notion is named.
        """
        limits = {
            "max_violation": max_violation,
            "min_ratio": min_ratio,
            "max_difference": max_difference,
        }
        return judge(self, limits, mode=mode, notions=notions)

    def __str__(self) -> str:
        lines = [self.verdict(section) for section in self.sections]
        return "\n".join([*self.notes, *lines])

    def __repr__(self) -> str:
        names = ", ".join(section.name for section in self.sections)
        return f"Audit({self.settings.source}, rows={self.settings.rows}, {names})"

    def _repr_html_(self) -> str:
        return render_fragment(self)

    def to_html(self, path: str | Path, *, gate: Gate | None = None) -> Path:
        """Write one self-contained page, completely or not at all."""
        check_target(Path(path), self._inputs)
        return write_whole(Path(path), render_page(self, gate))

    def to_card(
        self,
        path: str | Path,
        *,
        gate: Gate | None = None,
        task: str = "tabular-classification",
        overwrite: bool = False,
    ) -> Path:
        """Write a model card in the format of Hugging Face.

        Its metadata has the numbers under `model-index`, its text the verdicts and a
        table of the groups per notion. With two models, it is the card of the last.

        Args:
            path: Where to write, such as "README.md".
            gate: Limits to report, from :meth:`gate`.
            task: The task, in the words of Hugging Face.
            overwrite: Whether to replace a file that exists.

        Raises:
            ArgumentError: If the file exists, is an input or cannot be written.
        """
        target = Path(path)
        check_target(target, self._inputs)
        if target.is_file() and not overwrite:
            raise ArgumentError(
                f"{target} exists. Pass another path, or `overwrite=True` to replace "
                "it."
            )
        return write_whole(target, render_card(self, gate, task))

    @property
    def _inputs(self) -> list[Path]:
        return [x.path for x in self.sources if x.path is not None]

    def to_dict(self, *, gate: Gate | None = None) -> dict[str, Any]:
        """Return everything as plain values, None if there is no number.

        `docs/audit.md` describes the fields.
        """
        return as_dict(self, gate)

    def to_json(self, *, gate: Gate | None = None) -> str:
        """Return everything as JSON; see :meth:`to_dict`."""
        plain = self.to_dict(gate=gate)
        return json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per model, notion, channel and group."""
        return as_frame(self)


def check_target(target: Path, inputs: Sequence[Path]) -> None:
    """Require that a file can be written and is none of the inputs.

    Raises:
        ArgumentError: If not.
    """
    for path in inputs:
        if target.exists() and path.exists() and target.samefile(path):
            raise ArgumentError(
                f"The output must be another file than the input; got {target} for "
                "both. Write it elsewhere."
            )
    folder = target.resolve().parent
    what = ""
    if target.is_dir():
        what = "is a folder"
    elif target.exists() and not os.access(target, os.W_OK):
        what = "must not be written"
    elif target.is_file() or not target.exists():  # a device needs no folder
        writable = folder.is_dir() and os.access(folder, os.W_OK)
        what = "" if writable else "cannot be written"
    if what:
        raise ArgumentError(
            f"The output must be a file in a folder that exists and can be written; "
            f"{target} {what}. Pass another path."
        )


def write_whole(target: Path, content: str | bytes) -> Path:
    """Write a file through a temporary one, so that it is never incomplete."""
    if isinstance(content, str):
        content = content.encode("utf-8")
    if target.exists() and not target.is_file():  # a device or pipe is not replaced
        target.write_bytes(content)
        return target
    target = target.resolve()  # a link stays one
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return target


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
