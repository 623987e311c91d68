/* SPDX-License-Identifier: MIT
 * Runs a program: the loop, and the instructions that move bytes. */
#include "net_rare.h"

/* x y rows n xpitch ypitch */
static void run_copy(net_reader *r) {
    uint32_t rows = r->v[2], n = net_times(r, r->v[3], NET_ELEMENT), last = rows - (rows > 0);
    uint32_t x_pitch = net_times(r, r->v[4], NET_ELEMENT);
    uint32_t y_pitch = net_times(r, r->v[5], NET_ELEMENT);
    const int8_t *from = net_input(r, r->v[0], net_times(r, last, x_pitch) + n);
    uint8_t *to = net_arena(r, r->v[1], net_times(r, last, y_pitch) + n, 1);
    for (uint32_t row = 0; row < rows && !r->fault; row++) {
        for (uint32_t i = 0; i < n; i++) {
            to[i] = (uint8_t)from[i];
        }
        from += x_pitch;
        to += y_pitch;
    }
}

static int run_page(net_reader *r, uint32_t op) {
    int32_t *par = r->call->par;
    net_arena(r, r->v[1], r->v[2], 1);
    par[NET_PAGE_OP] = (int32_t)op;
    for (uint32_t i = 0; i < 3; i++) {
        par[NET_PAGE_NUMBER + i] = (int32_t)r->v[i];
    }
    return NET_PAGE;
}

/* Runs an instruction of one kernel, or says that another module has it. */
static int run_kernel(net_reader *r, uint32_t op) {
    int found = NET_OTHER;
    if (op >= NET_OP_RARE) {
#if NET_HAS_RARE
        found = net_rare(r, op);
#endif
    } else if (op >= NET_OP_LOSS && op <= NET_OP_MAX_POOL_GRADIENT) {
#if NET_HAS_TRAINING
        found = net_train(r, op);
#endif
    } else {
#if NET_HAS_FORWARD
        found = net_forward(r, op);
#endif
    }
    if (!found) {
        r->fault = NET_BAD_CODE;
    }
    return found == NET_OTHER ? NET_OTHER : NET_DONE;
}

/* Runs one instruction; returns NET_DONE, or what the caller must do first: NET_PAGE, and
 * NET_OTHER with nothing done. */
static int run_one(net_reader *r) {
    int status = NET_DONE;
    uint32_t op = *r->code++;
    net_operands(r, op);
    if (op == NET_OP_PITCH && r->code < r->end) {
        r->x_pitch = r->v[0];
        r->y_pitch = r->v[1];
        op = *r->code++;
        net_operands(r, op);
    }
    if (r->fault) {
        return 0;
    }
    switch (op) {
        case NET_OP_COPY:
        case NET_OP_KEEP:
            if (op == NET_OP_COPY || r->call->par[NET_TRAINING]) {
                run_copy(r);
            }
            break;
        case NET_OP_PAGE_OUT:
        case NET_OP_PAGE_KEEP:
        case NET_OP_PAGE_IN:
            if (op != NET_OP_PAGE_KEEP || r->call->par[NET_TRAINING]) {
                status = run_page(r, op);
            }
            break;
        case NET_OP_FREE:
            break;
        default:
            status = run_kernel(r, op);
    }
    r->x_pitch = r->y_pitch = 0;
    return status;
}

/* A number of the header, which begins at a multiple of 4. */
#define WORD(head, field) (*(const uint32_t *)((head) + (field)))
#define HALF(head, field) (*(const uint16_t *)((head) + (field)))

/* Finds the code, from NET_AT to NET_UNTIL, the constants and the state. */
static void open_program(net_reader *r, const net_call *call) {
    const uint8_t *head = call->program;
    int32_t *par = call->par;
    r->fault = NET_BAD_CODE;
    if (call->program_bytes < NET_P_BYTES || head[NET_P_FORMAT] != NET_FORMAT
        || head[NET_P_DTYPE] != (NET_ELEMENT == 4)
        || (((uintptr_t)head | (uintptr_t)call->arena) & 3)) {
        return;
    }
    uint32_t constants = WORD(head, NET_P_CONSTANTS);
    r->constants = head + constants;
    r->constants_bytes = WORD(head, NET_P_CONSTANTS_BYTES);
    if ((constants & 3) || constants < NET_P_BYTES || constants > call->program_bytes
        || r->constants_bytes > call->program_bytes - constants || par[NET_AT] < 0
        || par[NET_UNTIL] < par[NET_AT] || (uint32_t)par[NET_UNTIL] > constants - NET_P_BYTES) {
        return;
    }
    r->fault = 0;
    r->code = head + NET_P_BYTES + par[NET_AT];
    r->end = head + NET_P_BYTES + par[NET_UNTIL];
    r->optimizer = head[NET_P_OPTIMIZER];
    r->slots = HALF(head, NET_P_SLOTS);
    r->table = WORD(head, NET_P_TABLE);
    r->state = (net_state *)net_arena(r, WORD(head, NET_P_STATE),
        NET_S_BYTES + 2 * r->slots, 4);
}

int32_t net_run(const net_call *call) {
    net_reader r;
    r.call = call;
    r.x_pitch = r.y_pitch = 0;
    open_program(&r, call);
    int32_t *par = call->par, left = par[NET_BUDGET], status = NET_DONE;
    while (!r.fault && r.code < r.end) {
        if (left-- <= 0) {
            return NET_MORE;
        }
        status = run_one(&r);
        if (status == NET_OTHER) {
            par[NET_BUDGET] = left + 1;
            return status;
        }
        if (!r.fault) {
            par[NET_AT] = (int32_t)(r.code - call->program) - NET_P_BYTES;
        }
        if (status != NET_DONE) {
            break;
        }
    }
    return r.fault ? r.fault : status;
}
