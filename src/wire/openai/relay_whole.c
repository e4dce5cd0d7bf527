/* relay_whole.c - a whole reply passed on to a client of the same dialect.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/openai/relay.h"

#include "wire/redact_reasoning.h"
#include "wire/relay_blocks.h"

/* Reasoning goes out under the names that it came with; under both if the client asked to be shown
 * it, or if it was in the text. */
static void openai_relay_edit_thought(const struct wire_encoder *en, struct json_edits *ed,
                                      const struct json_node *message, const struct json_fields *of,
                                      str text)
{
    bool named = false;

    for (unsigned i = 0; i < OPENAI_THOUGHT_COUNT; i++) {
        if (!json_fields_present(of, openai_thought_fields[i]))
            continue;
        named = true;
        json_edit_set_text(ed, message, openai_thought_name(i), text);
    }
    if (named && !en->both_names)
        return;
    json_edit_set_text(ed, message, STR("reasoning"), text);
    json_edit_set_text(ed, message, STR("reasoning_content"), text);
}

static void openai_relay_print_call(struct wire_encoder *en, struct openai_said_call *call,
                                    struct buf *out)
{
    str arguments = arena_text_str(&call->arguments);

    if (call->custom)
        json_print(out,
                   "{'id':%q,'type':'custom','custom':{'name':%q,'input':%q}}",
                   call->id,
                   call->name,
                   part_custom_input(arguments, en->arena));
    else
        json_print(out,
                   "{'id':%q,'type':'function','function':{'name':%q,'arguments':%q}}",
                   call->id,
                   call->name,
                   arguments.n ? arguments : STR("{}"));
}

/* Calls that were found in the text come after the provider's own. */
static void openai_relay_edit_calls(struct openai_relay_frame *r, struct json_edits *ed,
                                    const struct json_node *message, uint32_t choice)
{
    struct openai_said *c = openai_said(r->en, choice);
    const struct json_node *list = json_get(r->doc, message, "tool_calls");
    bool first = !json_is_array(list) || !json_first(r->doc, list);
    struct buf b;

    for (size_t i = 0; i < r->n; i++) {
        const struct chat_event *ev = &r->events[i];

        if (ev->choice == choice && ev->kind == CHAT_CALL && ev->from_text)
            openai_said_call_new(r->en, c, ev);
        else if (ev->choice == choice && ev->kind == CHAT_ARGUMENTS &&
                 openai_said_call(c, ev->block))
            arena_text_add(&openai_said_call(c, ev->block)->arguments, &r->a, ev->text);
    }
    if (!c->calls)
        return;
    buf_init(&b, OPENAI_WHOLE_MAX);
    for (struct openai_said_call *call = c->calls; call; call = call->next) {
        if (first)
            buf_add_c(&b, call == c->calls ? '[' : ',');
        openai_relay_print_call(r->en, call, &b);
        if (!first)
            json_edit_insert(ed, list, NULL, arena_dup(&r->a, buf_str(&b)));
        if (!first)
            buf_reset(&b);
    }
    buf_add_c(&b, ']');
    if (first)
        json_edit_set(ed, message, STR("tool_calls"), arena_dup(&r->a, buf_str(&b)));
    buf_release(&b);
}

/* ---- content that is a list ---- */

static bool openai_relay_takes(const struct relay_blocks *r, const struct chat_event *ev)
{
    return ev->kind == CHAT_TEXT || openai_relay_is_chunk(r->list, ev);
}

static const struct json_node *openai_relay_find_text(const struct json *doc,
                                                      const struct json_node *chunk,
                                                      enum assembled_kind kind)
{
    const struct json_node *text = chunk;

    if (kind == ASSEMBLED_OPAQUE)
        return NULL;
    if (chunk->kind == JSON_OBJECT)
        text = openai_is_thought_chunk(doc, chunk)
                   ? NULL
                   : json_get(doc, chunk, json_get(doc, chunk, "refusal") ? "refusal" : "text");
    return text && text->kind == JSON_STRING ? text : NULL;
}

static bool openai_relay_is_source(const struct json *doc, const struct json_node *chunk,
                                   const struct chat_event *ev)
{
    if (ev->kind == CHAT_OPAQUE)
        return str_eq(json_raw(doc, chunk), ev->text);
    return openai_relay_find_text(doc, chunk, ASSEMBLED_TEXT) != NULL;
}

static void openai_relay_write_element(const struct relay_blocks *r, struct json_out *o)
{
    assert(r->block.kind == ASSEMBLED_OPAQUE || r->block.kind == ASSEMBLED_TEXT);
    if (r->block.kind == ASSEMBLED_OPAQUE) {
        json_out_raw(o, arena_text_str(&r->block.text));
        return;
    }
    json_out_object(o);
    json_member_str(o, "type", STR("text"));
    json_member_str(o, "text", arena_text_str(&r->block.text));
    json_out_end(o);
}

static const struct relay_rules openai_relay_rules = {
    .dialect = CHAT_OPENAI,
    .takes = openai_relay_takes,
    .is_source = openai_relay_is_source,
    .find_text = openai_relay_find_text,
    .write = openai_relay_write_element,
};

/* Content with chunks that are neither text nor reasoning (images, references) stays a list. False:
 * it has none. */
static bool openai_relay_edit_list(struct openai_relay_frame *r, struct json_edits *ed,
                                   const struct json_node *content, uint32_t choice)
{
    struct relay_blocks blocks = {.rules = &openai_relay_rules,
                                  .en = r->en,
                                  .doc = r->doc,
                                  .list = content,
                                  .choice = choice};
    struct buf b;
    size_t i = 0;

    if (!json_is_array(content))
        return false;
    while (i < r->n &&
           (r->events[i].choice != choice || !openai_relay_is_chunk(content, &r->events[i])))
        i++;
    if (i == r->n)
        return false;
    buf_init(&b, OPENAI_WHOLE_MAX);
    blocks.out = &b;
    relay_blocks_write(&blocks, r->events, r->n);
    json_edit_replace(ed, content, arena_move_buf(&r->a, &b));
    return true;
}

static void openai_relay_edit_message(struct openai_relay_frame *r, struct json_edits *ed,
                                      const struct json_node *choice)
{
    const struct json_node *message, *content;
    struct json_fields of;
    struct openai_relay_heard now;
    uint32_t index;

    json_fields_read(&openai_reply_fields, r->doc, choice, 0, &of);
    message = json_fields_present(&of, OPENAI_AT_MESSAGE);
    if (!message) /* as the decoder reads it */
        message = json_fields_present(&of, OPENAI_AT_DELTA);
    index = openai_relay_index_at(r->doc, json_fields_get(&of, OPENAI_AT_INDEX));
    now = openai_relay_hear(r, index);
    openai_relay_edit_finish(
        r, ed, choice, json_fields_present(&of, OPENAI_AT_FINISH_REASON), index);
    redact_token_lists(r->doc, choice, r->events, r->n, index, ed);
    if (!json_is_object(message))
        return;
    json_fields_read(&openai_reply_fields, r->doc, message, 0, &of);
    content = json_fields_get(&of, OPENAI_AT_CONTENT);
    openai_relay_drop_thoughts(ed, message, &of, openai_relay_details_fit(r, &of, &now));
    if (now.thought.any)
        openai_relay_edit_thought(r->en, ed, message, &of, openai_relay_joined(&now.thought));
    if (now.calls && openai_empty(r->doc, json_fields_get(&of, OPENAI_AT_FUNCTION_CALL)))
        openai_relay_edit_calls(r, ed, message, index);
    if (!now.text.any && (!content || content->kind == JSON_NULL))
        return;
    if (openai_relay_edit_list(r, ed, content, index))
        return;
    if (!json_is(r->doc, content, openai_relay_joined(&now.text)))
        json_edit_set_text(ed, message, STR("content"), openai_relay_joined(&now.text));
}

void openai_relay_body(struct openai_relay_frame *r)
{
    struct json_edits ed;

    assert(!r->en->stream && json_is_array(r->choices));
    json_edits_init(&ed, r->doc, &r->a);
    JSON_FOREACH(c, r->doc, r->choices)
        openai_relay_edit_message(r, &ed, c);
    openai_relay_edit_usage(r, &ed);
    json_edits_apply(&ed, r->en->out);
}
