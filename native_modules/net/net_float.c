/* SPDX-License-Identifier: MIT
 * The interpreter once more, for float32 programs: the same files under other names. */
#define NET_FLOAT
#undef NET_FAST
#define net_run net_run_f32
#define net_operands net_operands_f32
#define net_get_layer net_get_layer_f32
#define net_is_depthwise net_is_depthwise_f32
#define net_get_conv net_get_conv_f32
#define net_get_pool net_get_pool_f32
#define net_optional net_optional_f32
#define net_times net_times_f32
#define net_arena net_arena_f32
#define net_constant net_constant_f32
#define net_input net_input_f32
#define net_slot net_slot_f32
#define net_forward net_forward_f32
#define net_train net_train_f32
#define net_rare net_rare_f32
#define net_squared_loss net_squared_loss_f32
#define net_binary_loss net_binary_loss_f32
#define net_weight_decay net_weight_decay_f32
#define net_multiply net_multiply_f32
#define net_product_gradient net_product_gradient_f32
#define net_norm net_norm_f32
#define net_norm_gradient net_norm_gradient_f32
#define net_attention net_attention_f32
#define net_attention_gradient net_attention_gradient_f32
#define net_gather_gradient net_gather_gradient_f32
#define net_conv net_conv_f32
#define net_depthwise net_depthwise_f32
#define net_add net_add_f32
#define net_pool net_pool_f32
#define net_pad net_pad_f32
#define net_softmax_loss net_softmax_loss_f32
#define net_input_gradient net_input_gradient_f32
#define net_depthwise_gradient net_depthwise_gradient_f32
#define net_pool_gradient net_depthwise_gradient_f32
#define net_clamp_gradient net_clamp_gradient_f32
#define net_sum_gradients net_sum_gradients_f32
#define net_bias_update net_bias_update_f32
#define net_weight_update net_weight_update_f32
#define net_depthwise_update net_depthwise_update_f32

#include "net_bounds.c"
#include "net_read.c"
#if NET_HAS_FORWARD
#include "float_forward.h"
#include "net_forward.c"
#endif
#if NET_HAS_TRAINING
#include "float_training.h"
#include "net_train.c"
#endif
#if NET_HAS_RARE
#include "float_rare.h"
#include "net_rare.c"
#endif
#include "net_run.c"
