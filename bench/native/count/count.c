/* SPDX-License-Identifier: MIT
 * QEMU plugin that counts the instructions of a program: at each entry of the function at `mark`
 * (hexadecimal) the count so far is written to the file `out`, a line each. The few functions of
 * QEMU's plugin interface (version 1) that it needs are declared here. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
typedef void (*on_translation)(plugin_id, struct qemu_plugin_tb *);
typedef void (*on_execution)(unsigned cpu, void *block);

#define EXPORTED __attribute__((visibility("default")))

extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, on_translation);
extern void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, on_execution, int flags,
    void *block);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
extern uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *);

EXPORTED int qemu_plugin_version = 1;

typedef struct {
    uint64_t address;
    uint64_t instructions;
} block;

static uint64_t mark, count;
static FILE *out;

static void executed(unsigned cpu, void *data) {
    const block *b = data;
    (void)cpu;
    if (b->address == mark) {
        fprintf(out, "%llu\n", (unsigned long long)count);
        fflush(out);
    }
    count += b->instructions;
}

/* A block is kept for as long as the program runs: QEMU may still hold it. */
static void translated(plugin_id id, struct qemu_plugin_tb *tb) {
    block *b = malloc(sizeof(block));
    (void)id;
    if (!b) {
        abort();
    }
    b->address = qemu_plugin_tb_vaddr(tb);
    b->instructions = qemu_plugin_tb_n_insns(tb);
    qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, 0, b);
}

EXPORTED int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv) {
    (void)info;
    for (int k = 0; k < argc; k++) {
        if (!strncmp(argv[k], "mark=", 5)) {
            mark = strtoull(argv[k] + 5, NULL, 16);
        } else if (!strncmp(argv[k], "out=", 4)) {
            out = fopen(argv[k] + 4, "w");
        }
    }
    if (!mark || !out) {
        fprintf(stderr, "count: expected mark=ADDRESS and out=FILE\n");
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    return 0;
}
