/* SPDX-License-Identifier: MIT
 * `_svm_predict` or `_svm_weights` from one text, which is smallest. Names that it has are
 * looked for in this file: MP_QSTR_SVM, MP_QSTR_predict, MP_QSTR__file. */
#include "module.h"

__attribute__((externally_visible)) mp_obj_t mpy_init(mp_obj_fun_bc_t *self, size_t n_args,
    size_t n_kw, mp_obj_t *args);

#include "svm_linear.c"
#include "svm.c"
#include "svm_round.c"
#include "svm_check.c"
#if defined(SVM_WEIGHTS)
#include "svm_weights.c"
#else
#include "svm_fixed.c"
#include "svm_float.c"
#include "svm_model.c"
#include "svm_read.c"
#endif
#include "svm_read_mod.c"
