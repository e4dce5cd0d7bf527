/* anthropic_write.c - a request as a body of /v1/messages.
 *
 * Anthropic wants turns: what follows in one role is one message, the first is the user's, and the
 * results of tools stand first in the user's message behind the calls. Reasoning goes back only
 * with Anthropic's own signature; any other would be refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/anthropic.h"

#define MAX_TOKENS_DEFAULT 4096
#define BUDGET_TOKENS_MIN 1024

struct turn {
    struct json_out *o;
    struct anthropic_ids *ids;
    size_t at;        /* where the messages of the turn begin */
    const char *role; /* of the message that is to have the next block */
    bool open;        /* its content has begun */
    bool *first;      /* none has begun before it */
};

static void turn_begin(struct turn *t, const char *role)
{
    json_out_object(t->o);
    say_some(t->o, "role", str_c(role));
    json_out_key(t->o, STR("content"));
    json_out_array(t->o);
}

/* Words for a user who has said none, where there must be some. */
static void put_silence(struct turn *t)
{
    turn_begin(t, "user");
    say_typed(t->o, "text");
    json_member_str(t->o, "text", STR(SAY_SILENCE));
    json_out_end(t->o);
    json_out_end(t->o);
    json_out_end(t->o);
    *t->first = false;
}

static void block_begin(struct turn *t, const char *type)
{
    if (!t->open) {
        if (*t->first && strcmp(t->role, "user") != 0)
            put_silence(t);
        turn_begin(t, t->role);
        t->open = true;
        *t->first = false;
    }
    if (!type)
        return;
    json_out_object(t->o);
    say_some(t->o, "type", str_c(type));
}

static void turn_end(struct turn *t)
{
    if (t->open) {
        json_out_end(t->o);
        json_out_end(t->o);
    }
    t->open = false;
}

static void put_source(struct json_out *o, const char *type, str mime, str data)
{
    json_out_key(o, STR("source"));
    json_out_object(o);
    say_some(o, "type", str_c(type));
    if (mime.n)
        say_some(o, "media_type", mime);
    say_some(o, strcmp(type, "url") == 0 ? "url" : "data", data);
    json_out_end(o);
}

static void put_text_file(struct turn *t, str data, str name)
{
    struct buf text;

    buf_init(&text, data.n + 1);
    if (part_base64(data, &text) && text.n) {
        block_begin(t, "document");
        put_source(t->o, "text", STR("text/plain"), buf_str(&text));
        say_some(t->o, "title", name);
        json_out_end(t->o);
    }
    buf_release(&text);
}

/* Images and documents; sound and film cannot be said. */
static void put_media(struct turn *t, const struct chat_part *p)
{
    str mime = p->mime, data = p->data, url = p->url;
    bool image;

    if (url.n && part_data_url(url, &mime, &data))
        url = STR("");
    image = p->kind == CHAT_PART_IMAGE || str_starts(mime, STR("image/"));
    if (url.n == 0 && data.n == 0)
        return;
    if (!image && str_starts(mime, STR("text/")) && data.n) {
        put_text_file(t, data, p->name);
        return;
    }
    if (str_starts(mime, STR("audio/")) || str_starts(mime, STR("video/")))
        return;
    if (mime.n == 0)
        mime = image ? STR("image/png") : STR("application/pdf");
    block_begin(t, image ? "image" : "document");
    if (url.n)
        put_source(t->o, "url", STR(""), url);
    else
        put_source(t->o, "base64", mime, data);
    if (!image)
        say_some(t->o, "title", p->name);
    json_out_end(t->o);
}

static void put_reasoning(struct turn *t, const struct chat_part *p)
{
    if (p->dialect != CHAT_ANTHROPIC)
        return;
    if (p->redacted) {
        block_begin(t, "redacted_thinking");
        say_some(t->o, "data", p->text);
        json_out_end(t->o);
        return;
    }
    if (p->signature.n == 0 || wire_signature_ours(p->signature))
        return;
    block_begin(t, "thinking");
    json_member_str(t->o, "thinking", p->text);
    say_some(t->o, "signature", p->signature);
    json_out_end(t->o);
}

static void put_call(struct turn *t, const struct chat_part *p)
{
    block_begin(t, "tool_use");
    anthropic_put_call_id(t->ids, t->o, p->id, t->at);
    json_member_str(t->o, "name", p->name);
    json_out_key(t->o, STR("input"));
    say_object(t->o, p->json, false);
    json_out_end(t->o);
}

static void put_text(struct turn *t, str text)
{
    if (text.n == 0) /* an empty block is refused */
        return;
    block_begin(t, "text");
    say_some(t->o, "text", text);
    json_out_end(t->o);
}

static void put_part(struct turn *t, const struct chat_part *p);

static void put_result(struct turn *t, const struct chat_part *p)
{
    struct turn inner = {.o = t->o, .open = true};

    block_begin(t, "tool_result");
    anthropic_put_result_id(t->ids, t->o, p->id);
    if (p->part_count) {
        json_out_key(t->o, STR("content"));
        json_out_array(t->o);
        for (size_t i = 0; i < p->part_count; i++)
            if (p->parts[i].kind != CHAT_PART_TOOL_RESULT)
                put_part(&inner, &p->parts[i]);
        json_out_end(t->o);
    }
    json_member_bool(t->o, "is_error", p->is_error);
    json_out_end(t->o);
}

static void put_part(struct turn *t, const struct chat_part *p)
{
    switch (p->kind) {
    case CHAT_PART_TEXT:
    case CHAT_PART_REFUSAL:
        put_text(t, p->text);
        break;
    case CHAT_PART_REASONING:
        put_reasoning(t, p);
        break;
    case CHAT_PART_IMAGE:
    case CHAT_PART_FILE:
        put_media(t, p);
        break;
    case CHAT_PART_TOOL_CALL:
        put_call(t, p);
        break;
    case CHAT_PART_TOOL_RESULT:
        put_result(t, p);
        break;
    case CHAT_PART_OPAQUE:
        if (p->dialect == CHAT_ANTHROPIC) {
            block_begin(t, NULL);
            json_out_raw(t->o, p->json);
        }
        break;
    }
}

/* Parts of one message: only results, only what is none, or all. */
enum which { RESULTS, OTHERS, ALL };

static void put_parts(struct turn *t, const struct chat_message *m, enum which which)
{
    for (size_t i = 0; i < m->part_count; i++) {
        bool result = m->parts[i].kind == CHAT_PART_TOOL_RESULT;

        if (which == ALL || result == (which == RESULTS))
            put_part(t, &m->parts[i]);
    }
}

/* Who speaks, as Anthropic has it. Words of the system between turns stand there only if they came
 * from a client of this dialect; else all of them are gathered at the top. */
enum side { SIDE_TOP, SIDE_USER, SIDE_ASSISTANT, SIDE_SYSTEM };

static enum side side_of(const struct chat_request *r, size_t i)
{
    if (r->messages[i].role == CHAT_ASSISTANT)
        return SIDE_ASSISTANT;
    if (r->messages[i].role != CHAT_SYSTEM)
        return SIDE_USER;
    return i > 0 && r->dialect == CHAT_ANTHROPIC ? SIDE_SYSTEM : SIDE_TOP;
}

/* Where the messages of one side end that begin at i. */
static size_t run_end(const struct chat_request *r, size_t i)
{
    enum side side = side_of(r, i);
    size_t end = i + 1;

    while (end < r->message_count && (side_of(r, end) == side || side_of(r, end) == SIDE_TOP) &&
           side != SIDE_TOP)
        end++;
    return end;
}

static void put_messages(const struct chat_request *r, struct json_out *o)
{
    struct anthropic_ids ids;
    static const char *const roles[] = {
        [SIDE_USER] = "user", [SIDE_ASSISTANT] = "assistant", [SIDE_SYSTEM] = "system"};
    bool first = true;

    anthropic_ids_init(&ids);
    json_out_key(o, STR("messages"));
    json_out_array(o);
    for (size_t i = 0, end; i < r->message_count; i = end) {
        enum side side = side_of(r, i);
        struct turn t = {.o = o, .ids = &ids, .at = i, .role = roles[side], .first = &first};

        end = run_end(r, i);
        for (size_t k = i; k < end && side == SIDE_USER; k++)
            if (side_of(r, k) == side)
                put_parts(&t, &r->messages[k], RESULTS);
        for (size_t k = i; k < end && side != SIDE_TOP; k++)
            if (side_of(r, k) == side)
                put_parts(&t, &r->messages[k], side == SIDE_USER ? OTHERS : ALL);
        turn_end(&t);
    }
    if (first)
        put_silence(&(struct turn){.o = o, .first = &first});
    json_out_end(o);
    anthropic_ids_release(&ids);
}

static void put_system(const struct chat_request *r, struct json_out *o)
{
    struct turn t = {.o = o, .open = true};
    bool any = false;

    for (size_t i = 0; i < r->message_count; i++)
        for (size_t k = 0; side_of(r, i) == SIDE_TOP && k < r->messages[i].part_count; k++) {
            const struct chat_part *p = &r->messages[i].parts[k];

            if (p->kind != CHAT_PART_TEXT || p->text.n == 0)
                continue;
            if (!any) {
                json_out_key(o, STR("system"));
                json_out_array(o);
            }
            any = true;
            put_text(&t, p->text);
        }
    if (any)
        json_out_end(o);
}

/* ---- the rest of the body ---- */

static bool has_tools(const struct chat_request *r)
{
    return part_tools_going(r, CHAT_ANTHROPIC) > 0;
}

static void put_tools(const struct chat_request *r, struct json_out *o)
{
    json_out_key(o, STR("tools"));
    json_out_array(o);
    for (size_t i = 0; i < r->tool_count; i++) {
        const struct chat_tool *t = &r->tools[i];

        if (!chat_tool_goes(t, CHAT_ANTHROPIC))
            continue;
        if (t->opaque.n) {
            json_out_raw(o, t->opaque);
            continue;
        }
        json_out_object(o);
        say_some(o, "name", t->name);
        say_some(o, "description", t->description);
        json_out_key(o, STR("input_schema"));
        say_schema(o, t->schema);
        if (t->strict_given)
            json_member_bool(o, "strict", t->strict);
        json_out_end(o);
    }
    json_out_end(o);
}

static void put_choice(const struct chat_request *r, struct json_out *o)
{
    static const char *const names[] = {[CHAT_CHOICE_NONE_GIVEN] = "auto",
                                        [CHAT_CHOICE_AUTO] = "auto",
                                        [CHAT_CHOICE_NONE] = "none",
                                        [CHAT_CHOICE_REQUIRED] = "any",
                                        [CHAT_CHOICE_TOOL] = "tool"};

    if (r->choice == CHAT_CHOICE_NONE_GIVEN && !r->parallel_given)
        return;
    json_out_key(o, STR("tool_choice"));
    json_out_object(o);
    say_some(o, "type", str_c(names[r->choice]));
    if (r->choice == CHAT_CHOICE_TOOL)
        say_some(o, "name", r->choice_name);
    if (r->parallel_given && r->choice != CHAT_CHOICE_NONE)
        json_member_bool(o, "disable_parallel_tool_use", !r->parallel);
    json_out_end(o);
}

static int64_t budget_of(const struct chat_request *r)
{
    if (r->budget_tokens < 0 || r->level == CHAT_LEVEL_NONE)
        return -1;
    return r->budget_tokens < BUDGET_TOKENS_MIN ? BUDGET_TOKENS_MIN : r->budget_tokens;
}

static bool thinks(const struct chat_request *r)
{
    return r->level != CHAT_LEVEL_NONE &&
           (r->level == CHAT_LEVEL_ON || budget_of(r) >= 0 || r->thoughts || r->no_thoughts);
}

static void put_thinking(const struct chat_request *r, struct json_out *o)
{
    int64_t budget = budget_of(r);

    if (!thinks(r) && r->level != CHAT_LEVEL_NONE)
        return;
    json_out_key(o, STR("thinking"));
    json_out_object(o);
    say_some(o,
             "type",
             !thinks(r)    ? STR("disabled")
             : budget >= 0 ? STR("enabled")
                           : STR("adaptive"));
    if (budget >= 0)
        json_member_i64(o, "budget_tokens", budget);
    if (thinks(r) && r->no_thoughts)
        say_some(o, "display", STR("omitted"));
    json_out_end(o);
}

static void put_output_config(const struct chat_request *r, struct json_out *o)
{
    enum chat_level level = r->level == CHAT_LEVEL_MINIMAL ? CHAT_LEVEL_LOW : r->level;

    if (level < CHAT_LEVEL_LOW && r->format != CHAT_FORMAT_SCHEMA)
        return;
    json_out_key(o, STR("output_config"));
    json_out_object(o);
    if (level >= CHAT_LEVEL_LOW)
        say_some(o, "effort", str_c(chat_level_name(level)));
    if (r->format == CHAT_FORMAT_SCHEMA) {
        json_out_key(o, STR("format"));
        json_out_object(o);
        say_some(o, "type", STR("json_schema"));
        json_out_key(o, STR("schema"));
        say_schema(o, r->format_schema);
        json_out_end(o);
    }
    json_out_end(o);
}

static void put_max_tokens(const struct chat_request *r, struct json_out *o)
{
    int64_t budget = budget_of(r);
    uint64_t max;

    json_out_key(o, STR("max_tokens"));
    if (!str_u64(r->max_tokens, &max) || max > INT64_MAX / 2)
        max = MAX_TOKENS_DEFAULT;
    if (budget >= 0 && (uint64_t)budget >= max && r->tool_count == 0)
        max += (uint64_t)budget;
    json_out_u64(o, max);
}

/* Temperatures above 1 are other providers'; with thinking none but 1 is taken. Newer models take
 * temperature or top_p, so only a client of this dialect may have both. */
static void put_sampling(const struct chat_request *r, struct json_out *o)
{
    bool ours = r->dialect == CHAT_ANTHROPIC;

    if (r->temperature.n && (ours || !thinks(r)))
        say_raw(o, "temperature", part_number(r->temperature) > 1 ? STR("1") : r->temperature);
    if (r->top_p.n && (ours || (!thinks(r) && r->temperature.n == 0)))
        say_raw(o, "top_p", r->top_p);
    if (r->top_k.n && (ours || !thinks(r)))
        say_raw(o, "top_k", r->top_k);
}

void anthropic_write(const struct chat_request *r, struct buf *out)
{
    struct json_out o;

    json_out_init(&o, out);
    json_out_object(&o);
    say_some(&o, "model", r->model);
    put_max_tokens(r, &o);
    put_system(r, &o);
    put_messages(r, &o);
    if (has_tools(r)) {
        put_tools(r, &o);
        put_choice(r, &o);
    }
    put_thinking(r, &o);
    put_output_config(r, &o);
    put_sampling(r, &o);
    say_texts(&o, "stop_sequences", r->stops, r->stop_count);
    if (r->user.n) {
        json_out_key(&o, STR("metadata"));
        json_out_object(&o);
        say_some(&o, "user_id", r->user);
        json_out_end(&o);
    }
    if (r->stream)
        json_member_bool(&o, "stream", true);
    json_out_end(&o);
}
