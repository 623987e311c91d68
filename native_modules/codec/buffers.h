/* SPDX-License-Identifier: MIT
 * Bytes in buffers: copied towards lower places or elsewhere, and compared. */
#ifndef ACCLIMATE_BUFFERS_H
#define ACCLIMATE_BUFFERS_H

#include <stdint.h>

/* from may overlap with a `to` that lies below it */
void buffers_copy(uint8_t *to, const uint8_t *from, uint32_t n);
/* How many bytes are the same before the first that differs. */
uint32_t buffers_common_prefix(const uint8_t *a, const uint8_t *b, uint32_t n);

#endif
