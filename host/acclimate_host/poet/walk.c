/* SPDX-License-Identifier: MIT */
/* One walk of greedy.py in C: the same steps, the same numbers to the bit. See there for what it
 * does; names are the same. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NEVER INFINITY
#define SMALL 1e-30

enum { COMPUTE, FREE, PAGEIN, KINDS };
enum { AGAIN = 1, PAGED = 2 };

/* The graph. Rows of a list: entries start[i] to start[i + 1] of it. */
typedef struct {
    int32_t count, words, deep, most_steps;
    const int32_t *read_start, *reads, *use_start, *uses, *reader_start, *readers;
    const int64_t *size, *need, *blocks;
    const uint8_t *may;
    const uint64_t *reader_bits, *below;
    const double *joules, *joules_in, *joules_out, *log_size, *log_step;
    int64_t resident, limit, aux, erases; /* of the last two -1 is no limit */
} walk_facts;

/* What one walk is led by. most may be NULL, and keep_start as well. */
typedef struct {
    double a, b, c, pull;
    const double *factors, *leans, *compute, *pagein, *trip, *first_back, *most, *keep;
    const int32_t *keep_start, *keep_index;
} walk_draw;

/* The walk. What greedy.py reads comes first. */
typedef struct {
    double spent;
    int32_t *steps, steps_count, stages;
    double *profile;
    uint8_t *stored;
    /* from here on it is C's alone */
    const walk_facts *f;
    const walk_draw *d;
    int32_t steps_room, stage, todo_room;
    int32_t *todo, *guard, *next, *older, *newer; /* the last two: tensors by when they came */
    uint8_t *here, *scored;
    double *cost, *back, *base, *scores, *keep;
    uint64_t *gone, *lost, *seen, *found, *fresh;
    int64_t used, written, erased;
    int is_ended; /* too many steps, or no memory */
} walk;

static int compute(walk *w, int32_t v, int32_t depth);

static void set(uint64_t *bits, int32_t i) {
    bits[i >> 6] |= 1ull << (i & 63);
}

static void clear(uint64_t *bits, int32_t i) {
    bits[i >> 6] &= ~(1ull << (i & 63));
}

static int32_t *grown(int32_t *list, int32_t *room) {
    int32_t *longer = realloc(list, (size_t)*room * 2 * sizeof(*list));
    if (longer) {
        *room *= 2;
    }
    return longer;
}

static void step(walk *w, int32_t kind, int32_t i) {
    if (w->steps_count == w->steps_room) {
        int32_t *longer = grown(w->steps, &w->steps_room);
        if (!longer) {
            w->is_ended = 1;
            return;
        }
        w->steps = longer;
    }
    w->steps[w->steps_count++] = i * KINDS + kind;
    w->is_ended |= w->steps_count > w->f->most_steps;
}

static void changed(walk *w, int32_t i, double back) {
    w->back[i] = back;
    w->scored[i] = 0;
}

/* What it costs to compute u, with its inputs that are not there. */
static double with_inputs(const walk *w, int32_t u) {
    double cost = w->d->compute[u];
    for (int32_t k = w->f->read_start[u]; k < w->f->read_start[u + 1]; k++) {
        int32_t j = w->f->reads[k];
        if (!w->here[j]) {
            cost += w->back[j];
        }
    }
    return cost;
}

static double trip(const walk *w, int32_t i) {
    return w->stored[i] ? w->d->pagein[i] : w->d->trip[i];
}

/* Work out anew what depends on whether tensor i is there. */
static void spread(walk *w, int32_t i) {
    const walk_facts *f = w->f;
    int32_t count = 1;
    w->todo[0] = i;
    for (int32_t at = 0; at < count; at++) {
        int32_t v = w->todo[at];
        for (int32_t k = f->reader_start[v]; k < f->reader_start[v + 1]; k++) {
            int32_t u = f->readers[k];
            if (u > w->stage) {
                break;
            }
            double cost = w->cost[u] = with_inputs(w, u), paged = trip(w, u);
            cost = cost > paged ? paged : cost;
            if (cost == w->back[u]) {
                continue;
            }
            changed(w, u, cost);
            if (w->here[u]) {
                continue;
            }
            if (count == w->todo_room) {
                int32_t *longer = grown(w->todo, &w->todo_room);
                if (!longer) {
                    w->is_ended = 1;
                    return;
                }
                w->todo = longer;
            }
            w->todo[count++] = u;
        }
    }
}

static void enter(walk *w, int32_t kind, int32_t i) {
    int32_t end = w->f->count; /* where the list of what is there begins and ends */
    step(w, kind, i);
    w->here[i] = 1;
    clear(w->gone, i);
    clear(w->lost, i);
    w->older[i] = w->older[end];
    w->newer[i] = end;
    w->newer[w->older[end]] = i;
    w->older[end] = i;
    w->used += w->f->size[i];
    spread(w, i);
}

static int is_over(const walk *w, int32_t i) {
    return w->next[i] == w->f->use_start[i + 1] - w->f->use_start[i];
}

static void leave(walk *w, int32_t i) {
    step(w, FREE, i);
    w->here[i] = 0;
    set(w->lost, i);
    if (!is_over(w, i)) {
        set(w->gone, i);
    }
    w->newer[w->older[i]] = w->newer[i];
    w->older[w->newer[i]] = w->older[i];
    w->used -= w->f->size[i];
    spread(w, i);
}

/* Have tensor i written when it is made; whether the storage takes it. */
static int store(walk *w, int32_t i) {
    const walk_facts *f = w->f;
    int64_t written = w->written + f->size[i], erased = w->erased + f->blocks[i];
    if (w->stored[i]) {
        return 1;
    }
    if (!(f->may[i] & PAGED) || (f->aux >= 0 && written > f->aux)
        || (f->erases >= 0 && erased > f->erases)) {
        return 0;
    }
    w->stored[i] = 1;
    w->spent += f->joules_out[i];
    changed(w, i, w->d->pagein[i] < w->back[i] ? w->d->pagein[i] : w->back[i]);
    w->written = written;
    w->erased = erased;
    return 1;
}

static int meet(const uint64_t *a, const uint64_t *b, int32_t words) {
    for (int32_t k = 0; k < words; k++) {
        if (a[k] & b[k]) {
            return 1;
        }
    }
    return 0;
}

/* Add to `found` the readers of all of `fresh`. */
static void add_readers(walk *w) {
    int32_t words = w->f->words;
    for (int32_t k = 0; k < words; k++) {
        for (uint64_t left = w->fresh[k]; left; left &= left - 1) {
            int32_t u = k * 64 + __builtin_ctzll(left);
            const uint64_t *bits = w->f->reader_bits + (size_t)u * words;
            for (int32_t m = 0; m < words; m++) {
                w->found[m] |= bits[m];
            }
        }
    }
}

/* Whether tensor i is an ancestor of something missing that is read later. */
static int is_wanted(walk *w, int32_t i) {
    int32_t words = w->f->words;
    if (!meet(w->f->below + (size_t)i * words, w->gone, words)) {
        return 0;
    }
    memset(w->seen, 0, words * sizeof(*w->seen));
    memset(w->fresh, 0, words * sizeof(*w->fresh));
    set(w->fresh, i);
    for (;;) {
        uint64_t any = 0;
        memset(w->found, 0, words * sizeof(*w->found));
        add_readers(w);
        for (int32_t k = 0; k < words; k++) {
            w->fresh[k] = w->found[k] & w->lost[k] & ~w->seen[k];
            w->seen[k] |= w->fresh[k];
            any |= w->fresh[k];
        }
        if (!any) {
            return 0;
        }
        if (meet(w->fresh, w->gone, words)) {
            return 1;
        }
    }
}

/* The logarithm of a tensor's score, but for the steps until its next use. */
static double score(walk *w, int32_t i) {
    if (!w->scored[i]) {
        double cost = w->back[i];
        w->scores[i] = cost == NEVER ? NEVER : w->d->a * log(cost + SMALL) + w->base[i];
        w->scored[i] = 1;
    }
    return w->scores[i];
}

/* The tensor of the least score, or -1. */
static int32_t victim(walk *w) {
    const walk_facts *f = w->f;
    int32_t best = -1, end = f->count;
    double least = NEVER;
    for (int32_t i = w->newer[end]; i != end; i = w->newer[i]) {
        int32_t distance = 1;
        if (w->guard[i] || !f->size[i]) {
            continue;
        }
        if (!is_over(w, i)) {
            distance = f->uses[f->use_start[i] + w->next[i]] - w->stage + 1;
        } else if (!is_wanted(w, i)) {
            return i;
        }
        double found = score(w, i) - w->d->c * f->log_step[distance];
        if (w->d->keep_start) {
            found += w->d->pull * w->keep[i];
        }
        if (found < least) {
            best = i;
            least = found;
        }
    }
    return best;
}

static double again(const walk *w, int32_t i) {
    return w->f->may[i] & AGAIN ? w->cost[i] : NEVER;
}

/* Free tensors until size bytes fit. */
static int room(walk *w, int64_t size) {
    while (w->used + size > w->f->limit) {
        int32_t i = victim(w);
        if (i < 0 || w->is_ended) {
            return 0;
        }
        if (!w->stored[i] && !is_over(w, i) && w->d->trip[i] * w->d->leans[i] < again(w, i)) {
            store(w, i);
        }
        leave(w, i);
    }
    return 1;
}

/* Bring tensor i back into RAM; 0 where no room could be made. */
static int fetch(walk *w, int32_t i, int32_t depth) {
    double dear = depth < w->f->deep ? again(w, i) : NEVER;
    double paged = trip(w, i) * w->d->leans[i];
    if (dear < paged && compute(w, i, depth + 1)) {
        return 1;
    }
    if (!store(w, i) || !room(w, w->f->size[i])) {
        return dear >= paged && dear < NEVER && compute(w, i, depth + 1);
    }
    w->spent += w->f->joules_in[i];
    enter(w, PAGEIN, i);
    return 1;
}

/* Compute v with what it reads; 0 where no room could be made. */
static int compute(walk *w, int32_t v, int32_t depth) {
    const walk_facts *f = w->f;
    const int32_t *reads = f->reads + f->read_start[v];
    int32_t count = f->read_start[v + 1] - f->read_start[v], done = !w->is_ended;
    for (int32_t k = 0; k < count; k++) {
        w->guard[reads[k]]++;
    }
    for (int32_t k = 0; k < count && done; k++) {
        done = w->here[reads[k]] || fetch(w, reads[k], depth);
    }
    if (done && !w->here[v]) {
        done = w->used + f->need[v] <= f->limit || room(w, f->need[v]);
    }
    for (int32_t k = 0; k < count; k++) {
        w->guard[reads[k]]--;
    }
    if (done && !w->here[v]) {
        w->spent += f->joules[v];
        enter(w, COMPUTE, v);
    }
    return done;
}

/* Let `keep` hold what should stay in stage t instead of the stage before. */
static void turn(walk *w, int32_t t) {
    const walk_draw *d = w->d;
    if (!d->keep_start) {
        return;
    }
    for (int32_t k = t ? d->keep_start[t - 1] : 0; k < d->keep_start[t]; k++) {
        w->keep[d->keep_index[k]] = 0.0;
    }
    for (int32_t k = d->keep_start[t]; k < d->keep_start[t + 1]; k++) {
        w->keep[d->keep_index[k]] = d->keep[k];
    }
}

static void begin(walk *w, const walk_draw *d) {
    const walk_facts *f = w->f;
    size_t count = f->count, bits = f->words * sizeof(uint64_t);
    w->d = d;
    w->spent = 0.0;
    w->steps_count = w->stages = w->stage = w->is_ended = 0;
    w->used = f->resident;
    w->written = w->erased = 0;
    w->older[count] = w->newer[count] = f->count;
    memset(w->guard, 0, count * sizeof(*w->guard));
    memset(w->next, 0, count * sizeof(*w->next));
    memset(w->here, 0, count);
    memset(w->scored, 0, count);
    memset(w->stored, 0, count);
    memset(w->gone, 0, bits);
    memset(w->lost, 0, bits);
    memset(w->keep, 0, count * sizeof(*w->keep));
    memcpy(w->cost, d->compute, count * sizeof(*w->cost));
    memcpy(w->back, d->first_back, count * sizeof(*w->back));
    for (size_t i = 0; i < count; i++) {
        w->base[i] = d->factors[i] - d->b * f->log_size[i];
    }
}

/* The reads of stage t are over: what nobody reads any more goes. */
static void end_stage(walk *w, int32_t t) {
    const walk_facts *f = w->f;
    for (int32_t k = f->read_start[t]; k < f->read_start[t + 1]; k++) {
        int32_t i = f->reads[k];
        w->next[i]++;
        if (is_over(w, i)) {
            clear(w->gone, i);
        }
    }
    for (int32_t k = f->read_start[t]; k < f->read_start[t + 1]; k++) {
        int32_t i = f->reads[k];
        if (w->here[i] && is_over(w, i) && !is_wanted(w, i)) {
            leave(w, i);
        }
    }
}

/* 1, or 0: a tensor that was freed cannot be had again, or the walk became too dear or long. */
int walk_run(walk *w, const walk_draw *d) {
    begin(w, d);
    for (int32_t t = 0; t < w->f->count; t++) {
        w->stage = t;
        turn(w, t);
        if (!compute(w, t, 0) || w->is_ended) {
            return 0;
        }
        w->profile[w->stages++] = w->spent;
        if (d->most && w->spent > d->most[t]) {
            return 0;
        }
        end_stage(w, t);
    }
    return !w->is_ended;
}

void walk_free(walk *w) {
    if (w) {
        void *all[] = {w->steps, w->profile, w->stored, w->todo, w->guard, w->next, w->older,
            w->newer, w->here, w->scored, w->cost, w->back, w->base, w->scores, w->keep, w->gone,
            w->lost, w->seen, w->found, w->fresh};
        for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++) {
            free(all[k]);
        }
        free(w);
    }
}

/* A walk through a graph that stays where it is; NULL without memory. */
walk *walk_new(const walk_facts *f) {
    walk *w = calloc(1, sizeof(*w));
    if (!w) {
        return NULL;
    }
    size_t count = (size_t)f->count + 1;
    w->f = f;
    w->steps_room = w->todo_room = (int32_t)count * 8;
    int32_t **whole[] = {&w->guard, &w->next, &w->older, &w->newer};
    double **real[] = {&w->profile, &w->cost, &w->back, &w->base, &w->scores, &w->keep};
    uint8_t **bytes[] = {&w->stored, &w->here, &w->scored};
    uint64_t **bits[] = {&w->gone, &w->lost, &w->seen, &w->found, &w->fresh};
    int is_whole = (w->steps = malloc((size_t)w->steps_room * sizeof(*w->steps))) != NULL;
    is_whole &= (w->todo = malloc((size_t)w->todo_room * sizeof(*w->todo))) != NULL;
    for (size_t k = 0; k < sizeof(whole) / sizeof(*whole); k++) {
        is_whole &= (*whole[k] = malloc(count * sizeof(int32_t))) != NULL;
    }
    for (size_t k = 0; k < sizeof(real) / sizeof(*real); k++) {
        is_whole &= (*real[k] = malloc(count * sizeof(double))) != NULL;
    }
    for (size_t k = 0; k < sizeof(bytes) / sizeof(*bytes); k++) {
        is_whole &= (*bytes[k] = malloc(count)) != NULL;
    }
    for (size_t k = 0; k < sizeof(bits) / sizeof(*bits); k++) {
        is_whole &= (*bits[k] = malloc((size_t)f->words * sizeof(uint64_t))) != NULL;
    }
    if (!is_whole) {
        walk_free(w);
        return NULL;
    }
    return w;
}
