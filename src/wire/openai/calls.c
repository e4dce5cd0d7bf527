/* calls.c - tool calls of a reply, put together from what each host makes of them.
 *
 * OpenAI counts calls by `index`, names them in the first piece and sends arguments in later ones.
 * Others send whole calls, leave out the index or the id, repeat the name in every piece, give
 * parallel calls the same index, or send arguments as an object. A piece belongs to the call with
 * its index, unless it has a name and another id; without an index, to the call with its id, or to
 * the last one. A call's name is over when its arguments begin, so CALL waits for them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/openai/openai.h"

#define NAME_MAX_SIZE 4096

/* An id for a call that has none: the same for the same reply. */
static str openai_calls_generate_id(struct wire_decoder *d, const struct openai_choice *c,
                                    const struct openai_call *call)
{
    const struct openai_decoding *s = d->state;
    uint64_t h = openai_hash(OPENAI_HASH_SEED, s->id.p ? s->id : STR(""));

    if (d->salt.n)
        h = openai_hash(h, d->salt);
    h = openai_hash(h, arena_text_str(&call->name));
    return arena_printf(d->arena,
                        "call_%016llx%02x%03x",
                        (unsigned long long)h,
                        c->index & 0xff,
                        call->block & 0xfff);
}

static void openai_calls_emit_one(struct wire_decoder *d, struct openai_choice *c,
                                  struct openai_call *call)
{
    struct chat_event ev = openai_event(d, c, CHAT_CALL);

    assert(call->block < c->blocks);
    if (call->said)
        return;
    if (call->id.n == 0)
        call->id = openai_calls_generate_id(d, c, call);
    call->said = true;
    ev.block = call->block;
    ev.id = call->id;
    ev.name = arena_text_str(&call->name);
    wire_emit(d, &ev);
}

void openai_emit_calls(struct wire_decoder *d, struct openai_choice *c, struct openai_call *only)
{
    if (only)
        openai_calls_emit_one(d, c, only);
    else if (c->last)
        openai_calls_emit_one(d, c, c->last); /* those before it went out when it began */
}

static struct openai_call *openai_calls_new_call(struct wire_decoder *d, struct openai_choice *c,
                                                 int64_t index, str id)
{
    struct openai_call *call;

    if (!openai_block(d, c, OPENAI_CALL))
        return NULL;
    assert(!c->calls == !c->last);
    call = arena_zero(d->arena, 1, sizeof *call);
    call->index = index;
    call->block = c->block;
    call->id = wire_keep(d, str_slice(id, 0, NAME_MAX_SIZE));
    if (c->last)
        c->last->next = call;
    else
        c->calls = call;
    c->called = true;
    return c->last = call;
}

/* Parallel calls may share one index: then the last of them is meant. */
static struct openai_call *openai_calls_by_index(struct openai_choice *c, int64_t index)
{
    struct openai_call *found = NULL;

    if (c->last && c->last->index == index)
        return c->last;
    for (struct openai_call *call = c->calls; call; call = call->next)
        if (call->index == index)
            found = call;
    return found;
}

static struct openai_call *openai_calls_by_id(struct openai_choice *c, str id)
{
    if (c->last && str_eq(c->last->id, id))
        return c->last;
    for (struct openai_call *call = c->calls; call; call = call->next)
        if (str_eq(call->id, id))
            return call;
    return NULL;
}

static struct openai_call *openai_calls_call_of(struct wire_decoder *d, struct openai_choice *c,
                                                int64_t index, str id, bool named)
{
    const struct openai_decoding *s = d->state;
    struct openai_call *call = NULL;

    if (s->whole)
        return openai_calls_new_call(d, c, index, id);
    if (index >= 0) {
        call = openai_calls_by_index(c, index);
        if (call && named && id.n && call->id.n && !str_eq(id, call->id))
            call = openai_calls_by_id(c, id);
    } else if (id.n) {
        call = openai_calls_by_id(c, id);
        if (!call && !named)
            call = c->last;
    } else if (!named) {
        call = c->last;
    }
    return call ? call : openai_calls_new_call(d, c, index, id);
}

static void openai_calls_arguments(struct wire_decoder *d, struct openai_choice *c,
                                   struct openai_call *call, const struct json_node *v)
{
    struct chat_event ev = openai_event(d, c, CHAT_ARGUMENTS);

    assert(call->block < c->blocks);
    if (!v || v->kind == JSON_NULL)
        return;
    if (json_text(&d->doc, v, &d->scratch, &ev.text))
        ev.node = v;
    else
        ev.text = json_raw(&d->doc, v);
    /* No arguments are an empty object, which "null" is some models' word for. */
    if (ev.text.n == 0 || (!call->argued && str_eq(ev.text, STR("null"))))
        return;
    call->argued = true;
    openai_emit_calls(d, c, call);
    ev.block = call->block;
    wire_emit(d, &ev);
}

static void openai_calls_name_piece(struct wire_decoder *d, struct openai_call *call, str name)
{
    if (!call->said && !str_eq(arena_text_str(&call->name), name))
        arena_text_add_max(&call->name, d->arena, name, NAME_MAX_SIZE);
}

/* The input of a custom call becomes the arguments of a function that has one text. */
static void openai_calls_input(struct wire_decoder *d, struct openai_choice *c,
                               struct openai_call *call, str input, bool last)
{
    struct chat_event ev = openai_event(d, c, CHAT_ARGUMENTS);

    assert(call->custom && call->block < c->blocks);
    if (!input.n && !last)
        return;
    ev.text = part_custom_piece(input, !call->argued, last, &d->scratch);
    ev.block = call->block;
    call->argued = true;
    openai_emit_calls(d, c, call);
    wire_emit(d, &ev);
}

void openai_close_calls(struct wire_decoder *d, struct openai_choice *c)
{
    for (struct openai_call *call = c->calls; call; call = call->next)
        if (call->custom)
            openai_calls_input(d, c, call, STR(""), true);
}

void openai_decode_call(struct wire_decoder *d, struct openai_choice *c, const struct json_node *v)
{
    const struct json_node *function = json_get(&d->doc, v, "function");
    const struct json_node *custom = json_get(&d->doc, v, "custom");
    str id = json_get_as_text(&d->doc, v, "id", &d->scratch), name;
    struct openai_call *call;

    custom = function || openai_empty(&d->doc, custom) ? NULL : custom;
    if (!function)
        function = custom ? custom : v; /* name and arguments without a box around them */
    name = json_get_as_text(&d->doc, function, "name", &d->scratch);
    if (!c->calls && !id.n && !name.n && !json_get(&d->doc, function, "arguments") && !custom)
        return; /* it says nothing, so no call begins */
    call = openai_calls_call_of(d, c, json_get_count(&d->doc, v, "index"), id, name.n > 0);
    if (!call)
        return;
    if (call->id.n == 0 && !call->said)
        call->id = wire_keep(d, str_slice(id, 0, NAME_MAX_SIZE));
    openai_calls_name_piece(d, call, name);
    call->custom |= custom != NULL;
    if (call->custom)
        openai_calls_input(
            d, c, call, json_get_as_text(&d->doc, custom, "input", &d->scratch), false);
    else
        openai_calls_arguments(d, c, call, json_find(&d->doc, function, STR("arguments")));
    openai_extras(d, c, v, json_first(&d->doc, v), OPENAI_TOOL_CALL, call);
}

/* The old way: one call, no id. */
void openai_decode_function(struct wire_decoder *d, struct openai_choice *c,
                            const struct json_node *v)
{
    str name = json_get_as_text(&d->doc, v, "name", &d->scratch);
    struct openai_call *call = c->last ? c->last : openai_calls_new_call(d, c, -1, STR(""));

    if (!call)
        return;
    openai_calls_name_piece(d, call, name);
    openai_calls_arguments(d, c, call, json_find(&d->doc, v, STR("arguments")));
}
