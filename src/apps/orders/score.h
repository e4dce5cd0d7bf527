/* score.h - scores how well an order was taken, without a model: three numbers from 0 to 1.
 *
 *   order     per item 0.4 for its name, 0.3 times the ratio of the quantities, 0.1 for its size,
 *             0.2 times the Jaccard index of the modifiers; the mean over the ids of both orders
 *   protocol  1 if every add came after a lookup that found the item; 0.5 if all were looked up,
 *             but some too late; 0.3 if some never were; 0 if none was, or if nothing was added
 *             though something was to be
 *   real      1 if all that was added or tried is on the menu by its id and name, else 0
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/orders/orders.h"

struct score {
    double order, protocol, real;
};

double score_order(const struct order *expected, const struct order *got);
/* messages: as in the state. */
bool score_protocol(str messages, bool expects, double *out, struct err *e) MUST_USE;
bool score_real(const struct menu *m, str messages, const struct order *got, double *out,
                struct err *e) MUST_USE;

/* ---- a file of utterances, a JSON object a line ----
 *
 *     {"id": "simple-1", "category": "simple", "turns": ["A cola, please."],
 *      "expected": [{"item_id": "cd-01", "quantity": 1, "size": "medium", "modifiers": []}]}
 *
 * `utterance`, a text, may replace turns; quantity, size and modifiers may be left out. */

#define ORDERS_EVAL_MAX ((size_t)16 << 20)
#define ORDERS_EVAL_TURNS_MAX 64

struct orders_eval_case {
    str id, category;
    str turns[ORDERS_EVAL_TURNS_MAX];
    size_t turn_count;
    struct order expected;
};

struct orders_eval_result {
    const struct orders_eval_case *of;
    struct score score;
    const struct order *got;
    str failed; /* why the model call failed, or "" */
};

struct orders_eval {
    struct score mean;
    size_t cases, failed;
};

bool orders_eval_read(const struct menu *m, str line, struct arena *a, struct orders_eval_case *out,
                      struct err *e) MUST_USE;
struct orders_eval_source {
    str text;         /* one utterance for each line */
    const char *path; /* for errors */
    void (*on_case)(void *ctx, const struct orders_eval_result *r); /* or NULL */
    void *ctx;
};
/* Runs each utterance in a thread of its own and deletes the thread. */
bool orders_eval_run(struct orders *o, const struct orders_eval_source *from,
                     struct orders_eval *out, struct err *e) MUST_USE;
