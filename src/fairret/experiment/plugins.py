"""Methods and datasets of one's own: Python files that an experiment names.

A plugin goes to every worker as text, so that all of them run the same one, on other
machines too.
"""

from __future__ import annotations

import sys
import threading
import zlib
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from fairret.errors import FairretError
from fairret.experiment.describe import describe

_IMPORTED: dict[str, str] = {}  # the text of every plugin by its path
_LOCK = threading.RLock()


class PluginError(FairretError, ImportError):
    """A plugin cannot be read, or breaks when it is imported."""


class Plugin(NamedTuple):
    """A Python file."""

    path: str
    source: str


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
            f"({said}). Name it as seen from the folder of the TOML file."
        ) from error


def import_plugins(plugins: Iterable[Plugin]) -> bool:
    """Import what this process has not imported; tell whether there was any.

    Raises:
        PluginError: If one breaks.
    """
    with _LOCK:  # a Dask worker has threads
        new = [one for one in plugins if _IMPORTED.get(one.path) != one.source]
        for plugin in new:
            _import(plugin)
    return bool(new)


def plugin_files() -> list[str]:
    """Name the files that were imported here, as a traceback does."""
    return [*_IMPORTED]


def _import(plugin: Plugin) -> None:
    path = Path(plugin.path)
    # a name of its own: two folders may each have a mine.py
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
