/* relay_calls.c - tool calls in relayed chunks.
 *
 * Clients join the pieces of a call by its index. A call read from the text gets the first index
 * that no call has; if the provider then uses that index for a call of its own, that call gets
 * another one in all of its chunks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/openai/relay.h"

static struct openai_moved_call *openai_relay_call_move(struct openai_said *c, int64_t from)
{
    struct openai_moved_call *m = c->moves;

    while (m && m->from != from)
        m = m->next;
    return m;
}

static struct openai_moved_call *openai_relay_call_move_new(struct wire_encoder *en,
                                                            struct openai_said *c, int64_t from)
{
    struct openai_moved_call **at = &c->moves, *m = arena_zero(en->arena, 1, sizeof *m);

    assert(from >= 0 && from < INT32_MAX);
    while (*at)
        at = &(*at)->next;
    c->move_count++;
    m->from = from;
    m->to = c->marked_calls ? c->next_call : (uint32_t)from;
    if (c->next_call <= m->to)
        c->next_call = m->to + 1;
    return *at = m;
}

static const struct json_node *openai_relay_calls_of(const struct openai_relay_frame *r,
                                                     const struct json_node *choice)
{
    return json_get(r->doc, openai_relay_message_of(r, choice), "tool_calls");
}

/* A call without an index, or with one that no client reads, stays as it is: -1. */
static int64_t openai_relay_call_index(const struct openai_relay_frame *r,
                                       const struct json_node *call)
{
    int64_t index = json_get_count(r->doc, call, "index");

    return index < INT32_MAX ? index : -1;
}

bool openai_relay_moves_calls(struct openai_relay_frame *r)
{
    bool any = false;

    if (!r->en->stream)
        return false;
    JSON_FOREACH(choice, r->doc, r->choices)
        JSON_FOREACH_ITEM(call, r->doc, openai_relay_calls_of(r, choice)) {
            struct openai_said *c = openai_said(r->en, openai_relay_index_of(r->doc, choice));
            int64_t from = openai_relay_call_index(r, call);
            struct openai_moved_call *m = from < 0 ? NULL : openai_relay_call_move(c, from);

            if (!m && from >= 0 && c->move_count < WIRE_BLOCKS_MAX)
                m = openai_relay_call_move_new(r->en, c, from);
            any |= m && (int64_t)m->to != from;
        }
    return any;
}

void openai_relay_edit_call_indices(struct openai_relay_frame *r, struct json_edits *ed,
                                    const struct json_node *choice)
{
    struct openai_said *c = openai_said(r->en, openai_relay_index_of(r->doc, choice));

    JSON_FOREACH_ITEM(call, r->doc, openai_relay_calls_of(r, choice)) {
        int64_t from = openai_relay_call_index(r, call);
        const struct openai_moved_call *m = from < 0 ? NULL : openai_relay_call_move(c, from);

        if (m && (int64_t)m->to != from)
            json_edit_set(ed, call, STR("index"), arena_u64(&r->a, m->to));
    }
}

/* A call begins in the order in which its chunks came. */
void openai_relay_note_call(struct wire_encoder *en, const struct chat_event *ev)
{
    struct openai_said *c = openai_said(en, ev->choice);
    struct openai_moved_call *m = c->moves;
    struct openai_said_call *call;
    uint32_t next = c->next_call;

    if (ev->kind == CHAT_CALL) {
        while (m && m->noted)
            m = m->next;
        call = openai_said_call_new(en, c, ev);
        call->passes = true;
        if (m) {
            m->noted = true;
            call->index = m->to;
            c->next_call = next;
        }
    }
    if (ev->kind != CHAT_ARGUMENTS || !ev->text.n)
        return;
    call = openai_said_call(c, ev->block);
    if (call)
        call->argued = true;
}

bool openai_relay_passes(struct wire_encoder *en, const struct chat_event *ev)
{
    const struct openai_said_call *call = openai_said_call(openai_said(en, ev->choice), ev->block);

    return ev->kind == CHAT_ARGUMENTS && call && call->passes;
}
