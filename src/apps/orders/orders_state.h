/* orders_state.h - types that the files of orders share: orders.c opens and closes, graph.c runs a
 * turn on the agent loop, nodes.c has its steps, calls.c cleans the model's calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/job_queue.h"
#include "apps/orders/orders.h"
#include "apps/orders/prompt.h"

/* The menu and model of a turn. */
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
    str chosen_menu, chosen_model; /* or "": the configuration's */
    str prompt;                    /* lent; empty: the one in force */
    struct arena arena;            /* of the options */
    pthread_mutex_t lock;
    struct map busy;       /* threads with a running turn */
    struct job_queue left; /* turns to resume */
};

struct turn {
    struct orders *o;
    struct thread_asker who; /* its time is the step's */
    const struct orders_watch *watch;
    struct orders_turn *out;
    struct arena *kept;       /* of the result */
    struct orders_shop *shop; /* held */
    const struct menu *menu;  /* of this conversation */
    struct menu *own;         /* the menu of the conversation, if it is not the current one */
    struct setup *setup;      /* for masking and model calls */
    struct orders_state state, *s;
    struct json messages;     /* of the state */
    struct facts facts;       /* of the messages */
    struct ask_reply last;    /* the last message of the assistant: text, calls, id */
    struct tools_state tools; /* of the calls of `last` */
    struct order changed;     /* the order with the changes of these calls */
    struct toolbox *box;
    struct arena run; /* of the agent loop */
    str prompt_id;    /* of the last call */
    struct buf sent;  /* the part of the reply that the customer has */
    /* Of this step and of the previous one: results of a step live until the end of the next step,
     * so a long turn needs no more memory. */
    struct arena steps[2], *arena;
};

/* shop.c */
bool shop_new(const struct orders *o, const struct config *c, struct orders_shop **out,
              struct err *e) MUST_USE;
struct orders_shop *shop_hold(struct orders *o);
void shop_release(struct orders_shop *s); /* NULL: nothing */

/* nodes.c. False: e has the reason. */
bool node_input(struct turn *t, str text, str idempotency_key, struct err *e) MUST_USE;
/* Makes the calls of the last reply, if the turn ended before it had their results. */
bool node_settle(struct turn *t, struct err *e) MUST_USE;
/* Runs until there is a reply for the customer. False also if the model call failed; then
 * turn.out->end says so. */
bool node_run_agent(struct turn *t, struct err *e) MUST_USE;

/* graph.c */
/* Reads the messages, facts and last reply of the state; after each change of it. */
bool graph_look(struct turn *t, struct err *e) MUST_USE;
/* Whether the turn has a next step. */
bool graph_is_open(const struct turn *t);
/* Sends text to the customer while the reply arrives. */
void graph_reply(void *turn, str text);
void graph_retract(struct turn *t); /* the text sent so far, if any */
bool graph_run(struct turn *t, struct err *e) MUST_USE;
/* A message of the assistant. */
void graph_read_reply(const struct turn *t, const struct json_node *message, struct ask_reply *out);

/* calls.c. Removes the reasoning from the calls of a reply. *thought: the reasoning, or "". */
void calls_clean(struct turn *t, struct ask_reply *r, struct arena *a, str *thought);
#define CALLS_UNNAMED "unnamed" /* in place of no name, which some hosts refuse */
