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
 * A depthwise layer's weights stay (channel, kernel row, kernel column), without filling.
 */
#ifndef ACCLIMATE_NET_ORDER_H
#define ACCLIMATE_NET_ORDER_H

#include <stdint.h>

/* Bytes of one row, and of a matrix. */
static inline uint32_t net_row_bytes(uint32_t depth) {
    return (depth + 3) & ~3u;
}

static inline uint32_t net_rows_bytes(uint32_t rows, uint32_t depth) {
    return rows * net_row_bytes(depth);
}

/* From one word of a row to its next, in bytes. */
static inline uint32_t net_row_step(uint32_t rows, uint32_t row) {
    return (row | 1) < rows ? 8 : 4;
}

/* Where a row begins. */
static inline uint32_t net_row_start(uint32_t row, uint32_t depth) {
    uint32_t second = row & 1;
    return (row - second) * net_row_bytes(depth) + 4 * second;
}

/* Where weight k lies, from the beginning of its row. */
static inline uint32_t net_in_row(uint32_t step, uint32_t k) {
    return (k >> 2) * step + (k & 3);
}

/* Where the weight (row, k) lies. */
static inline uint32_t net_weight_at(uint32_t rows, uint32_t row, uint32_t depth, uint32_t k) {
    return net_row_start(row, depth) + net_in_row(net_row_step(rows, row), k);
}

#endif
