/* encode.c - events as a stream of chat.completion.chunk objects.
 *
 * Reasoning goes out under both of its names: half of the clients read one, half the other.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/openai/encode.h"

#include "wire/images.h"

/* ---- the sent reply ---- */

struct openai_said *openai_said(struct wire_encoder *en, uint32_t choice)
{
    struct openai_encoding *s = en->state;
    struct openai_said **at = &s->choices;

    while (*at && (*at)->index != choice)
        at = &(*at)->next;
    if (!*at) {
        *at =
            arena_zero(en->arena, 1, en->stream ? offsetof(struct openai_said, text) : sizeof **at);
        (*at)->index = choice;
        if (!en->stream)
            (*at)->finish = STR("");
    }
    return *at;
}

struct openai_said_call *openai_said_call(struct openai_said *c, uint32_t block)
{
    struct openai_said_call *call = c->calls;

    if (c->last && c->last->block == block)
        return c->last;
    while (call && call->block != block)
        call = call->next;
    return call;
}

struct openai_said_call *openai_said_call_new(struct wire_encoder *en, struct openai_said *c,
                                              const struct chat_event *ev)
{
    struct openai_said_call *call = arena_zero(en->arena, 1, sizeof *call);

    assert(!c->calls == !c->last);
    call->block = ev->block;
    call->index = c->next_call++;
    call->id = arena_text_dup(en->arena, ev->id);
    call->name = arena_text_dup(en->arena, ev->name);
    call->custom = part_is_custom(en->request, ev->name);
    c->marked_calls |= ev->from_text;
    return LIST_APPEND(c->calls, c->last, call);
}

/* Keeps the first OPENAI_EXTRAS_MAX names, more than any host sends, and drops the others. */
void openai_piece_add(struct wire_encoder *en, struct openai_piece **list, str name, str json)
{
    size_t names = 0;

    for (; *list && !str_eq((*list)->name, name); list = &(*list)->next)
        if (++names == OPENAI_EXTRAS_MAX)
            return;
    if (!*list) {
        if (!arena_text_room(en->arena, sizeof **list + name.n))
            return;
        *list = arena_zero(en->arena, 1, sizeof **list);
        (*list)->name = arena_dup(en->arena, name);
    }
    if ((*list)->count++)
        arena_text_add(&(*list)->json, en->arena, STR(","));
    arena_text_add(&(*list)->json, en->arena, json);
}

const char *openai_finish(const struct chat_event *stop)
{
    static const char *const names[] = {[CHAT_STOP_END] = "stop",
                                        [CHAT_STOP_LENGTH] = "length",
                                        [CHAT_STOP_TOOL] = "tool_calls",
                                        [CHAT_STOP_SEQUENCE] = "stop",
                                        [CHAT_STOP_REFUSED] = "content_filter",
                                        [CHAT_STOP_PAUSE] = "stop",
                                        [CHAT_STOP_OTHER] = "stop",
                                        [CHAT_STOP_FAILED] = "error"};

    assert((size_t)stop->stop < COUNT_OF(names));
    return names[stop->stop];
}

void openai_usage_write(const struct chat_usage *u, struct buf *out)
{
    int64_t input = u->input < 0 ? 0 : u->input, output = u->output < 0 ? 0 : u->output;
    struct json_out o;

    json_out_init_object(&o, out);
    json_member_i64(&o, "prompt_tokens", input);
    json_member_i64(&o, "completion_tokens", output);
    json_member_i64(&o, "total_tokens", input <= INT64_MAX - output ? input + output : INT64_MAX);
    json_member_object(&o, "prompt_tokens_details");
    json_member_i64(&o, "cached_tokens", u->cache_read < 0 ? 0 : u->cache_read);
    if (u->cache_write > 0)
        json_member_i64(&o, "cache_write_tokens", u->cache_write);
    json_out_end(&o);
    json_member_object(&o, "completion_tokens_details");
    json_member_i64(&o, "reasoning_tokens", u->reasoning < 0 ? 0 : u->reasoning);
    json_out_close(&o, 2);
    assert(o.depth == 0);
}

/* Usage as the provider gave it says more than ours, if the client can read it. */
static void openai_encode_take_usage(struct wire_encoder *en, const struct chat_event *ev)
{
    struct openai_encoding *s = en->state;
    struct buf b;

    buf_init(&b, 1 << 16);
    if (ev->dialect == CHAT_OPENAI && ev->usage->raw.n)
        buf_add(&b, ev->usage->raw);
    if (b.n == 0)
        openai_usage_write(ev->usage, &b);
    s->usage_text.n = 0;
    arena_text_add_max(&s->usage_text, en->arena, buf_str(&b), 1 << 16);
    s->usage = arena_text_str(&s->usage_text);
    buf_release(&b);
}

/* ---- chunks ---- */

static void openai_encode_head(struct wire_encoder *en, const struct chat_event *start)
{
    struct openai_encoding *s = en->state;
    str id = en->id, model = en->model;

    if (s->head.n)
        return;
    if (id.n == 0)
        id = start && start->id.n ? start->id : STR("chatcmpl-0");
    if (model.n == 0)
        model = start && start->name.n ? start->name : STR("");
    s->head = json_format(en->arena,
                          "{'id':%q,'object':%q,'created':%d,'model':%q",
                          id,
                          en->stream ? STR("chat.completion.chunk") : STR("chat.completion"),
                          en->created_s > 0 ? en->created_s : 0,
                          model);
}

static void openai_encode_chunk_begin(struct wire_encoder *en)
{
    struct openai_encoding *s = en->state;

    assert(en->stream);
    openai_encode_head(en, NULL);
    sse_begin(en->out, STR(""));
    s->chunk_at = en->out->n;
    buf_add(en->out, s->head);
    if (s->extras)
        openai_pieces_write(s->extras, en->arena, en->out);
    s->extras = NULL;
}

static void openai_encode_chunk_delta(struct wire_encoder *en, const struct openai_said *c)
{
    openai_encode_chunk_begin(en);
    buf_add(en->out, STR(",\"choices\":[{\"index\":"));
    buf_add_u64(en->out, c->index);
    buf_add(en->out, STR(",\"delta\":"));
}

static void openai_encode_chunk_end(struct wire_encoder *en, const char *finish)
{
    const struct openai_encoding *s = en->state;

    assert(s->chunk_at <= en->out->n);
    if (finish)
        buf_printf(en->out, ",\"finish_reason\":\"%s\"}]}", finish);
    else
        buf_add(en->out, STR(",\"finish_reason\":null}]}"));
    sse_end_lines(en->out, s->chunk_at);
}

static void openai_encode_chunk(struct wire_encoder *en, const struct openai_said *c, str delta,
                                const char *finish)
{
    openai_encode_chunk_delta(en, c);
    buf_add(en->out, delta);
    openai_encode_chunk_end(en, finish);
}

static struct openai_said *openai_encode_choice(struct wire_encoder *en, uint32_t choice)
{
    struct openai_said *c = openai_said(en, choice);

    if (!c->role)
        openai_encode_chunk(en, c, STR("{\"role\":\"assistant\",\"content\":\"\"}"), NULL);
    c->role = true;
    return c;
}

static void openai_encode_delta_index(const struct openai_said_call *call, struct buf *out)
{
    buf_add(out, STR("{\"tool_calls\":[{\"index\":"));
    buf_add_u64(out, call->index);
}

static void openai_encode_delta_call(const struct openai_said_call *call, struct buf *out)
{
    openai_encode_delta_index(call, out);
    buf_add(out, STR(",\"id\":"));
    (void)json_quote(out, call->id);
    buf_add(out,
            call->custom ? STR(",\"type\":\"custom\",\"custom\":{\"name\":")
                         : STR(",\"type\":\"function\",\"function\":{\"name\":"));
    (void)json_quote(out, call->name);
    buf_add(out, call->custom ? STR(",\"input\":\"\"}}]}") : STR(",\"arguments\":\"\"}}]}"));
}

static void openai_encode_delta_arguments(struct openai_said_call *call, str text, struct buf *out)
{
    call->argued = true;
    openai_encode_delta_index(call, out);
    buf_add(out,
            call->custom ? STR(",\"custom\":{\"input\":") : STR(",\"function\":{\"arguments\":"));
    (void)json_quote(out, text);
    buf_add(out, STR("}}]}"));
}

static void openai_encode_delta_text(str key, str also, str text, struct buf *out)
{
    size_t from;

    buf_add(out, key);
    from = out->n;
    (void)json_quote(out, text);
    if (also.n && !buf_full(out)) {
        size_t size = out->n - from;
        char *room;

        buf_add(out, also);
        room = buf_room(out, size);
        if (room) {
            memcpy(room, out->p + from, size);
            buf_wrote(out, size);
        }
    }
    buf_add_c(out, '}');
}

bool openai_says(struct openai_said *c, const struct chat_event *ev)
{
    switch (ev->kind) {
    case CHAT_TEXT:
    case CHAT_REASONING:
    case CHAT_REFUSAL:
        return ev->text.n > 0;
    case CHAT_CALL:
        return true;
    case CHAT_ARGUMENTS:
        return ev->text.n > 0 && openai_said_call(c, ev->block);
    default:
        return false;
    }
}

void openai_delta(struct wire_encoder *en, struct openai_said *c, const struct chat_event *ev,
                  struct buf *out)
{
    struct openai_encoding *s = en->state;
    struct openai_said_call *call;

    switch (ev->kind) {
    case CHAT_TEXT:
        openai_encode_delta_text(STR("{\"content\":"), STR(""), ev->text, out);
        break;
    case CHAT_REASONING:
        s->shown = true;
        openai_encode_delta_text(
            STR("{\"reasoning\":"), STR(",\"reasoning_content\":"), ev->text, out);
        break;
    case CHAT_REFUSAL:
        openai_encode_delta_text(STR("{\"refusal\":"), STR(""), ev->text, out);
        break;
    case CHAT_CALL:
        openai_encode_delta_call(openai_said_call_new(en, c, ev), out);
        break;
    default:
        call = openai_said_call(c, ev->block);
        openai_encode_delta_arguments(
            call, call->custom ? part_custom_input(ev->text, en->arena) : ev->text, out);
        break;
    }
}

/* A call without any arguments gets {}, because clients parse them. */
static void openai_encode_close_calls(struct wire_encoder *en, struct openai_said *c)
{
    for (struct openai_said_call *call = c->calls; call; call = call->next) {
        if (call->argued)
            continue;
        openai_encode_chunk_delta(en, c);
        openai_encode_delta_arguments(
            call,
            call->custom ? part_custom_input(arena_text_str(&call->arguments), en->arena)
                         : STR("{}"),
            en->out);
        openai_encode_chunk_end(en, NULL);
    }
}

/* Details that say reasoning in words may only follow words that were shown. */
static bool openai_encode_may_show(struct wire_encoder *en, const struct chat_event *ev)
{
    const struct openai_encoding *s = en->state;

    return s->shown || (!str_eq(ev->name, STR("message.reasoning_details")) &&
                        !str_eq(ev->name, STR("message.thinking_blocks")));
}

static void openai_encode_extra(struct wire_encoder *en, const struct chat_event *ev)
{
    struct openai_encoding *s = en->state;
    size_t dot = str_find(ev->name, STR("."));
    str name = str_slice(ev->name, dot + 1, ev->name.n);
    struct openai_said_call *call;
    struct openai_said *c;

    if (ev->dialect != CHAT_OPENAI || !openai_encode_may_show(en, ev))
        return;
    if (dot == STR_NONE) {
        openai_piece_add(en, &s->extras, ev->name, ev->text);
        return;
    }
    c = openai_encode_choice(en, ev->choice);
    call = openai_said_call(c, ev->block);
    if (str_starts(ev->name, STR("call.")) && !call)
        return;
    openai_encode_chunk_delta(en, c);
    if (str_starts(ev->name, STR("call."))) {
        openai_encode_delta_index(call, en->out);
        json_print(en->out, ",%q:%j}]}", name, ev->text);
    } else if (str_starts(ev->name, STR("choice."))) {
        json_print(en->out, "{},%q:%j", name, ev->text);
    } else {
        json_print(en->out, "{%q:%j}", name, ev->text);
    }
    openai_encode_chunk_end(en, NULL);
}

/* The head of the chunks that the encoder adds to a relayed stream: the provider's own. */
void openai_take_head(struct wire_encoder *en, const struct json *doc)
{
    struct openai_encoding *s = en->state;
    const struct json_node *root = json_root(doc), *id, *created, *model;

    if (s->head.n) /* sent in an earlier frame */
        return;
    id = json_get(doc, root, "id");
    created = json_get(doc, root, "created");
    model = json_get(doc, root, "model");
    if (!id || !json_is_object(root))
        return;
    s->head = json_format(en->arena,
                          "{'id':%j,'object':'chat.completion.chunk','created':%j,'model':%j",
                          json_raw(doc, id),
                          created ? json_raw(doc, created) : STR("0"),
                          model ? json_raw(doc, model) : STR("\"\""));
}

static void openai_encode_stop(struct wire_encoder *en, const struct chat_event *ev)
{
    struct openai_said *c = openai_said(en, ev->choice);

    assert(c->index == ev->choice);
    if (c->finished)
        return;
    openai_encode_choice(en, ev->choice);
    openai_encode_close_calls(en, c);
    openai_encode_chunk(en, c, STR("{}"), openai_finish(ev));
    c->finished = true;
}

static bool openai_wants_usage_chunk(const struct wire_encoder *en)
{
    const struct openai_encoding *s = en->state;

    return s->usage.n && en->request->stream_usage && !s->usage_reported;
}

/* A chunk without choices, with the usage if the client asked for it. */
static void openai_write_last_chunk(struct wire_encoder *en)
{
    struct openai_encoding *s = en->state;

    assert(en->stream);
    openai_encode_chunk_begin(en);
    buf_add(en->out, STR(",\"choices\":[]"));
    if (openai_wants_usage_chunk(en)) {
        buf_add(en->out, STR(",\"usage\":"));
        buf_add(en->out, s->usage);
        s->usage_reported = true;
    }
    buf_add_c(en->out, '}');
    sse_end_lines(en->out, s->chunk_at);
}

void openai_encode_counted_usage(struct wire_encoder *en, const struct chat_event *ev)
{
    openai_encode_take_usage(en, ev);
    if (openai_wants_usage_chunk(en))
        openai_write_last_chunk(en);
}

static void openai_encode_end(struct wire_encoder *en)
{
    struct openai_encoding *s = en->state;

    if (openai_wants_usage_chunk(en) || s->extras)
        openai_write_last_chunk(en);
    buf_add(en->out, STR("data: [DONE]\n\n"));
}

static void openai_encode_content(struct wire_encoder *en, const struct chat_event *ev)
{
    struct openai_said *c = openai_said(en, ev->choice);

    if (!openai_says(c, ev))
        return;
    openai_encode_choice(en, ev->choice);
    if (ev->kind == CHAT_CALL)
        openai_encode_close_calls(en, c);
    if (ev->kind == CHAT_ARGUMENTS && openai_said_call(c, ev->block)->custom) {
        arena_text_add(&openai_said_call(c, ev->block)->arguments, en->arena, ev->text);
        return;
    }
    openai_encode_chunk_delta(en, c);
    openai_delta(en, c, ev, en->out);
    openai_encode_chunk_end(en, NULL);
}

/* Citations of other dialects are sent before the choice is finished. */
static void openai_encode_cited(struct wire_encoder *en, const struct chat_event *ev)
{
    struct openai_encoding *s = en->state;
    struct chat_event notes = {.kind = CHAT_EXTRA,
                               .dialect = CHAT_OPENAI,
                               .id = STR(""),
                               .name = STR("message.annotations")};
    str list;

    if (!s->cites && ev->dialect != CHAT_ANTHROPIC && ev->dialect != CHAT_GEMINI)
        return;
    if (!s->cites)
        s->cites = arena_zero(en->arena, 1, sizeof *s->cites);
    if (!citations_convert(s->cites, en->arena, ev, false, &list))
        return;
    notes.text = citations_to_chat(list, en->arena);
    if (notes.text.n)
        openai_encode(en, &notes);
}

static void openai_encode_drawn(void *ctx, const struct chat_event *ev)
{
    openai_encode(ctx, ev);
}

void openai_encode(struct wire_encoder *en, const struct chat_event *ev)
{
    struct chat_event said;

    openai_encode_cited(en, ev);
    if (image_needs_conversion(ev, CHAT_OPENAI))
        image_convert(ev, CHAT_OPENAI, (struct chat_sink){openai_encode_drawn, en});
    if (citation_to_chat(ev, en->arena, &said))
        ev = &said;
    if (ev->kind == CHAT_USAGE)
        openai_encode_take_usage(en, ev);
    if (ev->kind == CHAT_START || ev->kind == CHAT_END)
        openai_encode_head(en, ev);
    if (!en->stream) {
        openai_encode_whole(en, ev);
        return;
    }
    switch (ev->kind) {
    case CHAT_START:
        openai_encode_choice(en, 0);
        break;
    case CHAT_EXTRA:
        openai_encode_extra(en, ev);
        break;
    case CHAT_STOP:
        openai_encode_stop(en, ev);
        break;
    case CHAT_ERROR:
        sse_begin(en->out, STR(""));
        openai_write_error(ev->error, en->out);
        sse_end(en->out);
        break;
    case CHAT_END:
        openai_encode_end(en);
        break;
    default:
        openai_encode_content(en, ev);
        break;
    }
}
