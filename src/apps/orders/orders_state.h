/* orders_state.h - orders as their own files see them: orders.c what is open, graph.c a turn,
 * nodes.c its steps, calls.c what the model calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/orders/orders.h"
#include "apps/orders/prompt.h"

#include <pthread.h>

struct orders_left; /* a turn to go on with */

/* What a turn stands on. */
struct orders_shop {
    struct menu *menu;
    struct order_limits limits;
    str model;
    struct arena arena;
    _Atomic unsigned refs;
};

struct orders {
    struct app_host host;
    struct agent_ask ask;
    struct orders_shop *shop;
    struct registry *registry;
    str told_menu, told_model; /* or "": the configuration's */
    str prompt;                /* lent; empty: the one in force */
    struct arena arena;        /* of what it was told */
    pthread_mutex_t lock;
    struct map busy; /* threads whose turns run */
    struct orders_left *left;
    pthread_cond_t more; /* something is left, or it closes */
    pthread_t worker;
    bool working, closing;
};

struct turn {
    struct orders *o;
    struct thread_asker who; /* its time is that of the step */
    const struct orders_watch *watch;
    struct orders_turn *out;
    struct arena *kept;       /* what is given back is in it */
    struct orders_shop *shop; /* held */
    const struct menu *menu;  /* of this conversation */
    struct menu *own;         /* the same, if it is not the one in force */
    struct setup *setup;      /* that masks, and that calls are made by */
    struct orders_state state, *s;
    str prompt_id;   /* of the last call */
    struct buf told; /* what the customer was told of the reply so far */
    /* A step's own, and that of the step before: what a step has made lives to the end of the next,
     * however long the turn is. */
    struct arena steps[2], *arena;
};

/* shop.c */
bool shop_new(const struct orders *o, const struct config *c, struct orders_shop **out,
              struct err *e) MUST_USE;
struct orders_shop *shop_hold(struct orders *o);
void shop_release(struct orders_shop *s); /* NULL: nothing */

/* nodes.c. False: e says why; or the turn has failed, which turn.out->end tells. */
bool node_input(struct turn *t, str text, struct err *e) MUST_USE;
bool node_orchestrator(struct turn *t, struct err *e) MUST_USE;
bool node_tools(struct turn *t, struct err *e) MUST_USE;
bool node_update(struct turn *t, struct err *e) MUST_USE;
bool node_stopped(struct turn *t, struct err *e) MUST_USE;

/* graph.c */
/* To the customer, who hears it while it is made. */
void graph_say(struct turn *t, str text);
void graph_unsay(struct turn *t); /* what was told, if anything was */
bool graph_run(struct turn *t, struct err *e) MUST_USE;
/* The steps that need no model, up to where it is asked. */
bool graph_settle(struct turn *t, struct err *e) MUST_USE;
/* What the last reply says, and what it calls. */
struct last_reply {
    str text, interaction;
    struct tools_call *calls;
    size_t call_count;
};
/* The text of a member, in the arena; "" if there is none. */
str graph_text_at(const struct json *doc, const struct json_node *v, const char *key,
                  struct arena *a);
void graph_calls(const struct json *doc, const struct json_node *message, struct arena *a,
                 struct last_reply *out);
bool graph_last(const struct orders_state *s, struct arena *a, struct last_reply *out,
                struct err *e) MUST_USE;
bool graph_facts(const struct orders_state *s, struct arena *a, struct facts *out,
                 struct err *e) MUST_USE;

/* calls.c. The calls of a reply without what was thought in them; `number` is that of its message.
 * *thought: what was, or "". */
void calls_clean(struct turn *t, const struct ask_reply *r, size_t number, struct last_reply *out,
                 str *thought);
/* As elements of a list that is open. */
void calls_write(struct json_out *o, const struct last_reply *r);
