# SPDX-License-Identifier: MIT
"""Attention of ONNX models whose rows do not see all columns, against onnxruntime."""

import numpy as np
import pytest

from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import training_step
from acclimate_host.model.float_run import FloatRun
from acclimate_host.model.import_onnx import import_onnx
from acclimate_host.model.importing import ModelImportError
from acclimate_host.model.losses import with_loss
from acclimate_host.model.quantize import quantize
from acclimate_host.sparse.scheme import full
from acclimate_host.twin import net as twin_net
from harness.errors import naming

pytest.importorskip("onnxruntime")
from test_net_onnx import samples, theirs  # noqa: E402
from test_net_onnx_attention import (  # noqa: E402
    ROWS,
    WIDTH,
    finished,
    heads_of,
    number,
    projected,
    scaled,
    tokens,
)
from test_net_onnx_shapes import same_bits  # noqa: E402

LATER = np.triu(np.ones((ROWS, ROWS), bool), 1)
INFINITE = -np.inf
LEAST = float(np.finfo(np.float32).min)


def causal(net, scores, value=INFINITE):
    return net.op("Add", scores, np.where(LATER, np.float32(value), np.float32(0)))


def causal_first(net, scores):
    """The mask is the first operand, with the axes of samples and heads."""
    mask = np.where(LATER, np.float32(LEAST), np.float32(0))
    return net.op("Add", mask[None, None], scores)


def chosen(net, scores):
    """A number in place of what is hidden."""
    return net.op("Where", LATER, number(-1e4), scores)


def kept(net, scores):
    return net.op("Where", ~LATER, scores, number(-1e9))


def padding(net, scores):
    """All rows see the same first columns."""
    return net.op("Add", scores, np.array([0, 0, 0, 0, -1e4, -1e4, -1e4], np.float32))


def nearby(net, scores):
    """A band: each row sees its neighbours, from some row on those of the second half."""
    at = np.arange(ROWS)
    return net.op("Add", scores, np.where(abs(at[:, None] - at) > 2, -1e4, 0).astype(np.float32))


def lifted(net, scores):
    """A row's own constant changes nothing: a row that is masked throughout sees all."""
    mask = np.where(LATER, -1e4, 0) + np.arange(ROWS)[:, None]
    mask[2] = -200
    return net.op("Add", scores, mask.astype(np.float32))


def computed(net, scores):
    """As PyTorch writes it: the lower triangle of ones decides, all of it constants."""
    ones = net.op("ConstantOfShape", np.array([ROWS, ROWS]))
    lower = net.op("Trilu", net.op("Add", ones, number(1)), upper=0)
    hidden = net.op("Not", net.op("Cast", lower, to=9))
    mask = net.op("Where", hidden, number(INFINITE), number(0))
    return net.op("Add", scores, mask)


def nothing(net, scores):
    return net.op("Add", scores, np.zeros((1, ROWS), np.float32))


SETS = {causal: ROWS, causal_first: ROWS, chosen: ROWS, kept: ROWS, padding: 1, nearby: ROWS,
        lifted: ROWS - 1, computed: ROWS, nothing: 1}  # fmt: skip


def attended(net, x, mask, heads=2, form="divided"):
    q, k, v = (heads_of(net, projected(net, x), heads, turned) for turned in (False, True, False))
    scores = mask(net, scaled(net, form, net.op("MatMul", q, k)))
    net.op("MatMul", net.op("Softmax", scores, axis=-1), v)
    net.op("Transpose", net.last, perm=[0, 2, 1, 3])
    return net.op("Reshape", net.last, np.array([1, ROWS, WIDTH]))


def compared(net, count, features=ROWS * WIDTH):
    model, given = finished(net, features), samples((ROWS, 5))
    network = import_onnx(model)
    assert FloatRun(network).predict(given) == pytest.approx(
        theirs(model, given), rel=1e-4, abs=1e-5
    )
    assert [node.op for node in network.graph.nodes].count("attention") == count
    return network


@pytest.mark.parametrize("heads", (1, 2, 4))
@pytest.mark.parametrize("mask", SETS)
def test_rows_that_see_the_same_columns_are_one_attention(mask, heads):
    net, x = tokens()
    attended(net, x, mask, heads)
    network = compared(net, SETS[mask])
    if twin_net.load() is not None:
        same_bits(network, samples((ROWS, 5)))


@pytest.mark.parametrize("form", ("plain", "multiplied"))
def test_a_mask_without_heads_in_a_whole_block(form):
    net, x = tokens()
    q, k, v = (projected(net, x) for _ in range(3))
    scores = net.op("MatMul", q, net.op("Transpose", k, perm=[0, 2, 1]))
    net.op("MatMul", net.op("Softmax", causal(net, scaled(net, form, scores)), axis=-1), v)
    net.op("LayerNormalization", net.op("Add", net.last, x), np.ones(WIDTH, np.float32))
    network = compared(net, ROWS)
    small, _ = quantize(network, samples((ROWS, 5)))
    trained = with_loss(small, "cross-entropy")
    assert encode(training_step(trained.graph, full(trained.graph)), trained).weights


def some(net, scores):
    return causal(net, scores, -3)


def by_head(net, scores):
    mask = np.where(np.stack([LATER, LATER.T]), -1e4, 0).astype(np.float32)
    return net.op("Add", scores, mask)


def blind(net, scores):
    mask = np.where(LATER, INFINITE, 0).astype(np.float32)
    mask[3] = INFINITE
    return net.op("Add", scores, mask)


@pytest.mark.parametrize("mask", (some, by_head, blind))
def test_other_masks_are_refused_by_name(mask):
    net, x = tokens()
    attended(net, x, mask)
    with pytest.raises(ModelImportError, check=naming("another mask", "alike in all heads")):
        import_onnx(finished(net, ROWS * WIDTH))


def test_a_mask_that_is_computed_is_refused():
    net, x = tokens()
    attended(net, x, lambda net, scores: net.op("Add", scores, net.op("Tanh", scores)))
    with pytest.raises(ModelImportError, check=naming("MatMul of two activations")):
        import_onnx(finished(net, ROWS * WIDTH))


def test_many_kinds_of_rows_are_refused(monkeypatch):
    from acclimate_host.model import import_onnx_moves

    monkeypatch.setattr(import_onnx_moves, "_SETS_MOST", ROWS - 1)
    net, x = tokens()
    attended(net, x, causal)
    with pytest.raises(ModelImportError, check=naming(f"{ROWS} kinds of rows", str(ROWS - 1))):
        import_onnx(finished(net, ROWS * WIDTH))
