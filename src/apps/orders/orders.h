/* orders.h - orders taken in conversation: the interface of the command and the routes.
 *
 *     struct orders *o;
 *     if (!orders_open(&host, &(struct orders_options){.menu = "menu.json"}, &o, e)) ...
 *     if (!orders_run_turn(o, &said, &arena, &turn, e)) ...
 *     print(turn.reply);
 *     orders_close(o);
 *
 * A turn of a customer runs on the loop of every agent (agent/run.h), which goes through this graph
 * until the turn ends:
 *
 *     input -> orchestrator -- calls? --> tools -> update_order -- finalized? --> end
 *                  ^     \------ none --------------------------------------------> end
 *                  \------------------------------- no --------/
 *
 * Each step is a checkpoint of the thread, on disk before the next step starts. If the process is
 * killed, the next one resumes after the last step, and no call or item is repeated. A thread runs
 * one turn at a time.
 *
 * The customer gets the text of the reply that ends the turn, without any reasoning.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/app.h"
#include "apps/orders/state.h"

#define ORDERS_TEXT_MAX 4000 /* bytes of what a customer says in one turn */
#define ORDERS_KEY_MAX 255   /* bytes of an idempotency key */
#define ORDERS_ASKED_MAX 16  /* model calls of one turn */
#define ORDERS_AGAIN_MAX 2   /* retries of a reply that broke off */

struct orders;

/* Called on the turn's thread; any may be NULL. */
struct orders_watch {
    void (*on_decision)(void *ctx, str entry);
    void (*on_order)(void *ctx, const struct order *o);
    void (*on_step)(void *ctx, enum orders_node node); /* after it is on disk */
    /* Text for the customer as it arrives, also on a loop's thread while the turn's thread waits.
     * on_retract withdraws all text of the turn so far: the reply also had calls, or broke off. In
     * the end the text is the reply, unless the turn failed. */
    void (*on_say)(void *ctx, str text);
    void (*on_retract)(void *ctx);
    void *ctx;
};

struct orders_options {
    const char *menu;     /* NULL: the configuration's, else the built-in one */
    struct agent_ask ask; /* none: the host's gateway */
    str prompt;           /* a system prompt to evaluate; empty: the one in force */
    str model;            /* empty: the configuration's */
};

enum orders_end {
    ORDERS_REPLIED,
    ORDERS_NOTHING, /* no turn to resume */
    ORDERS_FAILED,  /* the model call failed: the turn can be resumed */
    ORDERS_STOPPED, /* by the limit of model calls */
};

struct orders_turn {
    enum orders_end end;
    str reply; /* for the customer, in every case */
    int status;
    str why; /* if FAILED: the provider's error */
    int64_t retry_after_ms;
    struct orders_state state;
};

/* ERR_INPUT: the menu is wrong, no model is configured, or there is no store. */
bool orders_open(const struct app_host *h, const struct orders_options *opts, struct orders **out,
                 struct err *e) MUST_USE;
void orders_close(struct orders *o); /* NULL: nothing */

/* A customer's message in a thread. */
struct orders_said {
    const struct thread_asker *who;
    str thread;
    str text;                         /* not used by orders_resume */
    str idempotency_key;              /* likewise; "": none */
    const struct orders_watch *watch; /* or NULL */
};

/* One turn. Creates the thread if it does not exist. If the thread's last turn did not end, this
 * one continues it. ERR_CANCELLED: a turn of this thread is running, and this one did not start.
 *
 * The customer's message is stored with its idempotency key. If the thread's last message of the
 * customer has this key and this text, the text is not added again: the turn continues if it did
 * not end, and *out is its result. ERR_CONFLICT: the key belongs to another text, or the customer
 * has said something else since. */
bool orders_run_turn(struct orders *o, const struct orders_said *said, struct arena *a,
                     struct orders_turn *out, struct err *e) MUST_USE;
/* Ends the thread's last turn if it did not end. */
bool orders_resume(struct orders *o, const struct orders_said *said, struct arena *a,
                   struct orders_turn *out, struct err *e) MUST_USE;
/* ERR_NOT_FOUND if no such thread exists. */
bool orders_state(struct orders *o, const struct thread_asker *who, str thread, struct arena *a,
                  struct orders_state *out, struct err *e) MUST_USE;
/* The asker's threads, newest first: elements of an open JSON array. */
bool orders_list(struct orders *o, const struct thread_asker *who, size_t max, struct arena *a,
                 struct json_out *to, struct err *e) MUST_USE;
bool orders_forget(struct orders *o, const struct thread_asker *who, str thread,
                   struct err *e) MUST_USE;

/* Called after a reload of the configuration. New turns use its menu and model; a conversation
 * keeps the menu it started with. Errors are only logged. */
void orders_reload(struct orders *o);
/* orders_menu is for hosts without reloads, orders_menu_write for all. */
const struct menu *orders_menu(const struct orders *o);
void orders_menu_write(struct orders *o, struct buf *out);
struct thread_asker orders_asker(const struct orders *o, str key, bool all);

/* Resumes the turns that a killed process left open, one after another, on a thread of its own. */
void orders_resume_left(struct orders *o, str thread, str key);
