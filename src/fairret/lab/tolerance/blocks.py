"""Pages in Markdown that have results between two comments."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from fairret.errors import DataFileError

if TYPE_CHECKING:
    import pandas as pd

Writer: TypeAlias = "Callable[[pd.DataFrame], str]"
BLOCK = re.compile(r"(<!-- (\w+) -->\n).*?(<!-- end -->)", re.S)


def renew(path: Path, data: pd.DataFrame, writers: Mapping[str, Writer]) -> None:
    """Replace the blocks of a page, from `<!-- NAME -->` to `<!-- end -->`.

    Raises:
        DataFileError: If the page has no block, or one that nobody writes.
    """
    text = path.read_text("utf-8")
    names = [found[2] for found in BLOCK.finditer(text)]
    if not names or {*names} - {*writers}:
        have = f"it has {', '.join(names)}" if names else "it has none"
        raise DataFileError(
            f"`{path}` must have blocks such as `<!-- {next(iter(writers))} -->` to "
            f"`<!-- end -->`; {have}. The blocks are {', '.join(writers)}."
        )
    path.write_text(renewed(text, data, writers), "utf-8")


def renewed(text: str, data: pd.DataFrame, writers: Mapping[str, Writer]) -> str:
    """Return a page with the results in its blocks."""

    def write(found: re.Match[str]) -> str:
        return f"{found[1]}\n{writers[found[2]](data)}\n\n{found[3]}"

    return BLOCK.sub(write, text)
