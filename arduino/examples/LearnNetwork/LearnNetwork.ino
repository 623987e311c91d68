// SPDX-License-Identifier: MIT
// An int8 network goes on learning on the board.
//
// It knows upright digits and is shown digits that are turned and inverted: it learns them, sample
// by sample, in its arena. Program and weights are what `acclimate compile` writes.
#include <Acclimate.h>

#include "network.h"

static uint8_t arena[ARENA_BYTES] __attribute__((aligned(4)));
static acclimate::Net net(net_program, sizeof(net_program), arena, sizeof(arena));

static int right() {
    int count = 0;
    for (int i = SHOWN; i < SHOWN + ASKED; i++) {
        count += net.predict(inputs + INPUT_BYTES * i) == labels[i];
    }
    return count;
}

void setup() {
    Serial.begin(115200);
    if (!net.begin(net_weights, sizeof(net_weights))) {
        Serial.println("the program is for another release, or the arena is too small");
        return;
    }
    net.setRate(RATE_MANTISSA, RATE_EXPONENT);
    Serial.print("right before: ");
    Serial.print(right());
    for (int pass = 0; pass < PASSES; pass++) {
        for (int i = 0; i < SHOWN; i++) {
            net.trainStep(inputs + INPUT_BYTES * i, labels[i]);
        }
    }
    Serial.print(", after: ");
    Serial.print(right());
    Serial.print(" of ");
    Serial.println(ASKED);
}

void loop() {
}
