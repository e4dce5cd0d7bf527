/* redact_reasoning.c - see redact_reasoning.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/redact_reasoning.h"

#include "base/ctype.h"
#include "wire/openai/openai.h"

struct redaction {
    const struct wire_decoder *d;
    const struct json *doc;
    struct json_edits *ed;
    bool whole;
};

/* A word in the name of a member; `alone`: not as a part of a longer word. */
struct redact_word {
    const char *text;
    bool alone;
};

/* Words are written apart (cot_summary) or each with a capital letter (cotSummary). */
static bool redact_stands_alone(str name, size_t at, size_t end)
{
    bool begins = at == 0 || !char_is_letter(name.p[at - 1]) || char_is_upper(name.p[at]);

    return begins && (end == name.n || !(name.p[end] >= 'a' && name.p[end] <= 'z'));
}

static bool redact_word_is_at(str name, size_t at, const struct redact_word *word)
{
    size_t n = strlen(word->text), i = 0;

    if (at + n > name.n)
        return false;
    while (i < n && char_to_lower(name.p[at + i]) == word->text[i])
        i++;
    return i == n && (!word->alone || redact_stands_alone(name, at, at + n));
}

static bool redact_has_word(str name, const struct redact_word *words)
{
    for (size_t at = 0; at < name.n; at++)
        for (size_t i = 0; words[i].text; i++)
            if (char_to_lower(name.p[at]) == words[i].text[0] &&
                redact_word_is_at(name, at, &words[i]))
                return true;
    return false;
}

/* Whether a member by this name holds reasoning in words. */
static bool redact_names_reasoning(str name)
{
    static const struct redact_word words[] = {{"reasoning", false},
                                               {"thinking", false},
                                               {"thought", false},
                                               {"think", true},
                                               {"cot", true}, /* GitHub Copilot: cot_summary */
                                               {"analysis", true},
                                               {"tool_plan", true}, /* Cohere */
                                               {"scratchpad", true},
                                               {"monologue", true},
                                               {"deliberation", true},
                                               {"reflection", true},
                                               {NULL, false}};
    /* Encrypted data, ids, counts and settings with such a name contain no reasoning text. */
    static const struct redact_word others[] = {{"signature", false},
                                                {"opaque", false},
                                                {"encrypted", false},
                                                {"token", false},
                                                {"effort", false},
                                                {"budget", false},
                                                {"config", false},
                                                {"id", true},
                                                {NULL, false}};

    return redact_has_word(name, words) && !redact_has_word(name, others);
}

static str redact_raw_text(const struct json *doc, const struct json_node *text)
{
    assert(text->kind == JSON_STRING && text->size >= 2);
    return str_slice(json_raw(doc, text), 1, text->size - 1);
}

static bool redact_key_names_reasoning(const struct json *doc, const struct json_node *key)
{
    struct arena a;
    bool names;
    str name;

    if (!key->escaped)
        return redact_names_reasoning(redact_raw_text(doc, key));
    arena_init(&a, key->size + 64);
    names = json_text(doc, key, &a, &name) && redact_names_reasoning(name);
    arena_release(&a);
    return names;
}

static bool redact_has_words(const struct json *doc, const struct json_node *v)
{
    return v->kind >= JSON_STRING && !openai_empty(doc, v);
}

/* Whether a member holds words of reasoning. The name decides first: it is the cheaper test. */
static bool redact_is_reasoning(const struct json *doc, const struct json_node *key)
{
    return redact_key_names_reasoning(doc, key) && redact_has_words(doc, json_value(key));
}

/* Removes members that name reasoning from an unknown value, at any depth. */
static void redact_walk(const struct redaction *w, const struct json_node *v, unsigned depth)
{
    assert(depth <= JSON_DEPTH_MAX);
    if (v->kind < JSON_ARRAY)
        return;
    JSON_FOREACH(k, w->doc, v) {
        const struct json_node *value = v->kind == JSON_OBJECT ? json_value(k) : k;

        if (v->kind == JSON_OBJECT && redact_is_reasoning(w->doc, k))
            json_edit_drop(w->ed, v, k);
        else
            redact_walk(w, value, depth + 1);
    }
}

static bool redact_is_one_of(const struct json *doc, const struct json_node *key,
                             const char *const *names)
{
    for (; *names; names++)
        if (json_is(doc, key, str_c(*names)))
            return true;
    return false;
}

/* Members of a reply that repeat all of it before it was split, or the prompt with the reasoning of
 * earlier turns. */
static const char *const redact_dumps[] = {"__verbose",        /* llama.cpp */
                                           "raw_output",       /* Fireworks */
                                           "prompt_token_ids", /* vLLM */
                                           "prompt_logprobs",
                                           "prompt_text",
                                           NULL};

/* Members of a choice that list the tokens of its text. */
static const char *const redact_token_members[] = {"logprobs", "token_ids", NULL};

bool redact_is_token_list(str name)
{
    for (size_t i = 0; redact_token_members[i]; i++)
        if (str_eq(name, str_c(redact_token_members[i])))
            return true;
    return false;
}

static bool redact_has_extra(const struct chat_event *events, size_t n, uint32_t choice, str name)
{
    for (size_t i = 0; i < n; i++)
        if (events[i].kind == CHAT_EXTRA && events[i].choice == choice &&
            str_ends(events[i].name, name))
            return true;
    return false;
}

void redact_token_lists(const struct json *doc, const struct json_node *choice,
                        const struct chat_event *events, size_t n, uint32_t index,
                        struct json_edits *ed)
{
    for (size_t i = 0; redact_token_members[i]; i++) {
        str name = str_c(redact_token_members[i]);

        if (json_get(doc, choice, redact_token_members[i]) &&
            !redact_has_extra(events, n, index, name))
            json_edit_remove(ed, choice, name);
    }
}

/* An unknown member: removes it, or the reasoning inside it. */
static void redact_other(const struct redaction *w, const struct json_node *object,
                         const struct json_node *key)
{
    if (redact_is_reasoning(w->doc, key))
        json_edit_drop(w->ed, object, key);
    else
        redact_walk(w, json_value(key), 0);
}

/* ---- Chat Completions ---- */

/* Whether the decoder reads the member itself; then its events are hidden like all others. */
static bool redact_is_read(const struct redaction *w, const struct json_node *key)
{
    const struct json_node *value = json_value(key);

    for (size_t i = 0; i < OPENAI_THOUGHT_COUNT; i++)
        if (json_is(w->doc, key, openai_thought_name(i)))
            return value->kind == JSON_STRING;
    for (size_t i = 0; i < OPENAI_DETAIL_COUNT; i++)
        if (json_is(w->doc, key, openai_detail_name(i)))
            return value->kind == JSON_ARRAY;
    return false;
}

/* Whether the message has reasoning. */
static bool redact_message(const struct redaction *w, const struct json_node *message)
{
    static const char *const known_fields[] = {
        "content", "tool_calls", "function_call", "refusal", "audio", NULL};
    bool thinks = false;

    JSON_FOREACH(k, w->doc, message) {
        if (redact_is_read(w, k))
            thinks = thinks || !openai_empty(w->doc, json_value(k));
        else if (!redact_is_one_of(w->doc, k, known_fields))
            redact_other(w, message, k);
    }
    return thinks;
}

/* Whether a member beside the message has its reasoning: `text` repeats the content, and tokens are
 * those of the reasoning too. */
static bool redact_repeats(const struct redaction *w, const struct json_node *key, bool says,
                           bool thinks)
{
    return redact_has_words(w->doc, json_value(key)) &&
           ((says && json_is(w->doc, key, STR("text"))) ||
            (thinks && redact_is_one_of(w->doc, key, redact_token_members)) ||
            redact_is_one_of(w->doc, key, redact_dumps));
}

static void redact_choice(const struct redaction *w, const struct json_node *choice)
{
    const struct json_node *delta = json_get(w->doc, choice, "delta");
    const struct json_node *message = json_get(w->doc, choice, "message");
    /* A stream that says the whole message besides says it all again. */
    bool again = !w->whole && message && (delta || w->d->blocks > 0);
    const struct json_node *said = w->whole || (!delta && !again) ? message : delta;
    bool says = json_is_object(said);
    bool thinks = says && redact_message(w, said);

    JSON_FOREACH(k, w->doc, choice) {
        if (json_value(k) == said)
            continue;
        if ((again && w->d->splits && json_value(k) == message) ||
            redact_repeats(w, k, says, thinks))
            json_edit_drop(w->ed, choice, k);
        else
            redact_other(w, choice, k);
    }
}

static void redact_openai(const struct redaction *w, const struct json_node *root)
{
    static const char *const known_fields[] = {"id", "object", "created", "model", "usage", NULL};

    JSON_FOREACH(k, w->doc, root) {
        const struct json_node *value = json_value(k);

        if (json_is(w->doc, k, STR("choices")) && value->kind == JSON_ARRAY) {
            JSON_FOREACH(c, w->doc, value)
                if (c->kind == JSON_OBJECT)
                    redact_choice(w, c);
        } else if (redact_is_one_of(w->doc, k, redact_dumps) && redact_has_words(w->doc, value)) {
            json_edit_drop(w->ed, root, k);
        } else if (!redact_is_one_of(w->doc, k, known_fields)) {
            redact_other(w, root, k);
        }
    }
}

/* ---- Responses ---- */

static void redact_item(const struct redaction *w, const struct json_node *item, bool begins)
{
    static const char *const known_fields[] = {"type", "id", "status", "summary", "content", NULL};
    static const char *const lists[] = {"summary", "content"};

    if (!json_get_is(w->doc, item, "type", "reasoning"))
        return;
    JSON_FOREACH(k, w->doc, item)
        if (!redact_is_one_of(w->doc, k, known_fields))
            redact_other(w, item, k);
    /* An item that begins may be full already; its events say it once more. */
    for (size_t i = 0; begins && i < COUNT_OF(lists); i++) {
        const struct json_node *v = json_find(w->doc, item, str_c(lists[i]));

        if (v && redact_has_words(w->doc, v))
            json_edit_replace(w->ed, v, STR("[]"));
    }
}

/* Events with unknown names stay, without their texts, because clients count the sequence
 * numbers. */
static void redact_event(const struct redaction *w, const struct json_node *root)
{
    static const char *const texts[] = {"delta", "text"};

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        const struct json_node *v = json_get(w->doc, root, texts[i]);

        if (v && redact_has_words(w->doc, v))
            json_edit_replace(w->ed, v, STR("\"\""));
    }
}

static void redact_responses(const struct redaction *w, const struct json_node *root)
{
    static const char *const known[] = {"response.reasoning_text.delta",
                                        "response.reasoning_text.done",
                                        "response.reasoning_summary_text.delta",
                                        "response.reasoning_summary_text.done",
                                        "response.reasoning_summary_part.added",
                                        "response.reasoning_summary_part.done",
                                        NULL};
    const struct json_node *type = json_find(w->doc, root, STR("type"));
    const struct json_node *item = json_get(w->doc, root, "item");
    const struct json_node *response = w->whole ? root : json_get(w->doc, root, "response");
    const struct json_node *list = json_get(w->doc, response, "output");

    if (item)
        redact_item(w, item, json_is(w->doc, type, STR("response.output_item.added")));
    JSON_FOREACH_ITEM(v, w->doc, list)
        redact_item(w, v, false);
    if (w->whole || !type || type->kind != JSON_STRING || redact_is_one_of(w->doc, type, known) ||
        !str_starts(redact_raw_text(w->doc, type), STR("response.reasoning")))
        return;
    redact_event(w, root);
    redact_event(w, json_get(w->doc, root, "part"));
}

/* ---- Gemini, Ollama: log-probabilities of single tokens, including those of the reasoning ---- */

static void redact_gemini(const struct redaction *w, const struct json_node *chunk)
{
    static const char *const tokens[] = {"logprobsResult", "logprobs_result", NULL};
    const struct json_node *list = json_get(w->doc, chunk, "candidates");

    JSON_FOREACH_ITEM(c, w->doc, list) {
        if (c->kind != JSON_OBJECT)
            continue;
        const struct json_node *parts = json_get(w->doc, json_get(w->doc, c, "content"), "parts");
        bool thinks = false;

        JSON_FOREACH_ITEM(p, w->doc, parts)
            thinks = thinks || json_to_bool(w->doc, json_find(w->doc, p, STR("thought")));
        JSON_FOREACH(k, w->doc, c)
            if (thinks && redact_is_one_of(w->doc, k, tokens))
                json_edit_drop(w->ed, c, k);
            else if (!json_is(w->doc, k, STR("content")))
                redact_other(w, c, k);
    }
}

static void redact_ollama(const struct redaction *w, const struct json_node *root)
{
    static const char *const known_fields[] = {
        "role", "content", "thinking", "tool_calls", "images", NULL};
    const struct json_node *message = json_get(w->doc, root, "message");
    const struct json_node *thinking = json_get(w->doc, message, "thinking");

    if (thinking && !openai_empty(w->doc, thinking))
        json_edit_remove(w->ed, root, STR("logprobs"));
    for (const struct json_node *k = json_first(w->doc, message); k && message->kind == JSON_OBJECT;
         k = json_next(w->doc, message, k))
        if (!redact_is_one_of(w->doc, k, known_fields))
            redact_other(w, message, k);
}

bool redact_frame(const struct wire_decoder *d, bool whole, struct json_edits *ed)
{
    const struct redaction w = {d, &d->doc, ed, whole};
    const struct json_node *root = json_root(&d->doc);

    assert(ed->n == 0);
    if (d->wire->dialect == CHAT_GEMINI) /* a stream without SSE is a list of chunks */
        JSON_FOREACH_ITEM(chunk, w.doc, root)
            redact_gemini(&w, chunk);
    if (!json_is_object(root))
        return ed->n > 0;
    if (d->wire->dialect == CHAT_OPENAI)
        redact_openai(&w, root);
    else if (d->wire->dialect == CHAT_RESPONSES)
        redact_responses(&w, root);
    else if (d->wire->dialect == CHAT_GEMINI)
        redact_gemini(&w, root);
    else if (d->wire->dialect == CHAT_OLLAMA)
        redact_ollama(&w, root);
    return ed->n > 0;
}

/* ---- requests ---- */

/* Where the messages of a request are, by dialect. */
static const char *const redact_histories[] = {"messages", "input", "contents"};

/* A block, part or item that is reasoning and nothing else. */
static bool redact_is_thought(const struct json *doc, const struct json_node *v)
{
    return v->kind == JSON_OBJECT && openai_is_thought_chunk(doc, v);
}

static void redact_forget_parts(const struct redaction *w, const struct json_node *list)
{
    if (redact_is_thought(w->doc, list)) /* Gemini takes a part outside of a list */
        json_edit_replace(w->ed, list, STR("[]"));
    JSON_FOREACH_ITEM(p, w->doc, list)
        if (redact_is_thought(w->doc, p))
            json_edit_drop(w->ed, list, p);
}

static void redact_forget_message(const struct redaction *w, const struct json_node *message)
{
    for (const struct json_node *k = json_first(w->doc, message); k && message->kind == JSON_OBJECT;
         k = json_next(w->doc, message, k)) {
        if (json_is(w->doc, k, STR("content")) || json_is(w->doc, k, STR("parts")))
            redact_forget_parts(w, json_value(k));
        else if (redact_is_reasoning(w->doc, k))
            json_edit_drop(w->ed, message, k);
    }
}

bool redact_history(const struct json *doc, struct json_edits *ed)
{
    const struct redaction w = {NULL, doc, ed, true};

    for (size_t i = 0; i < COUNT_OF(redact_histories); i++) {
        const struct json_node *list = json_get(doc, json_root(doc), redact_histories[i]);

        if (!list)
            continue;
        redact_forget_parts(&w, list);
        if (!redact_is_thought(doc, list))
            redact_forget_message(&w, list); /* Gemini takes a message outside of a list */
        JSON_FOREACH_ITEM(m, doc, list)
            if (!redact_is_thought(doc, m))
                redact_forget_message(&w, m);
    }
    return ed->n > 0;
}

/* ---- texts of reasoning in a request ---- */

struct redact_test {
    const struct json *doc;
    struct arena *arena;
    bool (*is)(void *ctx, str text);
    void *ctx;
};

/* All texts of a value but names and sealed data. */
static bool redact_test_texts(const struct redact_test *t, const struct json_node *v,
                              unsigned depth)
{
    static const char *const sealed[] = {
        "type", "id", "status", "format", "signature", "data", "encrypted_content", NULL};
    bool found = false;
    str text;

    assert(depth <= JSON_DEPTH_MAX);
    arena_reset(t->arena);
    if (v->kind == JSON_STRING)
        return json_text(t->doc, v, t->arena, &text) && t->is(t->ctx, text);
    if (v->kind < JSON_ARRAY)
        return false;
    for (const struct json_node *k = json_first(t->doc, v); k && !found;
         k = json_next(t->doc, v, k))
        if (v->kind == JSON_ARRAY)
            found = redact_test_texts(t, k, depth + 1);
        else if (!redact_is_one_of(t->doc, k, sealed))
            found = redact_test_texts(t, json_value(k), depth + 1);
    return found;
}

static bool redact_test_parts(const struct redact_test *t, const struct json_node *list)
{
    if (redact_is_thought(t->doc, list))
        return redact_test_texts(t, list, 0);
    JSON_FOREACH_ITEM(p, t->doc, list)
        if (redact_is_thought(t->doc, p) && redact_test_texts(t, p, 0))
            return true;
    return false;
}

static bool redact_test_message(const struct redact_test *t, const struct json_node *message)
{
    for (const struct json_node *k = json_first(t->doc, message); k && message->kind == JSON_OBJECT;
         k = json_next(t->doc, message, k)) {
        bool parts = json_is(t->doc, k, STR("content")) || json_is(t->doc, k, STR("parts"));

        if (parts ? redact_test_parts(t, json_value(k))
                  : redact_key_names_reasoning(t->doc, k) && redact_test_texts(t, json_value(k), 0))
            return true;
    }
    return false;
}

bool redact_history_has(const struct json *doc, struct arena *a, bool (*is)(void *ctx, str text),
                        void *ctx)
{
    const struct redact_test t = {doc, a, is, ctx};
    bool found = false;

    for (size_t i = 0; i < COUNT_OF(redact_histories) && !found; i++) {
        const struct json_node *list = json_get(doc, json_root(doc), redact_histories[i]);

        if (!list)
            continue;
        found = redact_test_parts(&t, list) || redact_test_message(&t, list);
        for (const struct json_node *m = json_first(doc, list);
             m && list->kind == JSON_ARRAY && !found;
             m = json_next(doc, list, m))
            found = !redact_is_thought(doc, m) && redact_test_message(&t, m);
    }
    return found;
}

str redact_history_text(str body, struct arena *a)
{
    struct json_edits ed;
    struct json doc;
    struct buf out;
    struct err e;
    str text = STR("");

    buf_init(&out, body.n + 64);
    if (json_open(&doc, body, &e)) {
        json_edits_init(&ed, &doc, a);
        text = body;
        if (redact_history(&doc, &ed)) {
            json_edits_apply(&ed, &out);
            text = arena_dup(a, buf_str(&out));
        }
    }
    buf_release(&out);
    json_release(&doc);
    return text;
}
