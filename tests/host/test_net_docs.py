# SPDX-License-Identifier: MIT
"""docs/training.md does what it says; its numbers may differ with the version of scikit-learn."""

import ast
import doctest
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from acclimate_host.cli import main
from acclimate_host.model import build, factors, small
from acclimate_host.paths import repository
from acclimate_host.twin import net as twin_net
from harness.errors import naming

DIGITS = re.compile(r"-?\d[\d.,]*")


class AnyNumbers(doctest.OutputChecker):
    """Numbers stand for numbers; the words and the form must agree."""

    def check_output(self, want, got, optionflags):
        same = [" ".join(DIGITS.sub("0", text).split()) for text in (want, got)]
        return same[0] == same[1]


@pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_page_prints_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = repository() / "docs" / "training.md"
    blocks = re.findall(r"```python\n(>>> .*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 6
    names = {}
    test = doctest.DocTestParser().get_doctest("".join(blocks), names, path.name, str(path), 0)
    found = doctest.DocTestRunner(AnyNumbers()).run(test, clear_globs=False)
    assert found.attempted > 20 and found.failed == 0
    net, stream = test.globs["net"], test.globs["stream"]
    assert net.evaluate(stream[1200:]) > 0.7


@pytest.fixture
def torch_page(tmp_path, monkeypatch):
    """What examples/network_from_torch.py writes, and the page's commands and board code."""
    monkeypatch.chdir(tmp_path)
    file = Path(__file__).parent / "onnx_files" / "torch_digits.onnx"
    shutil.copy(file, "net.onnx")
    names = {"np": np, "load_digits": load_digits}
    source = ast.parse((repository() / "examples" / "network_from_torch.py").read_text())
    kept = [
        node
        for node in source.body
        if isinstance(node, ast.FunctionDef) and node.name in ("digits", "user_data")
    ]
    exec(compile(ast.Module(kept, []), "network_from_torch.py", "exec"), names)
    x, labels = names["digits"]()
    np.save("samples.npy", x[:300])
    user = names["user_data"](x, labels)
    np.savez("user.npz", **user)
    text = (repository() / "docs" / "training.md").read_text(encoding="utf-8")
    page = text[text.index("## From PyTorch") : text.index("## What to expect")]
    commands = re.findall(r"^\$ acclimate ((?:contribute|compile) .*)$", page, re.MULTILINE)
    code = re.findall(r"```python\n(from acclimate.net .*?feedback.*?)```", page, re.DOTALL)
    assert len(commands) == 2 and len(code) == 1
    return user, commands, code[0]


@pytest.mark.slow
@pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built")
def test_the_page_from_pytorch_leads_to_a_net_that_learns(torch_page, capsys, monkeypatch):
    user, commands, code = torch_page
    assert main([*commands[0].split(), "--epochs", "1", "--ratios", "1"]) == 0
    advice = re.search(r"bytes: acclimate (compile net.onnx .*)", capsys.readouterr().out)[1]
    assert (
        main([*advice.split(), "--out", "advised"]) == 0 and Path("advised/net_program").exists()
    )
    assert main(commands[1].split()) == 0
    twin_net.register()
    monkeypatch.chdir("build")
    pairs = [
        (image.ravel().tolist(), int(label))
        for image, label in zip(user["x"], user["labels"], strict=True)
    ]
    names = {"pairs": 3 * pairs}
    exec(code.replace("in feedback():", "in pairs:"), names)
    net, x = names["net"], names["x"]
    samples = [
        (bytes(net.quantize(image.ravel().tolist(), x)), int(label))
        for image, label in zip(user["x_test"], user["labels_test"], strict=True)
    ]
    assert net.evaluate(samples) > 0.5
    with pytest.raises(ValueError, check=naming(3, "nan")):
        net.quantize([0.0, 0.0, 0.0, float("nan")] + [0.0] * (net.input_bytes - 4), x)


@pytest.mark.parametrize("module", [build, factors, small])
def test_docstring_examples(module):
    result = doctest.testmod(module)
    assert result.attempted and not result.failed
