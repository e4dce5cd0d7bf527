/* anthropic_relay.c - frames of /v1/messages passed on to a client of the same dialect.
 *
 * A frame that nobody touched leaves as it came; only the index of its block is another if a block
 * before it was left out or added. The start of an empty text block is held back until its first
 * text: if that turns out to be thinking in disguise, no empty block is left in front of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/anthropic.h"

static struct anthropic_encoder *state(const struct wire_encoder *en)
{
    return en->state;
}

/* ---- slots: the provider's index, and ours ---- */

static struct anthropic_slot *slot_find(struct anthropic_encoder *s, int64_t in)
{
    for (size_t i = 0; i < ANTHROPIC_OPEN_MAX; i++)
        if (s->slots[i].used && s->slots[i].in == in)
            return &s->slots[i];
    return NULL;
}

static struct anthropic_slot *slot_add(struct anthropic_encoder *s, int64_t in)
{
    struct anthropic_slot *slot = slot_find(s, in);

    for (size_t i = 0; !slot && i < ANTHROPIC_OPEN_MAX; i++)
        if (!s->slots[i].used)
            slot = &s->slots[i];
    if (!slot)
        slot = &s->slots[0];
    *slot = (struct anthropic_slot){.in = in, .used = true};
    return slot;
}

/* ---- bytes ---- */

/* The frame with its values replaced, in the frame of SSE it came in. */
static void write_patched(struct wire_encoder *en, const struct wire_frame *f,
                          struct patchwork *list, size_t n)
{
    say_sse_begin(en->out, f->name);
    patchwork_write(f->doc, list, n, true, en->out);
    say_sse_end(en->out);
}

static void add_index(const struct wire_frame *f, uint32_t out, char text[16],
                      struct patchwork *list, size_t *n)
{
    const struct json_node *index = json_find(f->doc, json_root(f->doc), STR("index"));

    if (!index || member_count(f->doc, json_root(f->doc), "index") == (int64_t)out)
        return;
    (void)snprintf(text, 16, "%u", out);
    list[(*n)++] = (struct patchwork){.node = index, .with = str_c(text)};
}

static void write_indexed(struct wire_encoder *en, const struct wire_frame *f, uint32_t out)
{
    struct patchwork list[PATCHWORK_MAX];
    char text[16];
    size_t n = 0;

    add_index(f, out, text, list, &n);
    if (n)
        write_patched(en, f, list, n);
    else
        buf_add(en->out, f->raw);
}

/* ---- the start that is held back ---- */

static void hold_flush(struct wire_encoder *en)
{
    struct anthropic_encoder *s = state(en);

    if (!s->holding)
        return;
    buf_add(en->out, piece_str(&s->held));
    s->holding = false;
}

/* The block never was; pings that came since go out. */
static void hold_drop(struct wire_encoder *en)
{
    struct anthropic_encoder *s = state(en);

    if (!s->holding)
        return;
    buf_add(en->out, str_slice(piece_str(&s->held), s->held_start, s->held.n));
    s->holding = false;
    s->next--;
    s->open = OPEN_NONE;
}

void anthropic_settle_held(struct wire_encoder *en, const struct chat_event *ev)
{
    if (ev->kind == CHAT_TEXT || ev->kind == CHAT_REFUSAL)
        hold_flush(en);
    else if ((ev->kind >= CHAT_REASONING && ev->kind <= CHAT_OPAQUE) || ev->kind >= CHAT_ERROR)
        hold_drop(en);
}

static void hold(struct wire_encoder *en, const struct wire_frame *f, struct anthropic_slot *slot)
{
    struct anthropic_encoder *s = state(en);
    struct buf *out = en->out, own;

    buf_init(&own, f->raw.n * 2 + 256);
    en->out = &own;
    write_indexed(en, f, slot->out);
    en->out = out;
    piece_reset(&s->held);
    piece_add(&s->held, en->arena, buf_str(&own));
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

/* What we opened ourselves is closed before the provider's next block. */
static void settle(struct wire_encoder *en)
{
    struct anthropic_encoder *s = state(en);

    hold_flush(en);
    if (s->open != OPEN_NONE && !s->open_relayed)
        anthropic_close(en);
}

static void encode_all(struct wire_encoder *en, const struct chat_event *events, size_t n)
{
    for (size_t i = 0; i < n; i++)
        wire_encode(en, &events[i]);
}

/* ---- blocks ---- */

static enum anthropic_open kind_of(const struct wire_frame *f)
{
    const struct json_node *block = json_find(f->doc, json_root(f->doc), STR("content_block"));
    const struct json_node *type = json_find(f->doc, block, STR("type"));

    if (json_is(f->doc, type, STR("text")))
        return OPEN_TEXT;
    if (json_is(f->doc, type, STR("thinking")))
        return OPEN_THINK;
    return json_is(f->doc, type, STR("tool_use")) ? OPEN_CALL : OPEN_NONE;
}

static void on_start(struct wire_encoder *en, const struct wire_frame *f,
                     const struct chat_event *events, size_t n, bool touched)
{
    const struct json_node *root = json_root(f->doc);
    const struct json_node *block = json_find(f->doc, root, STR("content_block"));
    struct anthropic_encoder *s = state(en);
    struct anthropic_slot *slot = slot_add(s, member_count(f->doc, root, "index"));
    enum anthropic_open kind = kind_of(f);

    if (touched) {
        hold_flush(en);
        slot->dropped = n == 0;
        slot->own = n > 0;
        encode_all(en, events, n);
        return;
    }
    settle(en);
    if (kind == OPEN_CALL)
        s->gather.called = true;
    slot->out = s->next++;
    slot->kind = kind;
    s->open = kind;
    s->open_index = slot->out;
    s->open_block = n ? events[0].block : ANTHROPIC_ANY_BLOCK;
    s->open_relayed = true;
    s->is_signed = false;
    if (kind == OPEN_TEXT && json_is(f->doc, json_find(f->doc, block, STR("text")), STR("")))
        hold(en, f, slot);
    else
        write_indexed(en, f, slot->out);
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
static bool replace_text(struct wire_encoder *en, const struct wire_frame *f,
                         const struct chat_event *ev)
{
    const struct json_node *delta = json_find(f->doc, json_root(f->doc), STR("delta"));
    struct anthropic_encoder *s = state(en);
    struct patchwork list[PATCHWORK_MAX];
    char text[16];
    size_t n = 0;

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        const struct json_node *node = json_find(f->doc, delta, str_c(texts[i].member));

        if (texts[i].event != ev->kind || texts[i].open != s->open || !node ||
            (s->open_block != ANTHROPIC_ANY_BLOCK && s->open_block != ev->block))
            continue;
        hold_flush(en);
        s->open_block = ev->block;
        list[n++] = (struct patchwork){.node = node, .with = ev->text, .quote = true};
        add_index(f, s->open_index, text, list, &n);
        write_patched(en, f, list, n);
        s->is_signed |= ev->kind == CHAT_SIGNATURE;
        return true;
    }
    return false;
}

/* The block that is open was the provider's; from now on what stands in its place is ours. */
static void take_over(struct wire_encoder *en, struct anthropic_slot *slot,
                      const struct chat_event *first)
{
    struct anthropic_encoder *s = state(en);

    if (slot->own)
        return;
    slot->own = true;
    if (s->holding && s->held_index == slot->in && first->kind != CHAT_TEXT)
        hold_drop(en);
    else
        hold_flush(en);
    s->open_relayed = false;
}

static void on_delta(struct wire_encoder *en, const struct wire_frame *f,
                     const struct chat_event *events, size_t n, bool touched)
{
    struct anthropic_encoder *s = state(en);
    struct anthropic_slot *slot = slot_find(s, member_count(f->doc, json_root(f->doc), "index"));

    if (!slot) {
        hold_flush(en);
        if (touched)
            encode_all(en, events, n);
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
        if (n == 1 && slot->own && replace_text(en, f, &events[0]))
            return;
        slot->own = true;
        encode_all(en, events, n);
        return;
    }
    if (!touched) {
        hold_flush(en);
        if (n && s->open_index == slot->out) {
            s->open_block = events[0].block;
            s->is_signed |= events[0].kind == CHAT_SIGNATURE;
        }
        write_indexed(en, f, slot->out);
    } else if (!(n == 1 && s->open_index == slot->out && replace_text(en, f, &events[0]))) {
        take_over(en, slot, &events[0]);
        encode_all(en, events, n);
    }
}

/* A block of the provider's ends as it came; thinking that was cut short lost its signature, and
 * gets one of ours. */
static void stop_theirs(struct wire_encoder *en, const struct wire_frame *f,
                        const struct anthropic_slot *slot)
{
    struct anthropic_encoder *s = state(en);

    hold_flush(en);
    if (s->open != OPEN_NONE && s->open_index == slot->out) {
        if (slot->cut && slot->kind == OPEN_THINK && !s->is_signed)
            anthropic_sign(en);
        s->open = OPEN_NONE;
    }
    write_indexed(en, f, slot->out);
}

static void on_stop(struct wire_encoder *en, const struct wire_frame *f,
                    const struct chat_event *events, size_t n, bool touched)
{
    struct anthropic_encoder *s = state(en);
    struct anthropic_slot *slot = slot_find(s, member_count(f->doc, json_root(f->doc), "index"));
    bool held = slot && s->holding && s->held_index == slot->in;

    if (!slot) {
        if (touched)
            encode_all(en, events, n);
        else
            buf_add(en->out, f->raw);
        return;
    }
    slot->used = false;
    if (slot->kind == OPEN_NONE && !slot->own && !slot->dropped) {
        /* What it is was passed on already: only what else is to be said follows. */
        stop_theirs(en, f, slot);
        for (size_t i = 0; touched && i < n; i++)
            if (events[i].kind != CHAT_OPAQUE)
                wire_encode(en, &events[i]);
        return;
    }
    if (touched && n) {
        if (!slot->dropped)
            take_over(en, slot, &events[0]);
        encode_all(en, events, n);
        held = false;
    }
    if (held && s->held_emptied)
        hold_drop(en);
    else if (slot->own)
        settle(en);
    else if (!slot->dropped)
        stop_theirs(en, f, slot);
}

/* ---- the message around them ---- */

static void quote_into(struct patchwork *list, size_t *n, const struct json_node *node, str text)
{
    if (node)
        list[(*n)++] = (struct patchwork){.node = node, .with = text, .quote = true};
}

static void on_message_start(struct wire_encoder *en, const struct wire_frame *f,
                             const struct chat_event *events, size_t n, bool touched)
{
    const struct json_node *m = json_find(f->doc, json_root(f->doc), STR("message"));
    struct anthropic_encoder *s = state(en);
    struct patchwork list[PATCHWORK_MAX];
    size_t k = 0;

    settle(en);
    memset(s->slots, 0, sizeof s->slots);
    if (touched && n == 0)
        return;
    s->started = true;
    s->next = 0;
    for (size_t i = 0; touched && i < n; i++)
        if (events[i].kind == CHAT_START) {
            if (events[i].name.n)
                quote_into(list, &k, json_find(f->doc, m, STR("model")), events[i].name);
            if (events[i].id.n)
                quote_into(list, &k, json_find(f->doc, m, STR("id")), events[i].id);
        }
    if (k)
        write_patched(en, f, list, k);
    else
        buf_add(en->out, f->raw);
}

/* What was held back until it was sure that nothing follows comes as a block of its own: the one it
 * belongs to is closed by now. */
static void settle_late(struct wire_encoder *en, const struct chat_event *events, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (events[i].kind >= CHAT_TEXT && events[i].kind <= CHAT_OPAQUE)
            wire_encode(en, &events[i]);
    settle(en);
}

static void on_message_delta(struct wire_encoder *en, const struct wire_frame *f,
                             const struct chat_event *events, size_t n, bool touched)
{
    const struct json_node *root = json_root(f->doc);
    const struct json_node *output =
        json_find(f->doc, json_find(f->doc, root, STR("usage")), STR("output_tokens"));
    const struct json_node *reason =
        json_find(f->doc, json_find(f->doc, root, STR("delta")), STR("stop_reason"));
    struct patchwork list[PATCHWORK_MAX];
    char text[96];
    size_t k = 0;

    settle(en);
    if (touched && n == 0)
        return;
    if (touched)
        settle_late(en, events, n);
    for (size_t i = 0; touched && i < n && k < 2; i++) {
        if (events[i].kind == CHAT_STOP && reason &&
            !json_is(f->doc, reason, anthropic_stop_name(events[i].stop, events[i].name)))
            quote_into(list, &k, reason, anthropic_stop_name(events[i].stop, events[i].name));
        if (events[i].kind == CHAT_USAGE && output && events[i].usage->output >= 0) {
            bool more =
                events[i].usage->reasoning >= 0 && !json_find(f->doc,
                                                              json_find(f->doc, root, STR("usage")),
                                                              STR("output_tokens_details"));

            /* Counted by us: another member behind the one that is there. */
            (void)snprintf(text,
                           sizeof text,
                           more ? "%lld,\"output_tokens_details\":{\"thinking_tokens\":%lld}"
                                : "%lld",
                           (long long)events[i].usage->output,
                           (long long)events[i].usage->reasoning);
            list[k++] = (struct patchwork){.node = output, .with = str_c(text)};
            output = NULL;
        }
    }
    if (k)
        write_patched(en, f, list, k);
    else
        buf_add(en->out, f->raw);
}

static void on_message_stop(struct wire_encoder *en, const struct wire_frame *f,
                            const struct chat_event *events, size_t n, bool touched)
{
    (void)events;
    settle(en);
    if (touched && n == 0)
        return;
    buf_add(en->out, f->raw);
    state(en)->finished = true;
}

static void on_ping(struct wire_encoder *en, const struct wire_frame *f,
                    const struct chat_event *events, size_t n, bool touched)
{
    struct anthropic_encoder *s = state(en);

    (void)events;
    (void)n;
    (void)touched;
    if (s->holding) {
        piece_add(&s->held, en->arena, f->raw);
        if (!s->held.full)
            return;
        hold_flush(en);
    }
    buf_add(en->out, f->raw);
}

static void on_other(struct wire_encoder *en, const struct wire_frame *f,
                     const struct chat_event *events, size_t n, bool touched)
{
    hold_flush(en);
    if (touched)
        encode_all(en, events, n);
    else
        buf_add(en->out, f->raw);
}

static const struct {
    const char *type;
    void (*on)(struct wire_encoder *en, const struct wire_frame *f, const struct chat_event *events,
               size_t n, bool touched);
} frames[] = {
    {"content_block_delta", on_delta},
    {"content_block_start", on_start},
    {"content_block_stop", on_stop},
    {"ping", on_ping},
    {"message_start", on_message_start},
    {"message_delta", on_message_delta},
    {"message_stop", on_message_stop},
};

void anthropic_relay(struct wire_encoder *en, const struct wire_frame *f,
                     const struct chat_event *events, size_t n, bool touched)
{
    const struct json_node *type;

    if (!en->stream) {
        if (!touched || !f->doc)
            buf_add(en->out, f->raw.n ? f->raw : f->data);
        else
            anthropic_relay_whole(en, f, events, n);
        state(en)->finished = true;
        return;
    }
    gather_begin(&state(en)->gather);
    type = f->doc ? json_find(f->doc, json_root(f->doc), STR("type")) : NULL;
    for (size_t i = 0; type && i < COUNT_OF(frames); i++)
        if (json_is(f->doc, type, str_c(frames[i].type))) {
            frames[i].on(en, f, events, n, touched);
            return;
        }
    on_other(en, f, events, n, touched);
}
