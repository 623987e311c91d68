# SPDX-License-Identifier: MIT
"""Cost tables: what a FLOP and a moved byte cost on a board, from boards/costs/*.toml.

>>> profile = load("m4")
>>> round(profile.compute_energy(1e6), 6), profile.element_bytes
(0.001724, 4)
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import AcclimateError
from ..figures import raise_all, read_figures, read_toml
from ..paths import boards_folder

# Operators whose own FLOP/s a measured table may hold; all others go by flop_per_s.
OPERATORS = ("conv", "depthwise", "pointwise", "dense", "backward")
# Cores whose instructions compile.cost_model knows; a measured table has seconds for each.
_CORES = ("m4f", "m0")
_SECONDS: tuple[float, float] = (0, 1e5)
# Name -> (smallest, largest) allowed value.
FIGURES = {
    "element_bytes": (1, 8),
    "flop_per_s": (1, 1e15),
    "compute_power_w": (1e-9, 1e4),
    "joule_per_flop": (1e-18, 1),
    "pagein.latency_s": (0, 60),
    "pagein.bytes_per_s": (1, 1e12),
    "pagein.power_w": (0, 1e4),
    "pageout.latency_s": (0, 60),
    "pageout.bytes_per_s": (1, 1e12),
    "pageout.power_w": (0, 1e4),
    "store.erase_block_bytes": (1, 1 << 24),
    "store.endurance_cycles": (1, 1e9),
    **{"operators." + name: (1, 1e15) for name in OPERATORS},
    **{"instructions." + name: (1e-13, 1) for name in _CORES},
}
_OPTIONAL = (
    "compute_power_w",
    "joule_per_flop",
    "store.erase_block_bytes",
    "store.endurance_cycles",
    *("operators." + name for name in OPERATORS),
    *("instructions." + name for name in _CORES),
)


class CostError(AcclimateError):
    """A cost table is wrong; the text names the file, the key and what is allowed."""


@dataclass(frozen=True)
class CostProfile:
    """Costs of one board: figures by the names in FIGURES, and each one's source.

    shapes: seconds of a node by its shape (compile.shapes), as measured on the board.
    """

    name: str
    title: str
    kind: str
    figures: dict[str, float]
    sources: dict[str, str]
    shapes: dict[str, float] = field(default_factory=dict)

    @property
    def core(self) -> str | None:
        """Core whose instructions have a time here, or None."""
        return next((name for name in _CORES if "instructions." + name in self.figures), None)

    @property
    def element_bytes(self) -> int:
        """Bytes of one number of a tensor."""
        return int(self.figures["element_bytes"])

    def compute_time(self, flop: float, operator: str = "") -> float:
        """Seconds for so many floating point operations of an operator (of OPERATORS, or any)."""
        speed = self.figures.get("operators." + operator, self.figures["flop_per_s"])
        return flop / speed

    def compute_energy(self, flop: float, operator: str = "") -> float:
        """Joules for so many floating point operations of an operator."""
        return self.energy_of(self.compute_time(flop, operator), flop)

    def node_time(
        self, shape: str, instructions: float | None, flop: float, operator: str = ""
    ) -> float:
        """Seconds of a node: of its shape if measured, else by instructions, else by FLOP.

        :param instructions: as compile.cost_model says for `core`, None: it does not say
        """
        if shape in self.shapes:
            return self.shapes[shape]
        if instructions is not None and self.core:
            return instructions * self.figures["instructions." + self.core]
        return self.compute_time(flop, operator)

    def energy_of(self, seconds: float, flop: float) -> float:
        """Joules of a node that takes so many seconds and does so many operations."""
        if "joule_per_flop" in self.figures:
            return flop * self.figures["joule_per_flop"]
        return seconds * self.figures["compute_power_w"]

    def transfer_time(self, direction: str, size_bytes: int) -> float:
        """Seconds to move a tensor; direction is "pagein" or "pageout"."""
        speed = self.figures[direction + ".bytes_per_s"]
        return self.figures[direction + ".latency_s"] + size_bytes / speed

    def transfer_energy(self, direction: str, size_bytes: int) -> float:
        """Joules to move a tensor; direction is "pagein" or "pageout"."""
        return self.transfer_time(direction, size_bytes) * self.figures[direction + ".power_w"]


def costs_folder() -> Path:
    """Return the folder of the shipped cost tables."""
    return boards_folder() / "costs"


def names() -> list[str]:
    """Names of the shipped cost tables, sorted."""
    return sorted(path.stem for path in costs_folder().glob("*.toml"))


def load(name: str) -> CostProfile:
    """Return the shipped table of that name, or the one in the file of that path."""
    path = costs_folder() / f"{name}.toml"
    if str(name).endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise CostError(f"no file {name}")
    if not path.is_file():
        raise CostError(f"no cost table {name!r}; there are {', '.join(names())}, or give a .toml")
    return parse(read_toml(path, CostError), path.name)


def parse(data: dict[str, Any], where: str = "table") -> CostProfile:
    """Return the profile in a dict as a TOML file gives it; raises CostError."""
    texts = {key: str(data.get(key, "")) for key in ("name", "title", "kind")}
    tables = {key: entry for key, entry in data.items() if isinstance(entry, dict)}
    measured = tables.pop("shapes", {})
    known = dict.fromkeys(measured, _SECONDS)
    shapes = read_figures(measured, known, f"{where}: shapes", CostError)
    found = read_figures(tables, FIGURES, where, CostError)
    flat = {key: figure.value for key, figure in found.items()}
    sources = {key: figure.source for key, figure in found.items()}
    missing = [key for key in FIGURES if key not in flat and key not in _OPTIONAL]
    raise_all([f"{key} is missing" for key in missing], where, CostError)
    if "joule_per_flop" not in flat and "compute_power_w" not in flat:
        raise CostError(f"{where}: give compute_power_w or joule_per_flop")
    seconds = {shape: figure.value for shape, figure in shapes.items()}
    return CostProfile(
        texts["name"] or where, texts["title"], texts["kind"], flat, sources, seconds
    )
