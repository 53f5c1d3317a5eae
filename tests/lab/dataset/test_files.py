"""A table is the published one, or it is not used."""

import functools
import hashlib
import http.server
import io
import sys
import threading
import zipfile

import pytest

from fairret.errors import DataFileError, MissingExtraError
from fairret.lab.dataset import files
from fairret.lab.dataset.files import Published, fetch, find

CONTENT = b"a,b\n1,2\n3,4\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def archive(*members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in members:
            file.writestr(name, content)
    return buffer.getvalue()


NESTED = archive(
    ("readme.txt", b"none"), ("inner.zip", archive(("folder/t.csv", CONTENT)))
)
PLAIN = archive(("__MACOSX/._t.csv", b"?"), ("folder/t.csv", CONTENT))
OTHER = archive(("t.csv", b"a,b\n9,9\n"))


class Handler(http.server.BaseHTTPRequestHandler):
    def __init__(self, served, asked, *args):
        self.served, self.asked = served, asked
        super().__init__(*args)

    def do_GET(self):
        self.asked.append(self.path)
        content = self.served.get(self.path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        # A connection that breaks: half of what was announced.
        cut = len(content) // 2 if "broken" in self.path else len(content)
        self.wfile.write(content[:cut])

    def log_message(self, *args):
        pass


class Publisher:
    """A server on this machine that remembers what it was asked for."""

    def __init__(self):
        self.served, self.asked = {}, []
        handler = functools.partial(Handler, self.served, self.asked)
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}
        )
        self._thread.start()

    def table(self, name, content=PLAIN, members=("t.csv",), **options):
        self.served[f"/{name}.zip"] = content
        return Published(
            f"{name}/t.csv",
            sha256=options.pop("sha256", SHA256),
            url=f"{self.address}/{name}.zip",
            members=members,
            **options,
        )

    def stop(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def publisher():
    publisher = Publisher()
    yield publisher
    publisher.stop()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setattr(files, "cache_folder", lambda: folder)
    monkeypatch.setattr(files, "RETRIES", 0)  # a retry waits for seconds
    monkeypatch.delenv(files.HOME, raising=False)
    return folder


@pytest.fixture
def home(tmp_path, monkeypatch, cache):
    folder = tmp_path / "home"
    (folder / "x").mkdir(parents=True)
    monkeypatch.setenv(files.HOME, str(folder))
    return folder


def kept(folder):
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*.*"))


def test_file_in_home_is_taken_and_nobody_is_asked(home, publisher):
    (home / "x/t.csv").write_bytes(CONTENT)
    assert fetch(publisher.table("x")) == home / "x/t.csv"
    assert publisher.asked == []


def test_file_in_home_that_is_another_one_is_refused(home):
    (home / "x/t.csv").write_bytes(CONTENT + b"5,6\n")
    with pytest.raises(DataFileError, match=r"`t\.csv` must have the SHA-256 .* got"):
        find(Published("x/t.csv", sha256=SHA256))


def test_file_without_known_checksum_is_left_to_the_loader(home):
    (home / "x/t.csv").write_bytes(b"anything")
    assert find(Published("x/t.csv")) == home / "x/t.csv"


def test_home_that_does_not_exist_is_refused(cache, monkeypatch, tmp_path):
    monkeypatch.setenv(files.HOME, str(tmp_path / "hoem"))
    with pytest.raises(
        DataFileError, match=r"must name a folder that exists; got .*hoem"
    ):
        find(Published("x/t.csv"))


@pytest.mark.parametrize(
    ("content", "members"),
    [(PLAIN, ("t.csv",)), (NESTED, ("inner.zip", "t.csv"))],
    ids=["plain", "nested"],
)
def test_download_is_unpacked_into_the_cache(cache, publisher, content, members):
    path = fetch(publisher.table("x", content, members))
    assert path == cache / "x/t.csv"
    assert path.read_bytes() == CONTENT
    assert kept(cache) == ["x/t.csv"]  # no archive is left


def test_file_missing_in_home_is_downloaded(home, cache, publisher):
    assert fetch(publisher.table("x")) == cache / "x/t.csv"


def test_cache_hit_does_not_ask_the_server(cache, publisher):
    table = publisher.table("x")
    assert fetch(table) == fetch(table)
    assert publisher.asked == ["/x.zip"]


def test_two_tables_do_not_meet_in_the_cache(cache, publisher):
    other = hashlib.sha256(b"a,b\n9,9\n").hexdigest()
    first, second = publisher.table("x"), publisher.table("y", OTHER, sha256=other)
    assert fetch(first).read_bytes() != fetch(second).read_bytes()
    assert kept(cache) == ["x/t.csv", "y/t.csv"]


def test_corrupt_file_in_the_cache_is_downloaded_again(cache, publisher):
    table = publisher.table("x")
    fetch(table).write_bytes(CONTENT[:-3])
    assert find(table) is None
    assert fetch(table).read_bytes() == CONTENT
    assert publisher.asked == ["/x.zip"] * 2


def test_download_is_converted_before_it_is_checked(cache, publisher):
    def upper(file):
        return file.read().upper()

    sha256 = hashlib.sha256(CONTENT.upper()).hexdigest()
    table = publisher.table("x", convert=upper, sha256=sha256)
    assert fetch(table).read_bytes() == CONTENT.upper()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("changed", OTHER, "must have the SHA-256"),
        ("broken", PLAIN, "a download that broke off"),
        ("half", PLAIN[: len(PLAIN) // 2], "a broken archive"),
        ("page", b"<html>moved</html>", "a broken archive"),
        ("empty", archive(("u.csv", CONTENT)), "an archive without t.csv"),
        ("gone", None, "HTTP status 404"),
    ],
)
def test_failed_download_is_one_sentence_and_leaves_nothing(
    cache, publisher, name, content, said
):
    table = publisher.table(name, content)
    with pytest.raises(DataFileError, match=said) as caught:
        fetch(table)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert kept(cache) == []
    assert find(table) is None


def test_download_is_tried_again(cache, publisher, monkeypatch):
    monkeypatch.setattr(files, "RETRIES", 1)
    with pytest.raises(DataFileError, match="a download that broke off"):
        fetch(publisher.table("broken"))
    assert publisher.asked == ["/broken.zip"] * 2


def test_no_server_is_one_sentence(cache, publisher):
    table = publisher.table("x")
    publisher.stop()
    publisher.stop = lambda: None
    with pytest.raises(
        DataFileError, match=r"come from http.*; got no connection\. Try"
    ):
        fetch(table)


def test_cache_that_cannot_be_written_is_one_sentence(cache, publisher):
    cache.write_bytes(b"a file where a folder should be")
    with pytest.raises(DataFileError, match=r"got .* in .*cache\. Try again"):
        fetch(publisher.table("x"))


def test_table_that_is_no_longer_served_asks_for_a_copy(cache):
    with pytest.raises(DataFileError, match=r"no longer serves it; got no folder\."):
        fetch(Published("x/t.csv"))


def test_without_pooch_the_extra_is_named(monkeypatch):
    monkeypatch.delenv(files.HOME, raising=False)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'fairret\[experiment\]'"):
        fetch(Published("x/t.csv", url="http://127.0.0.1/x.zip"))


def test_cache_is_a_folder_of_its_own():
    assert "fairret" in str(files.cache_folder())
