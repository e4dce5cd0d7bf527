/* state.c - see state.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/state.h"

#include "base/json_get.h"
#include "base/utf8.h"

#define VALUES_MAX ((size_t)32 << 20)
#define MENU_NS "menu"
#define MENU_THREADS "menu:" /* and the digest: the key of a stored menu */

static const char reducers[] = "{\"messages\":\"messages\",\"reasoning\":\"append\","
                               "\"menu\":\"last\",\"current_order\":\"last\"}";
static const char *const node_names[] = {
    "input", "orchestrator", "tools", "update_order", "stopped"};

bool state_thread_ok(str thread, struct err *e)
{
    if (thread.n == 0 || thread.n > ORDERS_THREAD_MAX || !utf8_valid(thread))
        return err_input(e, "a thread's id has 1 to %d bytes of text", ORDERS_THREAD_MAX);
    if (str_starts(thread, STR(MENU_THREADS)))
        return err_input(e, "a thread's id does not begin with " MENU_THREADS);
    for (size_t at = 0, size; at < thread.n; at += size) {
        uint32_t c = 0;

        size = utf8_decode(str_slice(thread, at, thread.n), &c);
        if (utf8_is_control(c))
            return err_input(e, "a thread's id has no control characters");
    }
    return true;
}

/* ---- reading ---- */

static bool order_state_read_metadata(str metadata, struct arena *a, struct orders_state *out,
                                      struct err *e)
{
    const struct json_node *root;
    struct json doc;
    bool ok;
    str node;

    ok = json_open(&doc, metadata, e);
    if (ok) {
        root = json_root(&doc);
        ok = json_is(&doc, json_find(&doc, root, STR("app")), STR("orders")) &&
             json_text(&doc, json_find(&doc, root, STR("node")), a, &node) &&
             json_i64(&doc, json_find(&doc, root, STR("step")), &out->step) &&
             json_i64(&doc, json_find(&doc, root, STR("at_us")), &out->updated_us);
        if (!ok)
            err_input(e,
                      "the thread \"" STR_FMT "\" is no order's: another program keeps it",
                      STR_ARG(out->thread));
        for (size_t i = 0; ok && i < COUNT_OF(node_names); i++)
            if (str_eq(node, str_c(node_names[i])))
                out->node = (enum orders_node)i;
    }
    json_release(&doc);
    return ok;
}

static bool state_read_at(struct threads *t, const struct thread_asker *who, struct thread_key key,
                          struct arena *a, struct orders_state *out, struct err *e)
{
    struct thread_tuple tuple;

    if (!threads_get(t, who, key, a, &tuple, e))
        return false;
    *out = (struct orders_state){.thread = tuple.thread,
                                 .head = tuple.id,
                                 .messages = STR("[]"),
                                 .reasoning = STR("[]"),
                                 .menu = STR("{}"),
                                 .order_json = STR("{}")};
    if (!order_state_read_metadata(tuple.metadata, a, out, e))
        return false;
    for (size_t i = 0; i < tuple.value_count; i++) {
        static const char *const names[] = {"messages", "reasoning", "menu", "current_order"};
        str *to[] = {&out->messages, &out->reasoning, &out->menu, &out->order_json};

        for (size_t k = 0; k < COUNT_OF(names); k++)
            if (str_eq(tuple.values[i].channel, str_c(names[k])))
                *to[k] = tuple.values[i].bytes;
    }
    return order_read(out->order_json, a, &out->order, e);
}

bool state_read(struct threads *t, const struct thread_asker *who, str thread, struct arena *a,
                struct orders_state *out, struct err *e)
{
    return state_read_at(t, who, (struct thread_key){thread, STR(""), STR("")}, a, out, e);
}

void state_new(str thread, str order_id, struct arena *a, struct orders_state *out)
{
    assert(thread.n > 0 && order_id.n > 0);
    *out = (struct orders_state){.thread = arena_dup(a, thread),
                                 .head = STR(""),
                                 .node = NODE_UPDATE,
                                 .messages = STR("[]"),
                                 .reasoning = STR("[]"),
                                 .menu = STR("{}")};
    order_init(&out->order, arena_dup(a, order_id), a);
}

/* ---- writing ---- */

/* The members for lists of conversations, so that a list reads no checkpoint. */
static str order_state_metadata(const struct orders_state *s, enum orders_node node, int64_t now_us,
                                struct arena *a)
{
    struct json_text t;

    assert((size_t)node < COUNT_OF(node_names));
    json_text_begin(&t, 4096);
    json_member_str(&t.o, "app", STR("orders"));
    json_member_str(&t.o, "source", node == NODE_INPUT ? STR("input") : STR("loop"));
    json_member_str(&t.o, "node", str_c(node_names[node]));
    json_member_i64(&t.o, "step", s->head.n ? s->step + 1 : 0);
    json_member_i64(&t.o, "at_us", now_us);
    json_member_i64(&t.o, "item_count", order_quantity(&s->order));
    json_member_bool(&t.o, "finalized", s->order.finalized);
    return json_text_end(&t, a, STR("{}"));
}

bool state_put(struct threads *t, const struct thread_asker *who, struct orders_state *s,
               const struct state_step *step, struct arena *a, struct err *e)
{
    struct thread_update u = {.thread = s->thread,
                              .ns = STR(""),
                              .from = s->head,
                              .newest = true,
                              .values = step->values,
                              .reducers = str_c(reducers),
                              .metadata = order_state_metadata(s, step->node, who->now_us, a)};
    str id;

    assert(s->thread.n > 0 && step->values.n >= 2); /* an object */
    return threads_update(t, who, &u, a, &id, e) &&
           state_read_at(t, who, (struct thread_key){s->thread, STR(""), id}, a, s, e);
}

/* ---- menus ---- */

static str menu_thread(str sha256, struct arena *a)
{
    return arena_join(a, STR(MENU_THREADS), sha256, STR(""));
}

bool state_menu_put(struct threads *t, int64_t now_us, const struct menu *m, struct buf *ref,
                    struct err *e)
{
    struct thread_asker own = {.key = STR(""), .now_us = now_us},
                        all = {.key = STR(""), .all = true, .now_us = now_us};
    struct thread_update u = {.ns = STR(MENU_NS),
                              .from = STR(""),
                              .reducers = STR("{\"menu\":\"last\"}"),
                              .metadata = STR("{\"app\":\"orders-menu\"}")};
    struct thread_list list = {0};
    struct json_out o;
    struct arena a;
    bool ok;
    str id;

    arena_init(&a, 2 * THREAD_TUPLE_MAX);
    u.thread = menu_thread(str_c(m->sha256), &a);
    ok = threads_list(
        t, &own, &(struct thread_filter){.thread = u.thread, .count_max = 1}, &a, &list, e);
    if (ok && list.count == 0) {
        u.values = arena_join(&a, STR("{\"menu\":"), m->text, STR("}"));
        /* Not found: a client has made a thread of this name, and could change the menu in it. */
        ok = threads_update(t, &own, &u, &a, &id, e) ||
             (e->code == ERR_NOT_FOUND && threads_delete(t, &all, u.thread, e) &&
              threads_update(t, &own, &u, &a, &id, e));
    }
    arena_release(&a);
    json_out_init_object(&o, ref);
    json_member_str(&o, "sha256", str_c(m->sha256));
    json_member_str(&o, "menu_id", m->id);
    json_member_str(&o, "menu_name", m->name);
    json_member_str(&o, "menu_version", m->version);
    json_out_end(&o);
    return ok && json_out_ok(&o, e);
}

static bool menu_from(struct threads *t, str sha256, struct arena *a, struct menu **out,
                      struct err *e)
{
    struct thread_asker own = {.key = STR("")}; /* not a client's thread */
    struct thread_tuple tuple;

    if (!threads_get(t,
                     &own,
                     (struct thread_key){menu_thread(sha256, a), STR(MENU_NS), STR("")},
                     a,
                     &tuple,
                     e) ||
        tuple.value_count == 0)
        return err_set(
            e, ERR_SYSTEM, "the menu that this conversation started with is not in the store");
    return menu_parse_recorded(tuple.values[0].bytes, out, e);
}

bool state_menu(struct threads *t, const struct orders_state *s, const struct menu *current,
                struct arena *a, struct menu **out, struct err *e)
{
    str sha256 = json_copy_member(s->menu, "sha256", a);

    *out = NULL;
    return !sha256.n || str_eq(sha256, str_c(current->sha256)) || menu_from(t, sha256, a, out, e);
}

/* ---- read only ---- */

static bool order_state_list_one(const struct thread_tuple *t, struct json_out *o, struct err *e)
{
    static const char *const shown[] = {"item_count", "finalized"};
    const struct json_node *root, *v;
    struct json doc;
    bool ok;

    ok = json_open(&doc, t->metadata, e);
    if (ok) {
        root = json_root(&doc);
        json_out_object(o);
        json_member_str(o, "thread_id", t->thread);
        json_member_str(o, "session_id", t->thread);
        for (size_t i = 0; i < COUNT_OF(shown); i++)
            if ((v = json_find(&doc, root, str_c(shown[i]))))
                json_member_raw(o, shown[i], json_raw(&doc, v));
        json_out_key(o, STR("updated_at_us"));
        v = json_find(&doc, root, STR("at_us"));
        json_out_raw(o, v ? json_raw(&doc, v) : STR("null"));
        json_out_end(o);
    }
    json_release(&doc);
    return ok;
}

bool state_list(struct threads *t, const struct thread_asker *who, size_t max, struct arena *a,
                struct json_out *o, struct err *e)
{
    static const str ns = STR_INIT("");
    struct thread_filter f = {.thread = STR(""),
                              .ns = &ns,
                              .before = STR(""),
                              .metadata = STR("{\"app\":\"orders\"}"),
                              .newest = true,
                              .count_max = max};
    struct thread_list list;

    if (!threads_list(t, who, &f, a, &list, e))
        return false;
    for (size_t i = 0; i < list.count; i++)
        if (!order_state_list_one(&list.items[i], o, e))
            return false;
    return true;
}

void state_write(struct json_out *o, const struct orders_state *s, bool reasoning)
{
    json_member_str(o, "thread_id", s->thread);
    json_member_str(o, "session_id", s->thread);
    json_out_key(o, STR("current_order"));
    order_write(o, &s->order, true);
    json_member_raw(o, "reasoning", reasoning ? s->reasoning : STR("[]"));
    json_member_raw(o, "messages", s->messages);
    json_member_bool(o, "finalized", s->order.finalized);
    json_member_i64(o, "updated_at_us", s->updated_us);
}
