/* wire_help.c - writes events as text, feeds recordings in pieces, encodes replies and passes them
 * on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire_help.h"

#include "wire/defer_events.h"

#include <dirent.h>

static bool joins(enum chat_event_kind k)
{
    return k == CHAT_TEXT || k == CHAT_REASONING || k == CHAT_ARGUMENTS || k == CHAT_SIGNATURE;
}

static bool is_content(enum chat_event_kind k)
{
    return k >= CHAT_TEXT && k <= CHAT_OPAQUE;
}

static bool is_thought(enum chat_event_kind k)
{
    return k == CHAT_REASONING || k == CHAT_SIGNATURE || k == CHAT_REDACTED;
}

void note(void *ctx, const struct chat_event *ev)
{
    struct notes *n = ctx;

    n->errors += ev->kind == CHAT_ERROR;
    n->ends += ev->kind == CHAT_END;
    if (ev->kind == CHAT_ERROR)
        buf_printf(&n->all, "\nerror %d " STR_FMT, ev->error->status, STR_ARG(ev->error->message));
    if (ev->kind == CHAT_OPAQUE && str_eq(ev->name, STR("citation"))) {
        buf_printf(&n->cites, "%u " STR_FMT "\n", ev->block, STR_ARG(ev->text));
        buf_add(&n->bag, ev->text);
        return;
    }
    if (ev->text.p) {
        buf_add(&n->bag, ev->text);
        if (!joins(ev->kind))
            buf_add_c(&n->bag, '\n');
    }
    if (ev->kind == CHAT_ERROR || (n->content && !is_content(ev->kind)) ||
        (n->no_thought && is_thought(ev->kind)) || (joins(ev->kind) && ev->text.n == 0))
        return;
    if (joins(ev->kind) && n->last == ev->kind && n->last_choice == ev->choice &&
        n->last_block == ev->block) {
        buf_add(&n->all, ev->text);
        return;
    }
    n->last = ev->kind;
    n->last_choice = ev->choice;
    n->last_block = ev->block;
    buf_printf(&n->all, "\n%s", chat_event_name(ev->kind));
    if (!n->no_thought && is_content(ev->kind))
        buf_printf(&n->all, " %u.%u", ev->choice, ev->block);
    if (ev->kind == CHAT_USAGE) {
        buf_printf(&n->all,
                   " %lld %lld %lld %lld %lld",
                   (long long)ev->usage->input,
                   (long long)ev->usage->output,
                   (long long)ev->usage->reasoning,
                   (long long)ev->usage->cache_read,
                   (long long)ev->usage->cache_write);
        return;
    }
    if (ev->kind == CHAT_STOP)
        buf_printf(&n->all, " %s", chat_stop_name(ev->stop));
    if (ev->id.p && ev->id.n)
        buf_printf(&n->all, " " STR_FMT, STR_ARG(ev->id));
    if (ev->name.p && ev->name.n)
        buf_printf(&n->all, " " STR_FMT, STR_ARG(ev->name));
    if (ev->text.p && ev->text.n) {
        buf_add(&n->all, STR(": "));
        buf_add(&n->all, ev->text);
    }
}

void notes_init(struct notes *n)
{
    *n = (struct notes){.last = CHAT_END};
    buf_init(&n->all, HELP_SIZE_MAX);
    buf_init(&n->bag, HELP_SIZE_MAX);
    buf_init(&n->cites, HELP_SIZE_MAX);
}

void notes_release(struct notes *n)
{
    buf_release(&n->all);
    buf_release(&n->bag);
    buf_release(&n->cites);
}

/* Decodes as the gateway does, with deferred events. */
static void decode_whole(struct wire_decoder *d, struct wire_frame *w)
{
    struct deferred_events h;

    defer_events_begin(&h, d);
    wire_decode_whole(d, w);
    defer_events_end(&h, d);
    defer_events_flush(&h);
}

void feed_frame(void *ctx, const struct frames_frame *frame)
{
    struct feed *f = ctx;
    struct wire_frame w = {.name = frame->name, .data = frame->data, .raw = frame->raw};

    if (f->whole)
        decode_whole(&f->d, &w);
    else
        wire_decode(&f->d, &w);
    if (f->after)
        f->after(f->ctx, &w);
}

void feed_bytes(struct feed *f, str bytes, enum frames_kind kind, size_t piece)
{
    struct frames fr;

    f->whole = kind == FRAMES_WHOLE;
    frames_init(&fr, kind, HELP_SIZE_MAX, (struct frames_sink){feed_frame, f});
    for (size_t at = 0; at < bytes.n || (at == 0 && bytes.n == 0);) {
        size_t to = piece ? at + piece : bytes.n;

        frames_feed(&fr, str_slice(bytes, at, to));
        at = to;
        if (bytes.n == 0)
            break;
    }
    frames_finish(&fr);
    if (!f->whole)
        wire_decode_end(&f->d);
    frames_release(&fr);
}

void decode_to(const struct wire *w, str bytes, enum frames_kind kind, size_t piece,
               struct notes *n)
{
    struct arena a;
    struct feed f = {.after = NULL};

    arena_init(&a, HELP_SIZE_MAX);
    wire_decoder_init(&f.d, w, &a, (struct chat_sink){note, n});
    feed_bytes(&f, bytes, kind, piece);
    wire_decoder_release(&f.d);
    arena_release(&a);
}

void pass_event(void *ctx, const struct chat_event *ev)
{
    struct pass *p = ctx;

    if (!p->relay) {
        wire_encode(&p->en, ev);
        return;
    }
    if (p->hide && (ev->kind == CHAT_REASONING || ev->kind == CHAT_REDACTED ||
                    (ev->kind == CHAT_SIGNATURE && ev->dialect == CHAT_ANTHROPIC))) {
        p->touched = true;
        return;
    }
    if (p->n < EVENTS_MAX) {
        struct chat_event copy = *ev;

        copy.text = ev->text.p ? arena_dup(&p->arena, ev->text) : STR("");
        copy.id = ev->id.p ? arena_dup(&p->arena, ev->id) : STR("");
        copy.name = ev->name.p ? arena_dup(&p->arena, ev->name) : STR("");
        if (ev->kind == CHAT_USAGE) { /* valid only during the call */
            struct chat_usage *usage = arena_alloc(&p->arena, sizeof *usage);

            *usage = *ev->usage;
            copy.usage = usage;
        }
        p->events[p->n++] = copy;
    }
}

void pass_frame(void *ctx, const struct wire_frame *f)
{
    struct pass *p = ctx;

    if (p->relay)
        wire_relay(&p->en, f, p->events, p->n, p->touched);
    p->n = 0;
    p->touched = false;
}

void pass_init(struct pass *p, const struct wire *from, const struct wire *to, bool stream)
{
    memset(p, 0, sizeof *p);
    arena_init(&p->arena, (size_t)512 << 20);
    buf_init(&p->out, HELP_SIZE_MAX);
    p->request.model = STR("asked");
    wire_decoder_init(&p->feed.d, from, &p->arena, (struct chat_sink){pass_event, p});
    wire_encoder_init(&p->en, to, &p->request, stream, &p->arena, &p->out);
    p->feed.after = pass_frame;
    p->feed.ctx = p;
    p->en.id = STR("reply_1");
}

void pass_release(struct pass *p)
{
    wire_decoder_release(&p->feed.d);
    buf_release(&p->out);
    arena_release(&p->arena);
}

static void dump_parts(struct buf *b, const struct chat_part *parts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct chat_part *p = &parts[i];

        if (p->kind == CHAT_PART_TEXT && p->text.n == 0 && p->signature.n == 0)
            continue;
        buf_printf(b,
                   "  part %d %d%d [" STR_FMT "|" STR_FMT "|" STR_FMT "|" STR_FMT "|" STR_FMT
                   "|" STR_FMT "|" STR_FMT "|" STR_FMT "]\n",
                   p->kind,
                   p->is_error,
                   p->redacted,
                   STR_ARG(p->text),
                   STR_ARG(p->signature),
                   STR_ARG(p->id),
                   STR_ARG(p->name),
                   STR_ARG(p->json),
                   STR_ARG(p->mime),
                   STR_ARG(p->url),
                   STR_ARG(p->data));
        dump_parts(b, p->parts, p->part_count);
    }
}

static void dump_request(struct buf *b, const struct chat_request *r)
{
    for (size_t i = 0; i < r->message_count; i++) {
        /* Some dialects merge consecutive messages of one role. */
        if (i == 0 || r->messages[i].role != r->messages[i - 1].role)
            buf_printf(b, "message %d\n", r->messages[i].role);
        dump_parts(b, r->messages[i].parts, r->messages[i].part_count);
    }
    for (size_t i = 0; i < r->tool_count; i++)
        buf_printf(b,
                   "tool [" STR_FMT "|" STR_FMT "|" STR_FMT "|" STR_FMT "] %d%d\n",
                   STR_ARG(r->tools[i].name),
                   STR_ARG(r->tools[i].description),
                   STR_ARG(r->tools[i].schema),
                   STR_ARG(r->tools[i].opaque),
                   r->tools[i].strict,
                   r->tools[i].strict_given);
    buf_printf(b,
               "choice %d " STR_FMT " parallel %d%d\nmax " STR_FMT " t " STR_FMT " p " STR_FMT
               " k " STR_FMT " seed " STR_FMT "\nformat %d " STR_FMT
               "\nstream %d thoughts %d%d level %d budget %lld user " STR_FMT "\n",
               r->choice,
               STR_ARG(r->choice_name),
               r->parallel,
               r->parallel_given,
               STR_ARG(r->max_tokens),
               STR_ARG(r->temperature),
               STR_ARG(r->top_p),
               STR_ARG(r->top_k),
               STR_ARG(r->seed),
               r->format,
               STR_ARG(r->format_schema),
               r->stream,
               r->thoughts,
               r->no_thoughts,
               r->level,
               (long long)r->budget_tokens,
               STR_ARG(r->user));
    for (size_t i = 0; i < r->stop_count; i++)
        buf_printf(b, "stop " STR_FMT "\n", STR_ARG(r->stops[i]));
}

void read_to(const struct wire *w, str body, struct buf *out, struct buf *again)
{
    struct chat_request r;
    struct json doc;
    struct arena a;
    struct err e;

    json_init(&doc);
    arena_init(&a, HELP_SIZE_MAX * 2);
    if (!json_parse(&doc, body, &e))
        fail_msg("%s", e.text);
    if (!w->read(&doc, &a, &r, &e)) {
        buf_printf(out, "! %s", e.text);
    } else {
        if (r.unknown_why.n)
            buf_printf(out,
                       "? " STR_FMT ": " STR_FMT "\n",
                       STR_ARG(r.unknown_param),
                       STR_ARG(r.unknown_why));
        dump_request(out, &r);
        if (again)
            w->write(&r, again);
    }
    json_release(&doc);
    arena_release(&a);
}

void patch_to(const struct wire *w, const char *body, const struct wire_plan *plan, struct buf *out)
{
    struct json_edits ed;
    struct json doc, check;
    struct arena a;
    struct err e;

    json_init(&doc);
    json_init(&check);
    arena_init(&a, HELP_SIZE_MAX);
    CHECK(json_parse(&doc, str_c(body), &e));
    json_edits_init(&ed, &doc, &a);
    w->patch(&doc, plan, &ed);
    json_edits_apply(&ed, out);
    CHECK_F(json_parse(&check, buf_str(out), &e), "%s: " STR_FMT, e.text, STR_ARG(buf_str(out)));
    json_release(&doc);
    json_release(&check);
    arena_release(&a);
}

void check_read_error(const struct wire *w, const char *body, const char *mark, const char *why)
{
    struct buf out;
    str said;

    buf_init(&out, HELP_SIZE_MAX);
    read_to(w, str_c(body), &out, NULL);
    said = str_slice(buf_str(&out), 0, str_find(buf_str(&out), STR("\n")));
    CHECK_F(str_starts(said, str_c(mark)), "%s", body);
    CHECK_STR(str_slice(said, 2, said.n), why);
    buf_release(&out);
}

void check_patch(const struct wire *w, const char *body, const struct wire_plan *plan,
                 const char *want)
{
    struct buf out;

    buf_init(&out, HELP_SIZE_MAX);
    patch_to(w, body, plan, &out);
    CHECK_STR(buf_str(&out), want);
    buf_release(&out);
}

struct chat_event event(enum chat_event_kind kind, uint32_t block, const char *text)
{
    return (struct chat_event){.kind = kind,
                               .block = block,
                               .text = str_c(text),
                               .id = STR(""),
                               .name = STR(""),
                               .dialect = CHAT_OPENAI};
}

struct wire_plan no_plan(void)
{
    struct wire_plan p = {.budget_tokens = -1};

    p.model = p.system_extra = p.temperature = p.top_p = p.max_tokens = p.merge = STR("");
    return p;
}

/* Each string under one of the keys, at any depth, must be among the texts. */
static void check_lost(const char *id, const struct json *doc, const struct json_node *v,
                       const char *const *keys, str bag)
{
    struct arena a;

    arena_init(&a, HELP_SIZE_MAX);
    for (const struct json_node *k = json_first(doc, v); k; k = json_next(doc, v, k)) {
        const struct json_node *value = v->kind == JSON_OBJECT ? json_value(k) : k;
        bool wanted = false;
        str text, raw = json_raw(doc, value);

        for (size_t i = 0; v->kind == JSON_OBJECT && keys[i]; i++)
            wanted |= json_is(doc, k, str_c(keys[i]));
        if (value->kind == JSON_OBJECT || value->kind == JSON_ARRAY)
            check_lost(id, doc, value, keys, bag);
        if (!wanted || !json_text(doc, value, &a, &text) || text.n == 0)
            continue;
        if (str_find(bag, text) == STR_NONE &&
            str_find(bag, str_slice(raw, 1, raw.n - 1)) == STR_NONE)
            fail_msg("%s: lost \"" STR_FMT "\"", id, STR_ARG(text));
    }
    arena_release(&a);
}

struct check_frame {
    const char *id;
    const char *const *keys;
    str bag;
};

static void check_frame_lost(void *ctx, const struct frames_frame *frame)
{
    struct check_frame *c = ctx;
    struct json doc;
    struct err e;

    json_init(&doc);
    if (json_parse(&doc, frame->data, &e))
        check_lost(c->id, &doc, json_root(&doc), c->keys, c->bag);
    json_release(&doc);
}

static void check_nothing_lost(const char *id, str bytes, enum frames_kind kind,
                               const char *const *keys, str bag)
{
    struct check_frame c = {.id = id, .keys = keys, .bag = bag};
    struct frames fr;

    frames_init(&fr, kind, HELP_SIZE_MAX, (struct frames_sink){check_frame_lost, &c});
    frames_feed(&fr, bytes);
    frames_finish(&fr);
    frames_release(&fr);
}

void check_same(const char *id, const char *what, str got, str want)
{
    size_t i = 0;

    if (str_eq(got, want))
        return;
    while (i < got.n && i < want.n && got.p[i] == want.p[i])
        i++;
    i = i > 60 ? i - 60 : 0;
    fail_msg("%s: %s: \"" STR_FMT "\", not \"" STR_FMT "\"",
             id,
             what,
             STR_ARG(str_slice(got, i, i + 300)),
             STR_ARG(str_slice(want, i, i + 300)));
}

void check_decoding(const struct wire *w, const char *id, str bytes, enum frames_kind kind,
                    const char *const *keys)
{
    static const size_t cuts[] = {1, 2, 3, 7, 64};
    struct notes all;

    notes_init(&all);
    decode_to(w, bytes, kind, 0, &all);
    CHECK_F(all.errors == 0, "%s: " STR_FMT, id, STR_ARG(buf_str(&all.all)));
    CHECK_F(all.ends == 1, "%s", id);
    check_nothing_lost(id, bytes, kind, keys, buf_str(&all.bag));
    for (size_t i = 0; i < COUNT_OF(cuts); i++) {
        struct notes cut;

        notes_init(&cut);
        decode_to(w, bytes, kind, cuts[i], &cut);
        check_same(id, "cut", buf_str(&cut.all), buf_str(&all.all));
        notes_release(&cut);
    }
    notes_release(&all);
}

void check_passing(const struct wire *w, const char *id, str bytes, enum frames_kind kind)
{
    enum frames_kind again = kind == FRAMES_LINES ? FRAMES_SSE : kind;

    for (int how = 0; how < 4; how++) { /* encoded in two ways, passed on, hidden */
        struct notes want, got;
        struct pass *p = malloc(sizeof *p);
        bool stream = how == 0 || (how > 1 && kind != FRAMES_WHOLE);

        assert(p);
        notes_init(&want);
        notes_init(&got);
        want.content = got.content = true;
        want.no_thought = got.no_thought = how == 3;
        pass_init(p, w, w, stream);
        p->relay = how > 1;
        p->hide = how == 3;
        feed_bytes(&p->feed, bytes, kind, 0);
        if (how == 2)
            check_same(id, "passed on", buf_str(&p->out), bytes);
        decode_to(w, bytes, kind, 0, &want);
        decode_to(w,
                  buf_str(&p->out),
                  how == 0   ? FRAMES_SSE
                  : how == 1 ? FRAMES_WHOLE
                             : again,
                  0,
                  &got);
        check_same(id, how == 3 ? "hidden" : "again", buf_str(&got.all), buf_str(&want.all));
        if (how != 3)
            check_same(id, "citations", buf_str(&got.cites), buf_str(&want.cites));
        if (how == 3) {
            got.no_thought = false;
            CHECK_F(got.errors == 0, "%s", id);
        }
        notes_release(&want);
        notes_release(&got);
        pass_release(p);
        free(p);
    }
}

size_t each_exchange(const char *name, size_t (*on)(void *ctx, const struct exchange *x), void *ctx)
{
    const char *path;
    char file[128];
    size_t n = 0;
    struct arena text;
    str rest;
    struct err e;

    snprintf(file, sizeof file, "provider-traffic/%s.jsonl", name);
    path = test_corpora(file);
    if (!path)
        return 0;
    arena_init(&text, HELP_SIZE_MAX);
    CHECK(file_read(&text, path, HELP_SIZE_MAX / 2, &rest, &e));
    while (rest.n) {
        size_t end = str_find(rest, STR("\n"));
        str line = str_slice(rest, 0, end);
        struct exchange x = {.status = 0};
        struct json doc;
        struct arena a;

        rest = end == STR_NONE ? STR("") : str_slice(rest, end + 1, rest.n);
        if (line.n == 0)
            continue;
        json_init(&doc);
        arena_init(&a, HELP_SIZE_MAX);
        CHECK(json_parse(&doc, line, &e));
        x.id = x.uri = x.request = x.reply = x.type = STR("");
        (void)!json_text(&doc, json_find(&doc, json_root(&doc), STR("id")), &a, &x.id);
        (void)!json_text(&doc, json_find(&doc, json_root(&doc), STR("uri")), &a, &x.uri);
        (void)!json_text(
            &doc, json_find(&doc, json_root(&doc), STR("request_body")), &a, &x.request);
        (void)!json_text(
            &doc, json_find(&doc, json_root(&doc), STR("response_body")), &a, &x.reply);
        (void)!json_text(&doc, json_find(&doc, json_root(&doc), STR("content_type")), &a, &x.type);
        (void)!json_i64(&doc, json_find(&doc, json_root(&doc), STR("status")), &x.status);
        n += on(ctx, &x);
        json_release(&doc);
        arena_release(&a);
    }
    arena_release(&text);
    return n;
}

size_t each_file(const char *folder, const char *ending, size_t (*on)(const char *id, str body))
{
    const char *found;
    char dir[4096], path[8192];
    struct dirent *entry;
    size_t n = 0;
    DIR *d;

    snprintf(path, sizeof path, "provider-streams/%s", folder);
    found = test_corpora(path);
    if (!found)
        return 0;
    snprintf(dir, sizeof dir, "%s", found);
    d = opendir(dir);
    CHECK(d != NULL);
    while ((entry = readdir(d))) {
        struct arena text;
        struct err e;
        str body;

        if (!str_ends(str_c(entry->d_name), str_c(ending)))
            continue;
        arena_init(&text, HELP_SIZE_MAX);
        snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        CHECK(file_read(&text, path, HELP_SIZE_MAX / 2, &body, &e));
        n += on(entry->d_name, body);
        arena_release(&text);
    }
    closedir(d);
    return n;
}

void lines_to_sse(str lines, bool named, struct buf *out)
{
    while (lines.n) {
        size_t end = str_find(lines, STR("\n"));
        str line = str_trim(str_slice(lines, 0, end));
        size_t at = str_find(line, STR("\"type\":\""));

        lines = end == STR_NONE ? STR("") : str_slice(lines, end + 1, lines.n);
        if (line.n == 0)
            continue;
        if (named && at != STR_NONE) {
            str type = str_slice(line, at + 8, line.n);

            buf_printf(out,
                       "event: " STR_FMT "\n",
                       STR_ARG(str_slice(type, 0, str_find(type, STR("\"")))));
        }
        buf_printf(out, "data: " STR_FMT "\n\n", STR_ARG(line));
    }
}
