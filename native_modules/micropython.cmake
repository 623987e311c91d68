# SPDX-License-Identifier: MIT
# The C modules as part of a firmware: USER_C_MODULES=THIS_REPOSITORY/native_modules/micropython.cmake
# The list of files is that of micropython.mk; a test compares them.
add_library(usermod_acclimate INTERFACE)

target_sources(usermod_acclimate INTERFACE
    ${CMAKE_CURRENT_LIST_DIR}/codec/codec_mod.c
    ${CMAKE_CURRENT_LIST_DIR}/codec/sha256.c
    ${CMAKE_CURRENT_LIST_DIR}/codec/crc32.c
    ${CMAKE_CURRENT_LIST_DIR}/codec/buffers.c
    ${CMAKE_CURRENT_LIST_DIR}/codec/rangecoder.c
    ${CMAKE_CURRENT_LIST_DIR}/codec/window.c
    ${CMAKE_CURRENT_LIST_DIR}/svm/svm_mod.c
    ${CMAKE_CURRENT_LIST_DIR}/svm/svm.c
    ${CMAKE_CURRENT_LIST_DIR}/svm/svm_fixed.c
    ${CMAKE_CURRENT_LIST_DIR}/svm/svm_float.c
    ${CMAKE_CURRENT_LIST_DIR}/svm/svm_linear.c
    ${CMAKE_CURRENT_LIST_DIR}/svm/svm_model.c
    ${CMAKE_CURRENT_LIST_DIR}/svm/svm_fit_mod.c
    ${CMAKE_CURRENT_LIST_DIR}/svm/svm_fit.c
    ${CMAKE_CURRENT_LIST_DIR}/svm_linear/linear_mod.c
    ${CMAKE_CURRENT_LIST_DIR}/svm_linear/linear.c
    ${CMAKE_CURRENT_LIST_DIR}/frontend/frontend_mod.c
    ${CMAKE_CURRENT_LIST_DIR}/frontend/frontend.c
    ${CMAKE_CURRENT_LIST_DIR}/frontend/fft.c
    ${CMAKE_CURRENT_LIST_DIR}/frontend/levels.c
    ${CMAKE_CURRENT_LIST_DIR}/net/net_mod.c
    ${CMAKE_CURRENT_LIST_DIR}/net/net_run.c
    ${CMAKE_CURRENT_LIST_DIR}/net/net_read.c
    ${CMAKE_CURRENT_LIST_DIR}/net/net_bounds.c
    ${CMAKE_CURRENT_LIST_DIR}/net/net_rows.c
    ${CMAKE_CURRENT_LIST_DIR}/net/pool_window.c
    ${CMAKE_CURRENT_LIST_DIR}/net/net_forward.c
    ${CMAKE_CURRENT_LIST_DIR}/net/conv_fast.c
    ${CMAKE_CURRENT_LIST_DIR}/net/conv_quads.c
    ${CMAKE_CURRENT_LIST_DIR}/net/depthwise_fast.c
    ${CMAKE_CURRENT_LIST_DIR}/net/store.c
    ${CMAKE_CURRENT_LIST_DIR}/net/dot.c
    ${CMAKE_CURRENT_LIST_DIR}/net/elements.c
    ${CMAKE_CURRENT_LIST_DIR}/net/net_train.c
    ${CMAKE_CURRENT_LIST_DIR}/net/softmax.c
    ${CMAKE_CURRENT_LIST_DIR}/net/block.c
    ${CMAKE_CURRENT_LIST_DIR}/net/gradient.c
    ${CMAKE_CURRENT_LIST_DIR}/net/depthwise_gradient.c
    ${CMAKE_CURRENT_LIST_DIR}/net/scatter.c
    ${CMAKE_CURRENT_LIST_DIR}/net/update.c
    ${CMAKE_CURRENT_LIST_DIR}/net/weights.c
    ${CMAKE_CURRENT_LIST_DIR}/net/gradient_fast.c
    ${CMAKE_CURRENT_LIST_DIR}/net/weights_fast.c
    ${CMAKE_CURRENT_LIST_DIR}/net/sums.c
    ${CMAKE_CURRENT_LIST_DIR}/net/net_rare.c
    ${CMAKE_CURRENT_LIST_DIR}/net/loss.c
    ${CMAKE_CURRENT_LIST_DIR}/net/gates.c
    ${CMAKE_CURRENT_LIST_DIR}/net/norm.c
    ${CMAKE_CURRENT_LIST_DIR}/net/lstm.c
    ${CMAKE_CURRENT_LIST_DIR}/net/svdf.c
    ${CMAKE_CURRENT_LIST_DIR}/net/attention.c
    ${CMAKE_CURRENT_LIST_DIR}/net/decay.c
    ${CMAKE_CURRENT_LIST_DIR}/net/random_step.c
    ${CMAKE_CURRENT_LIST_DIR}/net/net_dot_m0.S
    ${CMAKE_CURRENT_LIST_DIR}/net/net_dot_m4f.S
    ${CMAKE_CURRENT_LIST_DIR}/net/net_sums_m4f.S
)

# The curve is Monocypher's (tools/monocypher_source.sh FOLDER): without it neither
# `_ed25519` nor `_xchacha` is built in.
if(NOT DEFINED MONOCYPHER_DIR)
    set(MONOCYPHER_DIR ${CMAKE_CURRENT_LIST_DIR}/../out/monocypher)
endif()
if(EXISTS ${MONOCYPHER_DIR}/monocypher.c)
    target_sources(usermod_acclimate INTERFACE
        ${CMAKE_CURRENT_LIST_DIR}/ed25519/ed25519_mod.c
        ${CMAKE_CURRENT_LIST_DIR}/ed25519/ed25519.c
        ${CMAKE_CURRENT_LIST_DIR}/xchacha/xchacha_mod.c
        ${CMAKE_CURRENT_LIST_DIR}/xchacha/xchacha.c
    )
    target_include_directories(usermod_acclimate INTERFACE ${MONOCYPHER_DIR})
endif()

target_include_directories(usermod_acclimate INTERFACE
    ${CMAKE_CURRENT_LIST_DIR}/common
    ${CMAKE_CURRENT_LIST_DIR}/codec
    ${CMAKE_CURRENT_LIST_DIR}/svm
    ${CMAKE_CURRENT_LIST_DIR}/svm_linear
    ${CMAKE_CURRENT_LIST_DIR}/net
    ${CMAKE_CURRENT_LIST_DIR}/ed25519
    ${CMAKE_CURRENT_LIST_DIR}/xchacha
    ${CMAKE_CURRENT_LIST_DIR}/frontend
)

# The same results bit for bit as on the host: no contraction of a product and a sum.
target_compile_definitions(usermod_acclimate INTERFACE ACCLIMATE_USER_MODULE SVM_MODULE NET_FAST)
target_compile_options(usermod_acclimate INTERFACE -ffp-contract=off)

target_link_libraries(usermod INTERFACE usermod_acclimate)
