/* decode.c - replies of the Responses API as chat events: everything around the items.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/responses/decode_items.h"

static void responses_decode_start(struct responses_at *at, const struct json_node *response)
{
    bool stored;

    at->s->stored = !json_bool(json_find(at->doc, response, STR("store")), &stored) || stored;
    if (at->d->started)
        return;
    responses_emit(
        at,
        (struct chat_event){.kind = CHAT_START,
                            .id = json_get_text(at->doc, response, "id", &at->d->scratch),
                            .name = json_get_text(at->doc, response, "model", &at->d->scratch)});
}

static void responses_decode_usage(struct responses_at *at, const struct json_node *u)
{
    const struct json *doc = at->doc;
    const struct json_node *in = json_find(doc, u, STR("input_tokens_details"));
    const struct json_node *out = json_find(doc, u, STR("output_tokens_details"));
    struct chat_usage usage = chat_usage_none;
    const struct {
        const struct json_node *of;
        str key;
        int64_t *to;
    } rows[] = {
        {u, STR("input_tokens"), &usage.input},
        {u, STR("output_tokens"), &usage.output},
        {in, STR("cached_tokens"), &usage.cache_read},
        {in, STR("cache_write_tokens"), &usage.cache_write},
        {out, STR("reasoning_tokens"), &usage.reasoning},
    };

    if (!json_is_object(u))
        return;
    usage.raw = json_raw(doc, u);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t n = json_to_count(doc, json_find(doc, rows[i].of, rows[i].key));

        if (n >= 0)
            *rows[i].to = n;
    }
    responses_emit(at, (struct chat_event){.kind = CHAT_USAGE, .usage = &usage});
}

/* Members that other events report, or that only repeat the request. */
static const char responses_decode_said[] =
    "id object created_at completed_at status background error incomplete_details instructions "
    "max_output_tokens max_tool_calls model output output_text parallel_tool_calls "
    "previous_response_id prompt_cache_key prompt_cache_retention reasoning safety_identifier "
    "store temperature text tool_choice tools top_logprobs top_p truncation usage user metadata "
    "frequency_penalty presence_penalty";

static void responses_decode_extras(struct responses_at *at, const struct json_node *response)
{
    if (!json_is_object(response))
        return;
    JSON_FOREACH(k, at->doc, response) {
        const struct json_node *v = json_value(k);
        str name;

        if (v->kind != JSON_NULL && !json_is_one_of(at->doc, k, responses_decode_said) &&
            json_text(at->doc, k, &at->d->scratch, &name))
            responses_emit(at,
                           (struct chat_event){
                               .kind = CHAT_EXTRA, .name = name, .text = json_raw(at->doc, v)});
    }
}

/* Hosts that omit items from the final list renumber the others, so a known id has precedence over
 * the number. */
static struct responses_item *responses_decode_item_of_final(struct responses_at *at,
                                                             const struct json_node *node,
                                                             uint32_t index)
{
    const struct json_node *id = json_find(at->doc, node, STR("id"));
    enum item_kind kind = responses_kind(at, node);
    struct responses_item *it;

    assert(at->s->item_count <= WIRE_BLOCKS_MAX && json_is_object(node));
    for (uint32_t i = 0; i < at->s->item_count; i++)
        if (at->s->items[i].id.n && json_is(at->doc, id, at->s->items[i].id))
            return &at->s->items[i];
    it = responses_item_find(at, index);
    if (it && it->kind == kind)
        return it;
    return responses_item_add(at, it ? RESPONSES_INDEX_MAX + 1 + index : index, kind);
}

static void responses_decode_outputs(struct responses_at *at, const struct json_node *response)
{
    const struct json_node *list = json_find(at->doc, response, STR("output"));
    uint32_t i = 0;

    if (!json_is_array(list))
        return;
    for (const struct json_node *v = json_first(at->doc, list); v && !at->d->deaf;
         v = json_next(at->doc, list, v)) {
        struct responses_item *it =
            v->kind == JSON_OBJECT ? responses_decode_item_of_final(at, v, i) : NULL;

        if (++i > WIRE_BLOCKS_MAX)
            responses_fail(at, "the reply has too many output items");
        else if (it)
            responses_item_done(at, it, v);
    }
}

static void responses_decode_failed(struct responses_at *at, const struct json_node *v)
{
    struct chat_error error = wire_error(0, "", "the provider says that the response failed");

    assert(!at->d->deaf);
    error.raw = at->doc->src;
    responses_error_members(at->doc, v, &at->d->scratch, &error);
    if (str_eq(error.type, STR("error"))) /* the type of the event, not of the error */
        error.type = STR("");
    error.status = responses_error_status(error.code.n ? error.code : error.type);
    responses_emit(at, (struct chat_event){.kind = CHAT_ERROR, .error = &error});
}

static void responses_decode_stop(struct responses_at *at, const struct json_node *response,
                                  str status)
{
    const struct json_node *why = json_find(at->doc, response, STR("incomplete_details"));
    str reason = json_get_text(at->doc, why, "reason", &at->d->scratch);
    enum chat_stop stop = at->s->calls ? CHAT_STOP_TOOL : CHAT_STOP_END;

    assert(!at->d->ended);
    if (str_eq(status, STR("incomplete")))
        stop = str_eq(reason, STR("content_filter"))      ? CHAT_STOP_REFUSED
               : str_eq(reason, STR("max_output_tokens")) ? CHAT_STOP_LENGTH
                                                          : CHAT_STOP_OTHER;
    else if (status.n && !str_starts(status, STR("complete")))
        stop = CHAT_STOP_OTHER; /* in the background: queued, in_progress */
    responses_emit(
        at,
        (struct chat_event){.kind = CHAT_STOP, .stop = stop, .name = reason.n ? reason : status});
    responses_emit(at, (struct chat_event){.kind = CHAT_END});
}

static void responses_decode_finish(struct responses_at *at, const struct json_node *response,
                                    str status)
{
    const struct json_node *error = json_find(at->doc, response, STR("error"));

    if (str_eq(status, STR("failed")) || str_eq(status, STR("cancelled")) ||
        (json_has_content(at->doc, error) && !status.n)) {
        responses_decode_usage(at, json_find(at->doc, response, STR("usage")));
        responses_decode_failed(at, error);
        return;
    }
    responses_decode_outputs(at, response);
    responses_decode_extras(at, response);
    responses_decode_usage(at, json_find(at->doc, response, STR("usage")));
    responses_decode_stop(at, response, status);
}

static void responses_decode_on_started(struct responses_at *at)
{
    responses_decode_start(at, json_find(at->doc, at->root, STR("response")));
}

static void responses_decode_on_finished(struct responses_at *at)
{
    const struct json_node *response = json_find(at->doc, at->root, STR("response"));
    str status = json_get_text(at->doc, response, "status", &at->d->scratch);

    if (!status.n) {
        if (json_get_is(at->doc, at->root, "type", "response.failed"))
            status = STR("failed");
        else if (json_get_is(at->doc, at->root, "type", "response.incomplete"))
            status = STR("incomplete");
    }
    responses_decode_finish(at, response, status);
}

static void responses_decode_on_error(struct responses_at *at)
{
    const struct json_node *inner = json_find(at->doc, at->root, STR("error"));

    responses_decode_failed(at, json_is_object(inner) ? inner : at->root);
}

static const struct {
    str type;
    void (*on)(struct responses_at *at);
} events[] = {
    {STR_INIT("response.created"), responses_decode_on_started},
    {STR_INIT("response.queued"), responses_decode_on_started},
    {STR_INIT("response.in_progress"), responses_decode_on_started},
    {STR_INIT("response.completed"), responses_decode_on_finished},
    {STR_INIT("response.done"), responses_decode_on_finished},
    {STR_INIT("response.incomplete"), responses_decode_on_finished},
    {STR_INIT("response.failed"), responses_decode_on_finished},
    {STR_INIT("response.cancelled"), responses_decode_on_finished},
    {STR_INIT("error"), responses_decode_on_error},
};

/* Other events only announce what an item's `done` says whole. */
void responses_decode(struct wire_decoder *d, const struct wire_frame *f)
{
    struct responses_at at = {.d = d, .s = d->state, .doc = f->doc, .root = json_root(f->doc)};
    str type = json_get_text(f->doc, at.root, "type", &d->scratch);
    const struct json_node *response = json_find(f->doc, at.root, STR("response"));

    if (!type.n)
        type = f->name;
    if (!type.n && json_has_content(f->doc, json_find(f->doc, at.root, STR("error")))) {
        responses_decode_on_error(&at);
        return;
    }
    if (!d->started && str_starts(type, STR("response.")))
        responses_decode_start(&at, response);
    if (responses_item_event(&at, type))
        return;
    for (size_t i = 0; i < COUNT_OF(events); i++)
        if (str_eq(events[i].type, type)) {
            events[i].on(&at);
            return;
        }
}

void responses_decode_whole(struct wire_decoder *d, const struct wire_frame *f)
{
    struct responses_at at = {.d = d, .s = d->state, .doc = f->doc, .root = json_root(f->doc)};
    const struct json_node *error = json_find(f->doc, at.root, STR("error"));
    const struct json_node *output = json_find(f->doc, at.root, STR("output"));
    str status = json_get_text(f->doc, at.root, "status", &d->scratch);

    if (!json_is_array(output) && !json_has_content(f->doc, error)) {
        responses_fail(&at, "the reply is not a response object: it has no output");
        return;
    }
    responses_decode_start(&at, at.root);
    responses_decode_finish(&at, at.root, status);
}
