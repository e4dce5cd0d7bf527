/* extras.c - members without a specific event, and data that must be sent back with a tool call.
 *
 * DeepSeek refuses a history whose tool calls have lost their reasoning_content, even an empty one;
 * OpenRouter requires reasoning_details unchanged, merged from their pieces; Google's endpoint
 * requires its thought signatures.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/openai/openai.h"

/* ---- members ---- */

bool openai_empty(const struct json *doc, const struct json_node *v)
{
    if (!v || v->kind == JSON_NULL)
        return true;
    if (v->kind == JSON_STRING)
        return v->size == 2;
    if (v->kind == JSON_ARRAY)
        return v->span == 1;
    if (v->kind != JSON_OBJECT)
        return false;
    JSON_FOREACH(k, doc, v)
        if (!openai_empty(doc, json_value(k)))
            return false;
    return true;
}

uint64_t openai_hash(uint64_t h, str s)
{
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * 1099511628211ull;
    return (h ^ 0xff) * 1099511628211ull;
}

/* A hash for internal use, eight bytes at a time; the last eight may overlap those before. */
static uint64_t openai_extras_mix(str s)
{
    const uint64_t prime = 0x9E3779B97F4A7C15u;
    uint64_t h = s.n + 1, part = 0;

    for (size_t at = 0; at + sizeof part < s.n; at += sizeof part) {
        memcpy(&part, s.p + at, sizeof part);
        h = (h ^ part) * prime;
        h ^= h >> 29;
    }
    if (s.n >= sizeof part)
        memcpy(&part, s.p + s.n - sizeof part, sizeof part);
    else
        str_put((char *)&part, s);
    h = (h ^ part) * prime;
    return h ^ h >> 32;
}

#define BIT(name) JSON_FIELD_BIT(OPENAI_AT_##name)

/* Members with a specific event. */
static const struct {
    str name;
    uint64_t known;
} places[] = {
    [OPENAI_REPLY] = {STR_INIT(""),
                      BIT(ID) | BIT(OBJECT) | BIT(CREATED) | BIT(MODEL) | BIT(CHOICES) |
                          BIT(USAGE) | BIT(ERROR) | BIT(OBFUSCATION)},
    [OPENAI_CHOICE] = {STR_INIT("choice."),
                       BIT(INDEX) | BIT(DELTA) | BIT(MESSAGE) | BIT(TEXT) | BIT(FINISH_REASON) |
                           BIT(USAGE)},
    [OPENAI_MESSAGE] = {STR_INIT("message."),
                        BIT(ROLE) | BIT(CONTENT) | BIT(REFUSAL) | BIT(TOOL_CALLS) |
                            BIT(FUNCTION_CALL) | BIT(REASONING_DETAILS) | BIT(THINKING_BLOCKS) |
                            BIT(INDEX) | OPENAI_THOUGHTS},
    [OPENAI_TOOL_CALL] = {STR_INIT("call."),
                          BIT(INDEX) | BIT(ID) | BIT(TYPE) | BIT(FUNCTION) | BIT(CUSTOM) |
                              BIT(NAME) | BIT(ARGUMENTS)},
};

void openai_members(const struct json *doc, const struct json_node *v, enum openai_place place,
                    struct json_fields *out)
{
    uint64_t thoughts;

    json_fields_read(&openai_reply_fields, doc, v, places[place].known, out);
    /* Reasoning that is not text counts as an unknown member. */
    for (thoughts = out->seen & OPENAI_THOUGHTS & places[place].known; thoughts && v;
         thoughts &= thoughts - 1)
        if (out->at[__builtin_ctzll(thoughts)]->kind != JSON_STRING)
            out->odd = v + 1;
}

static bool openai_extras_known(const struct json *doc, const struct json_node *key,
                                enum openai_place place)
{
    int name = json_fields_name(&openai_reply_fields, doc, key);
    uint64_t bit = name < 0 ? 0 : JSON_FIELD_BIT(name) & places[place].known;

    return bit && (!(bit & OPENAI_THOUGHTS) || json_value(key)->kind == JSON_STRING);
}

/* Members that carry a signature of some host: without them the next turn fails or forgets. */
static bool openai_extras_must_return(str name)
{
    return str_is_one_of(name,
                         "extra_content thought_signature provider_specific_fields "
                         "reasoning_opaque reasoning_signature encrypted_content");
}

/* A stream repeats its members in every chunk: only a new or changed one is emitted. Lists and
 * objects inside a choice are pieces, and each is emitted. */
static bool openai_extras_expressed(struct wire_decoder *d, const struct chat_event *ev,
                                    const struct json_node *value)
{
    struct openai_extra e = {openai_extras_mix(ev->name) + ev->choice, openai_extras_mix(ev->text)};
    struct openai_decoding *s = d->state;
    size_t i = 0;

    assert(s->extra_count <= OPENAI_EXTRAS_TOLD);
    if (value->kind >= JSON_ARRAY && str_find(ev->name, STR(".")) != STR_NONE)
        return false;
    while (i < s->extra_count && s->extras[i].name != e.name)
        i++;
    if (i == OPENAI_EXTRAS_TOLD)
        return false;
    if (i == s->extra_count) {
        s->extras = arena_grow(d->arena, s->extras, i, &s->extras_max, sizeof *s->extras);
        s->extra_count++;
    } else if (s->extras[i].value == e.value) {
        return true;
    }
    s->extras[i] = e;
    return false;
}

/* Keeps a member for the end of the reply; a later value of the same name replaces it. */
static void openai_extras_owe(struct wire_decoder *d, struct openai_choice *c, str name, str json)
{
    struct openai_owed **at = &c->owed;

    if (c->owed_size + json.n > OPENAI_HELD_MAX ||
        !arena_text_room(d->arena, 2 * (sizeof **at + name.n + json.n) + 128))
        return;
    c->owed_size += json.n;
    while (*at && !str_eq((*at)->name, name))
        at = &(*at)->next;
    if (!*at) {
        *at = arena_zero(d->arena, 1, sizeof **at);
        (*at)->name = arena_dup(d->arena, name);
    }
    (*at)->json = arena_dup(d->arena, json);
}

void openai_extras(struct wire_decoder *d, struct openai_choice *c, const struct json_node *v,
                   const struct json_node *first, enum openai_place place, struct openai_call *call)
{
    size_t count = 0;

    assert(!call || (c && place == OPENAI_TOOL_CALL));
    for (const struct json_node *k = first; k && count < OPENAI_EXTRAS_MAX;
         k = json_next(&d->doc, v, k)) {
        const struct json_node *value = json_value(k);
        struct chat_event ev;
        str name;

        if (openai_extras_known(&d->doc, k, place) || openai_empty(&d->doc, value) ||
            !json_text(&d->doc, k, &d->scratch, &name) || name.n > 256)
            continue;
        count++;
        ev = openai_event(d, c, CHAT_EXTRA);
        if (call) {
            openai_emit_calls(d, c, call);
            ev.id = call->id;
            ev.block = call->block;
        }
        ev.name = name;
        if (places[place].name.n)
            ev.name = arena_join(&d->scratch, places[place].name, name, STR(""));
        ev.text = json_raw(&d->doc, value);
        if (!openai_extras_expressed(d, &ev, value))
            wire_emit(d, &ev);
        if (!c || !openai_extras_must_return(name))
            continue;
        if (call) {
            ev.kind = CHAT_KEEP;
            wire_emit(d, &ev);
        } else {
            openai_extras_owe(d, c, name, ev.text);
        }
    }
}

/* ---- details ---- */

/* The member of a detail that comes in pieces, by its type. */
static const char *openai_extras_pieces_member(str type)
{
    if (str_eq(type, STR("reasoning.text")))
        return "text";
    if (str_eq(type, STR("reasoning.summary")))
        return "summary";
    return str_eq(type, STR("thinking")) ? "thinking" : NULL;
}

static struct openai_detail *openai_extras_detail_of(struct openai_details *list, str type,
                                                     int64_t index)
{
    if (!openai_extras_pieces_member(type))
        return NULL;
    for (struct openai_detail *e = list->first; e; e = e->next)
        if (e->index == index && str_eq(e->type, type))
            return e;
    return NULL;
}

static struct openai_detail *openai_extras_detail_new(struct openai_details *list, struct arena *a)
{
    struct openai_detail *e;

    assert(!list->first == !list->last && !list->first == !list->count);
    if (list->count >= OPENAI_DETAILS_MAX)
        return NULL;
    e = arena_zero(a, 1, sizeof *e);
    list->count++;
    return LIST_APPEND(list->first, list->last, e);
}

void openai_details_add(struct openai_details *list, const struct json *doc,
                        const struct json_node *detail, struct arena *a, struct arena *scratch)
{
    str type = json_get_text(doc, detail, "type", scratch);
    str raw = json_raw(doc, detail), text;
    const char *member = openai_extras_pieces_member(type);
    struct openai_detail *e;
    int64_t index = -1;

    assert(!list->first == !list->count);
    if (list->full || raw.n > OPENAI_HELD_MAX ||
        !arena_text_room(a, 2 * (sizeof *e + 2 * raw.n) + 128)) {
        list->full = true;
        return;
    }
    if (!json_i64(doc, json_find(doc, detail, STR("index")), &index))
        index = -1;
    e = openai_extras_detail_of(list, type, index);
    if (!e) {
        e = openai_extras_detail_new(list, a);
        if (!e) {
            list->full = true;
            return;
        }
        *e = (struct openai_detail){
            .first = arena_dup(a, raw), .type = arena_dup(a, type), .index = index};
        e->signature = STR("");
    }
    e->pieces++;
    if (member && json_text(doc, json_find(doc, detail, str_c(member)), scratch, &text))
        arena_text_add_max(&e->text, a, text, OPENAI_HELD_MAX);
    if (json_text(doc, json_find(doc, detail, STR("signature")), scratch, &text) && text.n)
        e->signature = arena_text_dup(a, text);
    list->full = list->full || e->text.full;
}

/* The first piece with the whole text and the last signature in it. */
static void openai_extras_detail_write(const struct openai_detail *e, struct arena *a,
                                       struct buf *out)
{
    struct json_edits edits;
    struct buf text, signature;
    struct json doc;
    struct err err;

    assert(e->pieces > 0);
    if (e->pieces == 1) {
        buf_add(out, e->first);
        return;
    }
    buf_init(&text, 8 * OPENAI_HELD_MAX);
    buf_init(&signature, 8 * OPENAI_HELD_MAX);
    if (json_open(&doc, e->first, &err)) {
        json_edits_init(&edits, &doc, a);
        (void)json_quote(&text, arena_text_str(&e->text));
        (void)json_quote(&signature, e->signature);
        if (openai_extras_pieces_member(e->type) && e->text.n)
            json_edit_set(&edits,
                          json_root(&doc),
                          str_c(openai_extras_pieces_member(e->type)),
                          buf_str(&text));
        if (e->signature.n)
            json_edit_set(&edits, json_root(&doc), STR("signature"), buf_str(&signature));
        json_edits_apply(&edits, out);
    }
    buf_release(&signature);
    buf_release(&text);
    json_release(&doc);
}

void openai_details_write(const struct openai_details *list, struct arena *a, struct buf *out)
{
    buf_add_c(out, '[');
    for (const struct openai_detail *e = list->first; e; e = e->next) {
        if (e != list->first)
            buf_add_c(out, ',');
        openai_extras_detail_write(e, a, out);
    }
    buf_add_c(out, ']');
}

static void openai_extras_keep(struct wire_decoder *d, struct openai_choice *c, str name, str json)
{
    struct chat_event ev = openai_event(d, c, CHAT_KEEP);

    assert(c->calls); /* kept fields are sent back with a call */
    ev.id = c->calls->id;
    ev.name = name;
    ev.text = json;
    wire_emit(d, &ev);
}

static void openai_extras_keep_thought(struct wire_decoder *d, struct openai_choice *c,
                                       struct buf *b)
{
    bool chunks = d->wire->dialect == CHAT_MISTRAL;

    if (!c->spelling || c->thought.full)
        return;
    if (!chunks) {
        (void)json_quote(b, arena_text_str(&c->thought));
    } else {
        json_print(b,
                   "[{'type':'thinking','thinking':[{'type':'text','text':%q}]",
                   arena_text_str(&c->thought));
        if (c->signature.n)
            json_print(b, ",'signature':%q", arena_text_str(&c->signature));
        buf_add(b, STR("}]"));
    }
    if (!buf_full(b))
        openai_extras_keep(d, c, chunks ? STR("thinking") : str_c(c->spelling), buf_str(b));
}

void openai_keep(struct wire_decoder *d, struct openai_choice *c)
{
    bool detailed = false;
    struct buf b;

    if (!c->calls || c->index != 0)
        return;
    for (const struct openai_owed *o = c->owed; o; o = o->next)
        openai_extras_keep(d, c, o->name, o->json);
    buf_init(&b, 16 * OPENAI_HELD_MAX);
    for (size_t i = 0; c->details && i < OPENAI_DETAIL_COUNT; i++) {
        if (!c->details[i].first || c->details[i].full)
            continue;
        buf_reset(&b);
        openai_details_write(&c->details[i], &d->scratch, &b);
        if (!buf_full(&b))
            openai_extras_keep(d, c, openai_detail_name(i), buf_str(&b));
        detailed = true;
    }
    buf_reset(&b);
    if (!detailed)
        openai_extras_keep_thought(d, c, &b);
    buf_release(&b);
}
