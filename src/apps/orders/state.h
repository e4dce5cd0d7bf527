/* state.h - the state of one conversation: a thread with a checkpoint for every step.
 *
 *     struct orders_state s;
 *     if (!state_read(t, &who, thread, &arena, &s, e)) ...        ERR_NOT_FOUND: none yet
 *     if (!state_put(t, &who, &s, &(struct state_step){NODE_TOOLS, values}, &arena, e)) ...
 *
 * Channels: messages (reducer messages), reasoning (append), current_order and menu (last). The
 * menu's is a reference: the menu itself is kept once for all conversations, under its digest. Each
 * checkpoint's metadata has the node that produced it, so that a resumed turn knows its next node.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/thread.h"
#include "apps/orders/tools.h"

#define ORDERS_THREAD_MAX 200
#define ORDERS_MESSAGES_MAX 4000

/* The node that produced a checkpoint; STOPPED: a limit. */
enum orders_node { NODE_INPUT, NODE_ORCHESTRATOR, NODE_TOOLS, NODE_UPDATE, NODE_STOPPED };

struct orders_state {
    str thread, head;
    enum orders_node node;
    int64_t step, updated_us;
    str messages, reasoning; /* JSON lists */
    str menu;                /* {"sha256", "menu_id", "menu_name", "menu_version"} */
    str order_json;
    struct order order;
};

struct state_step {
    enum orders_node node;
    str values; /* JSON: updates of channels */
};

bool state_read(struct threads *t, const struct thread_asker *who, str thread, struct arena *a,
                struct orders_state *out, struct err *e) MUST_USE;
/* A new conversation; the first put creates it. */
void state_new(str thread, str order_id, struct arena *a, struct orders_state *out);
/* Writes to disk and reads the state again into the arena, which must not be the state's own. */
bool state_put(struct threads *t, const struct thread_asker *who, struct orders_state *s,
               const struct state_step *step, struct arena *a, struct err *e) MUST_USE;

/* The reference to the menu for a new conversation; stores the menu if it is not stored. */
bool state_menu_put(struct threads *t, int64_t now_us, const struct menu *m, struct buf *ref,
                    struct err *e) MUST_USE;
/* The menu that the conversation started with; *out is NULL if that is `current`, else the caller
 * frees it. */
bool state_menu(struct threads *t, const struct orders_state *s, const struct menu *current,
                struct arena *a, struct menu **out, struct err *e) MUST_USE;

bool state_thread_ok(str thread, struct err *e) MUST_USE;
/* The conversations of an asker, newest first: elements of an open JSON array. */
bool state_list(struct threads *t, const struct thread_asker *who, size_t max, struct arena *a,
                struct json_out *o, struct err *e) MUST_USE;
/* The members of the state, for people and programs; without reasoning: an empty list. */
void state_write(struct json_out *o, const struct orders_state *s, bool reasoning);
