# SPDX-License-Identifier: MIT
"""Run the notebooks of examples/notebooks from the first cell to the last, and keep the outputs.

python -m bench.notebooks                     # or the names of some
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from acclimate_host.paths import repository

FOLDER = repository() / "examples" / "notebooks"
LIMIT_S = 600


def run(path):
    """Return a notebook after its cells have run, in its own folder, in this environment.

    :raises nbclient.exceptions.CellExecutionError: what a cell raised
    """
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=LIMIT_S,
        kernel_name="python3",
        resources={"metadata": {"path": str(FOLDER)}},
        record_timing=False,
    )
    return client.execute()


def save(notebook, path):
    """Write a notebook without what tells machine and moment."""
    notebook.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    for number, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{number}", {}
    nbformat.write(notebook, path)


def main(names):
    for path in [Path(FOLDER, name) for name in names] or sorted(FOLDER.glob("*.ipynb")):
        save(run(path), path)
        print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
