# SPDX-License-Identifier: MIT
"""What is left of a training step for each scheme: nodes, tensors and masks, written out."""

from dataclasses import replace

import pytest

from acclimate_host.compile.prune import drop_dead, inference, prune, with_classifier
from acclimate_host.model.autodiff import differentiate
from acclimate_host.model.build import Builder
from acclimate_host.model.graph import GraphError, check
from acclimate_host.sparse.scheme import Scheme, full


def forward(dense=True):
    build = Builder("net", (3, 6, 6))
    y = build.conv("c0", build.x, 4, 3)
    y = build.conv("c1", y, 4, 3, groups=4)
    y = build.conv("c2", y, 5, relu=False)
    return build.classify(build.pool("p", y), 2) if dense else y


def pruned(scheme):
    graph = prune(differentiate(forward()), scheme)
    check(graph)
    return graph


def nodes(graph, op):
    return [node for node in graph.nodes if node.op == op]


def kinds(graph):
    found = {}
    for name, tensor in graph.tensors.items():
        if tensor.kind in ("trained", "frozen"):
            found.setdefault(tensor.kind, {})[name] = tensor.shape
    return found


WHOLE = {
    "c0.w": (4, 3, 3, 3),
    "c0.b": (4,),
    "c1.w": (4, 1, 3, 3),
    "c1.b": (4,),
    "c2.w": (5, 4, 1, 1),
    "c2.b": (5,),
}
CLASSIFIER = {"fc.w": (2, 5, 1, 1), "fc.b": (2,)}


def test_everything_trained_is_the_whole_step():
    graph = pruned(full(forward()))
    assert kinds(graph) == {"trained": {**WHOLE, **CLASSIFIER}}
    before = differentiate(forward())
    assert [node.op for node in graph.nodes] == [node.op for node in before.nodes]
    assert [node.writes for node in graph.nodes] == [node.writes for node in before.nodes]
    assert not nodes(graph, "keep")


def test_the_classifier_alone_leaves_no_mask_and_no_gradient_below_it():
    graph = pruned(Scheme(0))
    assert kinds(graph) == {"frozen": WHOLE, "trained": CLASSIFIER}
    assert [node.writes[0] for node in nodes(graph, "apply")] == ["fc.w", "fc.b"]
    assert [node.outputs for node in nodes(graph, "conv")] == [("c0.y",), ("c1.y",), ("c2.y",)]
    assert not [name for name, tensor in graph.tensors.items() if tensor.kind == "mask"]
    assert not nodes(graph, "input_gradient") + nodes(graph, "clamp_gradient")
    assert graph.outputs == ("fc.y", "loss")


def test_biases_alone_keep_masks_down_to_the_first_of_them():
    graph = pruned(Scheme(2))
    assert set(kinds(graph)["trained"]) == {*CLASSIFIER, "c1.b", "c2.b"}
    assert [node.writes[0] for node in nodes(graph, "apply")] == ["fc.w", "fc.b", "c2.b", "c1.b"]
    assert [node.outputs[1:] for node in nodes(graph, "conv")] == [(), ("c1.mask",), ("c2.mask",)]
    assert [node.outputs[0] for node in nodes(graph, "input_gradient")] == ["fc.gx", "c2.gx"]
    assert [node.outputs[0] for node in nodes(graph, "weight_gradient")] == ["fc.gw"]


def test_a_weight_trained_in_part_is_split_and_its_input_kept_in_part():
    graph = pruned(Scheme(2, (("c1", 2), ("c2", 3))))
    found = kinds(graph)
    assert found["frozen"] == {
        "c0.w": (4, 3, 3, 3),
        "c0.b": (4,),
        "c1.w": (2, 1, 3, 3),  # a depthwise weight is split by its channels
        "c2.w": (5, 1, 1, 1),  # another by its inputs
    }
    assert found["trained"] == {
        **CLASSIFIER,
        "c1.b": (4,),
        "c2.b": (5,),
        "c1.wt": (2, 1, 3, 3),
        "c2.wt": (5, 3, 1, 1),
    }
    convs = nodes(graph, "conv")
    assert convs[1].inputs == ("c0.y", "c1.w", "c1.b", "c1.wt") and convs[1].attrs["split"] == 2
    assert convs[2].inputs == ("c1.y", "c2.w", "c2.b", "c2.wt") and convs[2].attrs["split"] == 3
    assert convs[2].outputs == ("c2.y", "c2.mask") and "split" not in convs[0].attrs
    keeps = [(node.inputs, node.outputs, node.attrs["count"]) for node in nodes(graph, "keep")]
    assert keeps == [(("c0.y",), ("c1.keep",), 2), (("c1.y",), ("c2.keep",), 3)]
    assert [node.attrs["layer"] for node in nodes(graph, "keep")] == ["c1", "c2"]
    assert graph["c1.keep"].shape == (2, 6, 6) and graph["c2.keep"].shape == (3, 6, 6)
    assert graph["c2.keep"].kind == "activation"
    through = {node.outputs[0]: node for node in nodes(graph, "input_gradient")}
    assert through["c2.gx"].inputs == ("c2.gy", "c2.w", "c2.wt")
    assert through["c2.gx"].attrs["split"] == 3 and through["fc.gx"].inputs == ("fc.y.g", "fc.w")
    into = {node.outputs[0]: node for node in nodes(graph, "weight_gradient")}
    assert into["c2.gw"].inputs == ("c2.keep", "c2.gy") and into["c2.gw"].attrs["split"] == 3
    assert graph["c2.gw"].shape == (5, 3, 1, 1) and graph["c1.gw"].shape == (2, 1, 3, 3)
    assert into["fc.gw"].inputs == ("p.y", "fc.y.g")
    assert [node.writes[0] for node in nodes(graph, "apply")] == [
        "fc.w",
        "fc.b",
        "c2.wt",
        "c2.b",
        "c1.wt",
        "c1.b",
    ]
    # the copy is made where the layer has read its input
    order = [node.op for node in graph.nodes][:5]
    assert order == ["conv", "conv", "keep", "conv", "keep"]
    assert {node.phase for node in nodes(graph, "keep")} == {"forward"}


def test_a_depthwise_layer_of_two_channels_is_split_by_its_channels():
    build = Builder("two", (2, 6, 6))
    y = build.conv("c0", build.x, 2, 3, groups=2)
    graph = prune(differentiate(build.classify(build.pool("p", y), 2)), Scheme(0, (("c0", 1),)))
    found = kinds(graph)
    assert found["frozen"]["c0.w"] == found["trained"]["c0.wt"] == (1, 1, 3, 3)


def test_one_step_of_a_recurrent_layer_is_not_trained_for_itself():
    graph = differentiate(forward())

    def like(node):
        is_step = node.op == "conv" and node.attrs["layer"] in ("c1", "c2")
        return replace(node, attrs={**node.attrs, "like": "lstm of 2 steps"}) if is_step else node

    steps = graph.with_nodes([like(node) for node in graph.nodes])
    for scheme, layer in ((Scheme(1), "c2"), (Scheme(0, (("c1", 2),)), "c1")):
        with pytest.raises(GraphError, match=f"{layer}: is one step of lstm,"):
            prune(steps, scheme)
    prune(steps, Scheme(0, (("c0", 1),)))  # a layer before it


def test_a_weight_trained_whole_is_not_split():
    graph = pruned(Scheme(1, (("c2", 4),)))
    assert kinds(graph)["trained"] == {**CLASSIFIER, "c2.w": (5, 4, 1, 1), "c2.b": (5,)}
    assert not nodes(graph, "keep") and nodes(graph, "conv")[2].inputs == ("c1.y", "c2.w", "c2.b")


def test_a_weight_is_trained_without_its_bias():
    graph = pruned(Scheme(0, (("c2", 1),)))
    assert kinds(graph)["trained"] == {**CLASSIFIER, "c2.wt": (5, 1, 1, 1)}
    assert "c2.b" in kinds(graph)["frozen"]


def test_only_the_forward_part_is_left_of_a_prediction():
    for graph in (forward(), differentiate(forward()), pruned(Scheme(2, (("c2", 2),)))):
        found = inference(graph)
        assert {node.phase for node in found.nodes} == {"forward"}
        assert found.outputs == ("fc.y",) and found.nodes[-1].outputs == ("fc.y",)
        assert not nodes(found, "keep") and not nodes(found, "softmax_loss")
        assert all(len(node.outputs) == 1 for node in found.nodes)


def test_what_nobody_reads_goes_and_what_is_written_stays():
    graph = differentiate(forward())
    without = graph.with_nodes([node for node in graph.nodes if node.phase != "update"])
    left = drop_dead(without)
    assert not nodes(left, "bias_gradient") + nodes(left, "weight_gradient")
    assert [node.op for node in left.nodes][-1] == "softmax_loss"
    # its second output, a gradient, stays beside the loss; only masks are dropped one by one
    assert left.nodes[-1].outputs == ("loss", "fc.y.g")
    assert [node.op for node in drop_dead(graph).nodes] == [node.op for node in graph.nodes]
    names = [node.outputs for node in drop_dead(graph).nodes]
    assert names == [node.outputs for node in graph.nodes]


def test_without_a_dense_layer_the_last_convolution_is_the_classifier():
    build = Builder("all", (3, 6, 6))
    y = build.conv("c0", build.x, 4, 3)
    y = build.conv("c1", y, 2, relu=False)
    graph = build.train(build.pool("p", y))
    assert with_classifier(graph, Scheme(0)) == Scheme(1, (("c1", 4),))
    two = Scheme(2, (("c1", 1), ("c0", 2)))
    assert with_classifier(graph, two) == Scheme(2, (("c0", 2), ("c1", 4)))
    found = prune(differentiate(graph), Scheme(0))
    assert set(kinds(found)["trained"]) == {"c1.w", "c1.b"}


def test_a_network_in_which_nothing_would_be_trained_is_refused():
    build = Builder("none", (3, 6, 6))
    graph = build.train(build.pool("p", build.x))
    assert with_classifier(graph, Scheme(0)) == Scheme(0)
    with pytest.raises(GraphError, match="none: nothing would be trained"):
        prune(differentiate(graph), Scheme(0))


def test_with_a_dense_layer_a_scheme_stays_as_it_is():
    for scheme in (Scheme(0), Scheme(2, (("c1", 2),))):
        assert with_classifier(forward(), scheme) == scheme


def test_a_layer_that_no_gradient_reaches_is_refused_by_name():
    graph = differentiate(forward())
    updates = [
        node for node in graph.nodes if node.phase != "update" or node.attrs["layer"] != "c0"
    ]
    cut = graph.with_nodes(updates)
    with pytest.raises(GraphError, match="c0: no gradient reaches it"):
        prune(cut, Scheme(3))
    with pytest.raises(GraphError, match="c0: no gradient reaches it"):
        prune(cut, Scheme(0, (("c0", 1),)))
    prune(cut, Scheme(2))
