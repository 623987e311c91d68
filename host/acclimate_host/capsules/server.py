# SPDX-License-Identifier: MIT
"""From a trained model to devices, in four lines.

server = CapsuleServer(model, folder="repository", model_id=7, key="fleet.key")
server.save()                       # build and sign the next version
server.export()                     # publish it: any web server on the folder delivers
server.deploy(["/dev/ttyACM0"])     # or push it over a cable
"""

import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from acclimate_host.capsules.build import build
from acclimate_host.capsules.manifest import Manifest
from acclimate_host.capsules.operators import fields_of, operators
from acclimate_host.capsules.push import push
from acclimate_host.capsules.repository import Repository
from acclimate_host.capsules.signing import Key, read_private
from acclimate_host.errors import Refused
from acclimate_host.paths import KEY_FILE_BYTES, read_at_most


def read_key(path: str | os.PathLike[str]) -> Key:
    """Return the key in a file (see ``acclimate capsule key``): HMAC bytes, or a private key."""
    key = read_at_most(path, KEY_FILE_BYTES)
    if key[:5] == b"-----":
        return read_private(path)
    if not 16 <= len(key) <= 64:
        raise Refused(f"{path}: key of {len(key)} bytes: 16 to 64")
    return key


def fleet_key(path: str | os.PathLike[str] | None) -> bytes | None:
    """Return the fleet's HMAC key in a file; None without a file.

    :raises Refused: it is a private key.
    """
    key = read_key(path) if path else None
    if not isinstance(key, bytes | None):
        raise Refused(f"{path}: expected the fleet's HMAC key, got a private key")
    return key


def sections_of(model: Any) -> tuple[str, dict[str, bytes]]:
    """Return (kind, sections) of a model.

    :param model: sections by type name; an ``acclimate.svm.SVM``; or a fitted ``SVC`` or
        ``LinearSVC`` of scikit-learn. The device loads a machine with
        ``SVM.load(io.BytesIO(store.view(WEIGHTS)))``.
    """
    if isinstance(model, dict):
        return ("NETWORK" if "PROGRAM" in model else "DATA"), model
    if not hasattr(model, "save"):
        from acclimate_host.model.import_sklearn import import_svm

        model = import_svm(model)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.svm")
        model.save(path)
        return "SVM", {"WEIGHTS": Path(path).read_bytes()}


class CapsuleServer:
    """One model's releases in one repository.

    :param model: see ``sections_of``; set ``model`` to the next one before the next ``save``.
    :param key: key file or bytes; None leaves capsules unsigned, which devices with a key refuse.
    :param operators: a .mpy or .py file that travels with the model, see ``operators.operators``;
        set it to the next one as ``model``. :param native_arch: of its native code: "armv7emsp".
    :param options: more for ``build``: temperature, board, device, arch, abi, flags.
    """

    def __init__(
        self,
        model: Any,
        folder: str | os.PathLike[str] = "repository",
        model_id: int = 1,
        key: str | os.PathLike[str] | Key | None = None,
        kind: str | None = None,
        operators: str | os.PathLike[str] | None = None,
        native_arch: str | None = None,
        object_key: bytes | None = None,
        **options: Any,
    ) -> None:
        self.model = model
        self.operators = operators
        self.native_arch = native_arch
        self.model_id = model_id
        self.kind = kind
        self.key = read_key(key) if isinstance(key, (str, os.PathLike)) else key
        self.repository = Repository(folder, self.key, object_key=object_key)
        self.capsule: bytes | None = None
        self._options = options

    def __repr__(self) -> str:
        return f"CapsuleServer({self.repository!r}, model_id={self.model_id})"

    def save(self, version: int | None = None) -> bytes:
        """Build and sign a capsule; return its bytes.

        :param version: None takes the one after the newest of all cohorts.
        """
        if version is None:
            known = [m.version for id, _, m in self.repository.models() if id == self.model_id]
            version = max(known, default=0) + 1
        kind, sections = sections_of(self.model)
        options = self._options
        if self.operators is not None:
            code = operators(self.operators, self.native_arch)
            sections = {**sections, "OPERATORS": code}
            options = {**fields_of(code), **options}
        self.capsule = build(
            sections,
            self.kind or kind,
            self.model_id,
            version,
            key=self.key,
            epoch=self.repository.epoch(),
            **options,
        )
        return self.capsule

    def export(
        self,
        cohort: str = "all",
        percent: int = 100,
        bases: Iterable[bytes] = (),
        new_key: bool = False,
    ) -> Manifest:
        """Publish what ``save`` built (and build it first where it did not); see ``publish``."""
        capsule = self.capsule or self.save()
        return self.repository.publish(capsule, cohort, percent, bases, new_key=new_key)

    def deploy(
        self,
        devices: Iterable[Any],
        setup: str | None = None,
        confirm: bool = True,
        progress: Callable[..., None] | None = None,
    ) -> dict[str, int]:
        """Push the capsule to devices over their cables; return {device: bytes sent}.

        :param devices: ports, names of emulated boards, or open boards.
        :param setup: program for the device that makes ``store``; see ``push``.
        """
        from acclimate_host.connect import open_board

        capsule = self.capsule or self.save()
        sent: dict[str, int] = {}
        known = [
            self.repository.capsule(self.model_id, name)
            for id, name, _ in self.repository.models()
            if id == self.model_id
        ]
        for device in devices:
            if hasattr(device, "exec"):
                sent[device.name] = push(device, capsule, known, setup, confirm, progress)
                continue
            with open_board(device) as board:
                sent[device] = push(board, capsule, known, setup, confirm, progress)
        return sent
