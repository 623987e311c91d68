# SPDX-License-Identifier: MIT
"""The table at the end, in words that need no manual."""


def share(truths, outputs):
    """(right, of, percent)."""
    right = sum(t == o for t, o in zip(truths, outputs, strict=True))
    return right, len(truths), 100 * right / len(truths)


def table(rows):
    """Lines of a table with two columns of text."""
    left = max(len(a) for a, _ in rows)
    right = max(len(b) for _, b in rows)
    line = f"+-{'-' * left}-+-{'-' * right}-+"
    return [line, *(f"| {a:<{left}} | {b:<{right}} |" for a, b in rows), line]


def result_rows(session, settings, outcome, costs, unit):
    """The result as (what, value).

    :param unit: function that turns ticks of the board's clock into text
    """
    truths = [w.truth for w in session.unseen]
    before = share(truths, outcome.before)
    after = share(truths, outcome.after)
    kept = sum(event[1] == "kept" for event in outcome.events)
    rows = [
        ("right before, on later unseen windows", "%d of %d (%.0f %%)" % before),
        ("right after, on the same windows", "%d of %d (%.0f %%)" % after),
        ("windows lived through, with feedback", str(len(outcome.answers))),
        ("trainings: kept / discarded", f"{kept} / {len(outcome.events) - kept}"),
        ("sample store", _store_text(settings)),
        ("heap: program, loop and two models", f"{costs.heap_ready - costs.heap_start:,} bytes"),
        ("heap: most in use while training", f"{costs.heap_peak:,} bytes"),
    ]
    if costs.trainings:
        totals = [ticks for ticks, _, _ in costs.trainings]
        longest = max(step for _, step, _ in costs.trainings)
        rows.append(("one training, on average", unit(sum(totals) / len(totals))))
        rows.append(("its longest step", unit(longest)))
    rows.append(("features of a window", unit(_median(costs.features))))
    rows.append(("one prediction", unit(_median(costs.predict))))
    return rows


def _store_text(settings):
    count = len(settings.exercises) * settings.per_class
    return f"{count} + {settings.held} held back, {settings.features().width} bytes each"


def _median(values):
    return sorted(values)[len(values) // 2]


def ticks_as_time(hz):
    """Ticks of a clock in text: for boards that keep real time."""

    def text(ticks):
        ms = ticks * 1000 / hz
        return f"{ms:,.1f} ms" if ms >= 1 else f"{ms * 1000:,.0f} us"

    return text


def ticks_as_instructions(per_tick):
    """Ticks of an emulated clock in text: instructions are exact, time would be a guess."""

    def text(ticks):
        count = ticks * per_tick
        if count >= 1e6:
            return f"{count / 1e6:,.2f} million instructions"
        return f"{count:,.0f} instructions"

    return text
