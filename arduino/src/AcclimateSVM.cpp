// SPDX-License-Identifier: MIT
#include "AcclimateSVM.h"

extern "C" {
#include "linear.h"
}

namespace acclimate {

SVM::SVM(int32_t features, float C, float tolerance, int32_t maxSteps)
    : par_(), machine_(), at_(), bytes_(), features_(features), status_(-2), iterations_(0) {
    int32_t scale = 0;
    float c = C;
    for (; c > 0 && c < 536870912.0f; c *= 2) {
        scale++;
    }
    for (; c >= 1073741824.0f; c /= 2) {
        scale--;
    }
    int32_t eps = (int32_t)(tolerance * 65536 + 0.999f);
    par_[L_FEATURES] = features;
    par_[L_DEGREE] = 3;
    par_[L_C_POS] = par_[L_C_NEG] = (int32_t)c;
    par_[L_SCALE] = scale;
    par_[L_EPS] = eps < 1 ? 1 : eps;
    par_[L_MAX_ITER] = maxSteps;
}

bool SVM::fit(const int8_t *X, const uint8_t *y, int32_t samples, int32_t *work,
    size_t workBytes, int16_t *rows) {
    if (!begin(X, y, samples, work, workBytes, rows)) {
        return false;
    }
    while (step(1000)) {
    }
    return converged();
}

bool SVM::begin(const int8_t *X, const uint8_t *y, int32_t samples, int32_t *work,
    size_t workBytes, int16_t *rows) {
    status_ = LIN_BAD_ARGUMENT;
    if (samples < 2 || features_ < 1 || features_ > MAX_FEATURES || par_[L_C_POS] <= 0) {
        return false;
    }
    for (int32_t k = 0; k < samples; k++) {
        rows[k] = (int16_t)(y[k] ? ~k : k); // ~k: the class that `predict` calls 1
    }
    const void *at[4] = {work, X, rows, par_};
    int32_t bytes[4] = {(int32_t)workBytes, samples * features_, samples * 2, sizeof(par_)};
    for (int k = 0; k < 4; k++) {
        at_[k] = at[k];
        bytes_[k] = bytes[k];
    }
    status_ = run(-1, nullptr);
    if (status_ > LIN_RUNNING) {
        end();
    }
    return status_ >= 0;
}

bool SVM::step(int32_t solverSteps) {
    if (status_ != LIN_RUNNING) {
        return false;
    }
    status_ = run(solverSteps, nullptr);
    if (status_ != LIN_RUNNING) {
        end();
    }
    return status_ == LIN_RUNNING;
}

int32_t SVM::run(int32_t steps, int32_t *machine) {
    lin_buffers in;
    for (int k = 0; k < 4; k++) {
        in.at[k] = const_cast<void *>(at_[k]);
        in.bytes[k] = bytes_[k];
    }
    return lin_run(&in, steps, machine, machine ? 4 * (2 + (features_ + 1) / 2) : 0);
}

void SVM::end() {
    if (status_ >= 0) {
        iterations_ = static_cast<const int32_t *>(at_[0])[L_ITER];
        run(0, machine_);
    }
}

uint8_t SVM::predict(const int8_t *row) const {
    int32_t bytes = 4 * ((features_ + 1) / 2);
    const int16_t *weights = reinterpret_cast<const int16_t *>(machine_ + 2);
    return lin_decide(weights, bytes, reinterpret_cast<const uint8_t *>(row), features_, 0) <= 0;
}

} // namespace acclimate
