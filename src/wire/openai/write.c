/* write.c - a request as a Chat Completions body, OpenAI's or Mistral's.
 *
 * Two things have no place in a message of this dialect. Several tool results in one message become
 * several messages. An image in a tool result is replaced by a note, and is sent in a message of
 * the user after the last result of its turn.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/openai/openai.h"

struct writer {
    const struct chat_request *r;
    struct json_out *o;
    bool mistral;
    size_t images_from; /* the message whose results have images still to be shown, or NONE */
    bool after_result;  /* the last message was a tool's */
    size_t system_from; /* only system messages follow from there on, after others; or NONE */
};

#define NO_MESSAGE ((size_t)-1)

/* ---- ids ---- */

/* Mistral takes ids of nine letters and digits only: any other becomes one, always the same. */
static void openai_write_call_id(struct writer *w, const char *key, str id)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    uint64_t h = openai_hash(OPENAI_HASH_SEED, id);
    bool good = id.n == 9;
    char made[9];

    for (size_t i = 0; i < id.n && good; i++)
        good = memchr(digits, id.p[i], sizeof digits - 1) != NULL;
    for (size_t i = 0; i < sizeof made; i++, h /= 62)
        made[i] = digits[h % 62];
    json_member_str(w->o, key, w->mistral && !good ? (str){made, sizeof made} : id);
}

/* ---- parts ---- */

static void openai_write_url_part(struct json_out *o, const char *type, const struct chat_part *p)
{
    json_member_str(o, "type", str_c(type));
    json_member_object(o, type);
    json_write_url(o, "url", p);
    if (p->kind == CHAT_PART_IMAGE)
        json_write_text(o, "detail", p->name);
    json_out_end(o);
}

static void openai_write_file(struct writer *w, const struct chat_part *p)
{
    struct json_out *o = w->o;

    if (json_write_audio(o, p))
        return;
    if (str_starts(p->mime, STR("audio/")) && w->mistral) {
        json_member_str(o, "type", STR("input_audio"));
        json_member_str(o, "input_audio", p->url);
    } else if (str_starts(p->mime, STR("video/"))) {
        openai_write_url_part(o, "video_url", p);
    } else if (w->mistral) {
        json_member_str(o, "type", STR("document_url"));
        json_write_url(o, "document_url", p);
        json_write_text(o, "document_name", p->name);
    } else {
        json_member_str(o, "type", STR("file"));
        json_member_object(o, "file");
        json_member_str(o, "filename", p->name.n ? p->name : STR("document"));
        json_write_url(o, "file_data", p);
        json_out_end(o);
    }
}

static void openai_write_part(struct writer *w, const struct chat_part *p)
{
    enum chat_dialect own = w->mistral ? CHAT_MISTRAL : CHAT_OPENAI;

    if (p->kind == CHAT_PART_OPAQUE) {
        if (p->dialect == own || p->dialect == CHAT_OPENAI) /* as Mistral's clients say it */
            json_out_raw(w->o, p->json);
        return;
    }
    if (p->kind != CHAT_PART_TEXT && p->kind != CHAT_PART_IMAGE && p->kind != CHAT_PART_FILE)
        return;
    json_out_object(w->o);
    if (p->kind == CHAT_PART_IMAGE)
        openai_write_url_part(w->o, "image_url", p);
    else if (p->kind == CHAT_PART_FILE)
        openai_write_file(w, p);
    else {
        json_member_str(w->o, "type", STR("text"));
        json_member_str(w->o, "text", p->text);
    }
    json_out_end(w->o);
}

/* The texts of one kind of part, joined. */
static void openai_write_joined(const struct chat_part *parts, size_t n, enum chat_part_kind kind,
                                const char *between, struct buf *out)
{
    bool first = true;

    for (size_t i = 0; i < n; i++) {
        if (parts[i].kind != kind || parts[i].redacted)
            continue;
        if (!first)
            buf_add(out, str_c(between));
        buf_add(out, parts[i].text);
        first = false;
    }
}

static size_t openai_write_count_of(const struct chat_part *parts, size_t n,
                                    enum chat_part_kind kind)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += parts[i].kind == kind;
    return count;
}

static void openai_write_joined_member(struct writer *w, const struct chat_message *m,
                                       enum chat_part_kind kind, const char *key,
                                       const char *between)
{
    size_t size = 64;
    struct buf b;

    for (size_t i = 0; i < m->part_count; i++)
        size += m->parts[i].text.n + 2;
    buf_init(&b, size);
    openai_write_joined(m->parts, m->part_count, kind, between, &b);
    json_member_str(w->o, key, buf_str(&b));
    buf_release(&b);
}

/* ---- messages ---- */

static void openai_write_role(struct writer *w, const char *name)
{
    w->after_result = false;
    json_out_object(w->o);
    json_member_str(w->o, "role", str_c(name));
}

/* Mistral refuses a message of the user or the system right after a tool's; a message of the
 * assistant must be in between. */
static void openai_write_role_after_results(struct writer *w, const char *name)
{
    if (w->mistral && w->after_result) {
        openai_write_role(w, "assistant");
        json_member_str(w->o, "content", STR("I see."));
        json_out_end(w->o);
    }
    openai_write_role(w, name);
}

static bool openai_write_shown(const struct chat_part *p)
{
    return p->kind == CHAT_PART_IMAGE || p->kind == CHAT_PART_FILE;
}

/* The images that were removed from tool results. */
static void openai_write_images(struct writer *w, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        for (size_t k = 0; k < w->r->messages[i].part_count; k++) {
            const struct chat_part *result = &w->r->messages[i].parts[k];

            for (size_t j = 0; j < result->part_count; j++)
                if (result->kind == CHAT_PART_TOOL_RESULT && openai_write_shown(&result->parts[j]))
                    openai_write_part(w, &result->parts[j]);
        }
}

static void openai_write_flush_images(struct writer *w, size_t to)
{
    if (w->images_from == NO_MESSAGE)
        return;
    openai_write_role_after_results(w, "user");
    json_member_array(w->o, "content");
    openai_write_images(w, w->images_from, to);
    json_out_close(w->o, 2);
    w->images_from = NO_MESSAGE;
}

static void openai_write_result(struct writer *w, const struct chat_part *p, size_t message)
{
    size_t images = 0, size = 64;
    struct buf b;

    for (size_t i = 0; i < p->part_count; i++) {
        images += openai_write_shown(&p->parts[i]);
        size += p->parts[i].text.n + 2;
    }
    buf_init(&b, size);
    openai_write_joined(p->parts, p->part_count, CHAT_PART_TEXT, "\n", &b);
    if (images)
        buf_add(&b, b.n ? STR("\n(see the image below)") : STR("(see the image below)"));
    openai_write_role(w, "tool");
    openai_write_call_id(w, "tool_call_id", p->id);
    if (w->mistral && p->name.n)
        json_member_str(w->o, "name", p->name);
    json_member_str(w->o, "content", buf_str(&b));
    json_out_end(w->o);
    w->after_result = true;
    buf_release(&b);
    if (images && w->images_from == NO_MESSAGE)
        w->images_from = message;
}

static void openai_write_calls(struct writer *w, const struct chat_message *m)
{
    if (openai_write_count_of(m->parts, m->part_count, CHAT_PART_TOOL_CALL) == 0)
        return;
    json_member_array(w->o, "tool_calls");
    for (size_t i = 0; i < m->part_count; i++) {
        const struct chat_part *p = &m->parts[i];

        if (p->kind != CHAT_PART_TOOL_CALL)
            continue;
        json_out_object(w->o);
        openai_write_call_id(w, "id", p->id);
        json_member_str(w->o, "type", STR("function"));
        json_member_object(w->o, "function");
        json_member_str(w->o, "name", p->name);
        json_member_str(w->o, "arguments", p->json.n ? p->json : STR("{}"));
        json_out_close(w->o, 2);
    }
    json_out_end(w->o);
}

/* Reasoning data of a host of OpenAI's dialect is a member of the message, not a part. */
static bool openai_write_is_details(const struct chat_part *p)
{
    return p->kind == CHAT_PART_OPAQUE && str_starts(p->json, STR("{\"reasoning_details\":"));
}

/* Mistral's list: reasoning is a chunk like any other. */
static void openai_write_chunks(struct writer *w, const struct chat_message *m)
{
    json_out_array(w->o);
    for (size_t i = 0; i < m->part_count; i++) {
        const struct chat_part *p = &m->parts[i];

        if (openai_write_is_details(p))
            continue;
        if (p->kind != CHAT_PART_REASONING) {
            openai_write_part(w, p);
            continue;
        }
        if (p->redacted)
            continue;
        json_write_typed(w->o, "thinking");
        json_member_array(w->o, "thinking");
        json_write_typed(w->o, "text");
        json_member_str(w->o, "text", p->text);
        json_out_close(w->o, 2);
        if (p->signature.n && p->dialect == CHAT_MISTRAL)
            json_member_str(w->o, "signature", p->signature);
        json_out_end(w->o);
    }
    json_out_end(w->o);
}

static bool openai_write_has_words(const struct chat_message *m, enum chat_part_kind kind)
{
    for (size_t i = 0; i < m->part_count; i++)
        if (m->parts[i].kind == kind && m->parts[i].text.n && !m->parts[i].redacted)
            return true;
    return false;
}

/* All parts of a model's message may belong to another dialect. Mistral refuses an empty message;
 * the others accept one if the client sent it. */
static bool openai_write_says_nothing(const struct writer *w, const struct chat_message *m)
{
    if (openai_write_count_of(m->parts, m->part_count, CHAT_PART_TEXT) > 0 && !w->mistral)
        return false;
    return !openai_write_has_words(m, CHAT_PART_TEXT) &&
           !openai_write_has_words(m, CHAT_PART_REASONING) &&
           !openai_write_has_words(m, CHAT_PART_REFUSAL) &&
           openai_write_count_of(m->parts, m->part_count, CHAT_PART_TOOL_CALL) == 0;
}

static void openai_write_assistant(struct writer *w, const struct chat_message *m)
{
    bool last = m == &w->r->messages[w->r->message_count - 1];
    bool thought = openai_write_has_words(m, CHAT_PART_REASONING);
    bool refused = openai_write_count_of(m->parts, m->part_count, CHAT_PART_REFUSAL) > 0;

    openai_write_role(w, "assistant");
    if (m->name.n && !w->mistral)
        json_member_str(w->o, "name", m->name);
    if (w->mistral && thought) {
        json_out_key(w->o, STR("content"));
        openai_write_chunks(w, m);
    } else if (openai_write_count_of(m->parts, m->part_count, CHAT_PART_TEXT) > 0) {
        openai_write_joined_member(w, m, CHAT_PART_TEXT, "content", "");
    } else if (refused && w->mistral) {
        openai_write_joined_member(w, m, CHAT_PART_REFUSAL, "content", "");
    } else if (openai_write_count_of(m->parts, m->part_count, CHAT_PART_TOOL_CALL) > 0 &&
               !w->mistral) {
        json_member_null(w->o, "content");
    } else {
        json_member_str(w->o, "content", STR(""));
    }
    if (!w->mistral && thought)
        openai_write_joined_member(w, m, CHAT_PART_REASONING, "reasoning_content", "\n\n");
    if (!w->mistral && refused)
        openai_write_joined_member(w, m, CHAT_PART_REFUSAL, "refusal", "");
    openai_write_calls(w, m);
    if (w->mistral && last &&
        openai_write_count_of(m->parts, m->part_count, CHAT_PART_TOOL_CALL) == 0)
        json_member_bool(w->o, "prefix", true); /* else the last word must be the user's */
    json_out_end(w->o);
}

/* A message of the user, together with the images of earlier tool results. */
static void openai_write_user(struct writer *w, const struct chat_message *m, size_t at)
{
    size_t texts = openai_write_count_of(m->parts, m->part_count, CHAT_PART_TEXT);
    size_t results = openai_write_count_of(m->parts, m->part_count, CHAT_PART_TOOL_RESULT);

    for (size_t i = 0; i < m->part_count; i++)
        if (m->parts[i].kind == CHAT_PART_TOOL_RESULT)
            openai_write_result(w, &m->parts[i], at);
    if (m->part_count > 0 && results == m->part_count)
        return;
    openai_write_role_after_results(w, "user");
    if (m->name.n && !w->mistral)
        json_member_str(w->o, "name", m->name);
    if (w->images_from == NO_MESSAGE && texts == m->part_count - results && texts <= 1) {
        openai_write_joined_member(w, m, CHAT_PART_TEXT, "content", "");
    } else {
        json_member_array(w->o, "content");
        if (w->images_from != NO_MESSAGE)
            openai_write_images(w, w->images_from, at + 1);
        w->images_from = NO_MESSAGE;
        for (size_t i = 0; i < m->part_count; i++)
            openai_write_part(w, &m->parts[i]);
        json_out_end(w->o);
    }
    json_out_end(w->o);
}

/* Mistral requires that the last message is the user's or a tool's. */
static size_t openai_write_system_from(const struct chat_request *r)
{
    size_t from = r->message_count;

    while (from > 0 && r->messages[from - 1].role == CHAT_SYSTEM)
        from--;
    return from > 0 ? from : NO_MESSAGE;
}

static void openai_write_message(struct writer *w, size_t at)
{
    const struct chat_message *m = &w->r->messages[at];

    if (m->role == CHAT_TOOL || m->role == CHAT_USER) {
        if (openai_write_count_of(m->parts, m->part_count, CHAT_PART_TOOL_RESULT) == 0 &&
            m->role == CHAT_TOOL)
            return;
        openai_write_user(w, m, at);
        return;
    }
    openai_write_flush_images(w, at);
    if (m->role == CHAT_ASSISTANT) {
        if (!openai_write_says_nothing(w, m))
            openai_write_assistant(w, m);
        return;
    }
    openai_write_role_after_results(w, w->mistral && at >= w->system_from ? "user" : "system");
    openai_write_joined_member(w, m, CHAT_PART_TEXT, "content", "\n\n");
    json_out_end(w->o);
}

void openai_write_messages(const struct chat_request *r, bool mistral, struct json_out *o)
{
    struct writer w = {r, o, mistral, NO_MESSAGE, false, openai_write_system_from(r)};

    json_out_array(o);
    for (size_t i = 0; i < r->message_count; i++)
        openai_write_message(&w, i);
    openai_write_flush_images(&w, r->message_count);
    json_out_end(o);
}

/* ---- the rest of the body ---- */

static void openai_write_format(const struct chat_request *r, struct json_out *o)
{
    static const char *const types[] = {[CHAT_FORMAT_TEXT] = "text",
                                        [CHAT_FORMAT_JSON] = "json_object",
                                        [CHAT_FORMAT_SCHEMA] = "json_schema"};

    if (r->format == CHAT_FORMAT_NONE)
        return;
    json_member_object(o, "response_format");
    json_member_str(o, "type", str_c(types[r->format]));
    if (r->format == CHAT_FORMAT_SCHEMA) {
        json_member_object(o, "json_schema");
        json_member_str(o, "name", r->format_name.n ? r->format_name : STR("answer"));
        json_write_text(o, "description", r->format_description);
        json_write_raw(o, "schema", r->format_schema);
        if (schema_is_strict(r, r->format_strict, r->format_schema))
            json_member_bool(o, "strict", true);
        json_out_end(o);
    }
    json_out_end(o);
}

static void openai_write_effort(const struct chat_request *r, bool mistral, struct json_out *o)
{
    enum chat_level level = r->level == CHAT_LEVEL_ON ? CHAT_LEVEL_MEDIUM : r->level;

    if (level == CHAT_LEVEL_NOT_GIVEN)
        return;
    if (mistral)
        level = level == CHAT_LEVEL_NONE ? CHAT_LEVEL_NONE : CHAT_LEVEL_HIGH;
    json_member_str(o, "reasoning_effort", str_c(chat_level_name(level)));
}

/* Clients of Mistral speak Chat Completions, and Mistral refuses members that it does not know:
 * these are its own. */
static void openai_write_own(const struct chat_request *r, struct json_out *o)
{
    static const char *const names[] = {
        "safe_prompt", "prompt_mode", "prompt_cache_key", "prediction", "metadata", "guardrails"};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        json_write_raw(o, names[i], request_member_raw(r, NULL, names[i]));
    if (!r->seed.n)
        json_write_raw(o, "random_seed", request_member_raw(r, NULL, "random_seed"));
}

static void openai_write_logprobs(const struct chat_request *r, struct json_out *o)
{
    str top;

    if (!request_wants_logprobs(r, &top))
        return;
    json_member_bool(o, "logprobs", true);
    json_write_raw(o, "top_logprobs", top);
}

static const struct setting mistral_setting_rows[] = {
    SETTING("max_tokens", max_tokens, 0, 0, 0),
    SETTING("temperature", temperature, 0, 0, 0),
    SETTING("top_p", top_p, 0, 0, 0),
    SETTING("random_seed", seed, 0, 0, 0),
    SETTING("frequency_penalty", frequency_penalty, 0, 0, 0),
    SETTING("presence_penalty", presence_penalty, 0, 0, 0),
    SETTING("n", n, 0, 0, 0),
};
static const struct settings mistral_settings = {.rows = mistral_setting_rows,
                                                 .count = COUNT_OF(mistral_setting_rows)};

void openai_write_kin(const struct chat_request *r, bool mistral, struct buf *out)
{
    struct json_out out_, *o = &out_;

    json_out_init_object(o, out);
    json_member_str(o, "model", r->model);
    json_out_key(o, STR("messages"));
    openai_write_messages(r, mistral, o);
    json_write_tools(o, r, mistral ? CHAT_MISTRAL : CHAT_OPENAI);
    json_write_choice(o, r, mistral ? CHAT_MISTRAL : CHAT_OPENAI);
    if (r->parallel_given && part_tools_going(r, mistral ? CHAT_MISTRAL : CHAT_OPENAI))
        json_member_bool(o, "parallel_tool_calls", r->parallel);
    settings_write(o, r, mistral ? &mistral_settings : &openai_settings);
    json_write_texts(o, "stop", r->stops, r->stop_count);
    openai_write_format(r, o);
    openai_write_effort(r, mistral, o);
    if (mistral && r->dialect == CHAT_OPENAI)
        openai_write_own(r, o);
    if (!mistral)
        json_write_text(o, "user", r->user);
    if (!mistral && r->dialect == CHAT_RESPONSES) {
        json_write_shared(o, r);
        json_write_raw(o, "verbosity", request_member_raw(r, "text", "verbosity"));
        openai_write_logprobs(r, o);
    }
    if (r->stream) {
        json_member_bool(o, "stream", true);
        if (r->stream_usage && !mistral)
            json_write_raw(o, "stream_options", STR("{\"include_usage\":true}"));
    }
    json_out_end(o);
}

void openai_write(const struct chat_request *r, struct buf *out)
{
    openai_write_kin(r, false, out);
}
