# SPDX-License-Identifier: MIT
"""Pulls while lines break, power goes and servers differ: in the end the new model, whole.

Everything is drawn from a seed, which a failure names.
"""

import random

import capsule_cases as cases
import pytest

from acclimate.pull import HttpError
from acclimate.pull.exchange import Pull
from acclimate_host.capsules.repository import Repository
from acclimate_host.testing.nor import ERASE_TORN, PROGRAM_TORN, PowerCut
from harness import web

TRIES_MAX = 400


class World:
    """One device, one server, and what goes wrong between them."""

    def __init__(self, seed, folder):
        self.draw = random.Random(seed)
        self.flash = cases.flash(8, self.draw.choice((128, 256)))
        self.store = cases.store(self.flash, max_boots=60)
        content = cases.weights(860, seed)
        self.base = cases.capsule(1, content)
        self.store.swap_capsule(self.base)
        other = cases.weights(self.draw.randrange(1, 800), seed + 1)
        self.target = cases.capsule(2, self.draw.choice((cases.tuned(content, seed), other)))
        repository = Repository(folder, cases.KEY)
        repository.publish(self.target, bases=[self.base])
        self.answer = web.files(repository.folder)
        self.has_ranges = self.draw.random() < 0.7
        self.chunks = self.draw.choice((0, 0, 1, 7, 100))
        self.cuts = 0

    def live(self):
        """Pull again and again until the model is there."""
        for _ in range(TRIES_MAX):
            if self.cuts < 40 and self.draw.random() < 0.5:
                torn = self.draw.choice(PROGRAM_TORN + ERASE_TORN)
                self.flash.cut_after(self.draw.randrange(1, 150), torn, self.draw.randrange(99))
            try:
                if self.pulled():
                    break
            except HttpError:
                pass
            except PowerCut:
                self.cuts += 1
                self.flash.power_on()
                self.store = cases.store(self.flash, max_boots=60)
                assert cases.active(self.store) == self.base, self.store.note
            finally:
                self.flash.cut_after(1 << 30)
        self.store.confirm()
        assert cases.active(cases.store(self.flash, max_boots=60)) == self.target

    def pulled(self):
        """One pull; it may lose its line a few times."""
        pull = Pull(
            self.store,
            "http://h/models/7/all.man",
            attempts=self.draw.choice((2, 5)),
            whole_only=self.draw.random() < 0.3,
        )
        request = pull.request()
        while request:
            try:
                self.carry(pull, self.reply(request[3].decode()))
            except HttpError as error:
                pull.lost(error)
            request = pull.request()
        return pull.is_ready

    def reply(self, text):
        if not self.has_ranges:
            text = "\r\n".join(line for line in text.split("\r\n") if line[:6] != "Range:")
        data = self.answer(web.Request(text))
        if self.chunks and data.startswith(b"HTTP/1.1 200"):
            data = web.chunked(data.partition(b"\r\n\r\n")[2], self.chunks)
        return data

    def carry(self, pull, reply):
        """Bring a reply in pieces, and not always to its end."""
        end = len(reply)
        if self.draw.random() < 0.4:
            end = self.draw.randrange(end + 1)
        at = 0
        while at < end:
            piece = reply[at : min(end, at + self.draw.choice((1, 1, 13, 64, 200, 512)))]
            if pull.feed(memoryview(piece), len(piece)):
                return
            at += len(piece)
        pull.end()


@pytest.mark.slow
@pytest.mark.parametrize("share", range(4))
def test_whatever_breaks_the_new_model_arrives_whole_and_the_old_one_serves_until_then(
    share, tmp_path
):
    for number in range(30):
        seed = 1000 * share + number
        try:
            World(seed, tmp_path / str(seed)).live()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
