/* SPDX-License-Identifier: MIT
 * MicroPython wrapper `_svm_fit`. A plain training as an object: it looks at the data, trains a
 * bounded piece at every call and gives the decision functions at the end. What is not plain gives
 * None, and Python does it. */
#include "module.h"
#include "svm_fit.h"

#if defined(SVM_FLOAT)
#include "svm_mod_row.h"

/* Solver state that nobody asked for: six times the data, inside these limits. */
#define CACHE_LEAST (8 * 1024)
#define CACHE_MOST (32 * 1024)
#define MOST_NUMBERS (1 << 16)  /* of the data: looking at them is one step */
#define PIECE (1 << 20)         /* instructions of a step of training */

typedef struct {
    mp_obj_base_t base;
    mp_obj_full_type_t type;
    mp_obj_t x;      /* the caller's rows, where they are used in place, or None */
    mp_obj_t *codes; /* the type array.array, then the codes of its items */
    mp_obj_t pairs, notes;
    int32_t n, classes, largest, i, j, again, converged, iterations, at_once;
    float gap, tol;
    float par[SVM_PARS];
    svm_problem p;
    int16_t *used;       /* not 0 for rows that support something */
    uint8_t *numbers;    /* of the rows' classes */
    uint8_t labels[256]; /* of the classes */
    int16_t space[];     /* for used, rows and numbers */
} fit_data;

enum { IS_INT32 = SVM_FLOAT32 + 1 };

/* kind, storage type or -1, C, gamma or None, coef0, degree, tol, max_iter */
enum { O_KIND, O_TYPE, O_C, O_GAMMA, O_COEF0, O_DEGREE, O_TOL, O_MAX_ITER };

/* A new array; the type is a storage type or IS_INT32. */
static mp_obj_t new_array(const fit_data *o, int32_t type, const void *data, size_t bytes) {
    mp_obj_t args[2] = {o->codes[1 + type], mp_obj_new_bytearray_by_ref(bytes, (void *)data)};
    return mp_call_function_n_kw(o->codes[0], 2, 0, args);
}

static bool is_sequence(mp_obj_t o) {
    const mp_obj_type_t *kind = mp_obj_get_type(o);
    return kind == &mp_type_list || kind == &mp_type_tuple;
}

/* Labels, as objects or as bytes; how many, or 0. */
static size_t labels_in(mp_obj_t y, mp_obj_t **items, const uint8_t **bytes) {
    mp_buffer_info_t info;
    size_t n;
    *items = NULL;
    if (is_sequence(y)) {
        mp_obj_get_array(y, &n, items);
        return n;
    }
    if (mp_obj_get_type(y) == &mp_type_str || !mp_get_buffer(y, &info, MP_BUFFER_READ)
        || type_of(info.typecode) != SVM_UINT8) {
        return 0;
    }
    *bytes = info.buf;
    return info.len;
}

/* Number the classes in the order of their labels, and the rows by them. */
static bool take_labels(fit_data *o, mp_obj_t *items, const uint8_t *bytes) {
    uint16_t counts[256];
    int32_t second = 0, last = 0;
    for (int32_t label = 0; label < 256; label++) {
        counts[label] = 0;
    }
    for (int32_t k = 0; k < o->n; k++) {
        size_t label = 255; /* as wide as a small int: none is cut to one that fits */
        if (!items) {
            label = bytes[k];
        } else if (mp_obj_is_small_int(items[k])) {
            label = (size_t)MP_OBJ_SMALL_INT_VALUE(items[k]);
        }
        if (label > 254) {
            return false;
        }
        o->numbers[k] = (uint8_t)label;
        counts[label]++;
        last = (int32_t)label > last ? (int32_t)label : last;
    }
    for (int32_t label = 0; label <= last; label++) {
        int32_t count = counts[label];
        if (count) {
            second = count > o->largest ? o->largest : count > second ? count : second;
            o->largest = count > o->largest ? count : o->largest;
            counts[label] = (uint16_t)o->classes;
            o->labels[o->classes++] = (uint8_t)label;
        }
    }
    o->largest += second;
    for (int32_t k = 0; k < o->n; k++) {
        o->numbers[k] = (uint8_t)counts[o->numbers[k]];
    }
    return o->classes > 1;
}

/* Row k as items of the wanted type, or a null pointer. */
static const void *row_of(entry *e, mp_obj_t *items, const mp_buffer_info_t *all, size_t k) {
    if (items) {
        return enter(e, items[k]);
    }
    mp_buffer_info_t one = *all;
    one.len = (size_t)e->d << size_of(type_of(all->typecode));
    one.buf = (uint8_t *)all->buf + k * one.len;
    return enter_items(e, &one);
}

/* Features of a row, or -1 where X is not made of rows. */
static int32_t features(const fit_data *o, mp_obj_t x, mp_obj_t **items, mp_buffer_info_t *info) {
    size_t n = (size_t)o->n, len;
    *items = NULL;
    if (is_sequence(x)) {
        mp_obj_t *ignored;
        mp_obj_get_array(x, &len, items);
        if (len != n) {
            return -1;
        }
        x = (*items)[0];
        n = 1;
        if (is_sequence(x)) {
            mp_obj_get_array(x, &len, &ignored);
            return (int32_t)len;
        }
    }
    if (mp_obj_get_type(x) == &mp_type_str || !mp_get_buffer(x, info, MP_BUFFER_READ)) {
        return -1;
    }
    int32_t type = type_of(info->typecode);
    len = info->len >> size_of(type);
    int32_t d = (int32_t)svm_quotient((uint32_t)len, (uint32_t)n);
    return type < 0 || (size_t)d * n != len ? -1 : d;
}

/* Ranges of all features, and of all numbers, into low[0..d] and high[0..d]; whole or not. */
static int32_t look_closely(entry *e, mp_obj_t *items, const mp_buffer_info_t *info, int32_t n,
    float *low, float *high) {
    int32_t d = e->d, all = SVM_WHOLE;
    e->type = SVM_FLOAT32;
    e->stride = d << 2;
    for (int32_t k = 0; k <= d; k++) {
        low[k] = 3.0e38f;
        high[k] = -3.0e38f;
    }
    for (int32_t k = 0; k < n && all >= 0; k++) {
        const float *row = row_of(e, items, info, (size_t)k);
        int32_t whole = row ? svm_widen(low, high, row, d) : SVM_STRANGE;
        all = whole < all ? whole : all;
    }
    for (int32_t k = 0; k < d; k++) {
        low[d] = low[k] < low[d] ? low[k] : low[d];
        high[d] = high[k] > high[d] ? high[k] : high[d];
    }
    return all;
}

/* Storage type for the rows, or SVM_STRANGE. */
static int32_t look_at(entry *e, mp_obj_t *items, const mp_buffer_info_t *info, int32_t n,
    int32_t wanted) {
    int32_t d = e->d, type = items ? SVM_FLOAT32 : type_of(info->typecode), have = type;
    float *low = m_malloc((size_t)(d + 1) * 12), *high = low + d + 1;
    e->row = high + d + 1;
    if (type == SVM_FLOAT32) {
        int32_t whole = look_closely(e, items, info, n, low, high);
        type = whole < 0 ? whole : svm_smallest_type(low[d], high[d], whole, wanted);
    } else {
        svm_range(info->buf, type, n * d, low + d, high + d);
        type = svm_smallest_type(low[d], high[d], SVM_WHOLE, wanted);
        if (wanted < 0 && have == SVM_INT8) {
            type = have; /* rows will be of this type, too */
        }
    }
    if (type >= SVM_INT16 || high[d] - low[d] > 100.0f) {
        if (have != SVM_FLOAT32) {
            look_closely(e, items, info, n, low, high);
        }
        if (svm_is_uneven(low, high, d)) {
            type = SVM_STRANGE;
        }
    }
    MODULE_GIVE(low, (size_t)(d + 1) * 12);
    return type;
}

/* Find the rows a place: their own, where they have the type already. */
static bool take_rows(fit_data *o, mp_obj_t x, int32_t wanted) {
    mp_obj_t *items;
    mp_buffer_info_t info;
    int32_t d = features(o, x, &items, &info);
    if (d < 1 || d > 32767 || d * o->n > MOST_NUMBERS) {
        return false;
    }
    entry e;
    e.d = d;
    e.offset = NULL;
    int32_t type = look_at(&e, items, &info, o->n, wanted);
    if (type < 0) {
        return false;
    }
    e.type = type;
    e.stride = d << size_of(type);
    o->p.x_bytes = e.stride * o->n;
    if (!items && type_of(info.typecode) == type && mp_obj_get_type(x) != &mp_type_bytes) {
        o->x = x;
        o->p.x = info.buf;
    } else {
        uint8_t *to = m_malloc((size_t)o->p.x_bytes);
        o->p.x = to;
        for (int32_t k = 0; k < o->n; k++) {
            e.row = to;
            const uint8_t *from = row_of(&e, items, &info, (size_t)k);
            for (int32_t b = 0; from && from != to && b < e.stride; b++) {
                to[b] = from[b];
            }
            if (!from) {
                return false;
            }
            to += e.stride;
        }
    }
    o->par[P_XTYPE] = (float)type;
    o->par[P_FEATURES] = (float)d;
    return true;
}

static void take_options(fit_data *o, mp_obj_t *options) {
    float *par = o->par;
    int32_t kind = mp_obj_get_int(options[O_KIND]), d = (int32_t)par[P_FEATURES];
    par[P_KERNEL] = (float)kind;
    par[P_C_POS] = par[P_C_NEG] = mp_obj_get_float_to_f(options[O_C]);
    par[P_DEGREE] = mp_obj_get_float_to_f(options[O_DEGREE]);
    par[P_EPS] = o->tol = mp_obj_get_float_to_f(options[O_TOL]);
    par[P_COEF0] = mp_obj_get_float_to_f(options[O_COEF0]);
    par[P_MAX_ITER] = mp_obj_get_float_to_f(options[O_MAX_ITER]);
    par[P_GAMMA] = 1.0f;
    if (kind != SVM_LINEAR) {
        par[P_GAMMA] = options[O_GAMMA] != mp_const_none ? mp_obj_get_float_to_f(options[O_GAMMA])
            : svm_scale_gamma(o->p.x, (int32_t)par[P_XTYPE], o->n * d, d);
    }
}

/* Solver state for the largest pair, with as many kernel rows as are of use, allowed, and found
 * room for. */
static void reserve(fit_data *o) {
    int32_t n = o->largest, most = 6 * o->p.x_bytes;
    most = most < CACHE_LEAST ? CACHE_LEAST : most > CACHE_MOST ? CACHE_MOST : most;
    for (; !o->p.work; most >>= 1) {
        int32_t room = (most >> 2) - svm_work_words(n, 1, 0), slots = 2;
        if (room > 3 * (n + 2)) {
            slots = (int32_t)svm_quotient((uint32_t)room, (uint32_t)(n + 2));
            slots = slots > n ? n : slots;
        }
        o->p.words = svm_work_words(n, 1, slots);
        size_t bytes = 4 * (size_t)o->p.words;
        o->p.work = slots > 2 ? MODULE_TAKE(bytes) : m_malloc(bytes);
    }
    o->p.par = o->par;
    o->p.is_float = 1;
}

/* Start the solver on classes i and j. */
static mp_obj_t begin_pair(fit_data *o) {
    int16_t *rows = (int16_t *)o->p.rows;
    int32_t n = 0;
    for (int32_t r = 0; r < o->n; r++) {
        if (o->numbers[r] == o->i) {
            rows[n++] = (int16_t)r;
        } else if (o->numbers[r] == o->j) {
            rows[n++] = (int16_t)~r;
        }
    }
    o->p.n = n;
    o->again = 0;
    o->par[P_WARM] = 0;
    int32_t cost = n * (4 * (o->par[P_KERNEL] == SVM_RBF ? 2 : 1) * (int32_t)o->par[P_FEATURES] + 140);
    o->at_once = cost > PIECE ? 1 : (int32_t)svm_quotient(PIECE, (uint32_t)cost);
    return svm_start(&o->p) == SVM_RUNNING ? mp_const_none : mp_const_false;
}

/* Weights, bias and weights as integers, or None where rows are not bytes. */
static mp_obj_t linear_pair(fit_data *o) {
    int32_t d = (int32_t)o->par[P_FEATURES], type = (int32_t)o->par[P_XTYPE];
    size_t bytes = 8 + 4 * (size_t)d, rounded = 8 + 4 * (((size_t)d + 1) >> 1);
    float *w = m_malloc(bytes);
    svm_collapse(&o->p, w, (int32_t)bytes);
    mp_obj_t parts[3] = {new_array(o, SVM_FLOAT32, w, bytes), mp_obj_new_float_from_f(w[1]), mp_const_none};
    if (type <= SVM_UINT8) {
        int32_t *q = m_malloc(rounded);
        svm_round_weights(w, d, type, q);
        parts[2] = new_array(o, IS_INT32, q, rounded);
        MODULE_GIVE(q, rounded);
    }
    MODULE_GIVE(w, bytes);
    return mp_obj_new_tuple(3, parts);
}

/* Rows, coefficients, bias and parameters. */
static mp_obj_t kernel_pair(fit_data *o, int32_t count) {
    const float *work = o->p.work, *beta = work + SVM_HEAD;
    int16_t *rows = m_malloc(2 * (size_t)count);
    float *kept = m_malloc(4 * (size_t)count);
    count = 0;
    for (int32_t k = 0; k < o->p.n; k++) {
        if (beta[k] != 0) {
            rows[count] = o->p.rows[k];
            kept[count++] = beta[k];
        }
    }
    mp_obj_t parts[4] = {
        new_array(o, SVM_INT16, rows, 2 * (size_t)count),
        new_array(o, SVM_FLOAT32, kept, 4 * (size_t)count),
        mp_obj_new_float_from_f(work[W_BIAS]),
        new_array(o, SVM_FLOAT32, o->par, sizeof(o->par)),
    };
    MODULE_GIVE(rows, 2 * (size_t)count);
    MODULE_GIVE(kept, 4 * (size_t)count);
    return mp_obj_new_tuple(4, parts);
}

/* Keep the stored rows that support something, and number them anew in all pairs. */
static mp_obj_t compact(fit_data *o) {
    int32_t stride = o->p.x_bytes / o->n, count = 0;
    uint8_t *x = (uint8_t *)o->p.x;
    size_t len, pairs;
    mp_obj_t *items, *parts;
    for (int32_t r = 0; r < o->n; r++) {
        if (o->used[r]) {
            for (int32_t b = 0; b < stride; b++) {
                x[count * stride + b] = x[r * stride + b];
            }
            o->used[r] = (int16_t)count++;
        }
    }
    mp_obj_get_array(o->pairs, &pairs, &items);
    for (size_t k = 0; k < pairs; k++) {
        mp_buffer_info_t rows;
        mp_obj_get_array(items[k], &len, &parts);
        mp_get_buffer_raise(parts[0], &rows, MP_BUFFER_RW);
        int16_t *r = rows.buf, *end = r + (rows.len >> 1);
        for (; r < end; r++) {
            *r = *r < 0 ? (int16_t)~o->used[~*r] : o->used[*r];
        }
    }
    return new_array(o, (int32_t)o->par[P_XTYPE], x, (size_t)(count * stride));
}

/* labels, features, storage type, stored rows or None, pairs, iterations, gap, converged?, support
 * vectors, notes */
static mp_obj_t fit_result(fit_data *o) {
    int32_t support = 0;
    for (int32_t r = 0; r < o->n; r++) {
        support += o->used[r] != 0;
    }
    mp_obj_t x = o->x;
    if (o->par[P_KERNEL] == SVM_LINEAR) {
        x = mp_const_none;
    } else if (x == mp_const_none) {
        x = compact(o);
    }
    mp_obj_t parts[10] = {
        mp_obj_new_bytes(o->labels, (size_t)o->classes),
        MP_OBJ_NEW_SMALL_INT((int32_t)o->par[P_FEATURES]),
        MP_OBJ_NEW_SMALL_INT((int32_t)o->par[P_XTYPE]),
        x,
        o->pairs,
        mp_obj_new_int(o->iterations),
        mp_obj_new_float_from_f(o->gap),
        mp_obj_new_bool(o->converged),
        MP_OBJ_NEW_SMALL_INT(support),
        o->notes,
    };
    return mp_obj_new_tuple(10, parts);
}

/* Take over the present pair and begin the next one. */
static mp_obj_t end_pair(fit_data *o, int32_t status) {
    const float *work = o->p.work;
    svm_note note;
    if (status < 0 || status == SVM_NON_FINITE || (work[W_COUNT] == 0 && o->tol < 1.0f)) {
        return mp_const_false;
    }
    for (int32_t k = 0; k < o->p.n; k++) {
        if (work[SVM_HEAD + k] != 0) {
            o->used[svm_row(o->p.rows[k])] = 1;
        }
    }
    bool is_linear = o->par[P_KERNEL] == SVM_LINEAR;
    mp_obj_list_append(o->pairs, is_linear ? linear_pair(o) : kernel_pair(o, (int32_t)work[W_COUNT]));
    svm_look(&o->p, status, &note);
    if (note.kind || note.only) {
        if (o->notes == mp_const_none) {
            o->notes = mp_obj_new_list(0, NULL);
        }
        mp_obj_t parts[6] = {
            MP_OBJ_NEW_SMALL_INT(note.kind), MP_OBJ_NEW_SMALL_INT(o->p.n),
            mp_obj_new_float_from_f(note.square), mp_obj_new_float_from_f(work[W_TOP]),
            mp_obj_new_float_from_f(note.top),
            MP_OBJ_NEW_SMALL_INT(note.only == 0 ? -1 : note.only == 1 ? o->i : o->j),
        };
        mp_obj_list_append(o->notes, mp_obj_new_tuple(6, parts));
    }
    o->converged &= status == SVM_CONVERGED;
    o->iterations += (int32_t)work[W_ITER];
    o->gap = work[W_GAP] > o->gap ? work[W_GAP] : o->gap;
    if (++o->j == o->classes) {
        o->j = ++o->i + 1;
    }
    return o->j < o->classes ? begin_pair(o) : fit_result(o);
}

/* A piece of the training. None: call again; False: Python has to do it; or the result. */
static mp_obj_t fit_call(mp_obj_t self, size_t n_args, size_t n_kw, const mp_obj_t *args) {
    fit_data *o = MP_OBJ_TO_PTR(self);
    mp_buffer_info_t now;
    (void)n_args;
    (void)n_kw;
    (void)args;
    if (o->x != mp_const_none) {
        mp_get_buffer_raise(o->x, &now, MP_BUFFER_READ);
        if (now.buf != o->p.x || (int32_t)now.len < o->p.x_bytes) {
            return mp_const_false; /* it moved */
        }
    }
    int32_t status = svm_step(&o->p, o->at_once);
    if (status == SVM_CONVERGED && svm_has_drifted(&o->p, o->again)) {
        o->again++;
        o->iterations += (int32_t)((float *)o->p.work)[W_ITER];
        o->par[P_WARM] = SVM_GO_ON;
        status = svm_start(&o->p);
    }
    return status == SVM_RUNNING ? mp_const_none : end_pair(o, status);
}

/* X, y, (array.array, "b", "B", "h", "f", "i"), options: a training, or None. */
static mp_obj_t svm_mod_fit(size_t n_args, const mp_obj_t *args) {
    size_t len;
    mp_obj_t *options;
    (void)n_args;
    mp_obj_get_array(args[3], &len, &options);
    mp_obj_t *labels;
    const uint8_t *bytes = NULL;
    size_t n = labels_in(args[1], &labels, &bytes);
    if (n < 2 || n > 32767) {
        return mp_const_none;
    }
    size_t words = (sizeof(fit_data) + 5 * n + 3) / 4;
    fit_data *o = m_malloc(4 * words);
    for (size_t k = 0; k < words; k++) {
        ((uint32_t *)o)[k] = 0;
    }
    o->n = (int32_t)n;
    o->used = o->space;
    o->p.rows = o->space + n;
    o->numbers = (uint8_t *)(o->space + 2 * n);
    o->base.type = (mp_obj_type_t *)&o->type;
    o->type.base.type = &mp_type_type;
    MP_OBJ_TYPE_SET_SLOT(&o->type, call, fit_call, 0);
    o->x = o->notes = mp_const_none;
    mp_obj_get_array(args[2], &len, &o->codes);
    o->pairs = mp_obj_new_list(0, NULL);
    o->j = o->converged = 1;
    if (!take_labels(o, labels, bytes)
        || !take_rows(o, args[0], mp_obj_get_int(options[O_TYPE]))) {
        return mp_const_none;
    }
    take_options(o, options);
    reserve(o);
    return begin_pair(o) == mp_const_none ? MP_OBJ_FROM_PTR(o) : mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(fit_obj, 4, 4, svm_mod_fit);

/* x, storage type, d: the kernel's factor for stored rows. */
static mp_obj_t svm_mod_gamma(mp_obj_t x, mp_obj_t type, mp_obj_t d) {
    void *at;
    int32_t kind = mp_obj_get_int(type), bytes = (int32_t)get(x, &at, MP_BUFFER_READ);
    return mp_obj_new_float_from_f(svm_scale_gamma(at, kind, bytes >> size_of(kind), mp_obj_get_int(d)));
}
static MP_DEFINE_CONST_FUN_OBJ_3(gamma_obj, svm_mod_gamma);

#define NAMES(OBJECT, NUMBER) \
    OBJECT(MP_QSTR_gamma, gamma_obj) \
    OBJECT(MP_QSTR_fit, fit_obj)

MODULE(_svm_fit, svm_fit_user_module, NAMES)
#endif
