/* relay.c - frames of /v1/messages passed on to a client of the same dialect.
 *
 * An untouched frame passes unchanged; only the index of its block changes if an earlier block was
 * dropped or added. The start of an empty text block is buffered until its first text: if that
 * turns out to be hidden reasoning, no empty block is left before it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/anthropic/anthropic.h"

/* ---- slots: the provider's index, and ours ---- */

static struct anthropic_slot *anthropic_relay_slot_find(struct anthropic_encoder *s, int64_t in)
{
    for (size_t i = 0; i < ANTHROPIC_OPEN_MAX; i++)
        if (s->slots[i].used && s->slots[i].in == in)
            return &s->slots[i];
    return NULL;
}

static struct anthropic_slot *anthropic_relay_slot_add(struct anthropic_encoder *s, int64_t in)
{
    struct anthropic_slot *slot = anthropic_relay_slot_find(s, in);

    for (size_t i = 0; !slot && i < ANTHROPIC_OPEN_MAX; i++)
        if (!s->slots[i].used)
            slot = &s->slots[i];
    if (!slot)
        slot = &s->slots[0];
    assert(slot >= s->slots && slot < s->slots + ANTHROPIC_OPEN_MAX);
    *slot = (struct anthropic_slot){.in = in, .used = true};
    return slot;
}

/* ---- bytes ---- */

/* The frame with its values replaced, in the frame of SSE it came in. */
static void anthropic_relay_write_patched(struct wire_encoder *en, const struct wire_frame *f,
                                          struct json_replacement *list, size_t n)
{
    assert(n > 0 && f->doc);
    sse_begin(en->out, f->name);
    json_replace_write(f->doc, list, n, true, en->out);
    sse_end(en->out);
}

static void anthropic_relay_add_index(const struct wire_frame *f, uint32_t out, char text[16],
                                      struct json_replacement *list, size_t *n)
{
    const struct json_node *index = json_find(f->doc, json_root(f->doc), STR("index"));

    if (!index || json_get_count(f->doc, json_root(f->doc), "index") == (int64_t)out)
        return;
    (void)snprintf(text, 16, "%u", out);
    assert(*n < JSON_REPLACE_MAX);
    list[(*n)++] = (struct json_replacement){.node = index, .with = str_c(text)};
}

static void anthropic_relay_write_indexed(struct wire_encoder *en, const struct wire_frame *f,
                                          uint32_t out)
{
    struct json_replacement list[JSON_REPLACE_MAX];
    char text[16];
    size_t n = 0;

    anthropic_relay_add_index(f, out, text, list, &n);
    if (n)
        anthropic_relay_write_patched(en, f, list, n);
    else
        buf_add(en->out, f->raw);
}

/* ---- the start that is held back ---- */

static void anthropic_relay_hold_flush(struct wire_encoder *en)
{
    struct anthropic_encoder *s = en->state;

    if (!s->holding)
        return;
    assert(s->held_start <= s->held.n);
    buf_add(en->out, arena_text_str(&s->held));
    s->holding = false;
}

/* The block never was; pings that came since go out. */
static void anthropic_relay_hold_drop(struct wire_encoder *en)
{
    struct anthropic_encoder *s = en->state;

    if (!s->holding)
        return;
    buf_add(en->out, str_slice(arena_text_str(&s->held), s->held_start, s->held.n));
    assert(s->next > 0 && s->held_start <= s->held.n);
    s->holding = false;
    s->dropped = true;
    s->next--;
    s->open = OPEN_NONE;
}

void anthropic_settle_held(struct wire_encoder *en, const struct chat_event *ev)
{
    if (ev->kind == CHAT_TEXT || ev->kind == CHAT_REFUSAL)
        anthropic_relay_hold_flush(en);
    else if ((ev->kind >= CHAT_REASONING && ev->kind <= CHAT_OPAQUE) || ev->kind >= CHAT_ERROR)
        anthropic_relay_hold_drop(en);
}

static void anthropic_relay_hold(struct wire_encoder *en, const struct wire_frame *f,
                                 struct anthropic_slot *slot)
{
    struct anthropic_encoder *s = en->state;
    struct buf *out = en->out, own;

    assert(!s->holding && slot->used);
    buf_init(&own, f->raw.n * 2 + 256);
    en->out = &own;
    anthropic_relay_write_indexed(en, f, slot->out);
    en->out = out;
    arena_text_reset(&s->held);
    arena_text_add(&s->held, en->arena, buf_str(&own));
    if (s->held.full) {
        buf_add(out, buf_str(&own));
    } else {
        s->holding = true;
        s->held_emptied = false;
        s->held_start = s->held.n;
        s->held_index = slot->in;
    }
    buf_release(&own);
}

/* Closes a block that we opened ourselves, before the provider's next block. */
static void anthropic_relay_settle(struct wire_encoder *en)
{
    struct anthropic_encoder *s = en->state;

    anthropic_relay_hold_flush(en);
    if (s->open != OPEN_NONE && !s->open_relayed)
        anthropic_close(en);
}

static void anthropic_relay_encode_all(struct wire_encoder *en, const struct chat_event *events,
                                       size_t n)
{
    for (size_t i = 0; i < n; i++)
        wire_encode(en, &events[i]);
}

/* ---- blocks ---- */

static enum anthropic_open anthropic_relay_kind_of(const struct wire_frame *f)
{
    const struct json_node *block = json_find(f->doc, json_root(f->doc), STR("content_block"));
    const struct json_node *type = json_find(f->doc, block, STR("type"));

    if (json_is(f->doc, type, STR("text")))
        return OPEN_TEXT;
    if (json_is(f->doc, type, STR("thinking")))
        return OPEN_THINK;
    return json_is(f->doc, type, STR("tool_use")) ? OPEN_CALL : OPEN_NONE;
}

static void anthropic_relay_on_start(struct wire_encoder *en, const struct wire_frame *f,
                                     const struct chat_event *events, size_t n, bool touched)
{
    const struct json_node *root = json_root(f->doc);
    const struct json_node *block = json_find(f->doc, root, STR("content_block"));
    struct anthropic_encoder *s = en->state;
    struct anthropic_slot *slot =
        anthropic_relay_slot_add(s, json_get_count(f->doc, root, "index"));
    enum anthropic_open kind = anthropic_relay_kind_of(f);

    if (touched) {
        anthropic_relay_hold_flush(en);
        slot->dropped = n == 0;
        slot->own = n > 0;
        s->dropped = true;
        anthropic_relay_encode_all(en, events, n);
        return;
    }
    anthropic_relay_settle(en);
    if (kind == OPEN_CALL)
        s->gather.called = true;
    if (!s->dropped && slot->in > s->next && slot->in < UINT16_MAX)
        s->next = (uint32_t)slot->in; /* some hosts leave numbers out */
    slot->out = s->next++;
    slot->kind = kind;
    s->open = kind;
    s->open_index = slot->out;
    s->open_block = n ? events[0].block : ANTHROPIC_ANY_BLOCK;
    s->open_relayed = true;
    s->is_signed = false;
    if (kind == OPEN_TEXT && json_get_is(f->doc, block, "text", ""))
        anthropic_relay_hold(en, f, slot);
    else
        anthropic_relay_write_indexed(en, f, slot->out);
}

static const struct {
    enum chat_event_kind event;
    enum anthropic_open open;
    const char *member;
} texts[] = {
    {CHAT_TEXT, OPEN_TEXT, "text"},
    {CHAT_REASONING, OPEN_THINK, "thinking"},
    {CHAT_SIGNATURE, OPEN_THINK, "signature"},
    {CHAT_ARGUMENTS, OPEN_CALL, "partial_json"},
};

/* One event that only says another text where the frame says one: the rest of the frame stays. */
static bool anthropic_relay_replace_text(struct wire_encoder *en, const struct wire_frame *f,
                                         const struct chat_event *ev)
{
    const struct json_node *delta = json_find(f->doc, json_root(f->doc), STR("delta"));
    struct anthropic_encoder *s = en->state;
    struct json_replacement list[JSON_REPLACE_MAX];
    char text[16];
    size_t n = 0;

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        const struct json_node *node = json_find(f->doc, delta, str_c(texts[i].member));

        if (texts[i].event != ev->kind || texts[i].open != s->open || !node ||
            (s->open_block != ANTHROPIC_ANY_BLOCK && s->open_block != ev->block))
            continue;
        anthropic_relay_hold_flush(en);
        s->open_block = ev->block;
        list[n++] = (struct json_replacement){.node = node, .with = ev->text, .quote = true};
        anthropic_relay_add_index(f, s->open_index, text, list, &n);
        anthropic_relay_write_patched(en, f, list, n);
        s->is_signed |= ev->kind == CHAT_SIGNATURE;
        return true;
    }
    return false;
}

/* The open block was the provider's; from now on our own block replaces it. */
static void anthropic_relay_take_over(struct wire_encoder *en, struct anthropic_slot *slot,
                                      const struct chat_event *first)
{
    struct anthropic_encoder *s = en->state;

    assert(!slot->dropped);
    if (slot->own)
        return;
    slot->own = true;
    if (s->holding && s->held_index == slot->in && first->kind != CHAT_TEXT)
        anthropic_relay_hold_drop(en);
    else
        anthropic_relay_hold_flush(en);
    s->open_relayed = false;
}

static void anthropic_relay_on_delta(struct wire_encoder *en, const struct wire_frame *f,
                                     const struct chat_event *events, size_t n, bool touched)
{
    struct anthropic_encoder *s = en->state;
    struct anthropic_slot *slot =
        anthropic_relay_slot_find(s, json_get_count(f->doc, json_root(f->doc), "index"));

    if (!slot) {
        anthropic_relay_hold_flush(en);
        if (touched)
            anthropic_relay_encode_all(en, events, n);
        else
            buf_add(en->out, f->raw);
        return;
    }
    if (n == 0 && touched) {
        s->held_emptied |= s->holding && s->held_index == slot->in;
        slot->cut = true;
        return;
    }
    if (slot->dropped || slot->own) {
        if (n == 1 && slot->own && anthropic_relay_replace_text(en, f, &events[0]))
            return;
        slot->own = true;
        anthropic_relay_encode_all(en, events, n);
        return;
    }
    if (!touched) {
        anthropic_relay_hold_flush(en);
        if (n && s->open_index == slot->out) {
            s->open_block = events[0].block;
            s->is_signed |= events[0].kind == CHAT_SIGNATURE;
        }
        anthropic_relay_write_indexed(en, f, slot->out);
    } else if (!(n == 1 && s->open_index == slot->out &&
                 anthropic_relay_replace_text(en, f, &events[0]))) {
        anthropic_relay_take_over(en, slot, &events[0]);
        anthropic_relay_encode_all(en, events, n);
    }
}

/* Relays the end of a provider's block; truncated thinking has lost its signature and gets one of
 * ours. */
static void anthropic_relay_stop_theirs(struct wire_encoder *en, const struct wire_frame *f,
                                        const struct anthropic_slot *slot)
{
    struct anthropic_encoder *s = en->state;

    assert(!slot->used && !slot->own && !slot->dropped);
    anthropic_relay_hold_flush(en);
    if (s->open != OPEN_NONE && s->open_index == slot->out) {
        if (slot->cut && slot->kind == OPEN_THINK && !s->is_signed)
            anthropic_sign(en);
        s->open = OPEN_NONE;
    }
    anthropic_relay_write_indexed(en, f, slot->out);
}

static void anthropic_relay_on_stop(struct wire_encoder *en, const struct wire_frame *f,
                                    const struct chat_event *events, size_t n, bool touched)
{
    struct anthropic_encoder *s = en->state;
    struct anthropic_slot *slot =
        anthropic_relay_slot_find(s, json_get_count(f->doc, json_root(f->doc), "index"));
    bool held = slot && s->holding && s->held_index == slot->in;

    if (!slot) {
        if (touched)
            anthropic_relay_encode_all(en, events, n);
        else
            buf_add(en->out, f->raw);
        return;
    }
    slot->used = false;
    if (slot->kind == OPEN_NONE && !slot->own && !slot->dropped) {
        /* The block's start was already passed on: only the rest follows. */
        anthropic_relay_stop_theirs(en, f, slot);
        for (size_t i = 0; touched && i < n; i++)
            if (events[i].kind != CHAT_OPAQUE)
                wire_encode(en, &events[i]);
        return;
    }
    if (touched && n) {
        if (!slot->dropped)
            anthropic_relay_take_over(en, slot, &events[0]);
        anthropic_relay_encode_all(en, events, n);
        held = false;
    }
    if (held && s->held_emptied)
        anthropic_relay_hold_drop(en);
    else if (slot->own)
        anthropic_relay_settle(en);
    else if (!slot->dropped)
        anthropic_relay_stop_theirs(en, f, slot);
}

/* ---- the message around them ---- */

static void anthropic_relay_quote_into(struct json_replacement *list, size_t *n,
                                       const struct json_node *node, str text)
{
    assert(*n < JSON_REPLACE_MAX);
    if (node)
        list[(*n)++] = (struct json_replacement){.node = node, .with = text, .quote = true};
}

static void anthropic_relay_on_message_start(struct wire_encoder *en, const struct wire_frame *f,
                                             const struct chat_event *events, size_t n,
                                             bool touched)
{
    const struct json_node *m = json_find(f->doc, json_root(f->doc), STR("message"));
    struct anthropic_encoder *s = en->state;
    struct json_replacement list[JSON_REPLACE_MAX];
    size_t k = 0;

    anthropic_relay_settle(en);
    memset(s->slots, 0, sizeof s->slots);
    if (touched && n == 0)
        return;
    s->started = true;
    s->dropped = false;
    s->next = 0;
    for (size_t i = 0; touched && i < n; i++)
        if (events[i].kind == CHAT_START) {
            if (events[i].name.n)
                anthropic_relay_quote_into(
                    list, &k, json_find(f->doc, m, STR("model")), events[i].name);
            if (events[i].id.n)
                anthropic_relay_quote_into(list, &k, json_find(f->doc, m, STR("id")), events[i].id);
        }
    if (k)
        anthropic_relay_write_patched(en, f, list, k);
    else
        buf_add(en->out, f->raw);
}

/* Text that was buffered until nothing could follow it becomes a separate block, because its own
 * block is already closed. */
static void anthropic_relay_settle_late(struct wire_encoder *en, const struct chat_event *events,
                                        size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (events[i].kind >= CHAT_TEXT && events[i].kind <= CHAT_OPAQUE)
            wire_encode(en, &events[i]);
    anthropic_relay_settle(en);
}

static void anthropic_relay_on_message_delta(struct wire_encoder *en, const struct wire_frame *f,
                                             const struct chat_event *events, size_t n,
                                             bool touched)
{
    const struct json_node *root = json_root(f->doc);
    const struct json_node *output =
        json_find(f->doc, json_find(f->doc, root, STR("usage")), STR("output_tokens"));
    const struct json_node *reason =
        json_find(f->doc, json_find(f->doc, root, STR("delta")), STR("stop_reason"));
    struct json_replacement list[JSON_REPLACE_MAX];
    char text[96];
    size_t k = 0;

    anthropic_relay_settle(en);
    if (touched && n == 0)
        return;
    if (touched)
        anthropic_relay_settle_late(en, events, n);
    for (size_t i = 0; touched && i < n && k < 2; i++) {
        if (events[i].kind == CHAT_STOP && reason &&
            !json_is(f->doc, reason, anthropic_stop_name(events[i].stop, events[i].name)))
            anthropic_relay_quote_into(
                list, &k, reason, anthropic_stop_name(events[i].stop, events[i].name));
        if (events[i].kind == CHAT_USAGE && output && events[i].usage->output >= 0) {
            bool more =
                events[i].usage->reasoning >= 0 && !json_find(f->doc,
                                                              json_find(f->doc, root, STR("usage")),
                                                              STR("output_tokens_details"));

            /* Our own count: another member after the existing one. */
            (void)snprintf(text,
                           sizeof text,
                           more ? "%lld,\"output_tokens_details\":{\"thinking_tokens\":%lld}"
                                : "%lld",
                           (long long)events[i].usage->output,
                           (long long)events[i].usage->reasoning);
            list[k++] = (struct json_replacement){.node = output, .with = str_c(text)};
            output = NULL;
        }
    }
    if (k)
        anthropic_relay_write_patched(en, f, list, k);
    else
        buf_add(en->out, f->raw);
}

static void anthropic_relay_on_message_stop(struct wire_encoder *en, const struct wire_frame *f,
                                            const struct chat_event *events, size_t n, bool touched)
{
    struct anthropic_encoder *s = en->state;

    (void)events;
    anthropic_relay_settle(en);
    if (touched && n == 0)
        return;
    buf_add(en->out, f->raw);
    s->finished = true;
}

static void anthropic_relay_on_ping(struct wire_encoder *en, const struct wire_frame *f,
                                    const struct chat_event *events, size_t n, bool touched)
{
    struct anthropic_encoder *s = en->state;

    (void)events;
    (void)n;
    (void)touched;
    if (s->holding) {
        arena_text_add(&s->held, en->arena, f->raw);
        if (!s->held.full)
            return;
        anthropic_relay_hold_flush(en);
    }
    buf_add(en->out, f->raw);
}

static void anthropic_relay_on_other(struct wire_encoder *en, const struct wire_frame *f,
                                     const struct chat_event *events, size_t n, bool touched)
{
    anthropic_relay_hold_flush(en);
    if (touched)
        anthropic_relay_encode_all(en, events, n);
    else
        buf_add(en->out, f->raw);
}

static const struct {
    const char *type;
    void (*on)(struct wire_encoder *en, const struct wire_frame *f, const struct chat_event *events,
               size_t n, bool touched);
} frames[] = {
    {"content_block_delta", anthropic_relay_on_delta},
    {"content_block_start", anthropic_relay_on_start},
    {"content_block_stop", anthropic_relay_on_stop},
    {"ping", anthropic_relay_on_ping},
    {"message_start", anthropic_relay_on_message_start},
    {"message_delta", anthropic_relay_on_message_delta},
    {"message_stop", anthropic_relay_on_message_stop},
};

void anthropic_relay(struct wire_encoder *en, const struct wire_frame *f,
                     const struct chat_event *events, size_t n, bool touched)
{
    struct anthropic_encoder *s = en->state;
    const struct json_node *type;

    if (!en->stream) {
        if (!touched || !f->doc)
            buf_add(en->out, f->raw.n ? f->raw : f->data);
        else
            anthropic_relay_whole(en, f, events, n);
        s->finished = true;
        return;
    }
    assemble_begin(&s->gather);
    type = f->doc ? json_find(f->doc, json_root(f->doc), STR("type")) : NULL;
    for (size_t i = 0; type && i < COUNT_OF(frames); i++)
        if (json_is(f->doc, type, str_c(frames[i].type))) {
            frames[i].on(en, f, events, n, touched);
            return;
        }
    anthropic_relay_on_other(en, f, events, n, touched);
}
