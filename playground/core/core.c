/* SPDX-License-Identifier: MIT
 * The SVM and network cores of boards as WebAssembly, in the memory of the page's MicroPython: addresses come
 * as numbers, so that a call from Python needs no structure. No arithmetic here. */
#include "net.h"
#include "svm.h"

#define FACE(name) __attribute__((export_name(name)))

static svm_problem problem(void *work, int32_t words, const void *x, int32_t x_bytes,
    const int16_t *rows, int32_t n, void *par, int32_t is_float) {
    svm_problem p = {0};
    p.work = work;
    p.words = words;
    p.x = x;
    p.x_bytes = x_bytes;
    p.rows = rows;
    p.n = n;
    p.par = par;
    p.is_float = is_float;
    return p;
}

#define PROBLEM                                                                                \
    void *work, int32_t words, const void *x, int32_t x_bytes, const int16_t *rows, int32_t n, \
        void *par, int32_t is_float
#define GIVEN problem(work, words, x, x_bytes, rows, n, par, is_float)

FACE("work_words") int32_t core_work_words(int32_t n, int32_t is_float, int32_t slots) {
    return svm_work_words(n, is_float, slots);
}

FACE("start") int32_t core_start(PROBLEM) {
    svm_problem p = GIVEN;
    return svm_start(&p);
}

FACE("step") int32_t core_step(PROBLEM, int32_t iterations) {
    svm_problem p = GIVEN;
    return svm_step(&p, iterations);
}

FACE("collapse") int32_t core_collapse(PROBLEM, void *w, int32_t w_bytes) {
    svm_problem p = GIVEN;
    return svm_collapse(&p, w, w_bytes);
}

FACE("decide") int32_t core_decide(PROBLEM, const void *row, int32_t row_bytes, void *bias,
    void *out, int32_t is_real) {
    svm_problem p = GIVEN;
    p.is_real = is_real;
    return svm_decide(&p, row, row_bytes, bias, out);
}

FACE("linear") int32_t core_linear(const void *w, int32_t w_bytes, const void *row,
    int32_t row_bytes, int32_t xtype, int32_t is_float, void *out) {
    return svm_linear(w, w_bytes, row, row_bytes, xtype, is_float, out);
}

FACE("vote") int32_t core_vote(int32_t *out, int32_t classes) {
    return svm_vote(out, classes);
}

/* Decision values of a grid of points: box holds x, y of the first, the steps, columns, lines. */
FACE("field") int32_t core_field(PROBLEM, void *bias, const float *box, float *out) {
    svm_problem p = GIVEN;
    int32_t bad = 0;
    for (int32_t j = 0; j < (int32_t)box[5]; j++) {
        for (int32_t i = 0; i < (int32_t)box[4]; i++) {
            float row[2] = {box[0] + box[2] * (float)i, box[1] + box[3] * (float)j};
            bad |= svm_decide(&p, row, sizeof(row), bias, out++);
        }
    }
    return bad;
}

FACE("field_linear") int32_t core_field_linear(const void *w, int32_t w_bytes, const float *box,
    float *out) {
    int32_t bad = 0;
    for (int32_t j = 0; j < (int32_t)box[5]; j++) {
        for (int32_t i = 0; i < (int32_t)box[4]; i++) {
            float row[2] = {box[0] + box[2] * (float)i, box[1] + box[3] * (float)j};
            bad |= svm_linear(w, w_bytes, row, sizeof(row), SVM_FLOAT32, 3, out++);
        }
    }
    return bad;
}

/* par: NET_PARS numbers */
FACE("net_run") int32_t core_net_run(const void *program, uint32_t program_bytes, uint8_t *arena,
    uint32_t arena_bytes, const void *input, uint32_t input_bytes, int32_t *par) {
    net_call call = {0};
    call.program = program;
    call.program_bytes = program_bytes;
    call.arena = arena;
    call.arena_bytes = arena_bytes;
    call.input = input;
    call.input_bytes = input_bytes;
    call.par = par;
    return net_run(&call);
}
