# SPDX-License-Identifier: MIT
"""A graph as text, one node a line."""


def dump(graph, lines=None):
    """Return the graph as text; `lines` limits how many nodes are shown."""
    nodes = graph.nodes if lines is None else graph.nodes[:lines]
    out = [f"{graph.name}: {len(graph.nodes)} nodes, {len(graph.tensors)} tensors"]
    phase = None
    for i, node in enumerate(nodes):
        if node.phase != phase:
            phase = node.phase
            out.append(f"-- {phase}")
        out.append(f"{i:4}  {_node(graph, node)}")
    if len(nodes) < len(graph.nodes):
        out.append(f"      ... {len(graph.nodes) - len(nodes)} more")
    return "\n".join(out)


def _node(graph, node):
    made = ", ".join(_tensor(graph[name]) for name in node.outputs)
    written = ", ".join(f"{name}!" for name in node.writes)
    left = " + ".join(part for part in (made, written) if part)
    read = ", ".join(name for name in node.inputs)
    hidden = ("layer", "steps")
    numbers = " ".join(f"{key}={value}" for key, value in node.attrs.items() if key not in hidden)
    if node.workspace_bytes:
        numbers += f" workspace={node.workspace_bytes}"
    return f"{left} = {node.op}({read}) {numbers}".rstrip()


def _tensor(tensor):
    edges = "x".join(str(edge) for edge in tensor.shape)
    return f"{tensor.name}:{tensor.dtype}[{edges}]"
