// SPDX-License-Identifier: MIT
// Frozen modules whose functions, classes and names are constants (tools/static_freeze).
#ifndef ACCLIMATE_STATIC_H
#define ACCLIMATE_STATIC_H

#include "py/bc.h"
#include "py/obj.h"

typedef struct {
    qstr name;
    uint32_t needs; // bit i: functions that it reaches look into acclimate_static_globals[i]
    const mp_module_context_t *module; // its globals: these in flash, or a dict in RAM
    const mp_obj_dict_t *names;        // what the import makes; a value of NULL: an empty dict
} acclimate_static_module_t;

// Written by tools/static_freeze.
extern const acclimate_static_module_t acclimate_static_modules[];
extern const size_t acclimate_static_count;

#endif
