# SPDX-License-Identifier: MIT
"""Pulls over https: the server's certificate counts, in CPython and on MicroPython."""

import shutil
import ssl
import subprocess
import threading

import capsule_cases as cases
import pytest

from acclimate.pull import Client
from acclimate_host.capsules.repository import Repository
from acclimate_host.connect import open_board, why_not
from acclimate_host.connect.install import install
from harness import web
from harness.runtimes import copy_model

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Two self-signed certificates for localhost: (certificate, key) each."""
    folder, made = tmp_path_factory.mktemp("tls"), []
    for name in ("good", "other"):
        key, certificate = folder / f"{name}.key", folder / f"{name}.pem"
        subprocess.run(
            [
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:P-256",
                "-nodes",
                "-days",
                "365",
                "-subj",
                "/CN=localhost",
                "-addext",
                "subjectAltName=DNS:localhost",
                "-keyout",
                key,
                "-out",
                certificate,
            ],
            check=True,
            capture_output=True,
        )
        made.append((certificate, key))
    return made


class TlsServer(web.Server):
    """The same server behind TLS."""

    def __init__(self, answer, certificate, key):
        super().__init__(answer)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._context = context
        self.url = self.url.replace("http://127.0.0.1", "https://localhost")

    def _one(self, connection):
        connection.settimeout(60)
        with self._context.wrap_socket(connection, server_side=True) as line:
            data = b""
            while b"\r\n\r\n" not in data:
                data += line.recv(4096)
            request = web.Request(data.decode("latin-1"))
            self.requests.append(request)
            line.sendall(self.answer(request))
            line.unwrap()


@pytest.fixture
def served(tmp_path, certificates):
    repository = Repository(tmp_path / "repository", cases.KEY)
    repository.publish(cases.capsule(2))
    with TlsServer(web.files(repository.folder), *certificates[0]) as server:
        yield server


def test_a_model_comes_from_a_server_whose_certificate_is_known(served, certificates):
    store = cases.store(cases.flash())
    context = ssl.create_default_context(cafile=certificates[0][0])
    assert Client(store, served.url, wait_s=0, context=context).pull()
    store.confirm()
    assert cases.active(store) == cases.capsule(2)


def test_another_certificate_is_refused_and_nothing_is_asked(served, certificates):
    store = cases.store(cases.flash())
    context = ssl.create_default_context(cafile=certificates[1][0])
    with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
        Client(store, served.url, wait_s=0, attempts=2, context=context).pull()
    assert not served.requests


class DrippingServer(TlsServer):
    """Gives the first bytes of a record, and from then on one byte at a time."""

    def _one(self, connection):
        with connection:
            connection.settimeout(60)
            given, taken = ssl.MemoryBIO(), ssl.MemoryBIO()
            line = self._context.wrap_bio(given, taken, server_side=True)
            while b"GET" not in self._step(line):
                connection.sendall(taken.read())
                given.write(connection.recv(4096))
            line.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n" + bytes(9000))
            for byte in taken.read():
                try:
                    connection.sendall(bytes((byte,)))
                except OSError:
                    break
                if self.gone.wait(self.PAUSE_S):
                    break

    PAUSE_S = 0.05

    @staticmethod
    def _step(line):
        try:
            line.do_handshake()
            return line.read(4096)
        except ssl.SSLWantReadError:
            return b""


def test_bytes_that_drip_into_a_record_end_a_pull_that_blocks(certificates, tmp_path):
    """Each byte comes in time for the socket; the record would last for minutes."""
    good = certificates[0]
    context = ssl.create_default_context(cafile=good[0])
    with DrippingServer(web.files(tmp_path), *good) as server:
        server.gone = threading.Event()
        client = Client(
            cases.store(cases.flash()),
            server.url,
            context=context,
            timeout_s=1,
            wait_s=0,
            attempts=1,
        )
        with pytest.raises(OSError, match="nothing in 1 s"):
            client.pull()
        server.gone.set()


_PULL = """
import ssl
from acclimate.store import Wanted
from acclimate.pull import Client
from nor import NorFlash
from acclimate.store import Store
store = Store(NorFlash(34 * 256, 256), Wanted(model=7, key={key!r}), chunk_bytes=64)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.verify_mode = ssl.CERT_REQUIRED
context.load_verify_locations(cadata={certificate!r})
client = Client(store, {url!r}, wait_s=0, attempts=2, context=context)
if {is_async}:
    import asyncio, time
    opened = asyncio.open_connection
    async def late(*place, **extra):
        reader, writer = await opened(*place, **extra)
        at_once = writer.write
        def write(data):
            sent = writer.s.write(data)
            while sent is None:
                time.sleep_ms(5)
                sent = writer.s.write(data)
            at_once(data[sent:])
        if {is_late}:
            writer.write = write
        return reader, writer
    asyncio.open_connection = late
    pull = lambda: asyncio.run(client.apull())
else:
    pull = client.pull
try:
    print(pull(), store.state)
except OSError as error:
    print(type(error).__name__)
"""


@pytest.mark.parametrize("driver", ["blocking", "asyncio", "asyncio, all answers at once"])
@pytest.mark.parametrize("known", [0, 1])
def test_micropython_checks_the_certificate(served, certificates, driver, known):
    """The third is a busy machine: the server's answer is there before the write returns."""
    if why_not("desktop"):
        pytest.skip(why_not("desktop"))
    pem = certificates[known][0].read_text()
    der = ssl.PEM_cert_to_DER_cert(pem)
    with open_board("desktop") as board:
        if board.exec("try:\n import ssl\n print(1)\nexcept ImportError:\n print(0)") == "0\n":
            pytest.skip("this desktop binary has no TLS")
        install(board, only=["pull"], yes=True)
        copy_model(board)
        board.soft_reset()
        code = _PULL.format(
            key=cases.KEY,
            certificate=der,
            url=served.url,
            is_async=driver != "blocking",
            is_late="at once" in driver,
        )
        assert board.exec(code) == ("Refused\n" if known else "True verified\n")
