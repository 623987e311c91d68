# SPDX-License-Identifier: MIT
"""The drawing of a training step: forward down on the left, backward up on the right, as SVG."""

from html import escape

from acclimate_host.errors import AcclimateError

BOX, HIGH, GAP, BETWEEN, EDGE = 250, 34, 14, 150, 30
FILLS = {"forward": "#e3f1f3", "loss": "#111827", "backward": "#ece6f4", "update": "#f7e9cf"}
LINES = {"data": "#2a7f8e", "gradient": "#7a5ea8", "mask": "#d9a441"}


def graph_picture(path, graph, title):
    """Write one box a node and one line for each tensor that goes from node to node.

    A line is dashed where what is kept of the forward pass meets the backward pass.

    :raises AcclimateError: where the file is no .svg, or cannot be written
    """
    if path.suffix != ".svg":
        raise AcclimateError(f"{path}: a graph is drawn as .svg")
    places, size = _places(graph)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" '
        f'width="{size[0]}" height="{size[1]}" font-family="sans-serif" font-size="11">',
        f'<rect width="{size[0]}" height="{size[1]}" fill="white"/>',
        f'<text x="{EDGE}" y="20" font-size="14" font-weight="bold">{escape(title)}</text>',
        *_edges(graph, places),
        *_boxes(graph, places),
        "</svg>",
        "",
    ]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(parts), encoding="utf-8")
    except OSError as error:
        raise AcclimateError(f"{path}: {error.strerror}") from None


def _places(graph):
    """Return ([(x, y) of each node's box], (width, height) of the picture)."""
    first = [i for i, node in enumerate(graph.nodes) if node.phase in ("forward", "loss")]
    left = {i: row for row, i in enumerate(first)}
    rest = len(graph.nodes) - len(first)
    rows = max(len(first), rest)
    places, row = [], rows - 1
    for i in range(len(graph.nodes)):
        if i in left:
            places.append((EDGE, 40 + left[i] * (HIGH + GAP)))
        else:
            places.append((EDGE + BOX + BETWEEN, 40 + row * (HIGH + GAP)))
            row -= 1
    wide = 2 * EDGE + (2 * BOX + BETWEEN if rest else BOX)
    return places, (wide + EDGE, 60 + rows * (HIGH + GAP))


def _boxes(graph, places):
    for node, (x, y) in zip(graph.nodes, places, strict=True):
        dark = node.phase == "loss"
        made = node.outputs[0] if node.outputs else node.writes[0] if node.writes else None
        under = ""
        if made is not None:
            tensor = graph[made]
            edges = "x".join(str(edge) for edge in tensor.shape)
            under = f"{tensor.name}: {tensor.dtype} {edges}"
            under = ("changes " if not node.outputs else "") + under
        name = f"{node.op} {node.attrs.get('layer', '')}".strip()
        colour = "white" if dark else "#111827"
        yield (
            f'<rect x="{x}" y="{y}" width="{BOX}" height="{HIGH}" rx="4" '
            f'fill="{FILLS[node.phase]}" stroke="#9aa1ad"/>'
        )
        yield (
            f'<text x="{x + 8}" y="{y + 14}" fill="{colour}" font-weight="bold">'
            f"{escape(name)}</text>"
        )
        yield f'<text x="{x + 8}" y="{y + 28}" fill="{colour}">{escape(under)}</text>'


def _edges(graph, places):
    made = graph.producer()
    for i, node in enumerate(graph.nodes):
        for name in dict.fromkeys(node.inputs):
            source = made.get(name)
            if source is not None and source < i:
                yield _edge(graph, name, source, i, places)


def _edge(graph, name, source, target, places):
    (x, y), (to_x, to_y) = places[source], places[target]
    kind = graph[name].kind
    colour = LINES.get(kind, LINES["data"])
    phases = [graph.nodes[i].phase in ("forward", "loss") for i in (source, target)]
    dash = ' stroke-dasharray="4 3"' if phases == [True, False] and kind != "gradient" else ""
    if x != to_x:
        ends = x + BOX, y + HIGH / 2, to_x, to_y + HIGH / 2
        middle = (ends[0] + ends[2]) / 2
        line = f"M{ends[0]} {ends[1]} C{middle} {ends[1]} {middle} {ends[3]} {ends[2]} {ends[3]}"
    elif abs(to_y - y) == HIGH + GAP:
        start, end = (y + HIGH, to_y) if to_y > y else (y, to_y + HIGH)
        line = f"M{x + BOX / 2} {start} L{x + BOX / 2} {end}"
    else:  # past other boxes, on the outer side
        side = x if x == EDGE else x + BOX
        out = side + (-EDGE + 6 if x == EDGE else EDGE - 6)
        line = f"M{side} {y + HIGH / 2} C{out} {y} {out} {to_y + HIGH} {side} {to_y + HIGH / 2}"
    return (
        f'<path d="{line}" fill="none" stroke="{colour}" stroke-width="1.3"{dash}>'
        f"<title>{escape(name)}</title></path>"
    )
