/* history_help.c - see history_help.h. Each rule is one that a provider's API enforces with a 400;
 * its text is where it is checked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "history_help.h"

#include "base/map.h"
#include "wire/wire.h"

#define BODY_MAX ((size_t)64 << 20)
#define CALLS_MAX 64

struct look {
    const char *who;
    const struct json *doc;
    struct arena *a;
    str open[CALLS_MAX]; /* ids of calls that have no result yet */
    size_t open_count;
    struct map seen; /* ids of all calls */
};

#define RULE(l, claim, ...)                                                                        \
    do {                                                                                           \
        if (!(claim)) {                                                                            \
            print_error("%s: %s\n" STR_FMT "\n", (l)->who, #claim, STR_ARG((l)->doc->src));        \
            fail_msg(__VA_ARGS__);                                                                 \
        }                                                                                          \
    } while (0)

static const struct json_node *at(const struct look *l, const struct json_node *v, const char *key)
{
    return json_find(l->doc, v, str_c(key));
}

static str text_at(const struct look *l, const struct json_node *v, const char *key)
{
    str s;

    return json_text(l->doc, at(l, v, key), l->a, &s) ? s : STR("");
}

static bool is(const struct look *l, const struct json_node *v, const char *key, const char *text)
{
    return json_is(l->doc, at(l, v, key), str_c(text));
}

static bool spelt(str s, size_t n_min, size_t n_max, const char *others)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              strchr(others, c)))
            return false;
    }
    return s.n >= n_min && s.n <= n_max;
}

static void call_opens(struct look *l, str id, bool once)
{
    struct err e;

    RULE(l, l->open_count < CALLS_MAX, "too many calls");
    RULE(l, !once || !map_find(&l->seen, id), "the id " STR_FMT " twice", STR_ARG(id));
    for (size_t i = 0; i < l->open_count; i++)
        RULE(l, !str_eq(l->open[i], id), "the id " STR_FMT " twice in a turn", STR_ARG(id));
    CHECK(map_set(&l->seen, id, MAP_U64(1), &e));
    l->open[l->open_count++] = id;
}

static void call_closes(struct look *l, str id)
{
    for (size_t i = 0; i < l->open_count; i++)
        if (str_eq(l->open[i], id)) {
            l->open[i] = l->open[--l->open_count];
            return;
        }
    RULE(l, false, "a result for " STR_FMT ", which nobody called", STR_ARG(id));
}

static void arguments_are_an_object(struct look *l, str text)
{
    struct json doc;
    struct err e;

    json_init(&doc);
    RULE(l, json_parse(&doc, text, &e) && json_root(&doc)->kind == JSON_OBJECT, "arguments");
    json_release(&doc);
}

static bool blank(str s)
{
    return str_trim(s).n == 0;
}

/* ---- Chat Completions, and Mistral's ---- */

static void openai_calls(struct look *l, const struct json_node *calls, bool mistral)
{
    RULE(l, calls->kind == JSON_ARRAY && json_first(l->doc, calls), "tool_calls is empty");
    for (const struct json_node *c = json_first(l->doc, calls); c;
         c = json_next(l->doc, calls, c)) {
        const struct json_node *f = at(l, c, "function");
        str id = text_at(l, c, "id");

        RULE(l, is(l, c, "type", "function"), "type");
        RULE(l, mistral ? spelt(id, 9, 9, "") : id.n > 0 && id.n <= 40, "id " STR_FMT, STR_ARG(id));
        RULE(l, spelt(text_at(l, f, "name"), 1, 64, "_-"), "name");
        arguments_are_an_object(l, text_at(l, f, "arguments"));
        call_opens(l, id, false);
    }
}

static void openai_message(struct look *l, const struct json_node *m, str *before, bool mistral)
{
    const struct json_node *calls = at(l, m, "tool_calls"), *content = at(l, m, "content");
    str role = text_at(l, m, "role");

    RULE(l, l->open_count == 0 || str_eq(role, STR("tool")), "calls without results");
    if (str_eq(role, STR("assistant"))) {
        RULE(l, calls || (content && content->kind != JSON_NULL), "neither content nor calls");
        RULE(l, !mistral || calls || !blank(text_at(l, m, "content")), "an empty assistant");
        if (calls)
            openai_calls(l, calls, mistral);
    } else if (str_eq(role, STR("tool"))) {
        RULE(l, content && content->kind == JSON_STRING, "a result without content");
        call_closes(l, text_at(l, m, "tool_call_id"));
    } else {
        RULE(l, str_eq(role, STR("user")) || str_eq(role, STR("system")), "role");
        RULE(l, content && content->kind != JSON_NULL, "content");
        RULE(l, !mistral || !str_eq(*before, STR("tool")), "role user after role tool");
    }
    *before = role;
}

static void check_openai(struct look *l, bool mistral)
{
    const struct json_node *list = at(l, json_root(l->doc), "messages");
    str before = STR("");

    RULE(l, list && list->kind == JSON_ARRAY && json_first(l->doc, list), "messages");
    for (const struct json_node *m = json_first(l->doc, list); m; m = json_next(l->doc, list, m))
        openai_message(l, m, &before, mistral);
    RULE(l, l->open_count == 0, "calls without results at the end");
    RULE(l, !mistral || !str_eq(before, STR("assistant")), "the last word is the assistant's");
}

static void check_chat(struct look *l)
{
    check_openai(l, false);
}

static void check_mistral(struct look *l)
{
    check_openai(l, true);
}

/* ---- Responses ---- */

static void check_responses(struct look *l)
{
    const struct json_node *list = at(l, json_root(l->doc), "input");

    RULE(l, list && list->kind == JSON_ARRAY && json_first(l->doc, list), "input");
    for (const struct json_node *m = json_first(l->doc, list); m; m = json_next(l->doc, list, m)) {
        if (is(l, m, "type", "function_call")) {
            str id = text_at(l, m, "call_id");

            RULE(l, id.n > 0 && id.n <= 64, "call_id");
            RULE(l, spelt(text_at(l, m, "name"), 1, 64, "_-"), "name");
            arguments_are_an_object(l, text_at(l, m, "arguments"));
            call_opens(l, id, false);
        } else if (is(l, m, "type", "function_call_output")) {
            RULE(l, at(l, m, "output"), "no output");
            call_closes(l, text_at(l, m, "call_id"));
        } else {
            const struct json_node *content = at(l, m, "content");

            RULE(l, text_at(l, m, "role").n, "an item that is none");
            RULE(l,
                 content && (content->kind == JSON_STRING || json_first(l->doc, content)),
                 "content");
            RULE(l, l->open_count == 0, "calls without results");
        }
    }
    RULE(l, l->open_count == 0, "calls without results at the end");
}

/* ---- Messages ---- */

/* All results come first in the message that directly follows their calls. */
static void anthropic_user_block(struct look *l, const struct json_node *b, bool *others)
{
    if (is(l, b, "type", "tool_result")) {
        const struct json_node *content = at(l, b, "content");

        RULE(l, !*others, "a result behind something else");
        call_closes(l, text_at(l, b, "tool_use_id"));
        for (const struct json_node *x = json_first(l->doc, content); x;
             x = json_next(l->doc, content, x))
            RULE(l, !is(l, x, "type", "text") || text_at(l, x, "text").n, "an empty text");
        return;
    }
    RULE(l, l->open_count == 0, "calls without results");
    RULE(l, !is(l, b, "type", "text") || !blank(text_at(l, b, "text")), "an empty text");
    *others = true;
}

static void anthropic_assistant_block(struct look *l, const struct json_node *b)
{
    str id = text_at(l, b, "id");

    if (!is(l, b, "type", "tool_use")) {
        RULE(l, !is(l, b, "type", "text") || !blank(text_at(l, b, "text")), "an empty text");
        return;
    }
    RULE(l, spelt(id, 1, 256, "_-"), "the id " STR_FMT, STR_ARG(id));
    RULE(l, spelt(text_at(l, b, "name"), 1, 128, "_-"), "name");
    RULE(l, at(l, b, "input") && at(l, b, "input")->kind == JSON_OBJECT, "input");
    call_opens(l, id, true);
}

static void check_anthropic(struct look *l)
{
    const struct json_node *root = json_root(l->doc), *list = at(l, root, "messages");
    str before = STR("assistant");
    int64_t max;

    RULE(l, json_i64(l->doc, at(l, root, "max_tokens"), &max) && max > 0, "max_tokens");
    RULE(l, list && list->kind == JSON_ARRAY && json_first(l->doc, list), "messages");
    for (const struct json_node *m = json_first(l->doc, list); m; m = json_next(l->doc, list, m)) {
        const struct json_node *content = at(l, m, "content");
        str role = text_at(l, m, "role");
        bool others = false, user = str_eq(role, STR("user"));

        RULE(l, user || str_eq(role, STR("assistant")), "role");
        RULE(l, !str_eq(role, before), "two of " STR_FMT " in a row", STR_ARG(role));
        RULE(l, content && content->kind == JSON_ARRAY && json_first(l->doc, content), "content");
        for (const struct json_node *b = json_first(l->doc, content); b;
             b = json_next(l->doc, content, b))
            if (user)
                anthropic_user_block(l, b, &others);
            else
                anthropic_assistant_block(l, b);
        RULE(l, !user || l->open_count == 0, "calls without results");
        before = role;
    }
    RULE(l, l->open_count == 0 && str_eq(before, STR("user")), "the end");
}

/* ---- generateContent ---- */

/* A turn with calls follows a turn of the user or of results, and the next turn has the results of
 * all of its calls. */
static void gemini_part(struct look *l, const struct json_node *p, bool user, size_t *results)
{
    const struct json_node *call = at(l, p, "functionCall"), *result = at(l, p, "functionResponse");

    if (call) {
        RULE(l, !user, "a call of the user's");
        RULE(l, spelt(text_at(l, call, "name"), 1, 64, "_-.:"), "name");
        RULE(l, at(l, call, "args") && at(l, call, "args")->kind == JSON_OBJECT, "args");
        call_opens(l, text_at(l, call, "id"), false);
    } else if (result) {
        RULE(l, user, "a result of the model's");
        RULE(l, spelt(text_at(l, result, "name"), 1, 64, "_-.:"), "name");
        RULE(l, at(l, result, "response")->kind == JSON_OBJECT, "response");
        call_closes(l, text_at(l, result, "id"));
        ++*results;
    } else {
        RULE(l, !at(l, p, "text") || text_at(l, p, "text").n, "an empty text");
    }
}

static void check_gemini(struct look *l)
{
    const struct json_node *list = at(l, json_root(l->doc), "contents");
    str before = STR("model");

    RULE(l, list && list->kind == JSON_ARRAY && json_first(l->doc, list), "contents");
    for (const struct json_node *m = json_first(l->doc, list); m; m = json_next(l->doc, list, m)) {
        const struct json_node *parts = at(l, m, "parts");
        size_t called = l->open_count, results = 0;
        str role = text_at(l, m, "role");
        bool user = str_eq(role, STR("user"));

        RULE(l, user || str_eq(role, STR("model")), "role");
        RULE(l, !str_eq(role, before), "two of " STR_FMT " in a row", STR_ARG(role));
        RULE(l, parts && json_first(l->doc, parts), "parts");
        for (const struct json_node *p = json_first(l->doc, parts); p;
             p = json_next(l->doc, parts, p))
            gemini_part(l, p, user, &results);
        RULE(l, !user || results == called, "as many results as calls");
        before = role;
    }
    RULE(l, l->open_count == 0 && str_eq(before, STR("user")), "the end");
}

/* ---- /api/chat ---- */

static void ollama_calls(struct look *l, const struct json_node *calls, size_t *open)
{
    for (const struct json_node *c = json_first(l->doc, calls); c;
         c = json_next(l->doc, calls, c)) {
        const struct json_node *f = at(l, c, "function");

        RULE(l, text_at(l, f, "name").n, "name");
        RULE(l, at(l, f, "arguments") && at(l, f, "arguments")->kind == JSON_OBJECT, "arguments");
        ++*open;
    }
}

static void check_ollama(struct look *l)
{
    const struct json_node *list = at(l, json_root(l->doc), "messages");
    size_t open = 0;

    RULE(l, list && list->kind == JSON_ARRAY && json_first(l->doc, list), "messages");
    for (const struct json_node *m = json_first(l->doc, list); m; m = json_next(l->doc, list, m)) {
        const struct json_node *content = at(l, m, "content");
        bool tool = is(l, m, "role", "tool");

        RULE(l, !content || content->kind == JSON_STRING, "content");
        RULE(l, tool == (open > 0), "results and calls do not meet");
        RULE(l, !tool || text_at(l, m, "tool_name").n, "tool_name");
        open -= tool;
        ollama_calls(l, at(l, m, "tool_calls"), &open);
    }
    RULE(l, open == 0, "calls without results at the end");
}

static const struct {
    enum chat_dialect dialect;
    void (*check)(struct look *l);
} rows[] = {{CHAT_OPENAI, check_chat},
            {CHAT_RESPONSES, check_responses},
            {CHAT_ANTHROPIC, check_anthropic},
            {CHAT_GEMINI, check_gemini},
            {CHAT_MISTRAL, check_mistral},
            {CHAT_OLLAMA, check_ollama}};

static void check_row(size_t i, const struct chat_request *r, struct arena *a)
{
    const struct wire *w = wire_get(rows[i].dialect);
    struct look l = {.who = w->name, .a = a};
    struct json doc;
    struct buf out;
    struct err e;

    json_init(&doc);
    buf_init(&out, BODY_MAX);
    map_init(&l.seen, NULL, 100000);
    w->write(r, &out);
    if (!json_parse(&doc, buf_str(&out), &e))
        fail_msg("%s: %s", w->name, e.text);
    l.doc = &doc;
    rows[i].check(&l);
    map_release(&l.seen);
    json_release(&doc);
    buf_release(&out);
}

size_t check_histories(str body)
{
    struct chat_request r;
    struct arena a;
    struct json doc;
    struct err e;

    json_init(&doc);
    arena_init(&a, BODY_MAX);
    if (!json_parse(&doc, body, &e) || !wire_get(CHAT_OPENAI)->read(&doc, &a, &r, &e))
        fail_msg("%s: " STR_FMT, e.text, STR_ARG(body));
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check_row(i, &r, &a);
    arena_release(&a);
    json_release(&doc);
    return COUNT_OF(rows);
}
