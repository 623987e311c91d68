/* SPDX-License-Identifier: MIT
 * Order of int8 weights in memory, the same on every board: "paired rows".
 *
 * The weights of a convolution or dense layer are a matrix, one row per output channel,
 * one column per (kernel row, kernel column, input channel). Each row is filled with zeros
 * to a multiple of 4 bytes. Two rows lie together, 4 bytes of the one and 4 of the other in
 * turn; the last row of an odd count lies alone. Groups follow each other, each with rows of
 * its own. The whole begins at a multiple of 4 bytes. Depth 6, 3 rows:
 *
 *   byte   0        4        8        12       16       20
 *          row 0    row 1    row 0    row 1    row 2    row 2
 *          k 0..3   k 0..3   k 4,5,-  k 4,5,-  k 0..3   k 4,5,-
 *
 * So one load takes the words of two rows, and each word loaded from the input serves both.
 * A depthwise layer's weights stay (kernel row, kernel column, channel), without filling.
 */
#ifndef ACCLIMATE_NET_ORDER_H
#define ACCLIMATE_NET_ORDER_H

#include <stdint.h>

/* Bytes of one row, and of a matrix. */
static inline int32_t net_row_bytes(int32_t depth) {
    return (depth + 3) & ~3;
}

static inline int32_t net_rows_bytes(int32_t rows, int32_t depth) {
    return rows * net_row_bytes(depth);
}

/* Whether a row lies alone, and the step from one of its words to the next, in bytes. */
static inline int32_t net_row_step(int32_t rows, int32_t row) {
    return (row | 1) < rows ? 8 : 4;
}

/* Where a row begins; its word i lies i * net_row_step(rows, row) further. */
static inline int32_t net_row_start(int32_t rows, int32_t row, int32_t depth) {
    int32_t second = row & 1;
    (void)rows;
    return (row - second) * net_row_bytes(depth) + 4 * second;
}

/* Where the weight (row, k) lies. */
static inline int32_t net_weight_at(int32_t rows, int32_t row, int32_t depth, int32_t k) {
    int32_t words = (k >> 2) * net_row_step(rows, row);
    return net_row_start(rows, row, depth) + words + (k & 3);
}

#endif
