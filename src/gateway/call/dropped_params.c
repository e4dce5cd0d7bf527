/* dropped_params.c - the names of the parameters that translation drops, for the client.
 *
 * A table has the members of each dialect's body that reach the other dialects, or that say nothing
 * to them (a cache, the form of the stream): every other member is dropped, and named. Members that
 * only some dialects have are listed by hand.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json_get.h"
#include "gateway/call/internal.h"
#include "wire/json_write.h"
#include "wire/message_parts.h"

#include <ctype.h>

#define DROPPED_MAX 512 /* bytes of their names */
#define TO(dialect) (1u << (CHAT_##dialect))
#define ALL (~0u)
#define KEY_MAX 64 /* a longer name is not in the table */

/* Reads thinking, sampling and the like of both /generate and Chat Completions. */
#define CHAT_MEMBERS                                                                               \
    "model messages stream max_tokens max_completion_tokens temperature top_p top_k seed "         \
    "frequency_penalty presence_penalty n stop user tools tool_choice functions function_call "    \
    "parallel_tool_calls response_format reasoning_effort reasoning thinking think "               \
    "enable_thinking thinking_budget include_reasoning reasoning_format chat_template_kwargs "     \
    "thinking_token_budget thinking_budget_tokens reasoning_budget_tokens stream_options "         \
    "prompt_cache_key prompt_cache_retention prompt_cache_options "
#define SHARED "metadata service_tier safety_identifier moderation "
#define THINKING "type budget_tokens display"
#define REASONING "effort summary generate_summary max_tokens exclude enabled"

/* Names in Gemini's rows are in camel case, and its bodies may have either case. */
static const struct row {
    enum chat_dialect client;
    unsigned to;      /* dialects of providers; 0: only these members are dropped */
    const char *path; /* where the members are, through lists */
    const char *names;
} dropped_rows[] = {
    {CHAT_OPENAI, ALL, "", CHAT_MEMBERS "logprobs top_logprobs"},
    {CHAT_OPENAI, ~TO(MISTRAL), "", "modalities"},
    {CHAT_OPENAI, TO(RESPONSES), "", SHARED "verbosity"},
    {CHAT_OPENAI,
     TO(MISTRAL),
     "",
     "safe_prompt prompt_mode prediction metadata guardrails random_seed"},
    {CHAT_OPENAI, ALL, "chat_template_kwargs", "enable_thinking thinking"},
    {CHAT_OPENAI, ALL, "thinking", THINKING},
    {CHAT_OPENAI, ALL, "reasoning", REASONING},
    {CHAT_OPENAI, 0, "messages", "audio"}, /* what the model has said before */
    {CHAT_RESPONSES,
     ALL,
     "",
     "model input instructions stream stream_options max_output_tokens temperature top_p top_k "
     "seed "
     "frequency_penalty presence_penalty tools tool_choice parallel_tool_calls text reasoning user "
     "safety_identifier include store previous_response_id conversation prompt background "
     "top_logprobs prompt_cache_key prompt_cache_retention prompt_cache_options"},
    {CHAT_RESPONSES, TO(OPENAI), "", SHARED},
    {CHAT_RESPONSES, ALL, "text", "format"},
    {CHAT_RESPONSES, TO(OPENAI), "text", "verbosity"},
    {CHAT_RESPONSES, ALL, "reasoning", REASONING},
    {CHAT_ANTHROPIC,
     ALL,
     "",
     "model messages system max_tokens temperature top_p top_k stop_sequences stream tools "
     "tool_choice thinking output_config output_format metadata container thread mcp_servers "
     "cache_control"},
    {CHAT_ANTHROPIC, ALL, "thinking", THINKING},
    {CHAT_ANTHROPIC, ALL, "output_config", "effort format"},
    {CHAT_ANTHROPIC, ALL, "metadata", "user_id"},
    {CHAT_ANTHROPIC,
     0,
     "tools",
     "input_examples defer_loading allowed_callers eager_input_streaming"},
    {CHAT_ANTHROPIC, 0, "messages.content", "citations"},
    {CHAT_GEMINI,
     ALL,
     "",
     "contents systemInstruction tools toolConfig generationConfig cachedContent"},
    {CHAT_GEMINI, ALL, "toolConfig", "functionCallingConfig"},
    {CHAT_GEMINI, ALL, "toolConfig.functionCallingConfig", "mode allowedFunctionNames"},
    {CHAT_GEMINI,
     ALL,
     "tools.functionDeclarations",
     "name description parameters parametersJsonSchema"},
    {CHAT_GEMINI,
     ALL,
     "generationConfig",
     "temperature topP topK maxOutputTokens candidateCount seed presencePenalty frequencyPenalty "
     "stopSequences thinkingConfig responseMimeType responseSchema responseJsonSchema "
     "responseLogprobs logprobs"},
    {CHAT_GEMINI,
     ALL,
     "generationConfig.thinkingConfig",
     "includeThoughts thinkingBudget thinkingLevel"},
    {CHAT_GEMINI, 0, "contents.parts", "mediaResolution videoMetadata"},
    {CHAT_OLLAMA,
     ALL,
     "",
     "model messages stream tools format options think keep_alive logprobs top_logprobs prompt "
     "system images"},
    {CHAT_OLLAMA,
     ALL,
     "options",
     "temperature top_p top_k seed num_predict frequency_penalty presence_penalty stop"},
    {CHAT_GENERATE, ALL, "", CHAT_MEMBERS "prompt system drop_from_history"},
    {CHAT_GENERATE, ALL, "chat_template_kwargs", "enable_thinking thinking"},
    {CHAT_GENERATE, ALL, "thinking", THINKING},
    {CHAT_GENERATE, ALL, "reasoning", REASONING},
};

struct dropped {
    const struct chat_request *r;
    unsigned to; /* the provider's dialect */
    const struct row *row;
    struct buf out;
};

static bool dropped_has(const struct dropped *d, str name)
{
    str rest = buf_str(&d->out);

    while (rest.n)
        if (str_eq(str_trim(str_cut(&rest, ',')), name))
            return true;
    return false;
}

/* Names are the client's: one that may not be in a header is left out of it. */
static void dropped_add(struct dropped *d, str name)
{
    if (!http1_is_token(name) || dropped_has(d, name) || d->out.n + name.n + 2 > DROPPED_MAX)
        return;
    if (d->out.n)
        buf_add(&d->out, STR(", "));
    buf_add(&d->out, name);
}

/* ---- members ---- */

/* The name of a member as the table has it, in `room` of KEY_MAX; "" if it is longer. */
static str dropped_key(const struct dropped *d, const struct json_node *key, char *room)
{
    str name = json_raw(d->r->doc, key);
    size_t n = 0;

    name = str_slice(name, 1, name.n - 1); /* its quotes */
    if (name.n > KEY_MAX)
        return STR("");
    for (size_t i = 0; i < name.n; i++)
        if (d->r->dialect != CHAT_GEMINI || name.p[i] != '_' || i + 1 == name.n)
            room[n++] = name.p[i];
        else
            room[n++] = (char)toupper((unsigned char)name.p[++i]);
    return (str){room, n};
}

static bool dropped_is_known(const struct dropped *d, str name)
{
    if (!d->row->to)
        return !str_is_one_of(name, d->row->names);
    for (size_t i = 0; i < COUNT_OF(dropped_rows); i++) {
        const struct row *row = &dropped_rows[i];

        if (row->client == d->r->dialect && (row->to & d->to) &&
            strcmp(row->path, d->row->path) == 0 && str_is_one_of(name, row->names))
            return true;
    }
    return false;
}

static void dropped_list_members(struct dropped *d, const struct json_node *v, const char *path)
{
    const struct json *doc = d->r->doc;
    size_t head = strcspn(path, ".");
    char room[KEY_MAX];

    if (json_is_array(v))
        JSON_FOREACH(item, doc, v)
            if (item->kind == JSON_OBJECT)
                dropped_list_members(d, item, path);
    if (!json_is_object(v))
        return;
    JSON_FOREACH(key, doc, v) {
        str raw = json_raw(doc, key), name = dropped_key(d, key, room);

        if (!head) {
            if ((json_value(key)->kind == JSON_NUMBER || json_has_content(doc, json_value(key))) &&
                !dropped_is_known(d, name))
                dropped_add(d, str_slice(raw, 1, raw.n - 1));
        } else if (str_eq(name, (str){path, head})) {
            dropped_list_members(d, json_value(key), path + head + (path[head] == '.'));
        }
    }
}

/* ---- what only some dialects have ---- */

static const struct {
    const char *name;
    size_t at;   /* of its text in struct chat_request */
    unsigned to; /* the dialects that do not have it */
} dropped_texts[] = {
    {"top_k", offsetof(struct chat_request, top_k), TO(OPENAI) | TO(RESPONSES) | TO(MISTRAL)},
    {"seed", offsetof(struct chat_request, seed), TO(RESPONSES) | TO(ANTHROPIC)},
    {"frequency_penalty",
     offsetof(struct chat_request, frequency_penalty),
     TO(RESPONSES) | TO(ANTHROPIC)},
    {"presence_penalty",
     offsetof(struct chat_request, presence_penalty),
     TO(RESPONSES) | TO(ANTHROPIC)},
    {"user", offsetof(struct chat_request, user), TO(GEMINI) | TO(OLLAMA) | TO(MISTRAL)},
    {"response_format.description",
     offsetof(struct chat_request, format_description),
     TO(ANTHROPIC) | TO(GEMINI) | TO(OLLAMA)},
};

/* ---- values that are not sent, or not as they were ---- */

static const str *dropped_text(const struct dropped *d, size_t at)
{
    return (const str *)(const void *)((const char *)d->r + at);
}

/* Where a provider's body has a number of the request. */
static const struct {
    const char *name, *path;
    size_t at; /* of its text in struct chat_request */
    unsigned to;
} dropped_numbers[] = {
    {"temperature", "temperature", offsetof(struct chat_request, temperature), TO(ANTHROPIC)},
    {"top_p", "top_p", offsetof(struct chat_request, top_p), TO(ANTHROPIC)},
    {"top_k", "top_k", offsetof(struct chat_request, top_k), TO(ANTHROPIC)},
    {"max_tokens", "max_tokens", offsetof(struct chat_request, max_tokens), TO(ANTHROPIC)},
    {"max_tokens", "max_output_tokens", offsetof(struct chat_request, max_tokens), TO(RESPONSES)},
};

/* Where the bodies of any dialect have an effort, and a budget of reasoning tokens. */
static const char *const dropped_efforts[] = {"reasoning_effort",
                                              "reasoning.effort",
                                              "output_config.effort",
                                              "generationConfig.thinkingConfig.thinkingLevel",
                                              "think"};
static const char *const dropped_budgets[] = {"thinking.budget_tokens",
                                              "generationConfig.thinkingConfig.thinkingBudget",
                                              "reasoning.max_tokens",
                                              "thinking_token_budget",
                                              "thinking_budget_tokens",
                                              "custom_params.thinking_budget"};

static const struct json_node *dropped_find(const struct json *doc, str path)
{
    const struct json_node *v = json_root(doc);

    while (v && path.n)
        v = json_find(doc, v, str_cut(&path, '.'));
    return v && v->kind != JSON_NULL ? v : NULL;
}

static const struct json_node *dropped_find_first(const struct json *doc, const char *const *paths,
                                                  size_t n)
{
    const struct json_node *v = NULL;

    for (size_t i = 0; i < n && !v; i++)
        v = dropped_find(doc, str_c(paths[i]));
    return v;
}

/* A parameter that was sent with another value: NAME=VALUE. */
static void dropped_add_changed(struct dropped *d, const char *name, str value)
{
    if (value.n > 2 && value.p[0] == '"')
        value = str_slice(value, 1, value.n - 1);
    if (!http1_is_token(value) || d->out.n + strlen(name) + value.n + 3 > DROPPED_MAX)
        return;
    buf_printf(&d->out, "%s%s=" STR_FMT, d->out.n ? ", " : "", name, STR_ARG(value));
}

static void dropped_list_numbers(struct dropped *d, const struct json *sent)
{
    for (size_t i = 0; i < COUNT_OF(dropped_numbers); i++) {
        str value = *dropped_text(d, dropped_numbers[i].at);
        const struct json_node *now = dropped_find(sent, str_c(dropped_numbers[i].path));
        double x;

        if (!value.n || !(dropped_numbers[i].to & d->to))
            continue;
        if (!now)
            dropped_add(d, str_c(dropped_numbers[i].name));
        else if (json_double(sent, now, &x) && x != part_number(value))
            dropped_add_changed(d, dropped_numbers[i].name, json_raw(sent, now));
    }
}

/* The client's own level becomes an effort or a budget; its budget stays a budget. */
static void dropped_list_thinking(struct dropped *d, const struct json *sent)
{
    const struct chat_request *r = d->r;
    const struct json_node *effort =
        dropped_find_first(sent, dropped_efforts, COUNT_OF(dropped_efforts));
    const struct json_node *budget =
        dropped_find_first(sent, dropped_budgets, COUNT_OF(dropped_budgets));
    bool amount = r->level > CHAT_LEVEL_ON;
    enum chat_level now;
    int64_t tokens;
    str word;

    if (r->budget_tokens > 0 && !budget)
        dropped_add(d, STR("budget_tokens"));
    else if (r->budget_tokens > 0 && json_i64(sent, budget, &tokens) && tokens != r->budget_tokens)
        dropped_add_changed(d, "budget_tokens", json_raw(sent, budget));
    if (amount && !effort && !budget)
        dropped_add(d, STR("reasoning_effort"));
    if ((!amount && r->level != CHAT_LEVEL_NONE) || !effort)
        return;
    word = json_raw(sent, effort);
    if (effort->kind == JSON_STRING && chat_level_parse(str_slice(word, 1, word.n - 1), &now)
            ? now != r->level
            : amount)
        dropped_add_changed(d, "reasoning_effort", word);
}

/* Some parameters need a look at the request that is sent. */
static void dropped_list_values(struct dropped *d, const struct call *c)
{
    const struct chat_request *r = d->r;
    bool sampling = r->temperature.n || r->top_p.n || r->top_k.n;
    bool thinking = r->level != CHAT_LEVEL_NOT_GIVEN || r->budget_tokens > 0;
    struct json doc;
    struct err e;

    if (!((sampling || c->attempt.sets_level) && (d->to & TO(ANTHROPIC))) && !thinking &&
        !(r->max_tokens.n && (d->to & TO(RESPONSES))))
        return;
    if (json_open(&doc, buf_str(&c->sent), &e)) {
        dropped_list_numbers(d, &doc);
        if (thinking && c->level.source == LEVEL_BY_REQUEST)
            dropped_list_thinking(d, &doc);
    }
    json_release(&doc);
}

/* The client's own parameters that a provider has refused. */
static void dropped_list_refused(struct dropped *d, const struct call *c)
{
    const struct chat_request *r = d->r;
    unsigned without = c->attempt.without;
    bool own = c->level.source == LEVEL_BY_REQUEST; /* not a preset's */

    if ((without & CALL_WITHOUT_TEMPERATURE) && r->temperature.n)
        dropped_add(d, STR("temperature"));
    if (((without & CALL_WITHOUT_TOP_P) && r->top_p.n) ||
        ((without & CALL_WITHOUT_CONFLICT) && r->temperature.n && r->top_p.n))
        dropped_add(d, STR("top_p"));
    if (own && (without & CALL_WITHOUT_REASONING))
        dropped_add(d, STR("reasoning_effort"));
    else if (own && c->attempt.effort && c->attempt.wire->dialect == c->in.wire->dialect)
        dropped_add_changed(
            d, "reasoning_effort", str_c(chat_level_name((enum chat_level)c->attempt.effort)));
}

/* Log-probabilities are translated for clients of OpenAI's dialects. */
static bool dropped_logprobs(const struct dropped *d)
{
    const struct chat_request *r = d->r;
    str top;

    if (r->dialect == CHAT_OLLAMA)
        return str_eq(request_member_raw(r, NULL, "logprobs"), STR("true"));
    if (r->dialect == CHAT_GEMINI)
        return str_eq(request_member_raw(r, "generationConfig", "responseLogprobs"), STR("true"));
    return (d->to & (TO(ANTHROPIC) | TO(MISTRAL))) && request_wants_logprobs(r, &top);
}

static void dropped_list_format(struct dropped *d)
{
    str mime = d->r->dialect == CHAT_GEMINI
                   ? request_member_raw(d->r, "generationConfig", "responseMimeType")
                   : STR("");

    if (d->r->format == CHAT_FORMAT_JSON && (d->to & TO(ANTHROPIC)))
        dropped_add(d, STR("response_format"));
    if (mime.n && !str_eq(mime, STR("\"application/json\"")) &&
        !str_eq(mime, STR("\"text/plain\"")))
        dropped_add(d, STR("responseMimeType"));
}

static void dropped_list_tools(struct dropped *d, enum chat_dialect to)
{
    const struct chat_request *r = d->r;

    if ((r->choice == CHAT_CHOICE_REQUIRED || r->choice == CHAT_CHOICE_TOOL) &&
        (d->to & TO(OLLAMA)))
        dropped_add(d, STR("tool_choice"));
    if (r->parallel_given && !r->parallel && (d->to & (TO(GEMINI) | TO(OLLAMA))))
        dropped_add(d, STR("parallel_tool_calls"));
    for (size_t i = 0; i < r->tool_count; i++) {
        const struct chat_tool *t = &r->tools[i];
        struct buf name;

        if (!t->barred && !chat_tool_goes(t, to)) {
            buf_init(&name, DROPPED_MAX);
            buf_printf(&name, "tools." STR_FMT, STR_ARG(t->name));
            dropped_add(d, http1_is_token(t->name) ? buf_str(&name) : STR("tools"));
            buf_release(&name);
        }
        if (t->strict_given && t->strict && (d->to & (TO(GEMINI) | TO(OLLAMA))))
            dropped_add(d, STR("tools.strict"));
    }
}

/* Chat Completions has names of participants and the detail of images, Anthropic and Gemini results
 * of tools that failed, and all but Gemini names of files. */
static void dropped_list_messages(struct dropped *d)
{
    const struct chat_request *r = d->r;

    for (size_t i = 0; i < r->message_count; i++) {
        const struct chat_message *m = &r->messages[i];

        if (m->name.n && m->role != CHAT_TOOL && !(m->role == CHAT_USER && (d->to & TO(OPENAI))))
            dropped_add(d, STR("messages.name"));
        for (size_t k = 0; k < m->part_count; k++) {
            if (m->parts[k].kind == CHAT_PART_TOOL_RESULT && m->parts[k].is_error &&
                !(d->to & (TO(ANTHROPIC) | TO(GEMINI))))
                dropped_add(d, STR("is_error"));
            if (m->parts[k].kind == CHAT_PART_IMAGE && m->parts[k].name.n &&
                !str_eq(m->parts[k].name, STR("auto")) && !(d->to & (TO(OPENAI) | TO(RESPONSES))))
                dropped_add(d, STR("detail"));
            if (m->parts[k].kind == CHAT_PART_FILE && m->parts[k].name.n && (d->to & TO(GEMINI)))
                dropped_add(d, STR("filename"));
        }
    }
}

/* What translation drops. */
static void dropped_list_all(struct dropped *d, const struct call *c)
{
    const struct chat_request *r = d->r;
    enum chat_dialect to = c->attempt.wire->dialect;

    if (r->stop_count && to == CHAT_RESPONSES)
        dropped_add(d, STR("stop"));
    for (size_t i = 0; i < COUNT_OF(dropped_texts); i++)
        if ((dropped_texts[i].to & d->to) && dropped_text(d, dropped_texts[i].at)->n)
            dropped_add(d, str_c(dropped_texts[i].name));
    dropped_list_values(d, c);
    for (size_t i = 0; i < COUNT_OF(dropped_rows) && r->doc; i++) {
        d->row = &dropped_rows[i];
        if (d->row->client == r->dialect && (d->row->to == ALL || !d->row->to))
            dropped_list_members(d, json_root(r->doc), d->row->path);
    }
    if (dropped_logprobs(d))
        dropped_add(d, STR("logprobs"));
    dropped_list_format(d);
    dropped_list_tools(d, to);
    dropped_list_messages(d);
}

void call_list_dropped(struct call *c)
{
    enum chat_dialect to = c->attempt.wire->dialect;
    struct dropped d = {.r = c->in.request, .to = 1u << to};

    c->attempt.dropped = STR("");
    if (to == c->in.wire->dialect && !c->attempt.without && !c->attempt.effort)
        return;
    buf_init(&d.out, DROPPED_MAX);
    dropped_list_refused(&d, c);
    if (to != c->in.wire->dialect)
        dropped_list_all(&d, c);
    c->attempt.dropped = arena_move_buf(&c->arena, &d.out);
}

str call_dropped_params(const struct call *c)
{
    return c->attempt.dropped.p ? c->attempt.dropped : STR("");
}
