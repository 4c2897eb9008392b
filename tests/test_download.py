"""Fetching data, against a server on this machine that sends whole, truncated, corrupted and missing files."""

import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from dtglib.basics.errors import UserError
from dtglib.data.downloads import BY_HAND, FAILED, FETCHED, THERE, NoConnection, fetch, summary
from dtglib.data.registry import RECIPES, trees_digest

REPOSITORY = Path(__file__).parents[1]

# Long enough to be cut in half at any place that a buffer likes.
LONG = b"".join(b"line %06d of a long file\n" % number for number in range(20_000))


class Handler(BaseHTTPRequestHandler):
    """Serves `server.files`; for each request to a path it first plays the next of `server.tricks` for it."""

    def do_GET(self):
        site: Site = self.server.site
        name = self.path.rpartition("/")[2]
        trick = site.tricks[name].pop(0) if site.tricks[name] else ""
        site.log.append(name)
        content = site.files.get(name)
        if trick == "vanished" or content is None:
            return self.send_error(404)
        if trick == "busy":
            return self.send_error(503)
        if trick == "garbled":
            content = content[:-5] + b"?????"
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        half = len(content) // 2 if trick in ("truncated", "stalls", "slow") else len(content)
        self.wfile.write(content[:half])
        if trick == "stalls":
            site.released.wait(10)
        if trick == "slow":
            time.sleep(1)
            self.wfile.write(content[half:])

    def log_message(self, *args):
        """Keep the tests' output clean."""


@dataclass
class Site:
    """A server with its files, a registry that lists them, and a data folder to fetch them into."""

    folder: Path
    registry: Path
    url: str
    files: dict[str, bytes] = field(default_factory=dict)
    tricks: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    log: list[str] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    listed: list[dict] = field(default_factory=list)

    def offer(self, name: str, content: bytes = LONG, *tricks: str, recipe: str = "verbatim", kind: str = "sha256"):
        """Serve a file, with tricks for the first requests, and list it as what its recipe makes of it."""
        self.files[name] = content
        self.tricks[name] = list(tricks)
        ours = RECIPES[recipe](content)
        value = trees_digest(ours) if kind == "trees" else hashlib.sha256(ours).hexdigest()
        self.listed.append({"name": name, "recipe": recipe, "size": len(ours), "digest": f"{kind}:{value}"})
        source = {"repository": "some/one", "commit": "c0ffee", "licence": "MIT", "from": "data/", "to": "toy"}
        self.registry.write_text(json.dumps({"toy": [source | {"files": self.listed}]}))
        return self.folder / "toy" / name

    def fetch(self, timeout=5):
        return fetch(["toy"], self.folder, self.registry, self.url, timeout)

    def command(self) -> list[str]:
        """The same as a process of its own."""
        code = (
            f"from dtglib.data.downloads import fetch; from pathlib import Path; fetch(['toy'], {str(self.folder)!r}, "
        )
        code += f"Path({str(self.registry)!r}), {self.url!r}, 10)"
        return [sys.executable, "-c", code]


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.site = Site(tmp_path / "data", tmp_path / "registry.json", f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server.site
    server.site.released.set()
    server.shutdown()
    thread.join()
    server.server_close()


def outcomes(results) -> list[str]:
    return [result.outcome for result in results]


def files_below(folder: Path) -> list[str]:
    """The files that a user sees: not the lock."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and path.name != ".lock")


# --- what goes well


def test_a_whole_file_is_fetched_and_nothing_else_remains(site):
    target = site.offer("a.txt")
    assert outcomes(site.fetch()) == [FETCHED]
    assert target.read_bytes() == LONG
    assert files_below(site.folder) == ["a.txt"]


def test_a_right_file_is_not_requested_again(site):
    site.offer("a.txt")
    site.fetch()
    site.log.clear()
    assert outcomes(site.fetch()) == [THERE]
    assert site.log == []


def test_the_recipe_is_applied_to_the_official_file(site):
    target = site.offer("t.conllu", b"# sent_id = 1\n# mood = grave\n1\tThere\n\n", recipe="conllu-comments")
    site.fetch()
    assert target.read_bytes() == b"# sent_id = 1\n1\tThere\n\n"


def test_the_same_trees_in_another_order_are_right_too(site):
    one, other = b"1\tThere\t_\t_\t_\t_\t0\troot\t_\t_\n\n", b"1\tis\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    target = site.offer("t.conllu", one + other, kind="trees")
    site.files["t.conllu"] = other + one
    assert outcomes(site.fetch()) == [FETCHED]
    assert target.read_bytes() == other + one


def test_the_data_of_this_project_are_recognised_without_a_connection(data):
    results = fetch(folder=data, base_url="http://127.0.0.1:1")
    assert summary(results) == "127 files: 127 already there, 0 put in by hand, 0 fetched, 0 failed"


# --- transfers that break off


def test_a_connection_that_breaks_off_is_named_and_leaves_nothing_behind(site):
    target = site.offer("a.txt", LONG, "truncated")
    (result,) = site.fetch()
    assert result.outcome == FAILED
    half, rest = len(LONG) // 2, len(LONG) - len(LONG) // 2
    assert f"a.txt: the connection broke off (IncompleteRead({half} bytes read, {rest} more expected))" in result.why
    assert "run the same command again" in result.why
    assert files_below(site.folder) == []
    assert outcomes(site.fetch()) == [FETCHED]
    assert target.read_bytes() == LONG


def test_a_busy_server_is_named(site):
    site.offer("a.txt", LONG, "busy")
    (result,) = site.fetch()
    assert result.outcome == FAILED
    assert "the server is busy (503 Service Unavailable); try again later" in result.why


def test_a_silent_server_is_given_up_after_the_timeout(site):
    site.offer("a.txt", LONG, "stalls")
    (result,) = site.fetch(timeout=0.3)
    assert result.outcome == FAILED
    assert "timed out" in result.why


# --- wrong and missing files


def test_a_wrong_checksum_names_both_and_says_where_to_put_the_file_by_hand(site):
    target = site.offer("a.txt", LONG, "garbled")
    (result,) = site.fetch()
    garbled = LONG[:-5] + b"?????"
    assert result.outcome == FAILED
    assert f"expected sha256:{hashlib.sha256(LONG).hexdigest()}" in result.why
    assert f"found sha256:{hashlib.sha256(garbled).hexdigest()}" in result.why
    assert f"{site.url}/some/one/c0ffee/data/a.txt" in result.why
    assert f"in the folder {target.parent} under the name a.txt" in result.why


def test_a_file_with_a_wrong_checksum_leaves_nothing_behind(site):
    site.offer("a.txt", LONG, "garbled")
    site.fetch()
    assert files_below(site.folder) == []
    assert outcomes(site.fetch()) == [FETCHED]


def test_a_login_page_in_place_of_the_file_is_a_wrong_file(site):
    site.offer("pairs.jsonl", b'{"UID": "toy"}\n', recipe="blimp-fields")
    site.files["pairs.jsonl"] = b"<html>Welcome to our hotel</html>"
    (result,) = site.fetch()
    assert result.outcome == FAILED
    assert "wrong file" in result.why


def test_a_missing_file_is_named_and_the_others_come(site):
    site.offer("a.txt")
    site.offer("gone.txt", LONG, "vanished")
    site.offer("broken.txt", LONG, "garbled")
    site.offer("z.txt")
    results = site.fetch()
    assert outcomes(results) == [FETCHED, FAILED, FAILED, FETCHED]
    first, *failures = summary(results).splitlines()
    assert first == "4 files: 0 already there, 0 put in by hand, 2 fetched, 2 failed"
    assert "data/gone.txt: the server has no such file (404 Not Found)" in failures[0]
    assert "broken.txt: wrong file" in failures[1]


def test_an_official_file_put_in_by_hand_is_put_right(site):
    official = b"# sent_id = 1\n# mood = grave\n1\tThere\n\n"
    target = site.offer("t.conllu", official, recipe="conllu-comments")
    target.parent.mkdir(parents=True)
    target.write_bytes(official)
    assert outcomes(site.fetch()) == [BY_HAND]
    assert target.read_bytes() == b"# sent_id = 1\n1\tThere\n\n"
    assert site.log == []


def test_a_file_that_somebody_changed_is_reported_and_not_overwritten(site):
    target = site.offer("a.txt")
    target.parent.mkdir(parents=True)
    target.write_bytes(b"my own corrections")
    (result,) = site.fetch()
    assert result.outcome == FAILED
    assert "delete it and run the same command again" in result.why
    assert target.read_bytes() == b"my own corrections"


# --- what stops everything


def test_without_a_network_the_message_names_the_server_and_the_folder(site):
    target = site.offer("a.txt")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        site.url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    with pytest.raises(NoConnection) as caught:
        site.fetch()
    assert "127.0.0.1" in str(caught.value) and "cannot be reached" in str(caught.value)
    assert f"in the folder {target.parent} under the name a.txt" in str(caught.value)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_is_called_a_full_disk(site):
    target = site.offer("a.txt")
    target.parent.mkdir(parents=True)
    target.with_name(f"a.txt.{os.getpid()}.part").symlink_to("/dev/full")
    with pytest.raises(UserError, match=r"a\.txt: No space left"):
        site.fetch()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_named(site):
    site.offer("a.txt")
    site.folder.mkdir(mode=0o500)
    with pytest.raises(UserError, match="Permission denied"):
        site.fetch()


def test_a_file_in_the_place_of_the_data_folder_is_named(site):
    site.offer("a.txt")
    site.folder.write_text("")
    with pytest.raises(FileExistsError):
        site.fetch()


def test_an_unknown_collection_is_named_with_the_known_ones():
    with pytest.raises(UserError, match="unknown collection 'bllip'; known are ud-english, blimp, sg, "):
        fetch(["bllip"], "anywhere")


# --- two at once


def test_a_second_process_waits_and_finds_the_file_there(site):
    target = site.offer("a.txt", LONG, "slow")
    process = subprocess.Popen(site.command(), cwd=REPOSITORY)
    while not site.log and process.poll() is None:
        time.sleep(0.01)
    assert outcomes(site.fetch()) == [THERE]
    assert process.wait(timeout=600) == 0
    assert target.read_bytes() == LONG
    assert len(site.log) == 1
