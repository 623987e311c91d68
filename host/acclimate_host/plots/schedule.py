# SPDX-License-Identifier: MIT
"""Pictures of schedules: one step by step, energy against RAM, and methods side by side."""

from ..poet.methods import TITLES
from .style import AFTER, BEFORE, MUTED, pyplot, save

_LINE = {
    "poet": (AFTER, "o", "-"),
    "checkmate": ("#7c6bb0", "s", "--"),
    "paging_only": ("#d99a2b", "^", "--"),
    "dtr": (BEFORE, "v", "-"),
    "capuchin": ("#8b5e3c", "D", ":"),
    "pofo": ("#4b8b4b", "P", ":"),
    "chen_sqrt": ("#6b7280", "x", ":"),
    "chen_greedy": ("#9aa1ad", "+", "-."),
    "revolve": ("#b0b7c3", "1", ":"),
    "keep_all": ("#111827", "*", ":"),
}
_KIND = {"compute": AFTER, "again": BEFORE, "pagein": "#d99a2b", "pageout": "#7c6bb0"}
_HERE = "#cfe3e6"


def schedule(path, graph, plan, budget, title=""):
    """Steps downwards, tensors across, and the RAM that each step takes beside them."""
    plt = pyplot()
    marks, spans, used = trace(graph, plan)
    steps = len(used)
    height = min(11, max(4, 0.05 * steps + 2))
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(11, height), layout="constrained", sharey=True, width_ratios=(3, 1)
    )
    for tensor, first, last in spans:
        left.add_patch(
            plt.Rectangle(
                (tensor - 0.5, first - 0.5), 1, last - first + 1, color=_HERE, linewidth=0
            )
        )
    names = {
        "compute": "computed",
        "again": "computed again",
        "pagein": "read back",
        "pageout": "written to storage",
    }
    size = max(3, min(22, 3200 / max(steps, len(graph.nodes))))
    for kind, color in _KIND.items():
        at = [(tensor, step) for what, tensor, step in marks if what == kind]
        if at:
            left.scatter(
                *zip(*at, strict=True),
                s=size,
                color=color,
                label=names[kind],
                marker="s",
                linewidth=0,
            )
    left.set_xlim(-1, len(graph.nodes))
    left.set_ylim(steps - 0.5, -0.5)
    left.set_xlabel("tensors, in order of their first computation; shaded: in RAM")
    left.set_ylabel("steps")
    left.legend(loc="upper right", fontsize=9)
    left.set_title(title)
    scale, unit = (1e6, "MB") if budget.ram_bytes > 2e6 else (1e3, "KB")
    right.barh(range(steps), [u / scale for u in used], height=1, color=_HERE, linewidth=0)
    right.axvline(budget.ram_bytes / scale, color=BEFORE, linewidth=1.2)
    right.set_xlim(0, 1.08 * max(budget.ram_bytes, *used) / scale)
    right.set_xlabel(f"RAM, {unit}; line: the budget")
    save(figure, path, dpi=90)


def trace(graph, plan):
    """(marks, spans, RAM): what happens where, when each tensor is in RAM, bytes in each step.

    A mark is (kind, tensor, step); a free takes no step of its own.
    """
    marks, spans, used, begun, done = [], [], [], {}, set()
    held = graph.resident_bytes
    for kind, name in plan:
        i = graph.index[name]
        node = graph.nodes[i]
        if kind == "free":
            held -= node.ram_bytes
            spans.append((i, begun.pop(i), len(used) - 1))
            continue
        if kind != "pageout":
            held += node.ram_bytes
            begun[i] = len(used)
        marks.append(("again" if kind == "compute" and i in done else kind, i, len(used)))
        done.add(i)
        used.append(held + (node.workspace_bytes if kind == "compute" else 0))
    spans += [(i, first, len(used) - 1) for i, first in begun.items()]
    return marks, spans, used


def pareto(path, rows, title="", against="RAM"):
    """Energy over that of keeping everything, against RAM or time; one panel per board.

    :param rows: of acclimate_host.poet.sweep: board, method, ram_bytes, full_ram, energy, ...
    :param against: "RAM", or "time" for the deadline (deadline_s, full_time)
    """
    part, whole, label = {
        "RAM": ("ram_bytes", "full_ram", "RAM, % of keeping everything"),
        "time": ("deadline_s", "full_time", "deadline, % of computing everything once"),
    }[against]
    plt = pyplot()
    boards = list(dict.fromkeys(row["board"] for row in rows))
    figure, panels = plt.subplots(
        1, len(boards), figsize=(2.6 + 4 * len(boards), 4.2), layout="constrained", squeeze=False
    )
    for axes, board in zip(panels[0], boards, strict=True):
        mine = [row for row in rows if row["board"] == board]
        for method in dict.fromkeys(row["method"] for row in mine):
            points = sorted(
                (
                    100 * row[part] / row[whole],
                    100 * (row["energy"] / row["full_energy"] - 1),
                )
                for row in mine
                if row["method"] == method and "energy" in row
            )
            if not points:
                continue
            color, marker, line = _LINE[method]
            axes.plot(
                *zip(*points, strict=True),
                marker=marker,
                linestyle=line,
                color=color,
                markersize=5,
                linewidth=2 if method == "poet" else 1.2,
                label=TITLES[method],
                zorder=3 if method == "poet" else 2,
            )
        axes.set_title(f"{title} ({board})" if title else board)
        axes.set_xlabel(label)
        axes.set_ylabel("energy above keeping everything, %")
        axes.set_yscale("symlog", linthresh=0.1)
        axes.set_ylim(bottom=-0.01)
        axes.grid(color="#e5e7eb", zorder=0)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    save(figure, path, dpi=90)


def bars(path, groups, methods, title="", label="energy above keeping everything, %"):
    """Methods side by side.

    :param groups: {name: {method: percent or None}}; None: no plan, drawn as a cross
    """
    plt = pyplot()
    wide = max(6.5, 0.36 * len(groups) * (len(methods) + 0.5) + 1.5)
    figure, axes = plt.subplots(figsize=(wide, 4.4), layout="constrained")
    width, lacking = 0.8 / len(methods), False
    for k, method in enumerate(methods):
        places = [i + (k - (len(methods) - 1) / 2) * width for i in range(len(groups))]
        values = [group.get(method) for group in groups.values()]
        color = _LINE[method][0]
        drawn = axes.bar(
            places,
            [max(value or 0, 0) for value in values],
            width * 0.92,
            color=color,
            label=TITLES[method],
        )
        texts = [
            "" if value is None else f"{value:.2g}" if value < 99.5 else f"{value:.0f}"
            for value in values
        ]
        axes.bar_label(drawn, texts, fontsize=8, color=MUTED, padding=1)
        missing = [place for place, value in zip(places, values, strict=True) if value is None]
        lacking |= bool(missing)
        axes.plot(missing, [0.02] * len(missing), "x", color=color, markersize=6)
    axes.set_xticks(range(len(groups)), groups, fontsize=8)
    axes.set_yscale("symlog", linthresh=1)
    axes.set_ylim(0, 1.6 * axes.get_ylim()[1])  # room for the figures on the bars
    axes.set_ylabel(label)
    axes.set_title(title + "  (x: no plan fits)" * lacking)
    axes.legend(fontsize=8, ncols=len(methods), loc="lower right", bbox_to_anchor=(1, 1.0))
    save(figure, path, dpi=90)
