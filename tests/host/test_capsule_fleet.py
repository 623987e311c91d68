# SPDX-License-Identifier: MIT
"""What devices report, how a rollout is steered, and a repository behind an ordinary server."""

import concurrent.futures
import getpass
import json
import shutil
import socket
import subprocess
import threading
import urllib.request
from pathlib import Path

import capsule_cases as cases
import pytest

from acclimate.pull import Client, sockets
from acclimate.pull import reports as report
from acclimate.pull.manifest import in_rollout
from acclimate.store import CapsuleError
from acclimate_host.capsules import reports as reports_module
from acclimate_host.capsules.keys import device_key
from acclimate_host.capsules.manifest import WHOLE
from acclimate_host.capsules.reports import Reports, parse
from acclimate_host.capsules.repository import Repository
from acclimate_host.cli import main
from acclimate_host.errors import Refused
from harness import web
from harness.clock import wait_until

NGINX = shutil.which("nginx") or "/usr/sbin/nginx"


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "repository", cases.KEY)


@pytest.fixture
def kept():
    store = cases.store(cases.flash())
    store.swap_capsule(cases.capsule(1))
    return store


@pytest.mark.case("B10")
def test_a_report_says_what_the_store_holds(kept):
    said = parse(report.make_report(kept, 17, 5, report.REFUSED, "oversized and more"), cases.KEY)
    assert said["device"] == 17 and said["model"] == 7 and said["version"] == 1
    assert said["state"] == "confirmed" and said["outcome"] == "refused"
    assert said["reason"] == "oversized an" and said["is_authentic"]
    assert said["erases"] == kept.journal.erases and said["slot_bytes"] == kept.slots.bytes
    empty = cases.store(cases.flash())
    assert parse(report.make_report(empty), cases.KEY)["digest"] == ""


def test_a_report_tells_how_the_device_is(kept):
    def said(**more):
        return parse(report.make_report(kept, 17, 5, **more), cases.KEY)

    found = said(battery_mv=3700)
    assert found["battery_mv"] == 3700 and found["resets"] == 0
    assert found["verdict"] == "" and found["score"] is None
    assert found["erases_left"] == kept.budget_left()
    assert said()["battery_mv"] is None and said(resets=255)["resets"] == 255
    data = cases.capsule(2)
    kept.stage(data, 128)
    kept.write(data, len(data))
    kept.finish()
    kept.waiting().keep_verdict(1, -1200)
    kept.trial()
    found = said()
    assert found["verdict"] == "accept" and found["score"] == -1200 and found["resets"] == 0
    cases.store(kept.flash)
    for _ in range(2):
        again = cases.store(kept.flash)
        found = parse(report.make_report(again, 17, 5), cases.KEY)
    assert found["resets"] == 2
    kept.day_pages = 0
    assert said()["erases_left"] is None


@pytest.mark.parametrize("more", [{"resets": 256}, {"resets": -1}, {"battery_mv": 65536}])
def test_numbers_that_a_report_cannot_hold_are_refused(kept, more):
    with pytest.raises(ValueError, match="to 255, to 65535"):
        report.make_report(kept, 17, 5, **more)


@pytest.mark.parametrize("device", [1 << 30 | 17, -1])
def test_a_report_is_of_no_other_device_than_was_said(kept, device):
    with pytest.raises(ValueError, match=f"{device}: 0 to"):
        report.make_report(kept, device)


def test_a_server_that_answers_byte_by_byte_does_not_keep_a_device(kept, monkeypatch):
    now = [0]

    def seconds():
        now[0] += 9
        return now[0]

    monkeypatch.setattr(sockets, "seconds", seconds)
    monkeypatch.setattr(sockets, "reader", lambda sock: lambda buffer: sock.recv_into(buffer, 1))
    with web.Server(lambda request: b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 99 + b"\r\n") as server:
        assert not report.send_report(server.url, report.make_report(kept), timeout_s=60)


def test_a_certificate_that_is_wrong_sends_no_report(kept):
    class Context:
        def wrap_socket(self, sock, server_hostname):
            raise ValueError("invalid cert")  # so MicroPython says it

    with web.Server(lambda request: web.reply(b"")) as server:
        url = server.url.replace("http:", "https:")
        assert report.send_report(url, report.make_report(kept), context=Context()) is False


def test_every_flipped_bit_of_a_report_is_refused(kept):
    data = report.make_report(kept, 17, 5)
    for at in range(len(data)):
        bad = bytearray(data)
        bad[at] ^= 1 << at % 8
        with pytest.raises(Refused):
            parse(bad, cases.KEY)
    for size in (0, 1, 111, 113):
        with pytest.raises(Refused, match="report of"):
            parse(bytes(size))


def test_an_old_report_does_not_replace_a_newer_one(kept, tmp_path):
    reports = Reports(tmp_path / "reports", cases.KEY, clock=lambda: 1000)
    reports.take(report.make_report(kept, 17, 5))
    for count in (4, 5):
        with pytest.raises(Refused, match="not a new one"):
            reports.take(report.make_report(kept, 17, count))
    reports.take(report.make_report(kept, 17, 6))
    (tmp_path / "reports" / "7-99.json").write_text("{")  # one bad file does not hide the rest
    assert [(r["device"], r["count"], r["seen"]) for r in reports.all()] == [(17, 6, 1000)]


def test_of_two_reports_at_once_the_newer_one_stays(kept, tmp_path, monkeypatch):
    reports = Reports(tmp_path / "reports", cases.KEY)
    older, newer = (report.make_report(kept, 17, count) for count in (5, 6))
    second = threading.Thread(target=reports.take, args=(newer,))
    write = reports_module.write_whole

    def slow(path, data):
        if second.ident is None:  # the older one is compared, and not written yet
            second.start()
            second.join(0.2)
        write(path, data)

    monkeypatch.setattr(reports_module, "write_whole", slow)
    reports.take(older)
    second.join()
    assert [r["count"] for r in reports.all()] == [6]


@pytest.mark.parametrize("name", ["device", "version", "state", "outcome", "seen", "is_older"])
@pytest.mark.parametrize("value", [None, "x", [], -1.5, 10**30, float("nan"), {}])
def test_a_report_with_a_wrong_type_does_not_hide_the_rest(kept, tmp_path, name, value):
    reports = Reports(tmp_path, cases.KEY)
    for device in (17, 18):
        reports.take(report.make_report(kept, device, 5))
    bad = json.loads((tmp_path / "7-18.json").read_text())
    if bad[name] == (value or False) or isinstance(bad[name], str) and value == "x":
        return
    (tmp_path / "7-18.json").write_text(json.dumps({**bad, name: value}))
    assert [r["device"] for r in reports.all()] == [17]


def test_a_damaged_manifest_is_named(repository, capsys):
    repository.publish(cases.capsule(2))
    path = repository.manifest_path(7)
    path.write_bytes(path.read_bytes()[:-1])
    for words in (["fleet"], ["rollout", "prune"], ["publish"]):
        words.insert(1, str(repository.folder))
        more = [str(repository.folder / "objects" / "x")] if words[0] == "publish" else []
        (repository.folder / "objects" / "x").write_bytes(cases.capsule(3))
        assert main([*words, *more]) == 6
        assert str(path) in capsys.readouterr().err


def test_reports_of_no_more_devices_than_that_are_kept(kept, tmp_path, monkeypatch):
    monkeypatch.setattr("acclimate_host.capsules.reports._DEVICES_MAX", 2)
    reports = Reports(tmp_path / "reports", cases.KEY)
    for count, device in enumerate((1, 2, 1, 2), 1):
        reports.take(report.make_report(kept, device, count))
    with pytest.raises(Refused, match="reports of 2 devices"):
        reports.take(report.make_report(kept, 3, 9))
    reports.forget(7, 1)
    Reports(tmp_path / "reports", cases.KEY).take(report.make_report(kept, 3, 9))


def test_a_forged_report_locks_no_device_out(kept, tmp_path):
    forged = bytearray(report.make_report(kept, 17, 0x3FFFFFFF))
    forged[96:] = bytes(32)
    unsigned = Reports(tmp_path / "reports")
    assert unsigned.take(forged)["is_authentic"] is None
    assert unsigned.take(report.make_report(kept, 17, 5))["count"] == 5
    unsigned.take(forged)
    signed = Reports(tmp_path / "reports", cases.KEY)
    assert signed.take(report.make_report(kept, 17, 6))["is_authentic"]
    with pytest.raises(Refused, match="signed"):
        unsigned.take(forged)
    forged[32:36] = b"\xff" * 4
    with pytest.raises(Refused, match="above"):
        unsigned.take(forged)
    signed.forget(7, 17)
    assert signed.take(report.make_report(kept, 17, 1))["count"] == 1


def test_a_device_with_its_own_key_is_accepted_by_it(tmp_path):
    key = device_key(cases.KEY, 17)
    store = cases.store(cases.flash(), key=key)
    reports = Reports(tmp_path / "reports", cases.KEY)
    assert reports.take(report.make_report(store, 17, 1))["is_authentic"]
    with pytest.raises(Refused, match="authenticity"):
        reports.take(report.make_report(store, 18, 1))


def test_a_damaged_capsule_of_the_repository_is_no_base(repository):
    repository.publish(cases.capsule(1))
    entry = repository.manifest(7).entries[0]
    path = repository.folder / "objects" / entry.name
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    assert [e.base for e in repository.publish(cases.capsule(2)).entries] == [WHOLE]
    with pytest.raises(Refused, match="base: integrity"):
        repository.publish(cases.capsule(3), bases=[bytes(data)])


def test_an_object_that_is_damaged_is_written_again(repository):
    name = repository.publish(cases.capsule(1)).entries[0].name
    path = repository.folder / "objects" / name
    path.write_bytes(b"damaged")
    repository.publish(cases.capsule(1), cohort="beta")
    assert path.read_bytes() == cases.capsule(1)


def test_two_that_publish_at_once_leave_the_newest(repository):
    versions, refused = list(range(1, 9)), []

    def publish(version):
        try:
            Repository(repository.folder, cases.KEY).publish(cases.capsule(version))
        except Refused:
            refused.append(version)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(publish, reversed(versions)))
    newest = repository.manifest(7).version
    assert newest == 8 and len(refused) < 8


def test_outcomes_of_errors():
    assert report.outcome_of(CapsuleError("kind", "x")) == (report.REFUSED, "kind")
    assert report.outcome_of(OSError(5)) == (report.FAILED, "OSError")


def test_reports_travel_over_http_and_the_fleet_shows_them(repository, kept, capsys, tmp_path):
    uvicorn = pytest.importorskip("uvicorn")
    import threading

    from acclimate_host.capsules.web import application

    repository.publish(cases.capsule(2), percent=0)
    app = application(repository.folder, Reports(repository.folder / "reports", cases.KEY))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started)
    url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        assert not Client(kept, url, device=17).pull()
        assert report.send_report(url, report.make_report(kept, 17, 5, report.CURRENT))
        assert not report.send_report(url, report.make_report(kept, 17, 5))
        assert not report.send_report(url, bytes(2000))
        (tmp_path / "key").write_bytes(cases.KEY)
        folder = str(repository.folder)
        assert main(["fleet", folder]) == 0
        shown = capsys.readouterr().out
        assert "version 2 for 0 %" in shown and "1 of 1 devices" in shown
        steer = ["--model", "7", "--percent", "100", "--key", str(tmp_path / "key")]
        assert main(["fleet", folder, *steer]) == 0
        assert "0 of 1 devices use" in capsys.readouterr().out
        assert Client(kept, url, device=17).pull()
        kept.confirm()
        assert report.send_report(url, report.make_report(kept, 17, 6, report.TAKEN))
        assert main(["fleet", folder, "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert [(r["version"], r["offered"], r["outcome"]) for r in shown] == [(2, 2, "taken")]
    finally:
        server.should_exit = True
        thread.join(10)


def test_a_server_that_takes_no_reports_does_no_harm(kept):
    with web.Server(lambda request: web.reply(b"", "405 Method Not Allowed")) as server:
        assert not report.send_report(server.url, report.make_report(kept))
    assert not report.send_report(server.url, report.make_report(kept), timeout_s=1)  # it is gone


def test_a_rollout_is_near_its_percentage_and_only_grows():
    devices = range(5000)
    for version in (1, 2, 77):
        reached = set()
        for percent in (0, 1, 10, 50, 99, 100):
            now = {d for d in devices if in_rollout(d, version, percent)}
            assert reached <= now
            assert abs(len(now) / 50 - percent) < 2
            reached = now


def test_publish_names_what_it_offers(tmp_path, capsys):
    content = cases.weights(2000, 1)
    for version in (1, 2):
        capsule = cases.capsule(version, cases.tuned(content, 1, version - 1))
        (tmp_path / f"v{version}").write_bytes(capsule)
    (tmp_path / "key").write_bytes(cases.KEY)
    command = ["publish", str(tmp_path / "repository"), "--key", str(tmp_path / "key")]
    assert main([*command, str(tmp_path / "v1")]) == 0
    assert main([*command, str(tmp_path / "v2"), "--percent", "20"]) == 0
    out = capsys.readouterr().out
    assert "version 2, for 20 % of all" in out and "update of" in out
    assert main([*command, str(tmp_path / "v1")]) == 6
    assert main([*command, str(tmp_path / "none")]) == 2


@pytest.mark.skipif(not Path(NGINX).exists(), reason="nginx is not installed")
def test_nginx_serves_the_repository(repository, kept, tmp_path):
    """With a cut connection in the middle; ranges, ETags and 304 are nginx's own."""
    first, second = cases.capsule(1), cases.capsule(2, cases.weights(900, 2))
    repository.publish(first)
    repository.publish(second)
    port = _free_port()
    config = tmp_path / "nginx.conf"
    config.write_text(
        _NGINX.format(port=port, folder=tmp_path, served=repository.folder, user=getpass.getuser())
    )
    process = subprocess.Popen([NGINX, "-c", str(config), "-p", str(tmp_path)])
    try:
        url = f"http://127.0.0.1:{port}"
        wait_until(lambda: _answers(url + "/models/7/all.man"))
        store = cases.store(cases.flash(8))
        with web.Server(_cutting(port)) as line:
            client = Client(store, line.url, wait_s=0)
            assert client.pull()
            assert line.requests[-1].start == 500  # the second half was asked for
            store.confirm()
            assert cases.active(store) == second
            assert not client.pull() and client.reason == "unchanged"
        assert not report.send_report(url, report.make_report(store))
    finally:
        process.terminate()
        process.wait(10)


def _cutting(port):
    """An answer that passes on what the server at a port says; the first object is cut."""
    cut = []

    def answer(request):
        with socket.create_connection(("127.0.0.1", port)) as line:
            line.sendall(request.text.encode())
            whole = b"".join(iter(lambda: line.recv(4096), b""))
        if request.path.startswith("/objects/") and not cut:
            cut.append(request)
            return whole[: whole.index(b"\r\n\r\n") + 4 + 500]
        return whole

    return answer


_NGINX = """
daemon off; user {user}; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 16; }}
http {{
    access_log off;
    client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
    uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
    server {{ listen 127.0.0.1:{port}; root {served}; }}
}}
"""


def _free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def _answers(url):
    try:
        urllib.request.urlopen(url, timeout=60).close()
    except OSError:
        return False
    return True


def test_two_cohorts_give_the_old_version_to_whom_the_new_one_is_not_offered(repository):
    old, new = cases.capsule(1), cases.capsule(2)
    repository.publish(old)
    repository.publish(new, "next", percent=30, bases=[old])
    stores = {}

    def visit(device, server):
        store = stores.setdefault(device, cases.store(cases.flash()))
        for cohort in ("next", "all"):
            if Client(store, server.url, cohort=cohort, device=device, wait_s=0).pull():
                store.confirm()
                break
        return store.head.version

    with web.Server(web.files(repository.folder)) as server:
        wanted = {d: 2 if in_rollout(d, 2, 30) else 1 for d in range(12)}
        assert {visit(d, server) for d in wanted} == {1, 2}
        assert {d: visit(d, server) for d in wanted} == wanted  # and nobody goes back
        repository.set_percent(7, 0, "next")
        assert {d: visit(d, server) for d in wanted} == wanted
        repository.publish(new, bases=[old])
        assert {visit(d, server) for d in wanted} == {2}
