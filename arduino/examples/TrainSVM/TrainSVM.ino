// SPDX-License-Identifier: MIT
// Train a support vector machine on the board, from samples in flash, and test it.
//
// Digit 6 against the other digits: 84 samples of 8 x 8 pixels to learn from, 36 to test with.
// A product fills `samples` and `labels` from its sensor and from what it later finds out.
#include <Acclimate.h>

#include "digits.h"

static int32_t work[acclimate::svmWorkWords(TRAIN)];
static int16_t rows[TRAIN];
static acclimate::SVM machine(FEATURES, 1.0f);

void setup() {
    Serial.begin(115200);
    bool converged = machine.fit(samples, labels, TRAIN, work, sizeof(work), rows);
    int right = 0;
    for (int i = 0; i < TEST; i++) {
        right += machine.predict(samples + FEATURES * (TRAIN + i)) == labels[TRAIN + i];
    }
    Serial.print(converged ? "converged after " : "stopped after ");
    Serial.print(machine.iterations());
    Serial.print(" steps; right: ");
    Serial.print(right);
    Serial.print(" of ");
    Serial.println(TEST);
}

void loop() {
}
