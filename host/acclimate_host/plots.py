# SPDX-License-Identifier: MIT
"""Pictures (matplotlib, never a display)."""

BEFORE, AFTER, MUTED, KEPT, DROPPED = "#c8553d", "#2a7f8e", "#6b7280", "#2a7f8e", "#b0b7c3"


def _pyplot():
    """matplotlib with our looks."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {
            "font.size": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlelocation": "left",
            "axes.titleweight": "bold",
            "axes.titlesize": 11,
            "axes.edgecolor": "#9aa1ad",
            "axes.labelcolor": "#374151",
            "xtick.color": "#4b5563",
            "ytick.color": "#4b5563",
            "legend.frameon": False,
        }
    )
    return plt


def running_share(right, span):
    """Share of right answers among the last `span`, in percent, for each position."""
    shares = []
    for i in range(len(right)):
        part = right[max(0, i + 1 - span) : i + 1]
        shares.append(100 * sum(part) / len(part))
    return shares


def personalisation(path, outcome, truths, margins, classes, title, span=20):
    """The picture of the demo: accuracy over time, decision values and recall of each class.

    :param outcome: `answers` and `events` of the stream, `before` and `after` of the test
    :param truths: true class of each tested window
    :param margins: (before, after): decision value for the truth of each tested window
    :param classes: names
    """
    plt = _pyplot()
    figure = plt.figure(figsize=(11, 7.6), layout="constrained")
    grid = figure.add_gridspec(2, 2, height_ratios=(1, 1.15))
    figure.suptitle(title, x=0.012, ha="left", fontsize=13, fontweight="bold", color="#111827")
    _stream(figure.add_subplot(grid[0, :]), outcome, span)
    _margins(figure.add_subplot(grid[1, 0]), margins)
    _recall(figure.add_subplot(grid[1, 1]), outcome, truths, classes)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _stream(axes, outcome, span):
    """Accuracy while the device is used, with the moments of training."""
    right = [truth == label for truth, label in outcome.answers]
    count = range(1, len(right) + 1)
    axes.plot(count, running_share(right, span), color=AFTER, linewidth=2.2, zorder=3)
    wrong = [i for i, ok in zip(count, right, strict=True) if not ok]
    axes.plot(wrong, [3] * len(wrong), "|", color=BEFORE, markersize=9, markeredgewidth=1.6)
    seen = set()
    for at, verdict, *_ in outcome.events:
        kept = verdict == "kept"
        label = None if verdict in seen else f"trained, new model {verdict}"
        seen.add(verdict)
        axes.axvline(
            at, color=KEPT if kept else DROPPED, linestyle="-" if kept else ":",
            linewidth=1.2, alpha=0.75, label=label, zorder=1,
        )  # fmt: skip
    axes.plot([], [], "|", color=BEFORE, markersize=9, markeredgewidth=1.6, label="wrong answer")
    axes.set_ylim(0, 104)
    axes.set_xlim(0.5, len(right) + 0.5)
    axes.set_xlabel("windows of the new user, in order of time (2.56 s each)")
    axes.set_ylabel(f"right among the last {span}, %")
    axes.set_title("While it is worn: right answers over time")
    axes.grid(axis="y", color="#e5e7eb", zorder=0)
    axes.legend(loc="lower right", bbox_to_anchor=(1, 0.06), fontsize=9, ncols=3)


def _margins(axes, margins):
    """Decision value that speaks for the truth, sorted, before and after."""
    for values, color, label in zip(
        margins, (BEFORE, AFTER), ("before", "after"), strict=True
    ):
        ordered = sorted(values)
        share = [100 * (i + 0.5) / len(ordered) for i in range(len(ordered))]
        axes.plot(share, ordered, color=color, linewidth=2.2, label=label)
        axes.fill_between(
            share, ordered, 0, where=[v < 0 for v in ordered], color=color, alpha=0.18
        )
    axes.axhline(0, color=MUTED, linewidth=1)
    axes.set_xlim(0, 100)
    axes.set_xlabel("unseen later windows, sorted, %")
    axes.set_ylabel("decision value for the true exercise")
    axes.set_title("Decision values: below 0 a pairing is lost")
    axes.legend(loc="upper left")
    axes.grid(axis="y", color="#e5e7eb", zorder=0)


def _recall(axes, outcome, truths, classes):
    """Share of each class that is found, before and after."""
    height = 0.38
    for outputs, color, label, shift in (
        (outcome.before, BEFORE, "before", -height / 2),
        (outcome.after, AFTER, "after", height / 2),
    ):
        shares = []
        for c in range(len(classes)):
            mine = [out == c for t, out in zip(truths, outputs, strict=True) if t == c]
            shares.append(100 * sum(mine) / len(mine) if mine else 0)
        places = [c + shift for c in range(len(classes))]
        bars = axes.barh(places, shares, height * 0.94, color=color, label=label)
        axes.bar_label(bars, fmt="%.0f", padding=2, fontsize=8, color=MUTED)
    axes.set_yticks(range(len(classes)), classes)
    axes.invert_yaxis()
    axes.set_xlim(0, 112)
    axes.set_xticks(range(0, 101, 20))
    axes.set_xlabel("right on unseen later windows, %")
    axes.set_title("Each exercise")
    axes.tick_params(axis="y", length=0)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2, fontsize=9)
