/* SPDX-License-Identifier: MIT
 * What a wrapper needs to be a native module (.mpy) and, with ACCLIMATE_USER_MODULE, a module that
 * is built into firmware. A wrapper lists its names once:
 *   #define NAMES(OBJECT, NUMBER) OBJECT(MP_QSTR_run, run_obj) NUMBER(MP_QSTR_BYTES, 4)
 *   MODULE(_net, net_user_module, NAMES)
 * The module's own name is no MP_QSTR in the text, as a .mpy would carry it without need. */
#ifndef ACCLIMATE_MODULE_H
#define ACCLIMATE_MODULE_H

#if defined(ACCLIMATE_USER_MODULE)
#include "py/binary.h"
#include "py/objlist.h"
#include "py/objtuple.h"
#include "py/runtime.h"

#define MODULE_OBJECT(name, object) { MP_ROM_QSTR(name), MP_ROM_PTR(&object) },
#define MODULE_NUMBER(name, value) { MP_ROM_QSTR(name), MP_ROM_INT(value) },
#define MODULE(name, module, names) MODULE_NAMED(MP_QSTR_##name, module, names)
#define MODULE_NAMED(name, module, names) \
    static const mp_rom_map_elem_t globals_table[] = { \
        { MP_ROM_QSTR(MP_QSTR___name__), MP_ROM_QSTR(name) }, \
        names(MODULE_OBJECT, MODULE_NUMBER) \
    }; \
    static MP_DEFINE_CONST_DICT(globals, globals_table); \
    const mp_obj_module_t module = { \
        .base = { &mp_type_module }, \
        .globals = (mp_obj_dict_t *)&globals, \
    }; \
    MP_REGISTER_MODULE(name, module);

#else
#include "py/dynruntime.h"

#define MODULE_OBJECT(name, object) mp_store_global(name, MP_OBJ_FROM_PTR(&object));
#define MODULE_NUMBER(name, value) mp_store_global(name, mp_obj_new_int(value));
#define MODULE(name, module, names) \
    mp_obj_t mpy_init(mp_obj_fun_bc_t *self, size_t n_args, size_t n_kw, mp_obj_t *args) { \
        MP_DYNRUNTIME_INIT_ENTRY \
        names(MODULE_OBJECT, MODULE_NUMBER) \
        MP_DYNRUNTIME_INIT_EXIT \
    }

#endif

/* Take memory or a null pointer, and give memory back; some firmware counts bytes itself. */
#if defined(ACCLIMATE_USER_MODULE) && MICROPY_MALLOC_USES_ALLOCATED_SIZE
#define MODULE_TAKE(bytes) m_realloc_maybe(NULL, 0, bytes, false)
#define MODULE_GIVE(at, bytes) m_free(at, bytes)
#else
#define MODULE_TAKE(bytes) m_realloc_maybe(NULL, bytes, false)
#define MODULE_GIVE(at, bytes) m_free(at)
#endif
#endif
