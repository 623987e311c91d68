# SPDX-License-Identifier: MIT
"""Every way to choose a scheme for one arena, side by side, and what each choice is worth."""

from dataclasses import replace

from ..errors import AcclimateError
from ..paths import paper_code
from .choose import exact, last_layers_that_fit
from .finetune import Tuner
from .permute import channels_by_size

METHODS = {
    "last layers": "the last k layers whole, the largest k that fits",
    "evolution": "a seeded search over measured contributions, as the paper does (in a clone)",
    "exact": "the best sum of measured contributions",
    "proxy": "the best sum of squared gradients instead",
}


def choices(graph, gains, proxy, budget_bytes, ratios, memory, generations=15, population=24):
    """Return the Choices of one arena, in the order of METHODS.

    The search of the paper is left out where only the wheel is: `bench/papers/under_256kb` has it.

    :param gains: measured Contributions. :param proxy: those of `from_gradients`
    :raises AcclimateError: where not even the classifier fits
    """
    by_proxy = exact(graph, proxy, budget_bytes, ratios, memory)
    return (
        last_layers_that_fit(graph, gains, budget_bytes, ratios, memory),
        *_searched(graph, gains, budget_bytes, ratios, memory, generations, population),
        exact(graph, gains, budget_bytes, ratios, memory),
        replace(by_proxy, method="proxy", gain=gains.of(by_proxy.scheme)),
    )


def _searched(graph, gains, budget_bytes, ratios, memory, generations, population):
    """The choice of the paper's search in a tuple, empty where it is not here."""
    try:
        evolve = paper_code("under_256kb.evolution").evolve
    except AcclimateError:
        return ()
    size = dict(generations=generations, population=population)
    return (evolve(graph, gains, budget_bytes, ratios, memory, **size),)


def worth(network, scheme, tune, test, setting):
    """Return the accuracy on `test` after a whole fine-tune of a scheme; a job of an executor.

    Channels come in the order that a program compiled for this scheme has.
    """
    if scheme.channels:
        network = channels_by_size(network, {layer for layer, _ in scheme.channels})
    tuner = Tuner(network, scheme, setting.optimizer)
    tuner.tune(tuner.stored(tune[0]), tune[1], setting)
    return tuner.accuracy(tuner.stored(test[0]), test[1])
