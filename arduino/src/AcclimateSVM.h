// SPDX-License-Identifier: MIT
// A linear support vector machine of two classes over rows of signed bytes, in fixed point.
//
//   int32_t work[acclimate::svmWorkWords(84)];
//   acclimate::SVM machine(64, 1.0f);
//   machine.fit(samples, labels, 84, work, sizeof(work), rows);
//   machine.predict(row);
#ifndef ACCLIMATE_SVM_ARDUINO_H
#define ACCLIMATE_SVM_ARDUINO_H

#include <stddef.h>
#include <stdint.h>

namespace acclimate {

// Words of solver state for so many samples; `slots` from 2 on are kernel rows that are kept.
constexpr size_t svmWorkWords(size_t samples, size_t slots = 2) {
    return 8 + 2 * samples + (samples + 1) / 2 + slots * ((samples + 1) / 2 + 1);
}

class SVM {
  public:
    static const int32_t MAX_FEATURES = 256;

    // features: numbers in a row, 1 to MAX_FEATURES. C: penalty of an error, above 0.
    SVM(int32_t features, float C, float tolerance = 1e-3f, int32_t maxSteps = 10000);

    // Train to the end; true when it converged. y: 0 or 1 for each sample. work: svmWorkWords
    // words; rows: one number a sample, scratch. All three may be given up afterwards.
    bool fit(const int8_t *X, const uint8_t *y, int32_t samples, int32_t *work, size_t workBytes,
        int16_t *rows);

    // The same in pieces: begin once, then step until it returns false.
    bool begin(const int8_t *X, const uint8_t *y, int32_t samples, int32_t *work,
        size_t workBytes, int16_t *rows);
    bool step(int32_t solverSteps);

    // The class of a row: 0 or 1. A machine that was not fitted says 0.
    uint8_t predict(const int8_t *row) const;

    bool converged() const { return status_ == 1; }
    int32_t iterations() const { return iterations_; }

  private:
    int32_t run(int32_t steps, int32_t *machine);
    void end();

    int32_t par_[16];
    int32_t machine_[2 + MAX_FEATURES / 2];
    const void *at_[4];
    int32_t bytes_[4];
    int32_t features_, status_, iterations_;
};

} // namespace acclimate

#endif
