/* orders.h - orders taken in conversation: what the command and the routes stand on.
 *
 *     struct orders *o;
 *     if (!orders_open(&host, &(struct orders_options){.menu = "menu.json"}, &o, e)) ...
 *     if (!orders_say(o, &said, &arena, &turn, e)) ...
 *     print(turn.reply);
 *     orders_close(o);
 *
 * A turn of a customer goes through a graph until it ends:
 *
 *     input -> orchestrator -- calls? --> tools -> update_order -- finalized? --> end
 *                  ^     \------ none --------------------------------------------> end
 *                  \------------------------------- no --------/
 *
 * Each step is a checkpoint of the thread, on disk before the next begins: a process that is killed
 * is followed by one that goes on behind the last step, and nothing is asked or added twice. Of one
 * thread one turn runs at a time.
 *
 * What the customer is told is the text of the reply that ends the turn, without any thought.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/app.h"
#include "apps/orders/state.h"

#define ORDERS_TEXT_MAX 4000 /* bytes of what a customer says in one turn */
#define ORDERS_ASKED_MAX 16  /* model calls of one turn */
#define ORDERS_AGAIN_MAX 2   /* a reply that broke off is asked for so often again */

struct orders;

/* Called on the turn's thread; any may be NULL. */
struct orders_watch {
    void (*on_decision)(void *ctx, str entry);
    void (*on_order)(void *ctx, const struct order *o);
    void (*on_step)(void *ctx, enum orders_node node); /* it is on disk */
    /* Words for the customer as they are made, some of them on a loop's thread while the turn's
     * waits for it. With on_unsay all since then are taken back: they stood beside a call, or the
     * model broke off. In the end what was said is the reply, unless the turn has failed. */
    void (*on_say)(void *ctx, str text);
    void (*on_unsay)(void *ctx);
    void *ctx;
};

struct orders_options {
    const char *menu;     /* NULL: the configuration's, or else our own */
    struct agent_ask ask; /* none: the host's gateway */
    str prompt;           /* a system prompt to be tried; empty: the one in force */
    str model;            /* empty: the configuration's */
};

enum orders_end {
    ORDERS_REPLIED,
    ORDERS_NOTHING, /* there was no turn to go on with */
    ORDERS_FAILED,  /* the model could not be asked: the turn can be resumed */
    ORDERS_STOPPED, /* by the limit of model calls */
};

struct orders_turn {
    enum orders_end end;
    str reply; /* for the customer, whatever the end was */
    int status;
    str why; /* of FAILED: what the model's side said */
    int64_t retry_after_ms;
    struct orders_state state;
};

/* ERR_INPUT: the menu is wrong, no model is configured, or nothing can be kept. */
bool orders_open(const struct app_host *h, const struct orders_options *opts, struct orders **out,
                 struct err *e) MUST_USE;
void orders_close(struct orders *o); /* NULL: nothing */

/* What a customer says in a thread. */
struct orders_said {
    const struct thread_asker *who;
    str thread;
    str text;                         /* not used by orders_resume */
    const struct orders_watch *watch; /* or NULL */
};

/* One turn. Creates the thread if it does not exist. If the thread's last turn did not end, this
 * one continues it. ERR_CANCELLED: a turn of this thread is running, and this one did not start. */
bool orders_say(struct orders *o, const struct orders_said *said, struct arena *a,
                struct orders_turn *out, struct err *e) MUST_USE;
/* Ends the thread's last turn if it did not end. */
bool orders_resume(struct orders *o, const struct orders_said *said, struct arena *a,
                   struct orders_turn *out, struct err *e) MUST_USE;
/* ERR_NOT_FOUND if there is none. */
bool orders_state(struct orders *o, const struct thread_asker *who, str thread, struct arena *a,
                  struct orders_state *out, struct err *e) MUST_USE;
/* Theirs, the newest first: objects of a list that is open. */
bool orders_list(struct orders *o, const struct thread_asker *who, size_t max, struct arena *a,
                 struct json_out *to, struct err *e) MUST_USE;
bool orders_forget(struct orders *o, const struct thread_asker *who, str thread,
                   struct err *e) MUST_USE;

/* The configuration was read again: its menu and model are in force for turns that begin from now
 * on, and a conversation keeps the menu it began with. What is wrong is logged, no more. */
void orders_reload(struct orders *o);
/* Where nothing is reloaded; the text of it anywhere. */
const struct menu *orders_menu(const struct orders *o);
void orders_menu_write(struct orders *o, struct buf *out);
struct thread_asker orders_asker(const struct orders *o, str key, bool all);

/* The turns of a process that was killed go on, one after another, on a thread of their own. */
void orders_go_on(struct orders *o, str thread, str key);
