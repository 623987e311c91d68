// SPDX-License-Identifier: MIT
// An int8 network that predicts, and goes on learning, in one arena of RAM.
//
//   acclimate::Net net(net_program, sizeof(net_program), arena, sizeof(arena));
//   net.begin(net_weights, sizeof(net_weights));
//   net.predict(x);
//   net.trainStep(x, label);
//
// Program and weights are what `acclimate compile` writes; programs that page or keep a stream's
// window need the Python package.
#ifndef ACCLIMATE_NET_ARDUINO_H
#define ACCLIMATE_NET_ARDUINO_H

#include <stddef.h>
#include <stdint.h>

namespace acclimate {

class Net {
  public:
    // program may lie in flash; it and the arena begin at a multiple of 4.
    Net(const uint8_t *program, size_t programBytes, uint8_t *arena, size_t arenaBytes);

    // Start from these weights, with a clean optimizer. False: the program is not for this
    // library, the arena is too small, or there are not weightsBytes() of weights.
    bool begin(const uint8_t *weights, size_t bytes, uint32_t seed = 1);

    // rate * 2^exponent is the learning rate, both integers; 0.02 is 20972 * 2^-20.
    void setRate(int32_t rate, int32_t exponent);

    // The number of the largest output; -1 for a fault.
    int predict(const int8_t *x);

    // Learn from one sample; the share that `label` had before, in 1/32768, or -1 for a fault.
    int32_t trainStep(const int8_t *x, int label);

    size_t arenaBytes() const;
    size_t inputBytes() const;
    size_t weightsBytes() const;
    const uint8_t *weights() const; // what was learned: keep these to go on after a reset

  private:
    uint32_t word(size_t at) const;
    uint32_t half(size_t at) const;
    void put(size_t field, uint32_t value);
    bool run(const int8_t *x, int label, uint32_t until, bool training);

    const uint8_t *program_;
    uint8_t *arena_;
    size_t programBytes_, arenaBytes_;
};

} // namespace acclimate

#endif
