/* whole.c - events as one chat.completion, and pieces of members put together for it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/openai/encode.h"

#define PIECES_MAX ((size_t)1 << 16)
#define MEMBERS_MAX ((size_t)1 << 18) /* of all pieces that are objects */

/* ---- pieces ---- */

struct pieces {
    const struct json *doc;
    const struct json_node **v;
    size_t n;
};

/* Texts of a streamed member that go on from piece to piece; all others replace. */
static bool openai_whole_goes_on(str key)
{
    return str_is_one_of(key, "transcript data input arguments");
}

static bool openai_whole_all_kind(const struct pieces *p, enum json_kind kind)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->v[i]->kind != kind)
            return false;
    return p->n > 0;
}

static void openai_whole_merge(const struct pieces *p, str key, unsigned depth, struct buf *out);

static void openai_whole_merge_arrays(const struct pieces *p, struct buf *out)
{
    bool first = true;

    buf_add_c(out, '[');
    for (size_t i = 0; i < p->n; i++)
        JSON_FOREACH(v, p->doc, p->v[i]) {
            if (!first)
                buf_add_c(out, ',');
            buf_add(out, json_raw(p->doc, v));
            first = false;
        }
    buf_add_c(out, ']');
}

/* The values that the pieces have for one key, in order. */
struct group {
    const struct json_node **v;
    size_t n, cap;
    size_t piece; /* the last that had one */
};

/* Adds a value of a piece. The last value of a piece counts; null only if there is no other. */
static void openai_whole_group_add(struct group *g, const struct json_node *v, size_t piece,
                                   struct arena *a)
{
    bool again = g->n > 0 && g->piece == piece;

    assert(g->n <= g->cap);
    if (again || (g->n == 1 && g->v[0]->kind == JSON_NULL))
        g->n--;
    else if (g->n > 0 && v->kind == JSON_NULL)
        return;
    if (g->n == g->cap) {
        size_t cap = g->cap ? 2 * g->cap : 4;
        const struct json_node **more = arena_alloc(a, cap * sizeof *more);

        if (g->n)
            memcpy(more, g->v, g->n * sizeof *more);
        g->v = more;
        g->cap = cap;
    }
    g->v[g->n++] = v;
    g->piece = piece;
}

static bool openai_whole_group_members(const struct pieces *p, struct map *groups, struct arena *a)
{
    struct err e;
    str key;

    for (size_t i = 0; i < p->n; i++)
        JSON_FOREACH(k, p->doc, p->v[i]) {
            struct map_entry *found;

            if (!json_text(p->doc, k, a, &key))
                return false;
            found = map_find(groups, key);
            if (!found) {
                if (!map_set(groups, key, MAP_PTR(arena_zero(a, 1, sizeof(struct group))), &e))
                    return false;
                found = map_find(groups, key);
            }
            openai_whole_group_add(found->value.ptr, json_value(k), i, a);
        }
    return true;
}

static void openai_whole_merge_objects(const struct pieces *p, unsigned depth, struct buf *out)
{
    struct arena a;
    struct map groups;
    size_t members = 0;
    const char *between = "{";

    assert(p->n > 1 && depth < 8);
    for (size_t i = 0; i < p->n; i++)
        members += json_count(p->doc, p->v[i]);
    arena_init(&a, p->doc->src.n + MEMBERS_MAX * 2 * sizeof(struct group));
    map_init(&groups, NULL, MEMBERS_MAX);
    if (members > MEMBERS_MAX || !openai_whole_group_members(p, &groups, &a)) {
        buf_add(out, json_raw(p->doc, p->v[p->n - 1]));
    } else {
        for (struct map_entry *m = map_next(&groups, NULL); m; m = map_next(&groups, m)) {
            const struct group *g = m->value.ptr;

            buf_add(out, str_c(between));
            between = ",";
            (void)json_quote(out, m->key);
            buf_add_c(out, ':');
            openai_whole_merge(&(struct pieces){p->doc, g->v, g->n}, m->key, depth + 1, out);
        }
        buf_add(out, groups.count ? STR("}") : STR("{}"));
    }
    map_release(&groups);
    arena_release(&a);
}

/* Escaped texts can be concatenated, because each is complete. */
static void openai_whole_merge_texts(const struct pieces *p, struct buf *out)
{
    assert(p->n > 1);
    buf_add_c(out, '"');
    for (size_t i = 0; i < p->n; i++)
        buf_add(out, str_slice(json_raw(p->doc, p->v[i]), 1, p->v[i]->size - 1));
    buf_add_c(out, '"');
}

static void openai_whole_merge(const struct pieces *p, str key, unsigned depth, struct buf *out)
{
    if (p->n > 1 && openai_whole_all_kind(p, JSON_ARRAY))
        openai_whole_merge_arrays(p, out);
    else if (p->n > 1 && depth < 8 && openai_whole_all_kind(p, JSON_OBJECT))
        openai_whole_merge_objects(p, depth, out);
    else if (p->n > 1 && openai_whole_goes_on(key) && openai_whole_all_kind(p, JSON_STRING))
        openai_whole_merge_texts(p, out);
    else
        buf_add(out, p->n ? json_raw(p->doc, p->v[p->n - 1]) : STR("null"));
}

static void openai_whole_write_details(const struct pieces *p, struct arena *a, struct buf *out)
{
    struct openai_details list = {0};

    for (size_t i = 0; i < p->n; i++)
        for (const struct json_node *v = json_first(p->doc, p->v[i]);
             v && p->v[i]->kind == JSON_ARRAY;
             v = json_next(p->doc, p->v[i], v))
            openai_details_add(&list, p->doc, v, a, a);
    openai_details_write(&list, a, out);
}

static void openai_whole_write_piece(const struct openai_piece *m, struct arena *a, struct buf *out)
{
    struct pieces p = {0};
    struct json doc;
    struct buf list;
    struct err e;

    if (m->count == 1) {
        buf_add(out, arena_text_str(&m->json));
        return;
    }
    buf_init(&list, OPENAI_WHOLE_MAX);
    buf_add_c(&list, '[');
    buf_add(&list, arena_text_str(&m->json));
    buf_add_c(&list, ']');
    json_init(&doc);
    if (m->count <= PIECES_MAX && arena_text_room(a, m->count * sizeof *p.v) &&
        json_parse(&doc, buf_str(&list), &e)) {
        const struct json_node *root = json_root(&doc);

        assert(json_count(&doc, root) <= m->count);
        p = (struct pieces){&doc, arena_alloc(a, m->count * sizeof *p.v), 0};
        JSON_FOREACH(v, &doc, root)
            p.v[p.n++] = v;
        if (str_eq(m->name, STR("reasoning_details")) || str_eq(m->name, STR("thinking_blocks")))
            openai_whole_write_details(&p, a, out);
        else
            openai_whole_merge(&p, m->name, 0, out);
    } else {
        buf_add(out, STR("null"));
    }
    json_release(&doc);
    buf_release(&list);
}

void openai_pieces_write(const struct openai_piece *list, struct arena *a, struct buf *out)
{
    for (; list; list = list->next) {
        if (list->json.full)
            continue;
        buf_add_c(out, ',');
        (void)json_quote(out, list->name);
        buf_add_c(out, ':');
        openai_whole_write_piece(list, a, out);
    }
}

/* ---- the whole reply ---- */

static void openai_whole_take_extra(struct wire_encoder *en, const struct chat_event *ev)
{
    struct openai_encoding *s = en->state;
    struct openai_said *c = openai_said(en, ev->choice);
    size_t dot = str_find(ev->name, STR("."));
    str name = dot == STR_NONE ? ev->name : str_slice(ev->name, dot + 1, ev->name.n);
    bool details = str_eq(name, STR("reasoning_details")) || str_eq(name, STR("thinking_blocks"));

    if (ev->dialect != CHAT_OPENAI || (details && !s->shown))
        return;
    if (dot == STR_NONE) {
        struct openai_piece **at = &s->extras;

        while (*at && !str_eq((*at)->name, name))
            at = &(*at)->next;
        if (*at) { /* a top-level member that changed: the last word counts */
            (*at)->json.n = 0;
            (*at)->count = 0;
        }
        openai_piece_add(en, &s->extras, name, ev->text);
    } else if (str_starts(ev->name, STR("choice."))) {
        openai_piece_add(en, &c->members, name, ev->text);
    } else if (str_starts(ev->name, STR("message."))) {
        openai_piece_add(en, &c->message, name, ev->text);
    } else if (openai_said_call(c, ev->block)) {
        openai_piece_add(en, &openai_said_call(c, ev->block)->members, name, ev->text);
    }
}

static void openai_whole_write_calls(struct wire_encoder *en, const struct openai_said *c)
{
    struct buf *out = en->out;

    if (!c->calls)
        return;
    buf_add(out, STR(",\"tool_calls\":["));
    for (const struct openai_said_call *call = c->calls; call; call = call->next) {
        str arguments = arena_text_str(&call->arguments);

        buf_add(out, call == c->calls ? STR("") : STR(","));
        if (call->custom)
            json_print(out,
                       "{'id':%q,'type':'custom','custom':{'name':%q,'input':%q}",
                       call->id,
                       call->name,
                       part_custom_input(arguments, en->arena));
        else
            json_print(out,
                       "{'id':%q,'type':'function','function':{'name':%q,'arguments':%q}",
                       call->id,
                       call->name,
                       arguments.n ? arguments : STR("{}"));
        openai_pieces_write(call->members, en->arena, out);
        buf_add_c(out, '}');
    }
    buf_add_c(out, ']');
}

static void openai_whole_write_choice(struct wire_encoder *en, const struct openai_said *c)
{
    str thought = arena_text_str(&c->thought);
    struct buf *out = en->out;

    json_print(out, "{'index':%d,'message':{'role':'assistant','content':", (int64_t)c->index);
    if (c->text.n || !(c->calls || c->refusal.n))
        (void)json_quote(out, arena_text_str(&c->text));
    else
        buf_add(out, STR("null"));
    if (c->thought.n)
        json_print(out, ",'reasoning':%q,'reasoning_content':%q", thought, thought);
    if (c->refusal.n)
        json_print(out, ",'refusal':%q", arena_text_str(&c->refusal));
    openai_whole_write_calls(en, c);
    openai_pieces_write(c->message, en->arena, out);
    buf_add_c(out, '}');
    openai_pieces_write(c->members, en->arena, out);
    json_print(out, ",'finish_reason':%q}", c->finish.n ? c->finish : STR("stop"));
}

static void openai_whole_write_whole(struct wire_encoder *en)
{
    struct openai_encoding *s = en->state;
    bool full = false;

    assert(!en->stream);
    openai_said(en, 0);
    for (struct openai_said *c = s->choices; c; c = c->next)
        full = full || c->text.full || c->thought.full || c->refusal.full ||
               (c->last && c->last->arguments.full);
    if (full) {
        struct chat_error error =
            wire_error(502, "upstream_error", "the provider's reply is too large");

        openai_write_error(&error, en->out);
        en->failed = true;
        return;
    }
    buf_add(en->out, s->head);
    buf_add(en->out, STR(",\"choices\":["));
    for (struct openai_said *c = s->choices; c; c = c->next) {
        if (c != s->choices)
            buf_add_c(en->out, ',');
        openai_whole_write_choice(en, c);
    }
    buf_add_c(en->out, ']');
    if (s->usage.n) {
        buf_add(en->out, STR(",\"usage\":"));
        buf_add(en->out, s->usage);
    }
    openai_pieces_write(s->extras, en->arena, en->out);
    buf_add_c(en->out, '}');
}

void openai_encode_whole(struct wire_encoder *en, const struct chat_event *ev)
{
    struct openai_encoding *s = en->state;
    struct openai_said *c = openai_said(en, ev->choice);

    assert(!en->stream);
    switch (ev->kind) {
    case CHAT_TEXT:
        arena_text_add(&c->text, en->arena, ev->text);
        break;
    case CHAT_REASONING:
        s->shown = true;
        arena_text_add(&c->thought, en->arena, ev->text);
        break;
    case CHAT_REFUSAL:
        arena_text_add(&c->refusal, en->arena, ev->text);
        break;
    case CHAT_CALL:
        openai_said_call_new(en, c, ev);
        break;
    case CHAT_ARGUMENTS:
        if (openai_said_call(c, ev->block))
            arena_text_add(&openai_said_call(c, ev->block)->arguments, en->arena, ev->text);
        break;
    case CHAT_EXTRA:
        openai_whole_take_extra(en, ev);
        break;
    case CHAT_STOP:
        c->finish = str_c(openai_finish(ev));
        break;
    case CHAT_ERROR:
        openai_write_error(ev->error, en->out);
        break;
    case CHAT_END:
        openai_whole_write_whole(en);
        break;
    default:
        break;
    }
}
