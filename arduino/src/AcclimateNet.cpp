// SPDX-License-Identifier: MIT
#include "AcclimateNet.h"

#include <string.h>

extern "C" {
#include "net.h"
}

namespace acclimate {

namespace {
const int32_t ALL = 1 << 29; // more instructions than a program has
}

Net::Net(const uint8_t *program, size_t programBytes, uint8_t *arena, size_t arenaBytes)
    : program_(program), arena_(arena), programBytes_(programBytes), arenaBytes_(arenaBytes) {
}

uint32_t Net::word(size_t at) const {
    uint32_t value;
    memcpy(&value, program_ + at, sizeof(value));
    return value;
}

uint32_t Net::half(size_t at) const {
    return word(at) & 0xffff;
}

void Net::put(size_t field, uint32_t value) {
    memcpy(arena_ + word(NET_P_STATE) + field, &value, sizeof(value));
}

size_t Net::arenaBytes() const {
    return word(NET_P_ARENA_BYTES);
}

size_t Net::inputBytes() const {
    return word(NET_P_INPUT_BYTES);
}

size_t Net::weightsBytes() const {
    return word(NET_P_WEIGHTS_BYTES);
}

const uint8_t *Net::weights() const {
    return arena_ + word(NET_P_WEIGHTS);
}

bool Net::begin(const uint8_t *weights, size_t bytes, uint32_t seed) {
    if (programBytes_ < NET_P_BYTES || memcmp(program_, "ANET", 4) != 0
        || program_[NET_P_FORMAT] != NET_FORMAT || program_[NET_P_DTYPE] != 0
        || half(NET_P_WINDOWS) != 0 || arenaBytes_ < arenaBytes() || bytes != weightsBytes()) {
        return false;
    }
    memset(arena_ + word(NET_P_STATE), 0, word(NET_P_KEPT_BYTES));
    memcpy(arena_ + word(NET_P_WEIGHTS), weights, bytes);
    put(NET_S_SEED, seed ? seed : 1);
    put(NET_S_MOMENTUM, 230);
    put(NET_S_MOVE, 1);
    setRate(20972, -20);
    return true;
}

void Net::setRate(int32_t rate, int32_t exponent) {
    while (rate >= 32768) { // a mantissa has 15 bits
        rate >>= 1;
        exponent++;
    }
    put(NET_S_RATE_MANTISSA, (uint32_t)rate);
    put(NET_S_RATE_EXPONENT, (uint32_t)exponent);
}

bool Net::run(const int8_t *x, int label, uint32_t until, bool training) {
    int32_t par[NET_PARS] = {};
    par[NET_UNTIL] = (int32_t)until;
    par[NET_LABEL] = label;
    par[NET_TRAINING] = training;
    par[NET_BUDGET] = ALL;
    net_call call = {program_, reinterpret_cast<const uint8_t *>(x), arena_, par,
        (uint32_t)programBytes_, (uint32_t)inputBytes(), (uint32_t)arenaBytes_};
    return net_run(&call) == NET_DONE;
}

int Net::predict(const int8_t *x) {
    if (!run(x, 0, half(NET_P_FORWARD), false)) {
        return -1;
    }
    const int8_t *outputs = reinterpret_cast<const int8_t *>(arena_ + word(NET_P_OUTPUT));
    int best = 0;
    for (int i = 1; i < (int)half(NET_P_OUTPUTS); i++) {
        best = outputs[i] > outputs[best] ? i : best;
    }
    return best;
}

int32_t Net::trainStep(const int8_t *x, int label) {
    if (label < 0 || label >= (int)half(NET_P_OUTPUTS)
        || !run(x, label, half(NET_P_FORWARD) + half(NET_P_TRAINING), true)) {
        return -1;
    }
    uint32_t share;
    memcpy(&share, arena_ + word(NET_P_STATE) + NET_S_SHARE, sizeof(share));
    return (int32_t)share;
}

} // namespace acclimate
