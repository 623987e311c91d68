// SPDX-License-Identifier: MIT
// What the import of a static module does: it takes its names from flash.
#include <string.h>

#include "py/runtime.h"
#include "static.h"

// Dicts of modules whose names change; the functions in flash point to them.
MP_REGISTER_ROOT_POINTER(mp_obj_dict_t acclimate_static_globals[ACCLIMATE_STATIC_GLOBALS]);

static void put_all(mp_obj_dict_t *to, const mp_map_t *from) {
    for (size_t i = 0; i < from->alloc; i++) {
        if (mp_map_slot_is_filled(from, i)) {
            mp_obj_dict_store(MP_OBJ_FROM_PTR(to), from->table[i].key, from->table[i].value);
        }
    }
}

static void fill(mp_obj_dict_t *dict, const mp_map_t *names) {
    dict->base.type = &mp_type_dict;
    mp_map_init(&dict->map, names->alloc);
    dict->map.used = names->used;
    memcpy(dict->map.table, names->table, names->alloc * sizeof(mp_map_elem_t));
    for (size_t i = 0; i < names->alloc; i++) {
        mp_map_elem_t *slot = &dict->map.table[i];
        if (slot->key != MP_OBJ_NULL && slot->value == MP_OBJ_NULL) {
            slot->value = mp_obj_new_dict(0);
        }
    }
}

static mp_map_elem_t *loaded(qstr name) {
    return mp_map_lookup(&MP_STATE_VM(mp_loaded_modules_dict).map, MP_OBJ_NEW_QSTR(name), MP_MAP_LOOKUP);
}

// What follows is of no use after a soft reset, at which the modules are no longer loaded.
static qstr first;
static uint32_t filled, entered;

// Dicts that functions look into, of modules that nobody may have imported by name.
static void fill_needed(uint32_t needs) {
    for (size_t i = 0; i < acclimate_static_count; i++) {
        const acclimate_static_module_t *module = &acclimate_static_modules[i];
        mp_obj_dict_t *dict = module->module->module.globals;
        if (dict != module->names) {
            uint32_t bit = 1u << (dict - MP_STATE_VM(acclimate_static_globals));
            if (needs & ~filled & bit) {
                fill(dict, &module->names->map);
                filled |= bit;
            }
        }
    }
}

static void take_names(const acclimate_static_module_t *from, mp_obj_module_t *to) {
    mp_obj_dict_t *globals = from->module->module.globals;
    if (first == from->name || first == MP_QSTRnull || loaded(first) == NULL) {
        first = from->name;
        filled = entered = 0;
    }
    if (globals != from->names) {
        uint32_t bit = 1u << (globals - MP_STATE_VM(acclimate_static_globals));
        if (entered & bit) { // unloaded, and imported once more
            filled &= ~bit;
        }
        entered |= bit;
        fill_needed(from->needs | bit);
        put_all(globals, &to->globals->map); // what the import has set already, such as __path__
    } else {
        fill_needed(from->needs);
    }
    to->globals = globals;
}

// Called by the code of a static module, which does nothing else.
static mp_obj_t static_enter(void) {
    mp_obj_t name = mp_obj_dict_get(MP_OBJ_FROM_PTR(mp_globals_get()), MP_OBJ_NEW_QSTR(MP_QSTR___name__));
    for (size_t i = 0; i < acclimate_static_count; i++) {
        const acclimate_static_module_t *found = &acclimate_static_modules[i];
        if (MP_OBJ_NEW_QSTR(found->name) == name) {
            take_names(found, MP_OBJ_TO_PTR(loaded(found->name)->value));
        }
    }
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_0(static_enter_obj, static_enter);

static const mp_rom_map_elem_t static_names[] = {
    { MP_ROM_QSTR(MP_QSTR___name__), MP_ROM_QSTR(MP_QSTR__acclimate_static) },
    { MP_ROM_QSTR(MP_QSTR_enter), MP_ROM_PTR(&static_enter_obj) },
};
static MP_DEFINE_CONST_DICT(static_globals, static_names);

const mp_obj_module_t acclimate_static_module = {
    .base = { &mp_type_module },
    .globals = (mp_obj_dict_t *)&static_globals,
};
MP_REGISTER_MODULE(MP_QSTR__acclimate_static, acclimate_static_module);
