// SPDX-License-Identifier: MIT
// Flash of the emulated boards; flash.h is the contract, soc.h the memory map.
#include <stdlib.h>
#include <string.h>

#include "flash.h"
#include "soc.h"

#define ERASE_STEP_BYTES (256u)
#define PAGE_COUNT (FLASH_BYTES / FLASH_PAGE_BYTES)
#define CUT_STATUS (75)

#if defined(FLASH_NVMC)
typedef uint16_t page_erases_t; // this state lies in 32 KiB of RAM
#else
typedef uint32_t page_erases_t;
#endif

typedef struct {
    uint32_t magic;
    uint32_t erases;
    uint32_t words;
    page_erases_t page_erases[PAGE_COUNT];
} flash_state_t;

static uint32_t cut_step;
static int cut_torn;

#if defined(FLASH_NVMC)

static flash_state_t ram_state;
#define STATE (&ram_state)

static void nvmc_mode(uint32_t mode) {
    NVMC_CONFIG = mode;
    while (!NVMC_READY) {
    }
}

static void erase_part(uint32_t address, size_t size_bytes) {
    // The controller erases whole pages: do it with the last part.
    if ((address + size_bytes) % FLASH_PAGE_BYTES == 0) {
        nvmc_mode(2);
        NVMC_ERASEPAGE = address & ~(FLASH_PAGE_BYTES - 1);
        nvmc_mode(0);
    }
}

void flash_init(void) {
    // QEMU starts it all zero, where no flash was kept; a real flash comes erased.
    for (uint32_t address = FLASH_BASE; address < FLASH_BASE + FLASH_BYTES; address += 4) {
        if (REG(address) != 0) {
            return;
        }
    }
    for (size_t i = 0; i < FLASH_BYTES; i += FLASH_PAGE_BYTES) {
        erase_part(FLASH_BASE + i, FLASH_PAGE_BYTES);
    }
}

static void program_word(uint32_t address, uint32_t word) {
    nvmc_mode(1);
    REG(address) = word;
    nvmc_mode(0);
}

#else

#define STATE ((flash_state_t *)FLASH_STATE)
#define STATE_MAGIC (0x31464341u)

void flash_init(void) {
    if (STATE->magic != STATE_MAGIC) {
        memset((void *)FLASH_BASE, 0xff, FLASH_BYTES);
        memset(STATE, 0, sizeof(*STATE));
        STATE->magic = STATE_MAGIC;
    }
}

static void erase_part(uint32_t address, size_t size_bytes) {
    memset((void *)address, 0xff, size_bytes);
}

static void program_word(uint32_t address, uint32_t word) {
    REG(address) &= word;
}

#endif

// True when this step is the one that power fails in.
static int step_is_cut(void) {
    return cut_step != 0 && --cut_step == 0;
}

void flash_erase_page(uint32_t address) {
    STATE->erases++;
    STATE->page_erases[(address - FLASH_BASE) / FLASH_PAGE_BYTES]++;
    for (size_t i = 0; i < FLASH_PAGE_BYTES; i += ERASE_STEP_BYTES) {
        if (step_is_cut()) {
            if (cut_torn) {
                erase_part(address + i, ERASE_STEP_BYTES / 2);
            }
            exit(CUT_STATUS);
        }
        erase_part(address + i, ERASE_STEP_BYTES);
    }
}

void flash_program(uint32_t address, const uint8_t *source, size_t size_bytes) {
    for (size_t i = 0; i < size_bytes; i += 4) {
        uint32_t word;
        memcpy(&word, source + i, 4);
        if (step_is_cut()) {
            if (cut_torn) {
                program_word(address + i, word | 0xffff0000u);
            }
            exit(CUT_STATUS);
        }
        program_word(address + i, word);
        STATE->words++;
    }
}

void flash_cut_at(uint32_t step, int torn) {
    cut_step = step;
    cut_torn = torn;
}

uint32_t flash_erase_count(void) {
    return STATE->erases;
}

uint32_t flash_word_count(void) {
    return STATE->words;
}

uint32_t flash_page_erase_count(uint32_t address) {
    return STATE->page_erases[(address - FLASH_BASE) / FLASH_PAGE_BYTES];
}
