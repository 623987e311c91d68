# SPDX-License-Identifier: MIT
"""The page in a real browser, without a network: what each tab shows is what the device says."""

import json

import pytest

from acclimate.svm import SVM, model
from acclimate_host.page import files
from acclimate_host.twin import svm as twin
from harness import browser

TABS = ("points", "drift", "swap", "network", "plan", "teach")


@pytest.fixture(scope="module")
def chromium():
    with browser.opened() as opened:
        yield opened


@pytest.fixture(scope="module")
def address():
    browser.need()
    with browser.served() as served:
        yield served


@pytest.fixture
def page(chromium, address):
    opened = browser.Page(chromium, address)
    yield opened
    opened.close()


def test_page_weighs_less_than_a_million_and_a_half():
    browser.need()
    total = sum(path.stat().st_size for path in files.folder().iterdir())
    assert total <= 1_500_000


def test_page_names_no_other_address():
    browser.need()
    for path in files.folder().iterdir():
        if path.suffix in (".html", ".css", ".js"):
            text = path.read_text().replace("// ", "").replace("ws://${location.host}/", "")
            assert "//" not in text, path.name


def test_answer_gives_files_of_the_page_only():
    browser.need()
    assert files.answer("/")[0]["Content-Type"].startswith("text/html")
    assert files.answer("/core.wasm?x")[0]["Content-Type"] == "application/wasm"
    for path in ("/../pyproject.toml", "/sub/app.js", "/none.js", "//app.js", "/.", "/%2e%2e"):
        assert files.answer(path) is None, path


def _steps(page):
    return page.until(lambda: page.text("points-steps").isdigit() and page.text("points-steps"))


@pytest.mark.slow
@pytest.mark.skipif(twin.load() is None, reason="the twin of the C core was not built")
def test_drawn_points_train_the_same_machine_as_here(page):
    _steps(page)
    page.page.click("#points-clear")
    page.until(lambda: page.text("points-steps") == "–")
    page.page.select_option("#points-kernel", "linear")
    canvas = page.page.locator("#points-canvas").bounding_box()
    spots = [(0.2, 0.3, 0), (0.25, 0.6, 0), (0.75, 0.4, 1), (0.8, 0.7, 1)]
    for x, y, kind in spots:
        page.page.check(f"[name=points-class] >> nth={kind}")
        page.page.mouse.click(
            canvas["x"] + x * canvas["width"], canvas["y"] + y * canvas["height"]
        )
    page.until(lambda: page.text("points-vectors").endswith("of 4"))
    left, right = (page.color("points-canvas", x, 0.5) for x in (0.1, 0.9))
    assert left[0] > left[2] and right[2] > right[0]  # red on one side, blue on the other

    drawn = page.page.evaluate("window.drawn()")
    machine = SVM(kernel="linear", C=10, storage="float32")
    before = model.native
    model.use(twin.load())
    try:
        machine.fit([row[:2] for row in drawn], [row[2] for row in drawn])
    finally:
        model.use(before)
    assert page.text("points-steps") == str(machine.n_iter)
    assert page.text("points-vectors") == f"{machine.n_support} of 4"


def test_points_are_drawn_by_keys_alone(page):
    _steps(page)
    page.page.click("#points-clear")
    page.page.focus("#points-canvas")
    for keys in ("1 ArrowLeft ArrowLeft Space", "2 Shift+ArrowRight Shift+ArrowRight Space"):
        for key in keys.split():
            page.page.keyboard.press(key)
    page.until(lambda: page.text("points-vectors").endswith("of 2"))
    page.page.keyboard.press("ArrowLeft")
    page.page.keyboard.press("ArrowRight")
    page.page.keyboard.press("Delete")
    page.until(lambda: "two classes" in page.text("points-word"))


@pytest.mark.slow
def test_watched_training_ends_as_the_other(page):
    steps = _steps(page)
    page.page.click("#points-watch")
    seen = set()

    def ended():
        seen.add(page.text("points-steps"))
        return len(seen) > 3 and page.text("points-word") == "Converged."

    page.until(ended)
    assert page.text("points-steps") == steps


def test_three_classes_have_three_colours(page):
    _steps(page)
    page.page.click("#points-three")
    page.until(lambda: len({_hue(page.color("points-canvas", *at)) for at in _THREE}) == 3)


_THREE = ((0.1, 0.9), (0.9, 0.9), (0.5, 0.05))


def _hue(color):
    return color.index(max(color))


@pytest.mark.slow
def test_stream_that_turns_is_noticed_and_learned(page):
    page.tab("drift")
    page.page.click("#drift-jump")
    page.until(lambda: int(page.text("drift-told")) >= 1)
    page.until(lambda: int(page.text("drift-kept")) >= 1)
    number = lambda name: int(page.text(name).split()[0])  # noqa: E731
    page.until(lambda: number("drift-now") >= 85 and number("drift-fixed") <= 60)


@pytest.mark.slow
def test_power_cut_at_any_step_leaves_one_of_the_models(page):
    page.tab("swap")
    swept = page.until(lambda: page.text("swap-all"))
    cuts = int(swept.split()[0])
    assert cuts > 30 and swept.endswith("0 × none")
    page.page.fill("#swap-step", "2")
    page.until(lambda: page.text("swap-version") == "old, version 1")
    page.page.fill("#swap-step", str(cuts))
    page.until(lambda: page.text("swap-version") == "new, version 2")
    assert page.text("swap-state") == "confirmed"


def test_network_learns_the_new_hand(page):
    page.tab("network")
    before = page.until(lambda: " of " in page.text("net-right") and page.text("net-right"))
    page.page.click("#net-train")
    page.until(lambda: page.text("net-seen") == "120")
    before, after = (int(text.split()[0]) for text in (before, page.text("net-right")))
    assert after >= before + 10
    pad = page.page.locator("#net-pad").bounding_box()
    page.page.mouse.move(pad["x"] + 110, pad["y"] + 20)
    page.page.mouse.down()
    page.page.mouse.move(pad["x"] + 110, pad["y"] + 200, steps=8)
    page.page.mouse.up()
    page.until(lambda: page.text("net-guess").isdigit())
    for _ in range(5):
        page.page.click("#net-labels >> text=1")
    page.until(lambda: page.text("net-guess") == "1")


def test_less_memory_costs_more_energy(page):
    page.tab("plan")
    page.until(lambda: "%" in page.text("plan-ram-value"))
    costs = []
    for at in ("0", "6", "11"):
        page.page.fill("#plan-ram", at)
        costs.append(float(page.text("plan-energy").strip("+ %")))
    assert costs[0] == 0 and costs[0] <= costs[1] < costs[2]
    page.page.select_option("#plan-network", "linear")
    page.page.fill("#plan-ram", "13")
    assert "smallest feasible" in page.text("plan-word")


def test_plans_of_the_page_keep_their_budgets():
    browser.need()
    for network in json.loads((files.folder() / "plans.json").read_text()).values():
        for plan in network["plans"]:
            assert ("fault" in plan) or max(plan["used"]) == plan["peak"] <= plan["ram"]


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1100, "light")])
def test_every_tab_fits_the_screen(chromium, address, width, scheme, tmp_path):
    page = browser.Page(chromium, address, width, scheme)
    page.page.focus("#to-points")
    for name in TABS:
        page.until(lambda name=name: page.page.is_visible(f"#tab-{name}"))
        wide = page.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{name} is {wide} wide"
        page.page.keyboard.press("ArrowRight")
    assert page.page.is_visible("#tab-points")
    page.close()


@pytest.mark.slow
def test_page_without_the_c_core_trains_the_same(chromium, address):
    page = browser.Page(chromium, address)
    steps, vectors = _steps(page), page.text("points-vectors")
    page.close()
    bare = chromium.new_page()
    bare.route("**/core.wasm", lambda route: route.fulfill(status=404))
    bare.goto(address)
    bare.wait_for_selector("#engine:has-text('pure Python')")
    bare.wait_for_selector(f"#points-steps:text-is('{steps}')")
    assert bare.inner_text("#points-vectors") == vectors
    bare.close()
