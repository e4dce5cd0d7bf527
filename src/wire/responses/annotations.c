/* annotations.c - the data beside a text: annotations and log-probabilities. They may arrive before
 * or after it, and are emitted when it ends. Also other repeated data: texts, and finished items.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/responses/encode.h"

#define LOGPROBS_SIZE_MAX ((size_t)8 << 20)

str responses_kept(struct wire_encoder *en, str s)
{
    struct responses_encoder *state = en->state;

    if (s.n <= ROPE_SIZE_MAX && arena_fits(en->arena, s.n + 1, (size_t)128 << 10))
        return arena_dup(en->arena, s);
    state->done.full = true;
    return STR("");
}

str responses_kept_line(struct wire_encoder *en, str json)
{
    size_t at = en->out->n;
    str s;

    buf_add(en->out, json);
    if (en->stream)
        json_join_lines(en->out, at);
    s = responses_kept(en, (str){en->out->p + at, en->out->n - at});
    en->out->n = at;
    return s;
}

void responses_notes_add(struct wire_encoder *en, str list, enum chat_dialect dialect)
{
    struct responses_encoder *s = en->state;
    const struct json_node *root;
    struct json doc;
    struct buf note;
    struct err e;
    bool as_is;

    assert(s->note_count <= RESPONSES_NOTES_MAX);
    json_init(&doc);
    buf_init(&note, list.n + 64);
    as_is =
        dialect == CHAT_RESPONSES && s->note_count == 0 && (!en->stream || !json_has_lines(list));
    s->notes_whole = as_is ? arena_text_dup(en->arena, list) : STR("");
    if (!s->notes)
        s->notes = arena_text_zero(en->arena, RESPONSES_NOTES_MAX * sizeof *s->notes);
    if (s->notes && json_parse(&doc, list, &e) && json_root(&doc)->kind == JSON_ARRAY) {
        root = json_root(&doc);
        for (const struct json_node *v = json_first(&doc, root);
             v && s->note_count < RESPONSES_NOTES_MAX;
             v = json_next(&doc, root, v)) {
            str kept = STR("");

            buf_reset(&note);
            if (citation_write(&doc, v, &note))
                kept = arena_text_dup(en->arena, buf_str(&note));
            if (kept.n)
                s->notes[s->note_count++] = kept;
        }
    }
    json_release(&doc);
    buf_release(&note);
}

void responses_logprobs_add(struct wire_encoder *en, str json)
{
    struct responses_encoder *s = en->state;
    str tokens = citation_tokens(json, en->arena);

    if (!tokens.n)
        return;
    if (s->logprobs.n)
        arena_text_add_max(&s->logprobs, en->arena, STR(","), LOGPROBS_SIZE_MAX);
    arena_text_add_max(&s->logprobs, en->arena, tokens, LOGPROBS_SIZE_MAX);
}

static str responses_note_listed(struct wire_encoder *en, struct buf *b)
{
    str list;

    buf_add_c(b, ']');
    list = buf_full(b) ? STR("") : arena_text_dup(en->arena, buf_str(b));
    buf_release(b);
    return list.n ? list : STR("[]");
}

str responses_notes_take(struct wire_encoder *en)
{
    struct responses_encoder *s = en->state;
    struct buf b;

    if (!s->note_count)
        return STR("[]");
    assert(s->notes && s->note_count <= RESPONSES_NOTES_MAX);
    buf_init(&b, LOGPROBS_SIZE_MAX);
    buf_add_c(&b, '[');
    for (uint32_t i = 0; i < s->note_count; i++) {
        if (i)
            buf_add_c(&b, ',');
        buf_add(&b, s->notes[i]);
    }
    s->note_count = 0;
    if (s->notes_whole.n) {
        buf_release(&b);
        return s->notes_whole;
    }
    return responses_note_listed(en, &b);
}

str responses_logprobs_take(struct wire_encoder *en)
{
    struct responses_encoder *s = en->state;
    struct buf b;

    if (!s->logprobs.n || s->logprobs.full)
        return STR("[]");
    buf_init(&b, LOGPROBS_SIZE_MAX + 2);
    buf_add_c(&b, '[');
    buf_add(&b, arena_text_str(&s->logprobs));
    arena_text_reset(&s->logprobs);
    return responses_note_listed(en, &b);
}

void responses_entry_add(struct wire_encoder *en, struct responses_entry entry)
{
    struct responses_encoder *s = en->state;
    uint32_t at = s->entry_count;

    assert(at <= s->entry_cap);
    if (at == s->entry_cap) {
        uint32_t cap = at ? 2 * at : 8;
        struct responses_entry *more = arena_zero(en->arena, cap, sizeof *more);

        if (at)
            memcpy(more, s->entries, at * sizeof *more);
        s->entries = more;
        s->entry_cap = cap;
    }
    for (; at > 0 && s->entries[at - 1].index > entry.index; at--)
        s->entries[at] = s->entries[at - 1];
    s->entries[at] = entry;
    s->entry_count++;
}
