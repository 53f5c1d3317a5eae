"""An exception in words, for one line of a message."""

from __future__ import annotations

import traceback
from pathlib import PurePath


def describe(error: BaseException, file: str | None = None) -> str:
    """Say what was raised, and in which line of which file.

    Args:
        error: What was raised.
        file: The file whose line is wanted, if it took part; else the innermost.
    """
    if isinstance(error, SyntaxError) and error.filename:
        name, line, said = error.filename, error.lineno, error.msg
    else:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if frame.filename == file] or frames
        name, line, said = own[-1].filename, own[-1].lineno, str(error)
    return f"{type(error).__name__}: {said} ({PurePath(name).name}:{line})"
