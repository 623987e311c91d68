# SPDX-License-Identifier: MIT
"""The notebooks of examples/notebooks: small, outputs kept, and each cell runs."""

import json

import pytest

from acclimate_host.connect import why_not
from acclimate_host.paths import repository

FILES = sorted((repository() / "examples" / "notebooks").glob("*.ipynb"))
NEEDS = {
    "keyword_by_capsule": ("sklearn",),
    "federated": ("sklearn",),
    "paging_plan": ("highspy",),
    "fleet_rollout": ("sklearn", "uvicorn"),
}
each = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def _outputs(cells):
    return [output for cell in cells for output in cell.get("outputs", ())]


@each
def test_a_notebook_is_small_and_keeps_its_outputs(path):
    text = path.read_text(encoding="utf-8")
    notebook = json.loads(text)
    kinds = [output["output_type"] for output in _outputs(notebook["cells"])]
    assert len(text) < 80_000 and kinds.count("stream") >= 3 and "error" not in kinds
    assert any("image/png" in output.get("data", ()) for output in _outputs(notebook["cells"]))
    assert (
        str(repository()) not in text
        and "/tmp" not in text
        and set(notebook["metadata"]) == {"kernelspec"}
    )


def test_the_page_names_each_notebook():
    page = (repository() / "docs" / "examples.md").read_text(encoding="utf-8")
    assert {path.stem for path in FILES} == set(NEEDS)
    assert all(f"../examples/notebooks/{path.name}" in page for path in FILES)


@pytest.mark.slow
@pytest.mark.skipif(why_not("desktop") is not None, reason=str(why_not("desktop")))
@each
def test_a_notebook_runs_to_its_end(path, monkeypatch):
    for module in ("nbclient", "ipykernel", "matplotlib", *NEEDS[path.stem]):
        pytest.importorskip(module)
    from bench.notebooks import run

    folders = (repository() / "device", repository() / "host")
    monkeypatch.setenv("PYTHONPATH", ":".join(map(str, folders)))
    outputs = _outputs(run(path).cells)
    assert outputs and all(output["output_type"] != "error" for output in outputs)
