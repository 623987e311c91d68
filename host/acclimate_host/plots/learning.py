# SPDX-License-Identifier: MIT
"""The picture of the demo's first part: a model that learns while it is worn."""

from .style import AFTER, BEFORE, DROPPED, KEPT, MUTED, pyplot, save


def running_share(right, span):
    """Share of right answers among the last `span`, in percent, for each position."""
    shares = []
    for i in range(len(right)):
        part = right[max(0, i + 1 - span) : i + 1]
        shares.append(100 * sum(part) / len(part))
    return shares


def personalisation(path, outcome, truths, margins, shares, classes, titles, span=20):
    """The picture of the demo: accuracy over time, decision values and recall of each class.

    :param outcome: `answers` and `events` of the stream, `before` and `after` of the test
    :param truths: true class of each tested window
    :param margins: (before, after): decision value for the truth of each tested window
    :param shares: (windows lived through, % right on the unseen windows), from the start on
    :param classes: names
    :param titles: (what happened, where it ran)
    """
    plt = pyplot()
    figure = plt.figure(figsize=(11, 8), layout="constrained")
    figure.get_layout_engine().set(h_pad=0.1, w_pad=0.1, hspace=0.04, rect=(0, 0, 1, 0.92))
    grid = figure.add_gridspec(2, 2, height_ratios=(1, 1.1))
    figure.text(0.012, 0.965, titles[0], fontsize=15, fontweight="bold", color="#111827")
    figure.text(0.012, 0.938, titles[1], fontsize=10, color=MUTED)
    _stream(figure.add_subplot(grid[0, :]), outcome, shares, span)
    _margins(figure.add_subplot(grid[1, 0]), margins)
    _recall(figure.add_subplot(grid[1, 1]), outcome, truths, classes)
    save(figure, path)


def _stream(axes, outcome, shares, span):
    """Accuracy while the device is used, with the moments of training."""
    right = [truth == label for truth, label in outcome.answers]
    count = range(1, len(right) + 1)
    tick = {"color": BEFORE, "markersize": 8, "markeredgewidth": 1.6, "linestyle": "none"}
    for at, verdict, *_ in outcome.events:
        kept = verdict == "kept"
        axes.axvline(at, color=KEPT if kept else DROPPED, linewidth=1, alpha=0.45, zorder=1)
        axes.text(
            at,
            105,
            verdict,
            ha="center",
            va="bottom",
            fontsize=8,
            color=KEPT if kept else MUTED,
        )
    axes.plot(
        count,
        running_share(right, span),
        color=MUTED,
        linewidth=1.3,
        zorder=2,
        label=f"its own last {span} answers",
    )
    at = [n for n, _ in shares] + [len(right)]
    height = [share for _, share in shares] + [shares[-1][1]]
    axes.step(
        at,
        height,
        where="post",
        color=AFTER,
        linewidth=2.6,
        zorder=3,
        label="later windows that it has not seen",
    )
    axes.plot(at[:-1], height[:-1], "o", color=AFTER, markersize=5, zorder=4)
    wrong = [i for i, ok in zip(count, right, strict=True) if not ok]
    axes.plot(wrong, [3] * len(wrong), "|", label="a wrong answer", **tick)
    axes.set_ylim(0, 104)
    axes.set_xlim(0, len(right) + 0.5)
    axes.set_xlabel("windows of the new user, in order of time (2.56 s each)")
    axes.set_ylabel("right, %")
    axes.set_title("While it is worn: every line is a training on the board", pad=20)
    axes.grid(axis="y", color="#e5e7eb", zorder=0)
    axes.legend(loc="lower right", bbox_to_anchor=(1, 0.08), fontsize=9, ncols=3)


def _margins(axes, margins):
    """Decision value that speaks for the truth, sorted, before and after."""
    for values, color, label in zip(margins, (BEFORE, AFTER), ("before", "after"), strict=True):
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
