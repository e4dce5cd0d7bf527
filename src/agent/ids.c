/* ids.c - gives every call of a run a unique id, and a name that can be sent back.
 *
 * A result is identified by the id of its call. Some hosts send no ids, or begin with call_0 in
 * every turn, and some providers refuse a history with a repeated id. Providers may also refuse a
 * tool name that a model invented.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/run_state.h"
#include "agent/tool_box.h"

#define IDS_MAX ((size_t)1 << 20)
#define ID_KEPT 24 /* bytes of an id that are kept before a number: providers accept 40 in all */

static void agent_ids_note(struct run *r, str id)
{
    struct err e;

    (void)!map_set(&r->ids, id, MAP_U64(1), &e); /* beyond this number ids are not changed */
}

static void ids_note_calls(struct run *r, const struct json *doc, const struct json_node *message)
{
    const struct json_node *calls = json_find(doc, message, STR("tool_calls"));
    str id;

    if (!calls || calls->kind != JSON_ARRAY)
        return;
    JSON_FOREACH(c, doc, calls)
        if (json_text(doc, json_find(doc, c, STR("id")), r->arena, &id))
            agent_ids_note(r, id);
}

/* The ids in the messages that the run begins with. */
void ids_init(struct run *r)
{
    struct json doc;
    struct err e;
    str list;

    map_init(&r->ids, r->arena, IDS_MAX);
    if (!r->o->messages.n)
        return;
    list = arena_join(r->arena, STR("["), r->o->messages, STR("]"));
    if (json_open(&doc, list, &e))
        JSON_FOREACH(m, &doc, json_root(&doc))
            ids_note_calls(r, &doc, m);
    json_release(&doc);
}

void ids_release(struct run *r)
{
    map_release(&r->ids);
}

static void ids_settle_name(struct run *r, struct ask_call *c)
{
    const struct tool *t = toolbox_find(r->o->tools, c->name);

    if (t)
        c->name = t->called;
    else if (!tool_name_plain(c->name))
        c->name = tool_called(c->name, r->arena);
}

void ids_settle(struct run *r, struct ask_reply *reply)
{
    for (size_t i = 0; i < reply->call_count; i++) {
        struct ask_call *c = &reply->calls[i];
        str stem = c->id.n ? str_slice(c->id, 0, ID_KEPT) : STR("call");
        unsigned n = 1;

        ids_settle_name(r, c);
        if (c->id.n && !map_find(&r->ids, c->id)) {
            agent_ids_note(r, c->id);
            continue;
        }
        do
            c->id = arena_printf(r->arena, STR_FMT "_%u", STR_ARG(stem), ++n);
        while (map_find(&r->ids, c->id));
        assert(c->id.n > stem.n);
        agent_ids_note(r, c->id);
    }
}
