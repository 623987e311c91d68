// SPDX-License-Identifier: MIT
// A NOR flash: erasing a page sets its bits, programming a word only clears some.
// Every erase quarter-kilobyte and every word is one step; a power cut may come at any.
#ifndef ACCLIMATE_QBOARD_FLASH_H
#define ACCLIMATE_QBOARD_FLASH_H

#include <stddef.h>
#include <stdint.h>

// Erase the page at address, a multiple of FLASH_PAGE_BYTES.
void flash_erase_page(uint32_t address);

// Program size_bytes at address; both are multiples of 4.
void flash_program(uint32_t address, const uint8_t *source, size_t size_bytes);

// Cut the power at the step-th step from now (1 is the next one; 0 never). With torn set
// that step is done by half, otherwise not at all. QEMU ends with status 1.
void flash_cut_at(uint32_t step, int torn);

// Pages erased and words programmed so far.
uint32_t flash_erase_count(void);
uint32_t flash_word_count(void);

// How often the page at address was erased.
uint32_t flash_page_erase_count(uint32_t address);

#endif // ACCLIMATE_QBOARD_FLASH_H
