"""The page of a run that goes on, and who may read it."""

import contextlib
import http.client
import json
import re
import socket
import threading
import time
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from helpers.browser import until
from helpers.made_runs import record, story, written
from trl_grpo_rewards.records.files import GroupWriter
from trl_grpo_rewards.records.logs import LogWriter
from trl_grpo_rewards.records.runs import write_run
from trl_grpo_rewards.report.live import LiveRuns, LiveServer, is_this_machine


@pytest.fixture
def serve():
    servers = []

    def start(*sources):
        server = LiveServer(sources)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


def ask(server, path=None, method="GET", **headers) -> Answer:
    """Ask for a path, by default that of the page. A header's name has _ for -."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection._validate_method = connection._validate_path = lambda text: None  # attacks are not valid
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    with contextlib.closing(connection):
        connection.putrequest(method, urlsplit(server.url).path if path is None else path, skip_host="Host" in given)
        for name, value in given.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())


def ask_for_data(server, **headers) -> Answer:
    return ask(server, urlsplit(server.url).path + "data", **headers)


# --- who may read it ------------------------------------------------------------------------------------------------


def test_it_listens_on_this_machine_only(serve, tmp_path):
    server = serve(written(tmp_path, story(steps=1)))
    assert server.socket.getsockname()[0] == "127.0.0.1"
    assert ask(server).status == 200


HOSTS = {
    "127.0.0.1": True, "127.0.0.1:9": True, "localhost": True, "localhost:9000": True, "": False, "evil.com": False,
    "evil.com:80": False, "127.0.0.1.evil.com": False, "localhost.evil.com:80": False, "evil.com:127.0.0.1": False,
    "127.0.0.1@evil.com": False, "0.0.0.0": False, "192.168.1.5": False, ":localhost": False, "LOCALHOST\x00": False,
}  # fmt: skip


@pytest.mark.parametrize("host", HOSTS)
def test_a_name_that_points_here_is_not_enough(host):
    """A page of evil.com may let evil.com point to 127.0.0.1, and would then be of the same origin (DNS rebinding)."""
    assert is_this_machine(host) is HOSTS[host]


def test_requests_by_other_names_get_nothing(serve, tmp_path):
    server = serve(written(tmp_path, story(steps=1)))
    for path in (None, urlsplit(server.url).path + "data", "/"):
        answer = ask(server, path, Host="evil.com")
        assert (answer.status, answer.body) == (403, b"")
    assert ask_for_data(server, Host="localhost:1").status == 200


def test_every_other_path_is_unknown(serve, tmp_path):
    (tmp_path / "groups").mkdir()
    (tmp_path / "secret").write_text("secret")
    server = serve(written(tmp_path, story(steps=1)))
    at = urlsplit(server.url).path
    other = ("B" if at[1] != "B" else "C") + at[2:]
    for path in (
        "/", "//", "/data", at[:-1], "/" + other, f"/{other}data", f"{at}secret", f"{at}../secret", f"{at}%2e%2e/secret",
        f"{at}groups/0001-0001.jsonl", f"{at}data/", f"{at}data/../../../etc/passwd", f"/.{at}", "/etc/passwd",
        f"{at}DATA", f"{at}data%00", "*", f"http://127.0.0.1{at}", "a" * 60_000,
    ):  # fmt: skip
        answer = ask(server, path)
        assert (answer.status, answer.body) == (404, b""), path


def test_the_address_cannot_be_guessed(tmp_path):
    with LiveServer([tmp_path]) as one, LiveServer([tmp_path]) as other:
        assert one.key != other.key and len(one.key) >= 22


def test_no_answer_may_be_read_or_framed_by_another_page(serve, tmp_path):
    server = serve(written(tmp_path, story(steps=1)))
    for answer in (ask(server), ask_for_data(server, Origin="https://evil.com"), ask(server, "/")):
        headers = answer.headers
        assert headers["x-frame-options"] == "DENY" and headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin" and headers["cache-control"] == "no-store"
        assert not any(name.startswith("access-control") for name in headers)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "HEAD", "CONNECT", "<script>"])
def test_other_methods_are_refused(serve, tmp_path, method):
    assert ask(serve(written(tmp_path, story(steps=1))), method=method).status in (400, 501)


def test_a_client_that_says_nothing_keeps_nobody_waiting(serve, tmp_path):
    server = serve(written(tmp_path, story(steps=1)))
    with socket.create_connection(("127.0.0.1", server.server_port)) as silent:
        silent.sendall(b"GET / HTTP/1.1\r\nHost: local")
        assert ask_for_data(server).status == 200


# --- what it serves -------------------------------------------------------------------------------------------------


def test_data_are_sent_only_if_something_was_written(serve, tmp_path):
    writer = GroupWriter(tmp_path)
    writer.write(1, [record({"boxed": [1.0, 0.0]})])
    server = serve(tmp_path)
    first = ask_for_data(server)
    assert json.loads(first.body)["data"]["runs"][0]["groups"] == 1
    assert ask_for_data(server, If_None_Match=first.headers["etag"]).status == 304
    writer.write(1, [record({"boxed": [0.0, 0.0]})])
    second = ask_for_data(server, If_None_Match=first.headers["etag"])
    assert (second.status, json.loads(second.body)["data"]["runs"][0]["groups"]) == (200, 2)
    log = LogWriter(tmp_path)
    log.start([])
    log.write({"step": 1, "entropy": 0.5})
    third = ask_for_data(server, If_None_Match=second.headers["etag"])
    assert json.loads(third.body)["data"]["runs"][0]["log"]["series"] == [["entropy", [0.5]]]


def test_what_was_read_in_parts_equals_what_is_read_at_once(tmp_path):
    live, stepped = LiveRuns([tmp_path]), list(story(steps=60))
    writer = GroupWriter(tmp_path)
    for number, (step, one) in enumerate(stepped):
        writer.write(step, [one])
        if number % 7 == 0:
            live.describe()
    assert live.describe()[1:] == LiveRuns([tmp_path]).describe()[1:]


def test_a_run_that_starts_again_supersedes_what_was_shown(tmp_path):
    live = LiveRuns([tmp_path])
    written(tmp_path, story(steps=10))
    assert json.loads(live.describe()[1])["runs"][0]["steps"] == [1, 10]
    GroupWriter(tmp_path).write(4, [record({"boxed": [1.0, 1.0]})])
    (run,) = json.loads(live.describe()[1])["runs"]
    assert run["steps"] == [1, 4] and run["groups"] == 3 * 4 + 1


def test_a_torn_line_is_read_when_it_is_whole(tmp_path):
    live = LiveRuns([tmp_path])
    written(tmp_path, story(steps=2))
    (file,) = (tmp_path / "groups").iterdir()
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-1]) + lines[-1][:50])
    assert json.loads(live.describe()[1])["runs"][0]["groups"] == 7
    file.write_bytes(b"".join(lines))
    assert json.loads(live.describe()[1])["runs"][0]["groups"] == 8


# --- in a browser ---------------------------------------------------------------------------------------------------


def test_the_page_follows_a_run_and_keeps_the_readers_place(browser, serve, tmp_path):
    server = serve(tmp_path)
    browser.open(server.url)
    assert browser.text("#waiting")[0].startswith("There are no groups yet.") and browser.text("main") == [""]
    write_run(tmp_path, {"rewards": "boxed()", "options": {"max_steps": 22}})
    writer = GroupWriter(tmp_path)
    for step, one in story(steps=20):
        writer.write(step, [one])
    until(lambda: browser.text("#found") == ["80 groups."])
    said = r"Step 20 of 22, last step at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\. This page follows the run\."
    assert re.fullmatch(said, browser.text("#live")[0]) and browser.text("#waiting") == [""]
    browser.focus("#rewards summary")
    browser.press("\ue007")
    browser.focus("#rewards .legend button")
    browser.press("\ue007")
    browser.focus("#order")
    browser.press("new")
    browser.focus("#search")
    browser.press("What")
    browser.focus("[data-link='#step19-2']")
    writer.write(21, [record({"boxed": [1.0, 0.0], "style": [0.5, 0.5]})])
    until(lambda: browser.text("#found") == ["81 groups."])
    assert browser.run("document.activeElement.dataset.link") == "#step19-2"
    assert browser.run("document.querySelector('#search').value") == "What"
    assert browser.text("#rewards .legend [aria-pressed='false']") == ["boxed"]
    assert len(browser.text("#rewards tr")) == 22
    browser.focus("#anomalies summary")
    browser.press("\ue007")
    writer.write(21, [record({"boxed": [0.0, 0.0], "style": [0.5, 0.5]})])
    until(lambda: browser.run("groups.length") == 82)
    assert browser.run("document.activeElement.closest('#anomalies details').open")
    browser.focus("[data-link='#step19-2']")
    browser.press("\ue007")
    writer.write(22, [record({"boxed": [1.0, 0.0], "style": [0.5, 0.5]})])
    until(lambda: browser.run("groups.length") == 83)
    assert browser.text("#group h2")[0].startswith("Step 19, group 2") and browser.run("location.hash") == "#step19-2"
    log = LogWriter(tmp_path)
    log.start([])
    log.write({"step": 22, "train_runtime": 60.0})
    until(lambda: re.fullmatch(r"Finished at step 22 of 22, last step at [-\d: ]+\.", browser.text("#live")[0]))
    assert browser.driver.get_log("browser") == []
    assert {urlsplit(url).netloc for url in browser.requests()} == {urlsplit(server.url).netloc}


def test_a_second_run_joins_the_page(browser, serve, tmp_path):
    written(tmp_path / "a", story(steps=20))
    (tmp_path / "b").mkdir()
    server = serve(tmp_path / "a", tmp_path / "b")
    browser.open(server.url)
    assert browser.text("h1") == ["a"] and browser.text("#kinds h2") == ["Solved and live groups"]
    written(tmp_path / "b", story(steps=20))
    until(lambda: browser.text("h1") == ["a, b"])
    assert browser.text("#reward h2") == ["Total reward"] and browser.text("#reward .legend button") == ["a", "b"]
    assert browser.driver.get_log("browser") == []


def test_a_page_of_another_origin_cannot_read_it(browser, serve, tmp_path):
    """Not even if it knows the address: no header allows it."""
    server, other = serve(written(tmp_path, story(steps=1))), serve(tmp_path)
    browser.open(other.url)
    tried = browser.driver.execute_async_script(
        "fetch(arguments[0]).then((one) => one.text()).then(arguments[1], (error) => arguments[1](error.name))",
        f"{server.url}data",
    )
    assert tried == "TypeError"
    browser.driver.get_log("browser")
    browser.requests()


def test_a_server_that_is_gone_is_said(browser, tmp_path):
    server = LiveServer([written(tmp_path, story(steps=2))])
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    browser.open(server.url)
    server.shutdown()
    server.server_close()
    until(lambda: "does not answer" in "".join(browser.text("#live")))
    assert browser.text("#found") == ["8 groups."]
    browser.driver.get("about:blank")
    browser.driver.get_log("browser")


def test_an_error_is_printed_in_one_line_and_a_closed_connection_is_not(serve, tmp_path, caplog, monkeypatch):
    server = serve(tmp_path)

    def fail(error):
        monkeypatch.setattr(server.runs, "describe", lambda: (_ for _ in ()).throw(error))
        with contextlib.suppress(http.client.HTTPException, ConnectionError):
            ask(server)

    fail(ConnectionResetError("gone"))
    fail(ZeroDivisionError("unforeseen"))
    deadline = time.monotonic() + 10
    while not caplog.records and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [record.message for record in caplog.records] == [
        "The page could not be sent: ZeroDivisionError: unforeseen. Reload it to try again."
    ]
