/* facts.c - the state of a conversation, read from its messages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/tools.h"

#define LOOKED_MAX 4000

struct scan {
    struct facts *f;
    struct arena *arena;
    struct json result; /* of the tool message at hand */
};

static bool facts_looked_at(struct scan *s, const struct json_node *item, struct err *e)
{
    str id;

    if (!json_text(&s->result, json_find(&s->result, item, STR("item_id")), s->arena, &id) ||
        map_find(&s->f->looked, id))
        return true;
    return map_set(&s->f->looked, arena_dup(s->arena, id), MAP_U64(s->f->batch), e);
}

static bool looked_up(struct scan *s, struct err *e)
{
    const struct json_node *root = json_root(&s->result);
    const struct json_node *items = json_find(&s->result, root, STR("items")), *i;

    for (i = json_first(&s->result, items); i; i = json_next(&s->result, items, i))
        if (!facts_looked_at(s, i, e))
            return false;
    return facts_looked_at(s, json_find(&s->result, root, STR("item")), e);
}

/* The result of one of our own tools. */
static bool order_facts_take_result(struct scan *s, const struct json *doc,
                                    const struct json_node *m, struct err *e)
{
    const struct json_node *name = json_find(doc, m, STR("name"));
    struct facts *f = s->f;
    str content, called;

    if (!json_text(doc, json_find(doc, m, STR("content")), s->arena, &content) ||
        !json_parse(&s->result, content, e))
        return err_set(e, ERR_SYSTEM, "a tool's message on record is damaged");
    if (json_find(&s->result, json_root(&s->result), STR("error")))
        return true;
    if (json_is(doc, name, STR("lookup_menu_item")))
        return looked_up(s, e);
    if (json_text(doc, name, s->arena, &called) && tools_changes_order(called))
        f->changed = f->batch;
    if (json_is(doc, name, STR("finalize_order")))
        f->finalized = true;
    /* Reported again without a change, it is still the order that the customer confirmed. */
    if (json_is(doc, name, STR("get_current_order")) && f->reported <= f->changed) {
        f->reported = f->batch;
        f->answered = false;
    }
    return true;
}

static bool order_facts_take(struct scan *s, const struct json *doc, const struct json_node *m,
                             struct err *e)
{
    const struct json_node *role = json_find(doc, m, STR("role"));
    struct facts *f = s->f;

    f->messages++;
    if (json_is(doc, role, STR("tool")))
        return order_facts_take_result(s, doc, m, e);
    if (json_is(doc, role, STR("user"))) {
        f->answered = f->reported > 0;
        f->asked = 0;
    }
    if (json_is(doc, role, STR("assistant"))) {
        f->asked++;
        if (json_find(doc, m, STR("tool_calls"))) {
            f->batch++;
            f->finalized = false;
        }
    }
    assert(f->batch <= f->messages && f->changed <= f->batch && f->reported <= f->batch);
    return true;
}

bool facts_read(struct facts *f, const struct json *messages, struct arena *a, struct err *e)
{
    const struct json_node *root = json_root(messages), *m;
    struct scan s = {.f = f, .arena = a};
    bool ok = true;

    memset(f, 0, sizeof *f);
    map_init(&f->looked, NULL, LOOKED_MAX);
    json_init(&s.result);
    for (m = json_first(messages, root); m && ok; m = json_next(messages, root, m))
        ok = order_facts_take(&s, messages, m, e);
    json_release(&s.result);
    if (!ok)
        facts_release(f);
    return ok;
}

void facts_release(struct facts *f)
{
    map_release(&f->looked);
}
