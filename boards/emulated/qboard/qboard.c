// SPDX-License-Identifier: MIT
// The module qboard: instruction clock and flash of an emulated board.
//   ticks()               timer ticks, 30 bits, never allocates; HZ ticks are a second
//   Flash(start, bytes)   block device over a region (as nrf.Flash); readable as a buffer
//   wear([address])       (pages erased, words programmed), or the erases of one page
//   cut(step[, torn])     end QEMU at that flash step from now; 0 switches it off
//   FS_START, FS_BYTES, RAW_START, RAW_BYTES, PAGE_BYTES
#include <string.h>

#include "extmod/vfs.h"
#include "py/mperrno.h"
#include "py/objint.h"
#include "py/runtime.h"

#include "flash.h"
#include "soc.h"

typedef struct {
    mp_obj_base_t base;
    uint32_t start;
    uint32_t size_bytes;
} flash_obj_t;

static mp_obj_t flash_make_new(const mp_obj_type_t *type, size_t n_args, size_t n_kw,
    const mp_obj_t *args) {
    mp_arg_check_num(n_args, n_kw, 2, 2, false);
    uint32_t start = mp_obj_get_int_truncated(args[0]);
    uint32_t size_bytes = mp_obj_get_int_truncated(args[1]);
    if (start % FLASH_PAGE_BYTES != 0 || size_bytes % FLASH_PAGE_BYTES != 0) {
        mp_raise_ValueError(MP_ERROR_TEXT("start and bytes must be whole pages"));
    }
    if (start < FLASH_BASE || size_bytes > FLASH_BYTES
        || start - FLASH_BASE > FLASH_BYTES - size_bytes) {
        mp_raise_ValueError(MP_ERROR_TEXT("region is outside the flash"));
    }
    flash_obj_t *self = mp_obj_malloc(flash_obj_t, type);
    self->start = start;
    self->size_bytes = size_bytes;
    return MP_OBJ_FROM_PTR(self);
}

// Address of block args[1] plus offset args[3], after checking that size_bytes fit there.
static uint32_t flash_address(size_t n_args, const mp_obj_t *args, size_t size_bytes) {
    flash_obj_t *self = MP_OBJ_TO_PTR(args[0]);
    uint32_t offset = mp_obj_get_int(args[1]) * FLASH_PAGE_BYTES;
    if (n_args == 4) {
        offset += mp_obj_get_int(args[3]);
    }
    if (size_bytes > self->size_bytes || offset > self->size_bytes - size_bytes) {
        mp_raise_ValueError(MP_ERROR_TEXT("block is outside the region"));
    }
    return self->start + offset;
}

static mp_obj_t flash_readblocks(size_t n_args, const mp_obj_t *args) {
    mp_buffer_info_t target;
    mp_get_buffer_raise(args[2], &target, MP_BUFFER_WRITE);
    memcpy(target.buf, (void *)flash_address(n_args, args, target.len), target.len);
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(flash_readblocks_obj, 3, 4, flash_readblocks);

static mp_obj_t flash_writeblocks(size_t n_args, const mp_obj_t *args) {
    mp_buffer_info_t source;
    mp_get_buffer_raise(args[2], &source, MP_BUFFER_READ);
    uint32_t address = flash_address(n_args, args, source.len);
    if (address % 4 != 0 || source.len % 4 != 0) {
        mp_raise_ValueError(MP_ERROR_TEXT("flash is written in aligned 4-byte words"));
    }
    if (n_args == 3) {
        for (size_t offset = 0; offset < source.len; offset += FLASH_PAGE_BYTES) {
            flash_erase_page(address + offset);
        }
    }
    flash_program(address, source.buf, source.len);
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(flash_writeblocks_obj, 3, 4, flash_writeblocks);

static mp_obj_t flash_ioctl(mp_obj_t self_in, mp_obj_t command, mp_obj_t argument) {
    flash_obj_t *self = MP_OBJ_TO_PTR(self_in);
    switch (mp_obj_get_int(command)) {
        case MP_BLOCKDEV_IOCTL_INIT:
        case MP_BLOCKDEV_IOCTL_DEINIT:
        case MP_BLOCKDEV_IOCTL_SYNC:
            return MP_OBJ_NEW_SMALL_INT(0);
        case MP_BLOCKDEV_IOCTL_BLOCK_COUNT:
            return MP_OBJ_NEW_SMALL_INT(self->size_bytes / FLASH_PAGE_BYTES);
        case MP_BLOCKDEV_IOCTL_BLOCK_SIZE:
            return MP_OBJ_NEW_SMALL_INT(FLASH_PAGE_BYTES);
        case MP_BLOCKDEV_IOCTL_BLOCK_ERASE: {
            const mp_obj_t args[] = { self_in, argument };
            flash_erase_page(flash_address(2, args, FLASH_PAGE_BYTES));
            return MP_OBJ_NEW_SMALL_INT(0);
        }
        default:
            return MP_OBJ_NEW_SMALL_INT(-MP_EINVAL);
    }
}
static MP_DEFINE_CONST_FUN_OBJ_3(flash_ioctl_obj, flash_ioctl);

static mp_int_t flash_get_buffer(mp_obj_t self_in, mp_buffer_info_t *info, mp_uint_t flags) {
    flash_obj_t *self = MP_OBJ_TO_PTR(self_in);
    if (flags != MP_BUFFER_READ) {
        return 1;
    }
    info->buf = (void *)self->start;
    info->len = self->size_bytes;
    info->typecode = 'B';
    return 0;
}

static const mp_rom_map_elem_t flash_locals_table[] = {
    { MP_ROM_QSTR(MP_QSTR_readblocks), MP_ROM_PTR(&flash_readblocks_obj) },
    { MP_ROM_QSTR(MP_QSTR_writeblocks), MP_ROM_PTR(&flash_writeblocks_obj) },
    { MP_ROM_QSTR(MP_QSTR_ioctl), MP_ROM_PTR(&flash_ioctl_obj) },
};
static MP_DEFINE_CONST_DICT(flash_locals, flash_locals_table);

static MP_DEFINE_CONST_OBJ_TYPE(flash_type, MP_QSTR_Flash, MP_TYPE_FLAG_NONE,
    make_new, flash_make_new, buffer, flash_get_buffer, locals_dict, &flash_locals);

static mp_obj_t qboard_ticks(void) {
    return MP_OBJ_NEW_SMALL_INT(clock_ticks() & 0x3fffffff);
}
static MP_DEFINE_CONST_FUN_OBJ_0(qboard_ticks_obj, qboard_ticks);

static mp_obj_t qboard_wear(size_t n_args, const mp_obj_t *args) {
    if (n_args == 1) {
        uint32_t address = mp_obj_get_int_truncated(args[0]);
        if (address < FLASH_BASE || address - FLASH_BASE >= FLASH_BYTES) {
            mp_raise_ValueError(MP_ERROR_TEXT("address is outside the flash"));
        }
        return mp_obj_new_int_from_uint(flash_page_erase_count(address));
    }
    mp_obj_t counts[] = {
        mp_obj_new_int_from_uint(flash_erase_count()),
        mp_obj_new_int_from_uint(flash_word_count()),
    };
    return mp_obj_new_tuple(2, counts);
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(qboard_wear_obj, 0, 1, qboard_wear);

static mp_obj_t qboard_cut(size_t n_args, const mp_obj_t *args) {
    flash_cut_at(mp_obj_get_int(args[0]), n_args == 2 && mp_obj_is_true(args[1]));
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(qboard_cut_obj, 1, 2, qboard_cut);

#if FLASH_BASE > 0x3fffffff
// Addresses that no small integer holds.
#define ADDRESS(name, value) \
    static const mpz_dig_t name##_digits[] = { (value) & 0xffff, (value) >> 16 }; \
    static const mp_obj_int_t name = { \
        .base = { &mp_type_int }, \
        .mpz = { .fixed_dig = 1, .alloc = 2, .len = 2, .dig = (mpz_dig_t *)name##_digits }, \
    };
_Static_assert(MPZ_DIG_SIZE == 16, "digits of two bytes");
ADDRESS(fs_start, FLASH_FS_START)
ADDRESS(raw_start, FLASH_RAW_START)
#define FS_START MP_ROM_PTR(&fs_start)
#define RAW_START MP_ROM_PTR(&raw_start)
#else
#define FS_START MP_ROM_INT(FLASH_FS_START)
#define RAW_START MP_ROM_INT(FLASH_RAW_START)
#endif

static const mp_rom_map_elem_t qboard_globals_table[] = {
    { MP_ROM_QSTR(MP_QSTR___name__), MP_ROM_QSTR(MP_QSTR_qboard) },
    { MP_ROM_QSTR(MP_QSTR_HZ), MP_ROM_INT(CLOCK_HZ) },
    { MP_ROM_QSTR(MP_QSTR_ticks), MP_ROM_PTR(&qboard_ticks_obj) },
    { MP_ROM_QSTR(MP_QSTR_Flash), MP_ROM_PTR(&flash_type) },
    { MP_ROM_QSTR(MP_QSTR_wear), MP_ROM_PTR(&qboard_wear_obj) },
    { MP_ROM_QSTR(MP_QSTR_cut), MP_ROM_PTR(&qboard_cut_obj) },
    { MP_ROM_QSTR(MP_QSTR_FS_START), FS_START },
    { MP_ROM_QSTR(MP_QSTR_FS_BYTES), MP_ROM_INT(FLASH_FS_BYTES) },
    { MP_ROM_QSTR(MP_QSTR_RAW_START), RAW_START },
    { MP_ROM_QSTR(MP_QSTR_RAW_BYTES), MP_ROM_INT(FLASH_RAW_BYTES) },
    { MP_ROM_QSTR(MP_QSTR_PAGE_BYTES), MP_ROM_INT(FLASH_PAGE_BYTES) },
};
static MP_DEFINE_CONST_DICT(qboard_globals, qboard_globals_table);

const mp_obj_module_t qboard_module = {
    .base = { &mp_type_module },
    .globals = (mp_obj_dict_t *)&qboard_globals,
};
MP_REGISTER_MODULE(MP_QSTR_qboard, qboard_module);
