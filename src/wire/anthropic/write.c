/* write.c - a request as a body of /v1/messages.
 *
 * Anthropic requires turns: consecutive messages of one role become one message, the first is the
 * user's, and the results of tools come first in the user's message after the calls. Reasoning is
 * sent back only with Anthropic's own signature; any other would be refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/anthropic/anthropic.h"

#define BUDGET_TOKENS_MIN 1024

struct turn {
    struct json_out *o;
    struct anthropic_ids *ids;
    size_t at;        /* where the messages of the turn begin */
    const char *role; /* of the message that is to have the next block */
    bool open;        /* its content has begun */
    bool *first;      /* none has begun before it */
};

static void anthropic_write_turn_begin(struct turn *t, const char *role)
{
    json_out_object(t->o);
    json_write_text(t->o, "role", str_c(role));
    json_member_array(t->o, "content");
}

/* A placeholder text for an empty message of the user, where text is required. */
static void anthropic_write_put_silence(struct turn *t)
{
    anthropic_write_turn_begin(t, "user");
    json_write_typed(t->o, "text");
    json_member_str(t->o, "text", STR(SILENT_USER_TEXT));
    json_out_close(t->o, 3);
    *t->first = false;
}

static void anthropic_write_block_begin(struct turn *t, const char *type)
{
    if (!t->open) {
        if (*t->first && strcmp(t->role, "user") != 0)
            anthropic_write_put_silence(t);
        anthropic_write_turn_begin(t, t->role);
        t->open = true;
        *t->first = false;
    }
    if (!type)
        return;
    json_write_typed(t->o, type);
}

static void anthropic_write_turn_end(struct turn *t)
{
    if (t->open) {
        json_out_close(t->o, 2);
    }
    t->open = false;
}

static void anthropic_write_put_source(struct json_out *o, const char *type, str mime, str data)
{
    json_member_object(o, "source");
    json_write_text(o, "type", str_c(type));
    if (mime.n)
        json_write_text(o, "media_type", mime);
    json_write_text(o, strcmp(type, "url") == 0 ? "url" : "data", data);
    json_out_end(o);
}

static void anthropic_write_put_text_file(struct turn *t, str data, str name)
{
    struct buf text;

    buf_init(&text, data.n + 1);
    if (part_base64(data, &text) && text.n) {
        anthropic_write_block_begin(t, "document");
        anthropic_write_put_source(t->o, "text", STR("text/plain"), buf_str(&text));
        json_write_text(t->o, "title", name);
        json_out_end(t->o);
    }
    buf_release(&text);
}

/* Images and documents; sound and film cannot be said. */
static void anthropic_write_put_media(struct turn *t, const struct chat_part *p)
{
    str mime = p->mime, data = p->data, url = p->url;
    bool image;

    if (url.n && part_data_url(url, &mime, &data))
        url = STR("");
    image = p->kind == CHAT_PART_IMAGE || str_starts(mime, STR("image/"));
    if (url.n == 0 && data.n == 0)
        return;
    if (!image && str_starts(mime, STR("text/")) && data.n) {
        anthropic_write_put_text_file(t, data, p->name);
        return;
    }
    if (str_starts(mime, STR("audio/")) || str_starts(mime, STR("video/")))
        return;
    if (mime.n == 0)
        mime = image ? STR("image/png") : STR("application/pdf");
    anthropic_write_block_begin(t, image ? "image" : "document");
    if (url.n)
        anthropic_write_put_source(t->o, "url", STR(""), url);
    else
        anthropic_write_put_source(t->o, "base64", mime, data);
    if (!image)
        json_write_text(t->o, "title", p->name);
    json_out_end(t->o);
}

static void anthropic_write_put_reasoning(struct turn *t, const struct chat_part *p)
{
    if (p->dialect != CHAT_ANTHROPIC)
        return;
    if (p->redacted) {
        anthropic_write_block_begin(t, "redacted_thinking");
        json_write_text(t->o, "data", p->text);
        json_out_end(t->o);
        return;
    }
    if (p->signature.n == 0 || wire_signature_ours(p->signature))
        return;
    anthropic_write_block_begin(t, "thinking");
    json_member_str(t->o, "thinking", p->text);
    json_write_text(t->o, "signature", p->signature);
    json_out_end(t->o);
}

static void anthropic_write_put_call(struct turn *t, const struct chat_part *p)
{
    anthropic_write_block_begin(t, "tool_use");
    anthropic_put_call_id(t->ids, t->o, p->id, t->at);
    json_member_str(t->o, "name", p->name);
    json_out_key(t->o, STR("input"));
    json_write_arguments(t->o, p->json, false);
    json_out_end(t->o);
}

static void anthropic_write_put_text(struct turn *t, str text)
{
    if (text.n == 0) /* an empty block is refused */
        return;
    anthropic_write_block_begin(t, "text");
    json_write_text(t->o, "text", text);
    json_out_end(t->o);
}

static void anthropic_write_put_part(struct turn *t, const struct chat_part *p);

static void anthropic_write_put_result(struct turn *t, const struct chat_part *p)
{
    struct turn inner = {.o = t->o, .open = true};

    anthropic_write_block_begin(t, "tool_result");
    anthropic_put_result_id(t->ids, t->o, p->id);
    if (p->part_count) {
        json_member_array(t->o, "content");
        for (size_t i = 0; i < p->part_count; i++)
            if (p->parts[i].kind != CHAT_PART_TOOL_RESULT)
                anthropic_write_put_part(&inner, &p->parts[i]);
        json_out_end(t->o);
    }
    json_member_bool(t->o, "is_error", p->is_error);
    json_out_end(t->o);
}

static void anthropic_write_put_part(struct turn *t, const struct chat_part *p)
{
    switch (p->kind) {
    case CHAT_PART_TEXT:
    case CHAT_PART_REFUSAL:
        anthropic_write_put_text(t, p->text);
        break;
    case CHAT_PART_REASONING:
        anthropic_write_put_reasoning(t, p);
        break;
    case CHAT_PART_IMAGE:
    case CHAT_PART_FILE:
        anthropic_write_put_media(t, p);
        break;
    case CHAT_PART_TOOL_CALL:
        anthropic_write_put_call(t, p);
        break;
    case CHAT_PART_TOOL_RESULT:
        anthropic_write_put_result(t, p);
        break;
    case CHAT_PART_OPAQUE:
        if (p->dialect == CHAT_ANTHROPIC) {
            anthropic_write_block_begin(t, NULL);
            json_out_raw(t->o, p->json);
        }
        break;
    }
}

/* Which parts of a message to write: tool results, all but tool results, or all. */
enum which { RESULTS, OTHERS, ALL };

static void anthropic_write_put_parts(struct turn *t, const struct chat_message *m,
                                      enum which which)
{
    for (size_t i = 0; i < m->part_count; i++) {
        bool result = m->parts[i].kind == CHAT_PART_TOOL_RESULT;

        if (which == ALL || result == (which == RESULTS))
            anthropic_write_put_part(t, &m->parts[i]);
    }
}

/* Roles as Anthropic defines them. System messages between turns keep their place only if they came
 * from a client of this dialect; otherwise all of them are collected at the top. */
enum side { SIDE_TOP, SIDE_USER, SIDE_ASSISTANT, SIDE_SYSTEM };

static enum side anthropic_write_side_of(const struct chat_request *r, size_t i)
{
    if (r->messages[i].role == CHAT_ASSISTANT)
        return SIDE_ASSISTANT;
    if (r->messages[i].role != CHAT_SYSTEM)
        return SIDE_USER;
    return i > 0 && r->dialect == CHAT_ANTHROPIC ? SIDE_SYSTEM : SIDE_TOP;
}

/* Where the messages of one side end that begin at i. */
static size_t anthropic_write_run_end(const struct chat_request *r, size_t i)
{
    enum side side = anthropic_write_side_of(r, i);
    size_t end = i + 1;

    while (
        end < r->message_count &&
        (anthropic_write_side_of(r, end) == side || anthropic_write_side_of(r, end) == SIDE_TOP) &&
        side != SIDE_TOP)
        end++;
    return end;
}

static void anthropic_write_put_messages(const struct chat_request *r, struct json_out *o)
{
    struct anthropic_ids ids;
    static const char *const roles[] = {
        [SIDE_USER] = "user", [SIDE_ASSISTANT] = "assistant", [SIDE_SYSTEM] = "system"};
    bool first = true;

    anthropic_ids_init(&ids);
    json_member_array(o, "messages");
    for (size_t i = 0, end; i < r->message_count; i = end) {
        enum side side = anthropic_write_side_of(r, i);
        struct turn t = {.o = o, .ids = &ids, .at = i, .role = roles[side], .first = &first};

        end = anthropic_write_run_end(r, i);
        for (size_t k = i; k < end && side == SIDE_USER; k++)
            if (anthropic_write_side_of(r, k) == side)
                anthropic_write_put_parts(&t, &r->messages[k], RESULTS);
        for (size_t k = i; k < end && side != SIDE_TOP; k++)
            if (anthropic_write_side_of(r, k) == side)
                anthropic_write_put_parts(&t, &r->messages[k], side == SIDE_USER ? OTHERS : ALL);
        anthropic_write_turn_end(&t);
    }
    if (first)
        anthropic_write_put_silence(&(struct turn){.o = o, .first = &first});
    json_out_end(o);
    anthropic_ids_release(&ids);
}

static void anthropic_write_put_system(const struct chat_request *r, struct json_out *o)
{
    struct turn t = {.o = o, .open = true};
    bool any = false;

    for (size_t i = 0; i < r->message_count; i++)
        for (size_t k = 0;
             anthropic_write_side_of(r, i) == SIDE_TOP && k < r->messages[i].part_count;
             k++) {
            const struct chat_part *p = &r->messages[i].parts[k];

            if (p->kind != CHAT_PART_TEXT || p->text.n == 0)
                continue;
            if (!any) {
                json_member_array(o, "system");
            }
            any = true;
            anthropic_write_put_text(&t, p->text);
        }
    if (any)
        json_out_end(o);
}

/* ---- the rest of the body ---- */

static bool anthropic_write_has_tools(const struct chat_request *r)
{
    return part_tools_going(r, CHAT_ANTHROPIC) > 0;
}

static void anthropic_write_put_choice(const struct chat_request *r, struct json_out *o)
{
    static const char *const names[] = {[CHAT_CHOICE_NONE_GIVEN] = "auto",
                                        [CHAT_CHOICE_AUTO] = "auto",
                                        [CHAT_CHOICE_NONE] = "none",
                                        [CHAT_CHOICE_REQUIRED] = "any",
                                        [CHAT_CHOICE_TOOL] = "tool"};

    if (r->choice == CHAT_CHOICE_NONE_GIVEN && !r->parallel_given)
        return;
    json_member_object(o, "tool_choice");
    json_write_text(o, "type", str_c(names[r->choice]));
    if (r->choice == CHAT_CHOICE_TOOL)
        json_write_text(o, "name", r->choice_name);
    if (r->parallel_given && r->choice != CHAT_CHOICE_NONE)
        json_member_bool(o, "disable_parallel_tool_use", !r->parallel);
    json_out_end(o);
}

static int64_t anthropic_write_budget_of(const struct chat_request *r)
{
    if (r->budget_tokens < 0 || r->level == CHAT_LEVEL_NONE)
        return -1;
    return r->budget_tokens < BUDGET_TOKENS_MIN ? BUDGET_TOKENS_MIN : r->budget_tokens;
}

static bool anthropic_write_thinks(const struct chat_request *r)
{
    return r->level != CHAT_LEVEL_NONE &&
           (r->level == CHAT_LEVEL_ON || anthropic_write_budget_of(r) >= 0 || r->thoughts ||
            r->no_thoughts);
}

static void anthropic_write_put_thinking(const struct chat_request *r, struct json_out *o)
{
    int64_t budget = anthropic_write_budget_of(r);

    if (!anthropic_write_thinks(r) && r->level != CHAT_LEVEL_NONE)
        return;
    json_member_object(o, "thinking");
    json_write_text(o,
                    "type",
                    !anthropic_write_thinks(r) ? STR("disabled")
                    : budget >= 0              ? STR("enabled")
                                               : STR("adaptive"));
    if (budget >= 0)
        json_member_i64(o, "budget_tokens", budget);
    if (anthropic_write_thinks(r) && r->no_thoughts)
        json_write_text(o, "display", STR("omitted"));
    json_out_end(o);
}

/* Whether a type of JSON Schema is, or may be, an object. */
static bool anthropic_write_is_object(const struct json *doc, const struct json_node *type)
{
    if (json_is_array(type))
        JSON_FOREACH(v, doc, type)
            if (json_is(doc, v, STR("object")))
                return true;
    return type && json_is(doc, type, STR("object"));
}

/* The API takes only schemas whose objects say that they have no other members. */
static void anthropic_write_put_closed(struct json_out *o, str schema)
{
    struct json_edits ed;
    struct arena a;
    struct json doc;
    struct err e;
    struct buf b;

    arena_init(&a, JSON_EDITS_SIZE * schema.n + 4096);
    buf_init(&b, 16 * schema.n + 4096);
    if (json_open(&doc, schema, &e)) {
        json_edits_init(&ed, &doc, &a);
        for (uint32_t i = 0; i < doc.n; i++) {
            const struct json_node *v = json_root(&doc) + i;

            if (v->kind == JSON_OBJECT &&
                anthropic_write_is_object(&doc, json_get(&doc, v, "type")) &&
                !json_get(&doc, v, "additionalProperties"))
                json_edit_set(&ed, v, STR("additionalProperties"), STR("false"));
        }
        json_edits_apply(&ed, &b);
    }
    json_write_schema(o, b.n && !buf_full(&b) ? buf_str(&b) : schema);
    json_release(&doc);
    buf_release(&b);
    arena_release(&a);
}

static void anthropic_write_put_output_config(const struct chat_request *r, struct json_out *o)
{
    enum chat_level level = r->level == CHAT_LEVEL_MINIMAL ? CHAT_LEVEL_LOW : r->level;

    if (level < CHAT_LEVEL_LOW && r->format != CHAT_FORMAT_SCHEMA)
        return;
    json_member_object(o, "output_config");
    if (level >= CHAT_LEVEL_LOW)
        json_write_text(o, "effort", str_c(chat_level_name(level)));
    if (r->format == CHAT_FORMAT_SCHEMA) {
        json_member_object(o, "format");
        json_write_text(o, "type", STR("json_schema"));
        json_out_key(o, STR("schema"));
        anthropic_write_put_closed(o, r->format_schema);
        json_out_end(o);
    }
    json_out_end(o);
}

static void anthropic_write_put_max_tokens(const struct chat_request *r, struct json_out *o)
{
    int64_t budget = anthropic_write_budget_of(r);
    uint64_t max;

    json_out_key(o, STR("max_tokens"));
    if (!str_u64(r->max_tokens, &max) || max > INT64_MAX / 2)
        max = (uint64_t)anthropic_model_of(r->model).max_tokens;
    if (budget >= 0 && (uint64_t)budget >= max && r->tool_count == 0)
        max += (uint64_t)budget;
    json_out_u64(o, max);
}

/* Temperatures above 1 are other providers'; with thinking none but 1 is taken. Newer models take
 * temperature or top_p, so only a client of this dialect may have both. */
static void anthropic_write_put_sampling(const struct chat_request *r, struct json_out *o)
{
    bool ours = r->dialect == CHAT_ANTHROPIC;

    if (r->temperature.n && (ours || !anthropic_write_thinks(r)))
        json_write_raw(
            o, "temperature", part_number(r->temperature) > 1 ? STR("1") : r->temperature);
    if (r->top_p.n && (ours || (!anthropic_write_thinks(r) && r->temperature.n == 0)))
        json_write_raw(o, "top_p", r->top_p);
    if (r->top_k.n && (ours || !anthropic_write_thinks(r)))
        json_write_raw(o, "top_k", r->top_k);
}

void anthropic_write(const struct chat_request *r, struct buf *out)
{
    struct json_out o;

    json_out_init_object(&o, out);
    json_write_text(&o, "model", r->model);
    anthropic_write_put_max_tokens(r, &o);
    anthropic_write_put_system(r, &o);
    anthropic_write_put_messages(r, &o);
    if (anthropic_write_has_tools(r)) {
        json_write_tools(&o, r, CHAT_ANTHROPIC);
        anthropic_write_put_choice(r, &o);
    }
    anthropic_write_put_thinking(r, &o);
    anthropic_write_put_output_config(r, &o);
    anthropic_write_put_sampling(r, &o);
    json_write_texts(&o, "stop_sequences", r->stops, r->stop_count);
    if (r->user.n) {
        json_member_object(&o, "metadata");
        json_write_text(&o, "user_id", r->user);
        json_out_end(&o);
    }
    if (r->stream)
        json_member_bool(&o, "stream", true);
    json_out_end(&o);
    assert(o.depth == 0);
}
