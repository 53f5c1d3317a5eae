"""Your own methods and datasets: Python files that an experiment names.

A plugin is sent to every worker as text, so that all of them run the same code, also on
other machines.
"""

from __future__ import annotations

import sys
import threading
import traceback
import zlib
from collections.abc import Collection, Iterable
from pathlib import Path, PurePath
from types import ModuleType
from typing import NamedTuple

from fairret.errors import FairretError

_IMPORTED: dict[str, str] = {}  # the text of every plugin by its path
_LOCK = threading.RLock()


class PluginError(FairretError, ImportError):
    """A plugin cannot be read, or fails when it is imported."""


class NameTakenError(FairretError, ValueError):
    """A name is registered for something else."""


class Plugin(NamedTuple):
    """A Python file."""

    path: str
    source: str


def same_code(known: object, other: object) -> bool:
    """Whether two functions are one, or one that was redefined, as in a notebook."""
    place = [
        (getattr(x, "__module__", 0), getattr(x, "__qualname__", x))
        for x in (known, other)
    ]
    return known is other or place[0] == place[1]


def describe(error: BaseException, files: Collection[str] = ()) -> str:
    """Describe an error, with the line and file that raised it.

    Args:
        error: The error.
        files: If one of these took part, its line is shown; else the innermost.
    """
    if isinstance(error, SyntaxError) and error.filename:
        name, line, said = error.filename, error.lineno, error.msg
    else:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if frame.filename in files] or frames
        name, line, said = own[-1].filename, own[-1].lineno, str(error)
    return f"{type(error).__name__}: {said} ({PurePath(name).name}:{line})"


def read_plugin(path: Path) -> Plugin:
    """Read a file without running it.

    Raises:
        PluginError: If it cannot be read.
    """
    try:
        return Plugin(str(path.resolve()), path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise PluginError(
            f"`plugins` must be Python files that can be read; {path.name} cannot "
            f"({said}). Give its path relative to the folder of the TOML file."
        ) from error


def import_plugins(plugins: Iterable[Plugin]) -> bool:
    """Import what this process has not imported; return whether there was any.

    Raises:
        PluginError: If one fails.
    """
    with _LOCK:  # a Dask worker has threads
        new = [one for one in plugins if _IMPORTED.get(one.path) != one.source]
        for plugin in new:
            _import(plugin)
    return bool(new)


def plugin_files() -> list[str]:
    """List the files that were imported here, as named in a traceback."""
    return [*_IMPORTED]


def _import(plugin: Plugin) -> None:
    path = Path(plugin.path)
    # a unique name: two folders may each have a mine.py
    name = f"fairret_plugin_{path.stem}_{zlib.crc32(plugin.path.encode()):08x}"
    module = ModuleType(name)
    module.__file__ = plugin.path
    sys.modules[name] = module  # where a dataclass looks for its module
    try:
        exec(compile(plugin.source, plugin.path, "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise PluginError(
            f"`plugins` must be Python files that can be imported; {path.name} ended "
            f"with {describe(error, [plugin.path])}. Correct it there."
        ) from error
    _IMPORTED[plugin.path] = plugin.source
