/* SPDX-License-Identifier: MIT
 * Bring a row, whatever Python gives, into the items of a store: exactly, or not at all. */

static mp_int_t get(mp_obj_t o, void *to, mp_uint_t flags) {
    mp_buffer_info_t info;
    mp_get_buffer_raise(o, &info, flags);
    *(void **)to = info.buf;
    return (mp_int_t)info.len;
}

typedef struct {
    int32_t type, d, stride; /* of the store; stride in bytes */
    void *row;               /* scratch of one row */
    const float *offset;     /* subtracted from float32 items, or a null pointer */
#if defined(SVM_SCALES)
    const int32_t *scale;    /* of int16 items: d offsets, d divisors; or a null pointer */
    uint32_t power;          /* of 2, that the difference is multiplied with before */
#endif
} entry;

#if defined(SVM_SCALES)
#define HAS_SCALE(e) ((e)->scale)
#define MOST 2047 /* LIMIT of acclimate/svm/scaled.py, which computes the same */

/* Whole number v as item k. With the limits of read_scaler() nothing overflows. */
static mp_int_t scaled(const entry *e, size_t k, mp_int_t v) {
    int32_t divisor = e->scale[(size_t)e->d + k], limit = (divisor << 11) >> e->power;
    mp_int_t q = v - e->scale[k];
    if (q <= limit && q >= -limit) {
        /* rounded down, also below 0 */
        uint32_t whole = (uint32_t)(q * (1 << e->power) + (divisor >> 1) + (divisor << 11));
        q = (mp_int_t)(whole / (uint32_t)divisor) - 2048;
    }
    return q > MOST ? MOST : q < -MOST ? -MOST : q;
}
#else
#define HAS_SCALE(e) (0)
#endif

/* Write item k of the scratch row; false where the store does not hold v exactly. */
static bool put_whole(entry *e, size_t k, mp_int_t v) {
    int32_t type = e->type;
#if defined(SVM_SCALES)
    if (e->scale) {
        v = scaled(e, k, v);
    }
#endif
    if (SVM_IS(type, SVM_INT8) && v == (int8_t)v) {
        ((int8_t *)e->row)[k] = (int8_t)v;
    } else if (SVM_IS(type, SVM_UINT8) && v == (uint8_t)v) {
        ((uint8_t *)e->row)[k] = (uint8_t)v;
    } else if (SVM_IS(type, SVM_INT16) && v == (int16_t)v) {
        ((int16_t *)e->row)[k] = (int16_t)v;
    } else {
        return false;
    }
    return true;
}

#if defined(SVM_FLOAT)
static bool put_real(entry *e, size_t k, float v) {
    if (e->type == SVM_FLOAT32) {
        ((float *)e->row)[k] = e->offset ? v - e->offset[k] : v;
        return true;
    }
    if (!(v > -40000.0f && v < 40000.0f)) {
        return false;
    }
    int32_t whole = (int32_t)v;
    return (float)whole == v && put_whole(e, k, whole);
}
#endif

/* False for what is no number, and for a rare one: Python converts it, or names it. Only numbers
 * that may be NaN have a type that is not reflexive. */
static bool put_object(entry *e, size_t k, mp_obj_t item) {
#if defined(SVM_FLOAT)
    if (!mp_obj_is_small_int(item)) {
        if (!(mp_obj_get_type(item)->flags & MP_TYPE_FLAG_EQ_NOT_REFLEXIVE)) {
            return false;
        }
        float v = mp_obj_get_float_to_f(item);
#if defined(__x86_64__) /* numbers of 64 bits: Python centres what float32 would move far */
        if (!(v > -1024 && v < 1024) && (double)v != mp_obj_get_float_to_d(item)) {
            return false;
        }
#endif
        return put_real(e, k, v);
    }
    if (e->type == SVM_FLOAT32) {
        return put_real(e, k, (float)MP_OBJ_SMALL_INT_VALUE(item));
    }
#endif
    return mp_obj_is_small_int(item) && put_whole(e, k, MP_OBJ_SMALL_INT_VALUE(item));
}

#if !defined(SVM_WEIGHTS)
/* Item k of a buffer, as its type code says; false for one that is not read here. */
static bool put_item(entry *e, size_t k, const mp_buffer_info_t *info) {
    mp_int_t v;
    switch (info->typecode) {
#if defined(SVM_FLOAT)
        case 'f':
            return put_real(e, k, ((float *)info->buf)[k]);
#endif
        case 'b':
            v = ((int8_t *)info->buf)[k];
            break;
        case 'h':
            v = ((int16_t *)info->buf)[k];
            break;
        default:
            v = ((uint8_t *)info->buf)[k];
            break;
    }
#if defined(SVM_FLOAT)
    if (e->type == SVM_FLOAT32) {
        return put_real(e, k, (float)v);
    }
#endif
    return put_whole(e, k, v);
}

#endif

/* Storage type of a buffer, or -1. */
static int32_t type_of(mp_uint_t typecode) {
    switch (typecode) {
        case 'b':
            return SVM_INT8;
        case 'h':
            return SVM_INT16;
#if defined(SVM_FLOAT) /* else Python converts a row of floats */
        case 'f':
            return SVM_FLOAT32;
#endif
        case 'B':
        case BYTEARRAY_TYPECODE:
            return SVM_UINT8;
        default:
            return -1;
    }
}

#if !defined(SVM_WEIGHTS)
/* log2 of the bytes of an item. */
static int32_t size_of(int32_t type) {
    return type == SVM_FLOAT32 ? 2 : type == SVM_INT16;
}
#endif

/* The items of a buffer as the solver takes them, or a null pointer. */
static const void *enter_items(entry *e, const mp_buffer_info_t *info) {
    int32_t type = type_of(info->typecode);
    if (type == e->type && !e->offset && !HAS_SCALE(e)) {
        return info->len == (size_t)e->stride ? info->buf : 0;
    }
#if !defined(SVM_WEIGHTS) /* else Python converts it */
    size_t wide = (size_t)1 << size_of(type);
    if (type < 0 || info->len != (size_t)e->d * wide || ((uintptr_t)info->buf & (wide - 1))) {
        return 0;
    }
    for (size_t k = 0; k < (size_t)e->d; k++) {
        if (!put_item(e, k, info)) {
            return 0;
        }
    }
    return e->row;
#else
    return 0;
#endif
}

/* The same for any row. */
static const void *enter(entry *e, mp_obj_t arg) {
    mp_buffer_info_t info;
    const mp_obj_type_t *kind = mp_obj_get_type(arg);
    if (kind == &mp_type_list || kind == &mp_type_tuple) {
        size_t len;
        mp_obj_t *items;
        mp_obj_get_array(arg, &len, &items);
        if (len != (size_t)e->d) {
            return 0;
        }
        for (size_t k = 0; k < len; k++) {
            if (!put_object(e, k, items[k])) {
                return 0;
            }
        }
        return e->row;
    }
    if (kind == &mp_type_str || !mp_get_buffer(arg, &info, MP_BUFFER_READ)) {
        return 0;
    }
    return enter_items(e, &info);
}
