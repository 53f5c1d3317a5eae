"""Sources of the tables: the user's folder, the cache, or the publisher.

A table is used only if it is the published one, byte for byte where its checksum is
known. A download is unpacked, converted and checked in a temporary folder, and then
moved into the cache, which never holds a corrupt or partial file.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import zipfile
import zlib
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import IO

from fairret.errors import DataFileError, missing_extra

HOME = "FAIRRET_DATA_HOME"
RETRIES = 2  # of a download that fails


def same_bytes(file: IO[bytes]) -> bytes:
    """Take the publisher's file as it is."""
    return file.read()


@dataclass(frozen=True)
class Published:
    """A published table.

    Args:
        path: Its place in the folder ``FAIRRET_DATA_HOME`` and in the cache.
        sha256: The checksum of that file; without it, the loader checks the content.
        url: The publisher's archive; None if it is no longer served.
        members: The file in the archive, after the archives that it is nested in.
        convert: Makes the bytes of the table from that file.
    """

    path: str
    sha256: str | None = None
    url: str | None = None
    members: tuple[str, ...] = ()
    convert: Callable[[IO[bytes]], bytes] = same_bytes


def fetch(table: Published) -> Path:
    """Find a table, or download it.

    Raises:
        DataFileError: If it is not available, or is not the published one.
        MissingExtraError: If a download needs a package that is not installed.
    """
    return find(table) or _download(table)


def find(table: Published) -> Path | None:
    """Look for a table in the user's folder, then in the cache.

    Raises:
        DataFileError: If the user's folder is missing, or its file is another one.
    """
    home, cache = _home(), cache_folder()
    if home is not None and (path := home / table.path).is_file():
        _check_sha256(table, path.read_bytes(), str(path))
        return path
    if cache is not None and (path := cache / table.path).is_file():
        with suppress(DataFileError):  # a new download replaces it
            _check_sha256(table, path.read_bytes(), "")
            return path
    return None


def cache_folder() -> Path | None:
    """Name the folder of downloads; None without pooch, which makes them."""
    if importlib.util.find_spec("pooch") is None:
        return None
    import pooch

    return Path(pooch.os_cache("fairret"))


def _home() -> Path | None:
    value = os.environ.get(HOME)
    if not value:
        return None
    folder = Path(value).expanduser()
    if not folder.is_dir():
        raise DataFileError(
            f"`{HOME}` must name a folder that exists; got {value!r}. Correct it, or "
            "unset it to download what can be downloaded."
        )
    return folder


def _check_sha256(table: Published, content: bytes, place: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if table.sha256 is not None and found != table.sha256:
        raise DataFileError(
            f"`{PurePosixPath(table.path).name}` must have the SHA-256 "
            f"{table.sha256[:12]}…, that of the published table; got {found[:12]}… "
            f"from {place}. Replace it by the original, or remove it."
        )


def _download(table: Published) -> Path:
    """Download the archive, and put the table that is in it into the cache."""
    if table.url is None:
        home = os.environ.get(HOME)
        raise DataFileError(
            f"`{HOME}` must name a folder that holds {table.path}, because its "
            f"publisher no longer serves it; got {repr(home) if home else 'no folder'}."
            " Put a copy of the original there."
        )
    cache = cache_folder()
    if cache is None:
        needs = f"`{table.path}` is not in the folder `{HOME}`; downloading it needs"
        raise missing_extra(needs, "pooch", "experiment")
    target = cache / table.path
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=cache, prefix="download-") as scratch:
            archive = _retrieve(table, table.url, Path(scratch))
            content = _unpack(table, archive)
            _check_sha256(table, content, table.url)
            complete = Path(scratch) / "complete"
            complete.write_bytes(content)
            os.replace(complete, target)  # at once: no reader sees half a file
    except OSError as error:
        raise _unavailable(table, f"{error.strerror or error} in {cache}") from None
    return target


def _retrieve(table: Published, url: str, folder: Path) -> Path:
    import pooch
    from requests import exceptions as failure

    name = "archive.zip"
    progress = sys.stderr.isatty() and importlib.util.find_spec("tqdm") is not None
    fetcher = pooch.create(
        path=folder,
        base_url="",
        registry={name: None},  # the table inside has the checksum, see `_download`
        urls={name: url},
        retry_if_failed=RETRIES,
    )
    downloader = pooch.HTTPDownloader(progressbar=progress)
    try:
        return Path(fetcher.fetch(name, downloader=downloader))
    except failure.HTTPError as error:
        reason = "an error of the server"
        if error.response is not None:
            error.response.close()  # pooch leaves the connection open
            reason = f"HTTP status {error.response.status_code}"
    except failure.Timeout:
        reason = "no answer in time"
    except failure.ConnectionError:
        reason = "no connection"
    except failure.RequestException:
        reason = "a download that broke off"
    raise _unavailable(table, reason)


def _unpack(table: Published, archive: Path) -> bytes:
    with ExitStack() as opened:
        layer: IO[bytes] = opened.enter_context(archive.open("rb"))
        try:
            for member in table.members:
                folder = opened.enter_context(zipfile.ZipFile(layer))
                # By its own name: folders in archives have changed over the years.
                names = {PurePosixPath(x).name: x for x in folder.namelist()}
                if member not in names:
                    raise _unavailable(table, f"an archive without {member}")
                layer = opened.enter_context(folder.open(names[member]))
            return table.convert(layer)
        except (zipfile.BadZipFile, zlib.error, EOFError):
            raise _unavailable(table, "a broken archive") from None


def _unavailable(table: Published, reason: str) -> DataFileError:
    return DataFileError(
        f"`{table.path}` must be in the folder `{HOME}` or come from {table.url}; got "
        f"{reason}. Try again later, or set `{HOME}` to a folder that holds the file."
    )
