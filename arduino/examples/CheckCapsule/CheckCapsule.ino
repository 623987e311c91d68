// SPDX-License-Identifier: MIT
// Is a model capsule whole and signed with our key? And what happens when one bit flips?
#include <Acclimate.h>

#include "capsule.h"

static uint8_t copy[sizeof(capsule)];

static void tell(const char *what, const uint8_t *bytes) {
    Serial.print(what);
    Serial.print(acclimate::capsuleIsWhole(bytes, sizeof(capsule)) ? ": whole" : ": damaged");
    Serial.println(acclimate::capsuleIsAuthentic(bytes, sizeof(capsule), key, sizeof(key))
        ? ", authentic" : ", not signed with our key");
}

void setup() {
    Serial.begin(115200);
    tell("the capsule", capsule);
    size_t length = 0;
    const uint8_t *weights = acclimate::capsuleSection(capsule, sizeof(capsule), 2, &length);
    Serial.print("weights: ");
    Serial.println(weights ? (int)length : -1);
    for (size_t i = 0; i < sizeof(capsule); i++) {
        copy[i] = capsule[i];
    }
    copy[sizeof(copy) - 1] ^= 1;
    tell("one bit flipped in the body", copy);
    copy[sizeof(copy) - 1] ^= 1;
    copy[16] ^= 1;
    tell("one bit flipped in the header", copy);
}

void loop() {
}
