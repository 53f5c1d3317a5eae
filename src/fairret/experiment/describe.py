"""An exception in words, for one line of a message."""

from __future__ import annotations

import traceback
from collections.abc import Collection
from pathlib import PurePath


def describe(error: BaseException, files: Collection[str] = ()) -> str:
    """Say what was raised, and in which line of which file.

    Args:
        error: What was raised.
        files: Those whose line is wanted, if one took part; else the innermost.
    """
    if isinstance(error, SyntaxError) and error.filename:
        name, line, said = error.filename, error.lineno, error.msg
    else:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if frame.filename in files] or frames
        name, line, said = own[-1].filename, own[-1].lineno, str(error)
    return f"{type(error).__name__}: {said} ({PurePath(name).name}:{line})"
