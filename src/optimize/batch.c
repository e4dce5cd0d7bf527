/* Training examples in minibatches: each epoch has all of them in a new order; the least used ones
 * fill up the last minibatch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/internal.h"

static void optimize_batch_make_list(struct optimize *o)
{
    size_t n = o->task.train_count, b = o->task.settings.minibatch;
    size_t padded = (n + b - 1) / b * b;
    struct batches *l = &o->batches;

    assert(n > 0 && padded > 0);
    l->list = base_realloc(l->list, padded * sizeof *l->list);
    for (size_t i = 0; i < n; i++)
        l->list[i] = (uint32_t)i;
    twister_shuffle(&o->chance, l->list, n);
    /* The least used, and among equals the last in the order: the walk goes backwards and wraps. */
    for (size_t i = n; i < padded; i++)
        l->list[i] = l->list[n - 1 - (i - n) % n];
    l->n = padded;
}

void batch_next(struct optimize *o, uint32_t *out)
{
    size_t b = o->task.settings.minibatch;
    struct batches *l = &o->batches;
    uint64_t from = (o->iteration - 1) * b;
    uint64_t epoch = l->n ? from / l->n : 0;

    assert(o->iteration > 0);
    if (l->n == 0 || epoch > l->epoch) {
        l->epoch = epoch;
        optimize_batch_make_list(o);
    }
    assert(l->n > 0);
    from = (from + l->given++ * b) % l->n;
    assert(l->n % b == 0 && from + b <= l->n);
    memcpy(out, l->list + from, b * sizeof *out);
}
