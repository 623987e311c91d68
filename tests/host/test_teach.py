# SPDX-License-Identifier: MIT
"""A board that replays the watch recordings is taught from nothing, in a terminal and a page."""

import contextlib
import errno
import json
import os
import pty
import re
import select
import subprocess
import sys
import time
import urllib.error
import urllib.request

import numpy as np
import pytest

from acclimate_host.cli import main
from acclimate_host.connect import open_board, why_not
from acclimate_host.connect.install import install
from acclimate_host.errors import AcclimateError, BoardGone, ConnectError
from acclimate_host.page import files
from acclimate_host.paths import repository
from acclimate_host.teach import recordings, terminal
from acclimate_host.teach.record import Record
from acclimate_host.teach.session import NEEDED, Session, Settings, main_program
from harness import browser, runtimes

GESTURES = len(recordings.LABELS)
LIMIT_S = 240


def _need(name):
    reason = why_not(name)
    try:
        recordings.replay_file()
    except AcclimateError as error:
        reason = reason or str(error)
    if reason and runtimes.must_run():
        pytest.fail(f"{name} must run in CI: {reason}")
    if reason:
        pytest.skip(f"{name}: {reason}")


@contextlib.contextmanager
def _session(name, **options):
    _need(name)
    board = open_board(name)

    def reopen():
        board.reset()
        return board

    made = Session(
        board, Settings(recordings.LABELS), reopen=reopen, data=recordings.replay_file(), **options
    )
    try:
        made.set_up()
        yield made
    finally:
        board.close()


@pytest.fixture
def session():
    with _session("desktop") as made:
        yield made


def _show(session, gesture, windows, hops=2):
    """Let the replay make a gesture, and name it some times."""
    session.perform(gesture)
    for _ in range(4):
        session.poll()
    for _ in range(windows):
        for _ in range(hops):
            session.poll()
        state = session.tell(gesture)
    return state


def _train(session):
    for _ in range(200):
        state = session.poll()
        if state["verdict"]:
            return state
    raise AssertionError("no training ended")


def _taught(session):
    for _ in range(3):
        for gesture in range(GESTURES):
            _show(session, gesture, 2)
    return _rested(session)


def _rested(session):
    """Poll until the board knows something and trains no more."""
    for _ in range(200):
        state = session.poll()
        if state["taught"] and not state["training"]:
            return state
    raise AssertionError("no training ended")


def _right(session, polls=10):
    """Share of unseen windows that are predicted right."""
    right = 0
    for gesture in range(GESTURES):
        session.perform(gesture, unseen=True)
        for _ in range(4):
            session.poll()
        right += sum(session.poll()["said"] == gesture for _ in range(polls))
    return right / (polls * GESTURES)


def test_board_learns_from_nothing_and_goes_on_learning(session):
    assert session.poll()["said"] is None
    state = _taught(session)
    assert state["taught"] and len(session.windows) == 18
    assert _right(session) >= 0.85
    before = state["confusion"]
    for gesture in range(GESTURES):
        state = _show(session, gesture, 3)
    assert sum(state["confusion"]) == sum(before) + 9 and state["recent"] is not None
    assert state["confusion"][0] == before[0] + 3  # of each truth: what was said
    assert session.train()["training"]
    assert _train(session)["verdict"] in ("kept", "discarded")


def test_too_few_and_one_sided_windows_are_said_in_words(session):
    assert "until each has 3" in session.train()["word"]
    _show(session, 1, 3)
    word = session.train()["word"]
    assert f"there is only {recordings.LABELS[1]}" in word and recordings.LABELS[0] in word
    assert "no training has ended" in session.save()["word"]
    session.perform(0)
    assert "first window" in session.tell(0)["word"]
    assert len(session.windows) == 3


def test_gesture_that_there_is_not_is_refused(session):
    for wrong in (-1, GESTURES, "0", None, True + 5):
        with pytest.raises(AcclimateError, match="gesture: expected"):
            session.tell(wrong)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        (Settings(("a",)), "2 to 9"),
        (Settings(("a", "a")), "different"),
        (Settings(("a", "")), "different"),
        (Settings(("a", "b"), samples=100), "multiple of 32"),
        (Settings(("a", "b"), samples=2048), "32 to 1024"),
    ],
)
def test_settings_name_what_is_wrong(settings, word):
    with pytest.raises(AcclimateError, match=word):
        settings.check()


def test_sensor_of_ones_own_is_five_lines(tmp_path):
    _need("desktop")
    path = tmp_path / "my_sensor.py"
    path.write_text("channels, rate_hz = 1, 0\n\n\ndef read(out, at):\n    out[at] = at * 9\n")
    with open_board("desktop") as board:
        made = Session(board, Settings(("a", "b"), sensor=str(path)))
        made.set_up()
        assert made.channels == 1 and made.poll()["new"]
        with pytest.raises(AcclimateError, match="only a replay"):
            made.perform(0)
        path.write_text("channels, rate_hz = 1, 0\nimport none_such\n")
        with pytest.raises(AcclimateError, match="my_sensor does not start"):
            Session(board, Settings(("a", "b"), sensor=str(path))).set_up(installs=False)
        with pytest.raises(AcclimateError, match="no such file"):
            Session(board, Settings(("a", "b"), sensor="none.py")).set_up(installs=False)
        with pytest.raises(AcclimateError, match="or one of"):
            Session(board, Settings(("a", "b"), sensor="thermometer")).set_up(installs=False)


def test_record_keeps_windows_and_goes_on_with_a_folder(session, tmp_path):
    session.record = Record(tmp_path / "kept", recordings.LABELS, 128)
    _show(session, 0, 2)
    _show(session, 2, 1)
    again = Record(tmp_path / "kept", recordings.LABELS, 128)
    again.add(1, session.windows[0][1])
    windows = np.load(tmp_path / "kept" / "windows.npy")
    names = list(np.load(tmp_path / "kept" / "labels.npy"))
    assert windows.shape == (4, 128, 6) and windows.dtype == np.int16
    assert names == [recordings.LABELS[k] for k in (0, 0, 2, 1)]
    assert (windows[3] == windows[0]).all()
    lines = (tmp_path / "kept" / "windows.csv").read_text().splitlines()
    assert lines[0] == "label,window,sample,c0,c1,c2,c3,c4,c5" and len(lines) == 1 + 4 * 128
    assert lines[-1].split(",")[3:] == [str(v) for v in windows[3, -1]]
    with pytest.raises(AcclimateError, match="not of 64 samples"):
        Record(tmp_path / "kept", recordings.LABELS, 64)


def test_record_makes_no_folder_before_there_is_a_window(tmp_path):
    kept = tmp_path / "new" / "kept"
    words = ["record", str(kept), "--labels", "a,b", "--sensor"]
    assert main([*words, str(tmp_path / "none.py"), "--board", "desktop", "--no-install"]) == 2
    assert main([*words, "replay", "--board", "no-such"]) == 2
    Record(kept, ("a", "b"), 8)
    assert not kept.parent.exists()


def test_record_says_at_once_that_it_cannot_write(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(AcclimateError, match="no folder"):
        Record(tmp_path / "file" / "kept", ("a", "b"), 8)
    with pytest.raises(AcclimateError, match="no folder"):
        Record(tmp_path / "file", ("a", "b"), 8)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    if not os.access(closed, os.W_OK):  # but for a superuser
        with pytest.raises(AcclimateError, match="nothing can be written"):
            Record(closed / "kept", ("a", "b"), 8)


@pytest.mark.slow
def test_board_that_lost_its_power_in_a_training_is_taught_again():
    with _session("nrf52840") as made:
        for gesture in range(GESTURES):
            _show(made, gesture, 5)
        made.train()
        made.poll()
        made.board.kill()
        with pytest.raises((ConnectError, BoardGone)):
            made.poll()
        state = made.resume()
        assert state["told"] == [5] * GESTURES
        assert _rested(made)["taught"]
        assert _right(made, 4) >= 0.85


def test_saved_program_is_python_and_keeps_what_was_there(session):
    compile(main_program(Settings(("it's", 'a "b"')), "replay"), "main.py", "exec")
    _taught(session)
    session.board.put_bytes(b"print('mine')\n", session.board.root + "/main.py")
    assert session.save()["before"] == "main_before.py"
    assert session.board.get_bytes(session.board.root + "/main_before.py") == b"print('mine')\n"
    assert session.save()["before"] is None


def test_saved_program_runs_alone_on_the_desktop(session):
    _taught(session)
    session.save()
    root = session.board.root

    def program(lines):
        command = [session.board._interpreter, "main.py"]
        paths = [root, ".frozen", session.board.lib]
        with subprocess.Popen(
            command, cwd=root, stdout=subprocess.PIPE, env={"MICROPYPATH": ":".join(paths)}
        ) as process:
            said = [process.stdout.readline().decode().strip() for _ in range(lines)]
            process.kill()
        return said

    _check_alone(program)


class Terminal:
    """`acclimate teach` in a terminal of its own."""

    def __init__(self, *arguments):
        self._mine, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "acclimate_host.cli", *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "COLUMNS": "150", "PYTHONPATH": _path()},
        )
        os.close(theirs)
        self.text = ""
        self.at = 0

    def read(self, timeout_s):
        if not select.select([self._mine], [], [], timeout_s)[0]:
            return False
        try:
            self.text += os.read(self._mine, 65536).decode("utf-8", "replace")
        except OSError as error:
            assert error.errno == errno.EIO  # it has ended
            return False
        return True

    def until(self, pattern, seconds=LIMIT_S):
        """Wait for new text that a pattern finds; return the match."""
        deadline = time.monotonic() + seconds
        while True:
            found = re.search(pattern, self.text[self.at :])
            if found:
                self.at += found.end()
                return found
            assert time.monotonic() < deadline, self.text[-1500:]
            self.read(0.5)

    def press(self, key):
        os.write(self._mine, key.encode())
        self.at = len(self.text)

    def name_windows(self, key, count, presses=40):
        """Press a key until so many windows are kept: at a press one may still be filled."""
        for _ in range(presses):
            for _ in range(2):
                self.until("it says")
            self.press(key)
            kept = self.until(r"(\d+) windows so far|still being filled").group(1)
            if kept and int(kept) >= count:
                return
        raise AssertionError(self.text[-1500:])

    def end(self):
        self.press("q")
        while self.process.poll() is None:
            self.read(0.1)
        os.close(self._mine)
        return self.process.returncode


def _path():
    root = repository()
    return f"{root / 'device'}{os.pathsep}{root / 'host'}"


def _said_after_a_reset(flash, lines):
    """What the saved program prints when the board starts alone."""
    from acclimate_host.connect.emulator import Emulator

    emulator = Emulator("nrf52840", flash=flash)
    port = os.open(emulator.start(), os.O_RDWR | os.O_NOCTTY)
    text, deadline = b"", time.monotonic() + LIMIT_S
    try:
        while text.count(b"\n") < lines:
            assert time.monotonic() < deadline, text
            if select.select([port], [], [], 0.5)[0]:
                text += os.read(port, 4096)
    finally:
        os.close(port)
        emulator.close()
    return [line.strip() for line in text.decode().splitlines()[:lines]]


def _expected(data):
    """Names in the order in which the saved program meets the untaught parts."""
    count = data[4]
    lengths = np.frombuffer(data[6 : 6 + 4 * count], "<u2")[1::2]
    names = []
    for k, length in enumerate(lengths):
        names += [k] * length
    ends = range(128, len(names) + 1, 32)
    return [
        recordings.LABELS[names[end - 1]] if len(set(names[end - 128 : end])) == 1 else None
        for end in ends
    ]


def _check_alone(program):
    """Compare what a program prints that was started without us with what is replayed to it."""
    wanted = _expected(recordings.replay_file())
    said = program(len(wanted))
    pairs = [(a, b) for a, b in zip(said, wanted, strict=True) if b is not None]
    assert len(pairs) > 20
    assert sum(a == b for a, b in pairs) >= 0.85 * len(pairs), said


@pytest.mark.slow
def test_terminal_teaches_an_emulated_board_that_then_runs_alone(tmp_path):
    _need("nrf52840")
    flash = tmp_path / "board.flash"
    screen = Terminal(
        "teach", "--board", "nrf52840", "--flash", str(flash), "--record", str(tmp_path / "kept")
    )
    screen.until("name it")
    for gesture in range(GESTURES):
        screen.press("abc"[gesture])
        screen.until("it says")
        screen.name_windows(str(gesture + 1), 5 * (gesture + 1))
    if "it has learned" not in screen.text:
        screen.until("it has learned")
    right = total = 0
    for gesture in range(GESTURES):
        screen.press("ABC"[gesture])
        for _ in range(6):
            screen.until("it says: ")
        for _ in range(6):
            total += 1
            right += screen.until(r"it says: (.*?) \(").group(1) == recordings.LABELS[gesture]
    assert right >= 0.85 * total
    screen.press("s")
    screen.until("the board does this alone")
    assert screen.end() == 0
    assert len(np.load(tmp_path / "kept" / "windows.npy")) >= 12
    _check_alone(lambda lines: _said_after_a_reset(flash, lines))


def test_record_writes_what_is_named_in_the_terminal(tmp_path):
    _need("desktop")
    screen = Terminal("record", str(tmp_path / "kept"), "--board", "desktop")
    screen.until("name it")
    screen.press("b")
    time.sleep(0.5)
    screen.press("2")
    screen.until("1 windows so far")
    screen.press("9")
    screen.until("no key here")
    assert screen.end() == 0
    assert list(np.load(tmp_path / "kept" / "labels.npy")) == [recordings.LABELS[1]]


def test_port_that_another_program_uses_is_named():
    _need("nrf52840")
    with open_board("nrf52840") as board:
        with pytest.raises(ConnectError, match="another program uses it"):
            open_board(board.device)


class Keys:
    """Keys that come when the test says so."""

    def __init__(self, keys):
        self.keys = list(keys)
        self.ended = False

    @contextlib.contextmanager
    def at_once(self):
        yield self

    def next(self, timeout_s=0):
        key = self.keys.pop(0) if self.keys else "q"
        return key() if callable(key) else key


class Lines:
    """A screen that remembers."""

    def __init__(self):
        self.words = []

    def draw(self, lines, word):
        self.words.append(word)


def test_terminal_finds_a_board_that_was_unplugged(session):
    def unplug():
        session.board.process.kill()
        session.board.process.wait()
        return ""

    screen = Lines()
    keys = ["a", "", "", "", "", "1", unplug, "", "", ""]
    terminal.teach(session, keys=Keys(keys), screen=screen)
    assert any("1 windows are kept here" in word for word in screen.words)
    assert any("knows all 1 windows again" in word for word in screen.words)


# ---- the page ----------------------------------------------------------------------------


@contextlib.contextmanager
def _bridge(session):
    pytest.importorskip("websockets")
    browser.need()
    from acclimate_host.teach.bridge import Bridge

    bridge = Bridge(session)
    bridge.start()
    try:
        yield bridge
    finally:
        bridge.stop()


class Driven(browser.Page):
    """A page beside a bridge that is stepped in this thread."""

    def __init__(self, chromium, bridge):
        self.bridge = bridge
        super().__init__(chromium, bridge.address)

    def until(self, question, seconds=LIMIT_S / 4):
        deadline = time.monotonic() + seconds
        while True:
            self.bridge.step()
            self.page.wait_for_timeout(5)
            found = question()
            if found:
                return found
            assert time.monotonic() < deadline, f"{self.text('teach-word')} {self.faults}"


def _teach_in(page, windows):
    for gesture in range(GESTURES):
        page.page.click(f"#teach-connect button >> nth={gesture}")
        page.until(lambda k=gesture: page.bridge.session.performing == k)
        for _ in range(4):
            page.bridge.step()
        for _ in range(windows):
            told = page.bridge.session.windows
            count = len(told)
            for _ in range(2):
                page.bridge.step()
            page.page.keyboard.press(str(gesture + 1))
            page.until(lambda count=count, told=told: len(told) > count)


def _right_in(page, polls):
    right = 0
    for gesture in range(GESTURES):
        page.bridge.session.perform(gesture, unseen=True)
        for _ in range(4):
            page.bridge.step()
        label = recordings.LABELS[gesture]
        for _ in range(polls):
            page.bridge.step()
            page.page.wait_for_timeout(30)
            right += page.text("teach-said") == label
    return right / (polls * GESTURES)


@pytest.mark.slow
def test_page_teaches_an_emulated_board_that_then_runs_alone(tmp_path):
    _need("nrf52840")
    flash = tmp_path / "board.flash"
    with browser.opened() as chromium, open_board("nrf52840", flash=str(flash)) as board:
        session = Session(board, Settings(recordings.LABELS), data=recordings.replay_file())
        session.set_up()
        with _bridge(session) as bridge:
            page = Driven(chromium, bridge)
            page.until(lambda: page.page.is_visible("#teach-live"))
            page.page.click("#teach-train")
            page.until(lambda: "too few windows" in page.text("teach-word"))
            _teach_in(page, 5)
            page.close()  # and opened again: nothing is lost
            page = Driven(chromium, bridge)
            page.until(lambda: page.text("teach-counts") != "–")
            assert len(session.windows) == 15
            page.until(lambda: "learned" in page.text("teach-verdict"))
            assert _right_in(page, 4) >= 0.85
            page.page.click("#teach-save")
            page.until(lambda: "does this alone" in page.text("teach-word"))
            page.close()
    _check_alone(lambda lines: _said_after_a_reset(flash, lines))


def _refuse():
    raise ConnectError("cannot open it")


@pytest.mark.slow
def test_page_says_that_the_board_is_gone_and_back(session):
    with browser.opened() as chromium, _bridge(session) as bridge:
        page = Driven(chromium, bridge)
        page.until(lambda: page.page.is_visible("#teach-live"))
        _teach_in(page, 1)
        reopen, is_plugged = session._reopen, []
        session._reopen = lambda: reopen() if is_plugged else _refuse()
        session.board.process.kill()
        session.board.process.wait()
        page.until(lambda: "3 windows are kept here" in page.text("teach-word"))
        is_plugged.append(True)
        page.until(lambda: "knows all 3 windows" in page.text("teach-word"))
        second = Driven(chromium, bridge)
        second.until(lambda: second.page.is_visible("#teach-live"))
        page.until(lambda: "Another page" in page.text("teach-word"))
        second.close()
        page.close()


def test_bridge_refuses_other_pages(session):
    with _bridge(session) as bridge:
        from websockets.exceptions import InvalidStatus
        from websockets.sync.client import connect

        url = f"ws://127.0.0.1:{bridge.port}/board?token="
        good = {"origin": bridge.origin}
        for address, options in (
            (url + "wrong", good),
            (url, good),
            (url + bridge.token, {"origin": "http://evil.example"}),
            (url + bridge.token, {}),
            (url + bridge.token, {"origin": "null"}),
            (url + bridge.token, {**good, "additional_headers": {"Host": "evil.example"}}),
        ):
            with pytest.raises(InvalidStatus) as refused:
                connect(address, **options)
            assert refused.value.response.status_code == 403
        with connect(url + bridge.token, **good) as socket:
            assert json.loads(socket.recv(5))["labels"] == list(recordings.LABELS)
            for wrong in ("{", "[]", '{"do": "exec"}', '{"do": "tell", "gesture": "0); boom("}'):
                socket.send(wrong)
                deadline = time.monotonic() + 20
                while "word" not in (found := _stepped(bridge, socket)):
                    assert time.monotonic() < deadline
                assert "request" in found["word"] or "gesture" in found["word"]
        assert urllib.request.urlopen(bridge.origin + "/app.js").status == 200
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(bridge.origin + "/../pyproject.toml")


def _stepped(bridge, socket):
    bridge.step()
    try:
        return json.loads(socket.recv(0.2))
    except TimeoutError:
        return {}


# ---- a board at the browser's own port ---------------------------------------------------

_SERIAL = """
navigator.__defineGetter__("serial", () => ({
  requestPort: async () => ({
    open: async () => {},
    writable: new WritableStream({ write: (chunk) => window.serialWrite(Array.from(chunk)) }),
    readable: new ReadableStream({
      async pull(controller) {
        for (;;) {
          const bytes = await window.serialRead();
          if (bytes.length) return controller.enqueue(new Uint8Array(bytes));
          await new Promise((next) => setTimeout(next, 5));
        }
      },
    }),
  }),
}));
"""


@pytest.mark.slow
def test_page_teaches_a_board_at_the_browsers_own_port():
    _need("nrf52840")
    with browser.opened() as chromium, browser.served() as address:
        with open_board("nrf52840") as board:
            install(board, only=NEEDED, yes=True)
            board.put_bytes(recordings.replay_file(), "/replay.bin")
            board.soft_reset()
            board.link.exit_raw_repl()
            page = browser.Page(chromium, "about:blank")
            page.origin = address.rstrip("/")
            _wire(page.page, board.link.serial)
            page.page.goto(address + "#teach")
            page.page.select_option("#teach-sensor", "replay")
            page.page.click("text=Connect a board")
            page.until(lambda: page.page.is_visible("#teach-live"), LIMIT_S)
            _teach_by_hand(page)
            page.page.click("#teach-save")
            page.until(lambda: "does this alone" in page.text("teach-word"), LIMIT_S)
            page.close()
            board.link.enter_raw_repl(timeout_overall=LIMIT_S)
            assert "Written by acclimate teach" in board.get_bytes("/main.py").decode()


def _wire(page, port):
    """Give the page a serial port that is the emulated board's line."""

    def read():
        port.fill()
        return list(port.read(len(port.buffer))) if port.buffer else []

    def with_replay(route):
        content = json.loads((files.folder() / "teach.json").read_text())
        path = repository() / "host" / "acclimate_host" / "teach" / "sensors" / "replay.py"
        content["sensors"] = {"replay": path.read_text()}
        route.fulfill(json=content)

    page.expose_function("serialRead", read)
    page.expose_function("serialWrite", lambda data: port.write(bytes(data)) and None)
    page.add_init_script(_SERIAL)
    page.route("**/teach.json", with_replay)
    page.on("dialog", lambda dialog: dialog.accept(", ".join(recordings.LABELS)))


def _teach_by_hand(page):
    """Press the page's buttons until the board has learned, and see that it is right."""

    def counts():
        return [
            int(t.split()[0]) for t in page.page.locator("#teach-labels small").all_inner_texts()
        ]

    for gesture in range(GESTURES):
        page.page.click(f"#teach-connect button >> nth={gesture}")
        while counts()[gesture] < 5:
            page.page.wait_for_timeout(1500)
            page.page.keyboard.press(str(gesture + 1))
            page.page.wait_for_timeout(500)
    page.until(lambda: page.text("teach-said") != "–", LIMIT_S)
    for gesture in (1, 0):
        page.page.click(f"#teach-connect button >> nth={gesture}")
        page.until(lambda k=gesture: page.text("teach-said") == recordings.LABELS[k], LIMIT_S)
