/* SPDX-License-Identifier: MIT
 * `_svm_predict` from one text, which is smallest. */
#include "module.h"

__attribute__((externally_visible)) mp_obj_t mpy_init(mp_obj_fun_bc_t *self, size_t n_args,
    size_t n_kw, mp_obj_t *args);

#include "svm_linear.c"
#include "svm_fixed.c"
#include "svm_float.c"
#include "svm.c"
#include "svm_model.c"
#include "svm_round.c"
#include "svm_read.c"
#include "svm_read_mod.c"
