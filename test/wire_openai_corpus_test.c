/* Recorded replies of many hosts: no text is lost, divisions have no effect, and encoded replies
 * decode to the same events.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/file.h"
#include "wire_openai_help.h"

#include <dirent.h>

struct recording {
    str id, body;
    const struct wire *wire;
    bool stream;
};

/* ---- an independent walk over the recording ---- */

struct found {
    struct buf text, reasoning, arguments;
    bool error, finished, done;
};

static void add_text(const struct json *doc, const struct json_node *v, struct arena *a,
                     struct buf *out)
{
    str text;

    if (json_text(doc, v, a, &text))
        buf_add(out, text);
}

static const struct json_node *member(const struct json *doc, const struct json_node *v,
                                      const char *key)
{
    const struct json_node *m = json_find(doc, v, str_c(key));

    return m && m->kind != JSON_NULL ? m : NULL;
}

static void walk_reasoning(const struct json *doc, const struct json_node *m, struct arena *a,
                           struct found *out)
{
    static const char *const names[] = {"reasoning_content", "reasoning", "tool_plan"};
    const struct json_node *list = member(doc, m, "reasoning_details");

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const struct json_node *v = member(doc, m, names[i]);

        if (v && v->kind == JSON_STRING && v->size > 2) {
            add_text(doc, v, a, &out->reasoning);
            return;
        }
    }
    for (const struct json_node *v = json_first(doc, list); v; v = json_next(doc, list, v)) {
        add_text(doc, member(doc, v, "text"), a, &out->reasoning);
        add_text(doc, member(doc, v, "summary"), a, &out->reasoning);
    }
}

static void walk_content(const struct json *doc, const struct json_node *v, struct arena *a,
                         struct found *out)
{
    const struct json_node *thinking = member(doc, v, "thinking");

    if (!v)
        return;
    if (v->kind == JSON_ARRAY) {
        for (const struct json_node *c = json_first(doc, v); c; c = json_next(doc, v, c))
            walk_content(doc, c, a, out);
        return;
    }
    add_text(doc, v->kind == JSON_OBJECT ? member(doc, v, "text") : v, a, &out->text);
    add_text(doc, thinking, a, &out->reasoning);
    for (const struct json_node *c = json_first(doc, thinking); c; c = json_next(doc, thinking, c))
        add_text(doc, member(doc, c, "text"), a, &out->reasoning);
}

static void walk_calls(const struct json *doc, const struct json_node *v, struct arena *a,
                       struct found *out)
{
    const struct json_node *arguments = member(doc, member(doc, v, "function"), "arguments");

    if (v && v->kind == JSON_ARRAY)
        for (const struct json_node *c = json_first(doc, v); c; c = json_next(doc, v, c))
            walk_calls(doc, c, a, out);
    else if (!json_is(doc, arguments, STR("null")))
        add_text(doc, arguments, a, &out->arguments);
}

static void walk_message(const struct json *doc, const struct json_node *m, struct arena *a,
                         struct found *out)
{
    walk_reasoning(doc, m, a, out);
    walk_content(doc, member(doc, m, "content"), a, out);
    walk_calls(doc, member(doc, m, "tool_calls"), a, out);
}

static void walk(str text, struct found *out)
{
    struct arena a;
    struct json doc;
    struct err e;

    if (str_eq(text, STR("[DONE]"))) {
        out->done = true;
        return;
    }
    arena_init(&a, HELP_MAX);
    json_init(&doc);
    CHECK_F(json_parse(&doc, text, &e), "%s", e.text);
    {
        const struct json_node *root = json_root(&doc), *list = member(&doc, root, "choices");

        out->error = out->error || member(&doc, root, "error");
        for (const struct json_node *c = json_first(&doc, list); c; c = json_next(&doc, list, c)) {
            const struct json_node *reason = member(&doc, c, "finish_reason");
            const struct json_node *m = member(&doc, c, "delta");

            walk_message(&doc, m ? m : member(&doc, c, "message"), &a, out);
            add_text(&doc, member(&doc, c, "text"), &a, &out->text);
            out->finished = out->finished || (reason && reason->size > 2);
        }
        if (!list) { /* Cohere */
            const struct json_node *delta = member(&doc, root, "delta");

            walk_message(&doc, member(&doc, delta ? delta : root, "message"), &a, out);
            out->finished = out->finished || member(&doc, delta ? delta : root, "finish_reason");
        }
    }
    json_release(&doc);
    arena_release(&a);
}

static void walk_frame(void *ctx, const struct frames_frame *frame)
{
    if (frame->data.n)
        walk(frame->data, ctx);
}

static void walk_all(const struct recording *r, struct found *out)
{
    struct frames fr;

    *out = (struct found){0};
    buf_init(&out->text, HELP_MAX);
    buf_init(&out->reasoning, HELP_MAX);
    buf_init(&out->arguments, HELP_MAX);
    if (!r->stream) {
        walk(r->body, out);
        out->done = true;
        return;
    }
    frames_init(&fr, FRAMES_SSE, HELP_MAX, (struct frames_sink){walk_frame, out});
    frames_feed(&fr, r->body);
    frames_finish(&fr);
    frames_release(&fr);
}

/* ---- the checks ---- */

#define SAME(r, got, want)                                                                         \
    CHECK_F(str_eq(got, want),                                                                     \
            STR_FMT ": " STR_FMT " is not " STR_FMT,                                               \
            STR_ARG((r)->id),                                                                      \
            STR_ARG(got),                                                                          \
            STR_ARG(want))

static void decode(const struct recording *r, struct said *s, size_t size)
{
    if (r->stream)
        said_stream(s, r->body, size);
    else
        said_whole(s, r->body);
}

static void check_found(const struct recording *r, const struct said *s)
{
    struct found f;

    walk_all(r, &f);
    SAME(r, said_text(s, CHAT_TEXT), buf_str(&f.text));
    SAME(r, said_text(s, CHAT_REASONING), buf_str(&f.reasoning));
    SAME(r, said_text(s, CHAT_ARGUMENTS), buf_str(&f.arguments));
    if (f.error || !(f.done || f.finished))
        CHECK_F(s->errors == 1 && s->ends == 0, STR_FMT, STR_ARG(r->id));
    else
        CHECK_F(s->errors == 0 && s->ends == 1 && s->stops >= 1 && s->starts == 1,
                STR_FMT ": " STR_FMT,
                STR_ARG(r->id),
                STR_ARG(buf_str(&s->lines)));
    buf_release(&f.text);
    buf_release(&f.reasoning);
    buf_release(&f.arguments);
}

static void check_cuts(const struct recording *r, const struct said *want)
{
    static const size_t sizes[] = {1, 2, 3, 7, 64};

    for (size_t i = 0; i < COUNT_OF(sizes) && r->stream; i++) {
        struct said s;

        said_init(&s, r->wire);
        decode(r, &s, sizes[i]);
        SAME(r, buf_str(&s.lines), buf_str(&want->lines));
        said_release(&s);
    }
}

static void check_same(const struct recording *r, const struct said *got, const struct said *want)
{
    static const enum chat_event_kind kinds[] = {
        CHAT_TEXT, CHAT_REASONING, CHAT_REFUSAL, CHAT_CALL};

    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        SAME(r, said_text(got, kinds[i]), said_text(want, kinds[i]));
    if (said_text(want, CHAT_ARGUMENTS).n)
        SAME(r, said_text(got, CHAT_ARGUMENTS), said_text(want, CHAT_ARGUMENTS));
    CHECK_F(got->errors == want->errors && got->stop == want->stop,
            STR_FMT ": " STR_FMT "\n" STR_FMT,
            STR_ARG(r->id),
            STR_ARG(buf_str(&got->lines)),
            STR_ARG(buf_str(&want->lines)));
    CHECK_F(got->usage.output == want->usage.output || want->errors, STR_FMT, STR_ARG(r->id));
}

/* Decodes a reply, encodes it for a client of Chat Completions, and decodes it again. */
static void check_round(const struct recording *r, const struct said *want, bool stream)
{
    struct telling t;
    struct said s;

    telling_init(&t, &wire_openai, stream);
    said_init(&s, r->wire);
    s.d.sink = (struct chat_sink){telling_on_event, &t};
    decode(r, &s, r->body.n + 1);
    said_release(&s);
    said_init(&s, &wire_openai);
    if (stream)
        said_stream(&s, buf_str(&t.out), t.out.n + 1);
    else
        said_whole(&s, buf_str(&t.out));
    check_same(r, &s, want);
    said_release(&s);
    telling_release(&t);
}

static void check_relay(const struct recording *r, const struct said *want, bool touch)
{
    struct telling t;
    struct said s;

    if (r->wire != &wire_openai)
        return;
    telling_init(&t, &wire_openai, r->stream);
    said_init(&s, r->wire);
    s.relay = &t.en;
    s.touch = touch;
    s.events = malloc(100000 * sizeof *s.events);
    decode(r, &s, 64);
    free(s.events);
    said_release(&s);
    if (!touch) {
        SAME(r, buf_str(&t.out), r->body);
    } else {
        said_init(&s, &wire_openai);
        if (r->stream)
            said_stream(&s, buf_str(&t.out), t.out.n + 1);
        else
            said_whole(&s, buf_str(&t.out));
        check_same(r, &s, want);
        said_release(&s);
    }
    telling_release(&t);
}

static void check(const struct recording *r)
{
    struct said s;

    said_init(&s, r->wire);
    decode(r, &s, r->body.n + 1);
    check_found(r, &s);
    check_cuts(r, &s);
    check_round(r, &s, true);
    if (s.errors == 0) /* a failed reply as a whole body has only the error */
        check_round(r, &s, false);
    check_relay(r, &s, false);
    check_relay(r, &s, true);
    said_release(&s);
}

/* ---- the recordings ---- */

static const struct wire *wire_of(str uri)
{
    if (str_find(uri, STR("api.cohere.com/v2/chat")) != STR_NONE)
        return &wire_cohere;
    if (str_find(uri, STR("chat/completions")) == STR_NONE ||
        str_find(uri, STR("demo-endpoints")) != STR_NONE)
        return NULL;
    return str_find(uri, STR("mistral")) != STR_NONE ? &wire_mistral : &wire_openai;
}

static void check_error(const struct recording *r)
{
    struct chat_error error = {.message = STR(""), .type = STR(""), .code = STR("")};
    struct arena a;
    struct json doc;
    struct err e;

    error.param = STR("");
    arena_init(&a, HELP_MAX);
    json_init(&doc);
    CHECK(json_parse(&doc, r->body, &e));
    r->wire->read_error(&doc, &a, &error);
    CHECK_F(error.message.n > 0, STR_FMT, STR_ARG(r->id));
    json_release(&doc);
    arena_release(&a);
}

static size_t check_line(str line)
{
    struct recording r;
    struct arena a;
    struct json doc;
    struct err e;
    int64_t status;
    str uri, type;
    size_t n = 0;

    arena_init(&a, HELP_MAX);
    json_init(&doc);
    CHECK(json_parse(&doc, line, &e));
    CHECK(json_text(&doc, json_pointer(&doc, STR("/uri")), &a, &uri));
    CHECK(json_text(&doc, json_pointer(&doc, STR("/content_type")), &a, &type));
    CHECK(json_text(&doc, json_pointer(&doc, STR("/id")), &a, &r.id));
    CHECK(json_i64(&doc, json_pointer(&doc, STR("/status")), &status));
    r.wire = wire_of(uri);
    r.stream = str_starts(type, STR("text/event-stream"));
    if (r.wire && !str_starts(type, STR("text/plain")) &&
        json_text(&doc, json_pointer(&doc, STR("/response_body")), &a, &r.body)) {
        n = 1;
        if (status == 200)
            check(&r);
        else
            check_error(&r);
    }
    json_release(&doc);
    arena_release(&a);
    return n;
}

static size_t each_file(const char *folder, const char *ending,
                        size_t (*check_file)(const char *path, str text))
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    size_t n = 0;

    while (dir && (entry = readdir(dir))) {
        struct arena a;
        struct err e;
        char path[2048];
        str text;

        if (!str_ends(str_c(entry->d_name), str_c(ending)))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        arena_init(&a, HELP_MAX);
        CHECK_F(file_read(&a, path, HELP_MAX / 2, &text, &e), "%s", e.text);
        n += check_file(path, text);
        arena_release(&a);
    }
    if (dir)
        closedir(dir);
    return n;
}

static size_t check_traffic(const char *path, str text)
{
    size_t n = 0;

    (void)path;
    while (text.n) {
        size_t end = str_find(text, STR("\n"));

        end = end == STR_NONE ? text.n : end;
        if (end)
            n += check_line(str_slice(text, 0, end));
        text = str_slice(text, end + 1, text.n);
    }
    return n;
}

TEST(recorded_traffic_loses_nothing)
{
    const char *folder = test_corpora("provider-traffic");

    if (folder)
        CHECK(each_file(folder, ".jsonl", check_traffic) > 150);
}

static const struct wire *folder_wire(const char *path)
{
    return strstr(path, "/cohere/")    ? &wire_cohere
           : strstr(path, "/mistral/") ? &wire_mistral
                                       : &wire_openai;
}

static bool is_chat(str text, const char *path)
{
    return str_find(text, STR("\"choices\"")) != STR_NONE ||
           (strstr(path, "/cohere/") && (str_find(text, STR("message-start")) != STR_NONE ||
                                         str_find(text, STR("\"finish_reason\"")) != STR_NONE));
}

static size_t check_body(const char *path, str text)
{
    struct recording r = {str_c(path), text, folder_wire(path), false};

    if (!is_chat(text, path))
        return 0;
    check(&r);
    return 1;
}

/* The file has one chunk per line; adds the framing of the wire. */
static size_t check_chunks(const char *path, str text)
{
    struct recording r = {str_c(path), STR(""), folder_wire(path), true};
    struct buf b;

    if (!is_chat(text, path))
        return 0;
    buf_init(&b, HELP_MAX);
    while (text.n) {
        size_t end = str_find(text, STR("\n"));

        end = end == STR_NONE ? text.n : end;
        if (str_trim(str_slice(text, 0, end)).n)
            buf_printf(&b, "data: " STR_FMT "\n\n", STR_ARG(str_slice(text, 0, end)));
        text = str_slice(text, end + 1, text.n);
    }
    buf_add(&b, STR("data: [DONE]\n\n"));
    r.body = buf_str(&b);
    check(&r);
    buf_release(&b);
    return 1;
}

TEST(recorded_streams_lose_nothing)
{
    static const char *const folders[] = {"alibaba",
                                          "azure",
                                          "cohere",
                                          "deepseek",
                                          "groq",
                                          "mistral",
                                          "moonshotai",
                                          "openai",
                                          "openai-compatible",
                                          "perplexity",
                                          "xai"};
    const char *root = test_corpora("provider-streams");
    size_t n = 0;

    for (size_t i = 0; i < COUNT_OF(folders) && root; i++) {
        char folder[1024];

        snprintf(folder, sizeof folder, "%s/%s", root, folders[i]);
        n += each_file(folder, ".chunks.txt", check_chunks);
        n += each_file(folder, ".json", check_body);
    }
    CHECK(!root || n > 25);
}

TEST_MAIN(T(recorded_traffic_loses_nothing), T(recorded_streams_lose_nothing))
