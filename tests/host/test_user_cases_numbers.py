# SPDX-License-Identifier: MIT
"""Ranges, scales, wear and boots, as people met them elsewhere."""

import ast
import ssl

import capsule_cases as cases
import numpy as np
import pytest
from test_client_tls import TlsServer, certificates  # noqa: F401 (a fixture)
from test_net_imported import NETWORKS
from test_user_cases_transport import _TLS

from acclimate.flash import FlashError
from acclimate.net import FloatNet, Net
from acclimate_host.capsules.repository import Repository
from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import inference_step
from acclimate_host.connect import open_board, why_not
from acclimate_host.connect.install import install
from acclimate_host.model.import_sklearn import import_svm
from acclimate_host.model.network import as_bytes
from acclimate_host.paths import repository
from acclimate_host.testing.nor import NorFlash
from acclimate_host.twin import net as twin_net
from harness import runtimes, web
from harness.device_file import DeviceTestFile
from harness.errors import naming

sklearn_svm = pytest.importorskip("sklearn.svm")
needs_twin = pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built")


# ---- numbers -------------------------------------------------------------------------------


@pytest.mark.case("H5")
def test_a_value_beyond_int16_is_refused_with_the_name_of_its_feature():
    X = np.array([[1, 5], [2, 40000], [3, 7], [4, 9]])
    fitted = sklearn_svm.SVC(kernel="linear", C=1e6).fit(X, [0, 0, 1, 1])
    with pytest.raises(ValueError, check=naming("feature 1", "int16", 40000)):
        import_svm(fitted, storage="int16")
    fitted.feature_names_in_ = np.array(["light", "gas"])
    with pytest.raises(ValueError, check=naming("'gas'", "int16", 40000, "float32")):
        import_svm(fitted, storage="int16")
    assert import_svm(fitted).predict([4, 9]) == 1


@pytest.mark.case("H2")
@pytest.mark.parametrize(
    "name, bits", [("desktop", 64), ("desktop-f32", 32), ("nrf52840", 32), ("nrf52840-f30", 30)]
)
def test_device_tests_run_with_floats_of_30_32_and_64_bits(name, bits):
    runtime = next(r for r in runtimes.RUNTIMES if r.board == name)
    if runtimes.unavailable(runtime):
        (pytest.fail if runtimes.must_run() else pytest.skip)(runtimes.unavailable(runtime))
    boards = runtimes.Boards()
    try:
        assert boards.get(name)[0].info().float_bits == bits
    finally:
        boards.close()
    tests = [DeviceTestFile(runtimes.DEVICE_TESTS / f"{file}.py") for file in runtimes.WITH_FLOATS]
    assert sum(test.applies(runtime) and not test.left_out(runtime) for test in tests) >= 6


@pytest.mark.case("H7")
@needs_twin
def test_scale_and_zero_point_of_the_output_are_applied_for_the_user():
    twin_net.register()
    make, argument = NETWORKS["every operator"]
    network = make(argument)
    program = encode(inference_step(network.graph), network)
    net = Net(program.code, program.weights)
    shape = network.graph[network.input].shape
    stored = np.random.default_rng(4).integers(-128, 128, (8, *shape)).astype(np.int8)
    for x in as_bytes(stored):
        net.predict(x)
        raw = np.frombuffer(bytes(net.outputs()), np.int8)
        assert net.real_outputs() == pytest.approx(network.real_output(raw).tolist(), rel=1e-6)
    assert np.argmax(net.real_outputs()) == net.predict(x)


def test_outputs_that_are_real_already_stay_as_they_are():
    net = FloatNet.__new__(FloatNet)
    net._arena, net._output, net._classes, net._program = memoryview(bytearray(8)), 0, 2, b""
    net._arena[:] = np.array([1.5, -2], np.float32).tobytes()
    assert net.real_outputs() == [1.5, -2.0]


# ---- the store -----------------------------------------------------------------------------


@pytest.mark.case("D8", "D16")
def test_operations_take_the_erases_that_the_page_on_capsules_names():
    flash = NorFlash(10 * 1024, 1024)
    store = cases.store(flash)
    store.swap_capsule(cases.capsule(1, cases.weights(2500, 1)))
    pages = store.slots.pages_of(store.head.total)
    assert pages == 3

    def spent(call):
        before = list(flash.erases)
        call()
        after = [b - a for a, b in zip(before, flash.erases, strict=True)]
        return sum(after[2:]), sum(after[:2])

    new = cases.weights(2500, 5)
    assert spent(lambda: store.swap_capsule(cases.capsule(2, cases.weights(2500, 2)))) == (3, 0)
    assert spent(lambda: store.save(new)) == (3, 0)
    assert spent(lambda: store.save(new)) == (0, 0)
    assert spent(store.confirm) == (0, 0) and spent(store.rollback) == (0, 0)
    assert spent(lambda: cases.store(flash)) == (0, 0)
    erases = list(flash.erases)
    store.swap_capsule(cases.capsule(9, cases.weights(2500, 9)))
    slots = [erases[2:6] == flash.erases[2:6], erases[6:] == flash.erases[6:]]
    assert sorted(slots) == [False, True]  # only one slot's own pages wear


class Dead(NorFlash):
    """A driver that answers with an error, always or from a page on."""

    dead_from = 1 << 30

    def mapped(self, at, n):
        return None

    def _read(self, at, buffer):
        if at + len(buffer) > self.dead_from:
            raise FlashError("driver answers -5 at %d" % at)
        super()._read(at, buffer)


@pytest.mark.case("D9", "D11")
@pytest.mark.parametrize("dead_from", [0, 300, 512, 600, 1536])
def test_a_boot_on_a_flash_that_fails_ends_without_a_model_and_says_why(dead_from):
    flash = Dead(10 * 256, 256)
    store = cases.store(flash)
    store.swap_capsule(cases.capsule(1))
    flash.dead_from = dead_from
    steps = flash.steps
    again = cases.store(flash)  # it does not raise: the program reaches its prompt
    if again.active is None:
        assert "driver answers -5" in again.note or "no model" in again.note
    else:
        assert dead_from > 600
    assert flash.steps - steps < 10  # and it tries a bounded number of things
    flash.dead_from = 1 << 30
    assert cases.active(cases.store(flash)) == cases.capsule(1)


# ---- downloads larger than the heap, and the evaluator -------------------------------------


@pytest.mark.case("C1")
def test_a_body_of_twice_the_heap_is_taken_in_pieces(tmp_path, certificates):  # noqa: F811
    if why_not("desktop"):
        pytest.skip(why_not("desktop"))
    made = Repository(tmp_path / "repository", cases.KEY)
    made.publish(cases.capsule(2, cases.weights(60 * 1024, 1)))
    der = ssl.PEM_cert_to_DER_cert(certificates[0][0].read_text())
    with TlsServer(web.files(made.folder), *certificates[0]) as server:
        with open_board("desktop", heap_bytes=400 * 1024) as board:
            install(board, only=["pull"], yes=True)
            code = _TLS.format(key=cases.KEY, certificate=der, url=server.url)
            assert board.exec(code.replace("65536", "262144")) == "True True verified\n"


@pytest.mark.case("L3")
def test_the_evaluator_shares_no_code_with_any_solver():
    folder = repository() / "host" / "acclimate_host" / "poet"
    allowed, todo, seen = {"problem", "overlap"}, ["evaluate"], set()
    while todo:
        name = todo.pop()
        seen.add(name)
        for node in ast.walk(ast.parse((folder / f"{name}.py").read_text())):
            if isinstance(node, ast.ImportFrom) and node.level and node.module:
                todo += [] if node.module in seen else [node.module]
    assert seen - {"evaluate"} <= allowed
