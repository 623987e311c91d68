# SPDX-License-Identifier: MIT
"""Where the capsule region of a board is, in the board's own words."""

from dataclasses import dataclass

from acclimate_host.connect import open_board, package
from acclimate_host.connect.emulator import how_to_get
from acclimate_host.connect.install import install
from acclimate_host.errors import AcclimateError, BoardError, Missing, Refused
from acclimate_host.paths import firmware

KEY_FILE = "capsule.key"
OBJECT_KEY_FILE = "object.key"
_MODULES = ("pull", "pull.serial")
# Too small for modules from files: the firmware that has them frozen.
FROZEN = {"samd21": "samd21-capsules"}
# Collect early: what lives long shall not lie between garbage.
_REGISTER = """
import gc
gc.threshold(512)
import _codec
from acclimate import _native
_native.register('codec', _codec)
"""
_DEVICES = {
    "qboard": (
        "import qboard\n_device = qboard.Flash(qboard.RAW_START, {bytes} or qboard.RAW_BYTES)"
    ),
    "esp32": (
        "import esp32\n_found = esp32.Partition.find(esp32.Partition.TYPE_DATA, label='capsule')\n"
        "if not _found: raise OSError('no partition capsule: acclimate flash-capsule makes one')\n"
        "_device = _found[0]"
    ),
    "nrf": (
        "from acclimate.flash import open_nrf\n"
        "_flash = open_nrf({start} or None, {bytes} or None)\n_device = _flash._device"
    ),
}


@dataclass(frozen=True)
class Region:
    """A flash region of a board.

    :param code: statements that leave a block device in ``_device``; "" for a file.
    :param path: of that file, on the board; :param bytes: its length.
    :param flash: statements that leave a Flash in ``_flash``, where there is no block device.
    """

    code: str
    path: str = ""
    bytes: int = 0
    flash: str = ""

    def flash_code(self):
        """Return statements that leave an acclimate.flash.Flash in ``_flash``."""
        if self.flash:
            return self.flash
        if self.path:
            head = "from acclimate.flash import FileFlash\n"
            return head + f"_flash = FileFlash({self.path!r}, {self.bytes})"
        return f"{self.code}\nfrom acclimate.flash import BlockFlash\n_flash = BlockFlash(_device)"

    def store_code(
        self,
        key_path,
        model=0,
        kind=0,
        board=0,
        device=0,
        chunk_bytes=64,
        max_boots=3,
        unsigned=False,
    ):
        """Return statements that leave a Store in ``store``; the key is in a file of the board.

        :param unsigned: without a key take what is not signed.
        """
        return f"""
from acclimate.store import Wanted
from acclimate.store import Store
{self.flash_code()}
try:
    with open({key_path!r}, 'rb') as _f: _key = _f.read()
    if _key[:4] == b'AKEY': _key = {key_path!r}
except OSError:
    _key = None
store = Store(_flash, Wanted(model={model}, kind={kind}, board={board}, device={device},
    key=_key, unsigned={unsigned}), chunk_bytes={chunk_bytes}, max_boots={max_boots})
"""


def region_of(board, expression=None, start=0, size=0):
    """Return the Region of an open board.

    :param expression: the board's own expression for a block device, instead of what is known.
    :param start: address and :param size: bytes, where the board does not know them itself.
    :raises Missing: nothing is known about this board.
    """
    if expression:
        head, _, last = expression.rpartition(";")
        return Region(f"{head}\n_device = {last.strip()}")
    if board.name.startswith("desktop"):
        return Region("", f"{board.root}/capsule.region", size or 262144)
    kind = "qboard" if board.emulated else _kind(board)
    if kind == "samd":
        if not (start and size):
            raise Missing(f"{board.name}: give the region's --start and --bytes")
        made = f"from acclimate.flash import SamdFlash\n_flash = SamdFlash({start}, {size})"
        return Region("", flash=made)
    return Region(_DEVICES[kind].format(start=start, bytes=size))


def _kind(board):
    platform = board.info().platform
    for kind in ("esp32", "nrf", "samd"):
        if platform.lower().startswith(kind):
            return kind
    raise Missing(f"{board.name}: no region is known for {platform}; give --region EXPRESSION")


def open_options(name):
    """Return the options that open_board needs for a board that keeps capsules."""
    if name not in FROZEN:
        return {}
    elf = firmware(FROZEN[name])
    if not elf.exists():
        raise Missing(f"{name}: no firmware {FROZEN[name]}: {how_to_get(FROZEN[name])}")
    return {"elf": elf}


def open_for_store(name, **options):
    """Open a board with what a Store needs of the package on it."""
    board = open_board(name, **open_options(name), **options)
    try:
        prepare(board)
    except BaseException:
        board.close()
        raise
    return board


def prepare(board):
    """Bring the device package up to date; on the smallest board its native module only."""
    if not (board.emulated and board.name in FROZEN):
        more = ("_trust",) if _has_trust(board) else ()
        if has_object_key(board):
            more += ("pull.encrypted",)
        install(board, only=_MODULES + more, yes=True)
        board.soft_reset()
        return
    native = package.natives("armv6m").get("_codec")
    if native is None:
        raise Missing(f"{board.name}: _codec.mpy was not built; run: make native")
    board.put_bytes(native.read_bytes(), "/_codec.mpy")
    board.exec(_REGISTER, 30)


def _has_trust(board):
    """Tell whether a board was given the root of Ed25519 keys."""
    path = key_path(board)
    return board.exists(path) and board.get_bytes(path)[:4] == b"AKEY"


def require(board, region):
    """Say what is missing before anything is sent: a partition that the table does not have.

    :raises Refused: the board has no such block device.
    """
    if not region.code or "from acclimate" in region.code:
        return  # a file, or a driver that comes with the package
    try:
        board.exec(region.code, 30)
    except BoardError as error:
        last = error.traceback.strip().splitlines()[-1]
        raise Refused(f"{board.name}: {last.partition(': ')[2] or last}") from None


def key_path(board):
    """Return where a board keeps its key."""
    return f"{board.root.rstrip('/')}/{KEY_FILE}"


def object_key_path(board):
    """Return where a board keeps the key of encrypted objects."""
    return f"{board.root.rstrip('/')}/{OBJECT_KEY_FILE}"


def has_object_key(board):
    """Tell whether a board was given the key of encrypted objects; the smallest takes none."""
    return not (board.emulated and board.name in FROZEN) and board.exists(object_key_path(board))


def give_key(board, key):
    """Write a key to the board over its cable: not the way that capsules come."""
    if not 16 <= len(key) <= 64:
        raise AcclimateError(f"key of {len(key)} bytes: 16 to 64")
    _give(board, key, key_path(board))


def give_object_key(board, key):
    """Write the key of encrypted objects, 32 bytes, to the board over its cable."""
    _give(board, key, object_key_path(board))


def _give(board, key, path):
    board.put_bytes(key, path)
    if board.get_bytes(path) != key:
        raise AcclimateError(f"{board.name}: the key came back different from what was sent")


def give_trust(board, trust, first=b""):
    """Write a board's file of trust over its cable, and the list of keys that it begins with."""
    path = key_path(board)
    for place in (0, 1):  # the list of a root before would count otherwise
        if board.exists(f"{path}.{place}"):
            board.rm(f"{path}.{place}")
    for name, data in ((f"{path}.0", first), (path, trust)):
        if data:
            board.put_bytes(data, name)
            if board.get_bytes(name) != data:
                raise AcclimateError(
                    f"{board.name}: {name} came back different from what was sent"
                )


def open_store(board, region, **wanted):
    """Make a Store on an open board; return ``status``."""
    try:
        board.exec(region.store_code(key_path(board), **wanted), 120)
    except BoardError as error:
        if "MemoryError" in error.traceback:
            raise Missing(f"{board.name}: too little RAM for a Store") from None
        raise
    return status(board)


def status(board):
    """Return (state, version in use or 0, note) of the board's Store."""
    text = board.exec(
        "print(store.state)\nprint(store.head.version if store.active is not None else 0)\n"
        "print(store.note)"
    )
    state, version, note = (text.splitlines() + ["", "", ""])[:3]
    return state, int(version), note
