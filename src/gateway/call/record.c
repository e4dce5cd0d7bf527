/* record.c - the row of a call: texts as they arrive, segments in order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "gateway/call/internal.h"
#include "gateway/question.h"
#include "gateway/share.h"
#include "split/extract.h"
#include "wire/redact_reasoning.h"

#define ASKED_MAX 8192
#define ASKED_MARGIN 512
#define SUBJECT_MAX 256
#define ESTIMATE 4 /* bytes of a token, where tokens are not counted */

#define ROOM 1024 /* for the texts of most calls; reused, see base/spare.h */

void call_record_init(struct call *c)
{
    const size_t keep_max = (size_t)4 << 20;

    assert(c->recorded);
    memset(&c->record, 0, offsetof(struct call_record, raw));
    buf_init(&c->record.raw, keep_max);
    buf_init(&c->record.answer, keep_max);
    buf_init(&c->record.reasoning, keep_max);
    buf_init(&c->record.tool_calls, keep_max);
    c->record.request = STR("");
    c->record.mask_ns = CALL_MASK_NS;
    c->record.mask_job = NULL;
    c->record.store_err = NULL;
    call_mask_init(c);
    if (!c->in.request->stream) /* a stream may last for long with a short answer */
        buf_take(loop_bufs(c->gl->loop), &c->record.answer);
}

void call_record_begin(struct call *c)
{
    struct gateway *g = c->gl->gateway;
    str session = STR("");

    if (!c->recorded)
        return;
    conversation_begin(g->conversations,
                       &c->record.conversation,
                       c->in.key ? c->in.key->name : STR(""),
                       c->in.request,
                       &c->arena);
    if (c->in.session.n)
        return;
    c->in.session =
        conversation_find(g->conversations, &c->record.conversation, &c->arena, &session)
            ? session
            : c->in.id;
}

void call_record_reset(struct call *c)
{
    struct call_record *r = &c->record;

    if (!c->recorded)
        return;
    buf_reset(&c->record.answer);
    buf_reset(&c->record.reasoning);
    buf_reset(&c->record.tool_calls);
    call_pieces_reset(c);
    call_mask_release(c);
    call_mask_init(c);
    buf_reset(&r->raw);
    r->first = r->last = NULL;
    r->count = r->seen = r->tools = r->front_n = 0;
    r->kept[0] = r->kept[1] = 0;
    r->thought_tokens = 0;
    conversation_again(&r->conversation);
}

/* ---- as it comes ---- */

/* Masks the buffered text and appends it to the stored text. */
void call_record_flush_text(struct call *c, bool over)
{
    struct call_record *r = &c->record;
    bool thought = r->last->kind == CALL_SEG_REASONING;
    struct buf *to = thought ? &c->record.reasoning : &c->record.answer;
    size_t before = to->n, more, n;

    assert(r->last->kind != CALL_SEG_TOOL && r->front_n <= CALL_FRONT_MAX);
    call_mask_some(c,
                   thought ? &c->record.mask_reasoning : &c->record.mask_answer,
                   buf_str(&r->raw),
                   over,
                   to);
    buf_reset(&r->raw);
    assert(to->n >= before);
    more = to->n - before;
    r->kept[r->last->kind] += more;
    n = CALL_FRONT_MAX - r->front_n;
    n = more < n ? more : n;
    if (thought || n == 0)
        return;
    if (!r->front)
        r->front = arena_alloc(&c->arena, CALL_FRONT_MAX);
    memcpy(r->front + r->front_n, to->p + before, n);
    r->front_n += n;
}

static void record_end_segment(struct call *c)
{
    struct call_segment *s = c->record.last;

    if (!s)
        return;
    assert(!s->next && !s->end_ns); /* it ends once */
    if (s->kind != CALL_SEG_TOOL)
        call_record_flush_text(c, true);
    assert(s->kind == CALL_SEG_TOOL || c->record.kept[s->kind] >= s->at);
    s->end_ns = call_now_ns(c);
    /* Reasoning is counted before it is stored: tokens that no earlier segment has belong to
     * this one. */
    if (s->kind == CALL_SEG_REASONING && !s->opaque) {
        s->tokens = pipe_kept_tokens(&c->pipe) - c->record.thought_tokens;
        c->record.thought_tokens += s->tokens;
    } else if (s->kind == CALL_SEG_ANSWER)
        s->tokens = (int64_t)((c->record.kept[CALL_SEG_ANSWER] - s->at + ESTIMATE - 1) / ESTIMATE);
    if (s->kind != CALL_SEG_TOOL)
        s->size = c->record.kept[s->kind] - s->at;
}

/* The current segment, or a new one if the kind changes; at the limit the last segment takes the
 * rest. */
static struct call_segment *record_get_segment(struct call *c, enum call_segment_kind kind,
                                               bool fresh)
{
    struct call_record *r = &c->record;
    struct call_segment *s;

    assert(!r->first == !r->last && !r->last == !r->count);
    if (r->last &&
        ((r->last->kind == kind && !fresh && !r->last->opaque) || r->count == CALL_SEGMENTS_MAX))
        return r->last;
    assert(r->count < CALL_SEGMENTS_MAX);
    record_end_segment(c);
    s = arena_alloc(&c->arena, sizeof *s);
    *s = (struct call_segment){.kind = kind,
                               .at = kind == CALL_SEG_TOOL ? r->tools : r->kept[kind],
                               .start_ns = call_now_ns(c)};
    LIST_APPEND(r->first, r->last, s);
    r->count++;
    return s;
}

static void record_add_text(struct call *c, enum call_segment_kind kind, str text)
{
    if (record_get_segment(c, kind, false)->kind == kind)
        buf_add(&c->record.raw, text);
}

/* More of a text that is being written as a JSON string. */
static void record_add_arguments(struct buf *out, str text)
{
    size_t at = out->n;

    (void)json_quote(out, text);
    if (buf_full(out) || out->n < at + 2)
        return;
    assert(out->p[at] == '"' && out->p[out->n - 1] == '"');
    memmove(out->p + at, out->p + at + 1, out->n - at - 2);
    out->n -= 2;
}

static void record_add_call(struct call *c, const struct chat_event *ev)
{
    (void)record_get_segment(c, CALL_SEG_TOOL, true);
    c->record.tools++;
    conversation_call(&c->record.conversation, ev->id, ev->name);
    buf_add(&c->record.tool_calls, c->record.tool_calls.n ? STR("\"},{\"id\":") : STR("[{\"id\":"));
    (void)json_quote(&c->record.tool_calls, ev->id);
    buf_add(&c->record.tool_calls, STR(",\"name\":"));
    (void)json_quote(&c->record.tool_calls, ev->name);
    buf_add(&c->record.tool_calls, STR(",\"arguments\":\""));
}

static void record_add_event(struct call *c, const struct chat_event *ev)
{
    if (ev->choice > 0)
        return; /* the record has only the first choice */
    switch (ev->kind) {
    case CHAT_TEXT:
    case CHAT_REFUSAL:
        conversation_text(&c->record.conversation, ev->text);
        record_add_text(c, CALL_SEG_ANSWER, ev->text);
        break;
    case CHAT_CALL:
        record_add_call(c, ev);
        break;
    case CHAT_ARGUMENTS:
        record_add_arguments(&c->record.tool_calls, ev->text);
        break;
    default:
        break;
    }
}

void call_record_begin_frame(struct call *c)
{
    if (c->recorded)
        c->record.seen = 0;
}

void call_record_events(struct call *c)
{
    struct call_record *r = &c->record;

    if (!c->recorded)
        return;
    while (r->seen < c->pipe.count)
        record_add_event(c, &c->pipe.events[r->seen++]);
}

/* A blank line between two segments belongs to neither. */
void call_record_next_thought(struct call *c)
{
    const struct call_segment *last;

    if (!c->recorded || c->config->keep != CONFIG_KEEP_TEXT)
        return;
    call_record_events(c);
    last = c->record.last;
    if (last && last->kind == CALL_SEG_REASONING && !last->opaque) {
        buf_add(&c->record.raw, STR("\n\n"));
    } else if (c->record.kept[CALL_SEG_REASONING] && c->record.count < CALL_SEGMENTS_MAX) {
        buf_add(&c->record.reasoning, STR("\n\n"));
        c->record.kept[CALL_SEG_REASONING] += 2;
    }
}

/* Hidden reasoning does not come out of the pipe, so its text is taken at the pipe's input,
 * after the events that the pipe has put out so far. */
void call_record_reasoning(struct call *c, str text)
{
    if (!c->recorded)
        return;
    call_record_events(c);
    if (c->config->keep == CONFIG_KEEP_TEXT)
        record_add_text(c, CALL_SEG_REASONING, text);
    else
        (void)record_get_segment(c, CALL_SEG_REASONING, false);
}

void call_record_opaque(struct call *c)
{
    if (!c->recorded)
        return;
    call_record_events(c);
    record_get_segment(c, CALL_SEG_REASONING, true)->opaque = true;
}

void call_record_finish(struct call *c)
{
    if (!c->recorded)
        return;
    assert(c->state == CALL_COMMITTING);
    if (c->record.tool_calls.n)
        buf_add(&c->record.tool_calls, STR("\"}]"));
    if (buf_full(&c->record.tool_calls))
        buf_reset(&c->record.tool_calls); /* an incomplete list is dropped */
    if (c->failure && c->failure->attempts.n)
        buf_add_c(&c->failure->attempts, ']');
    if (c->failure && buf_full(&c->failure->attempts))
        buf_reset(&c->failure->attempts);
    record_end_segment(c);
    conversation_end(c->gl->gateway->conversations,
                     &c->record.conversation,
                     c->in.session,
                     c->sum.reply_id,
                     c->in.id);
}

/* ---- the row ---- */

static const char *record_reasoning_state(const struct call *c)
{
    if (!c->pipe.reasoning.any)
        return c->sum.usage.reasoning > 0 ? "hidden" : "none";
    if (c->pipe.reasoning.opaque && !c->pipe.reasoning.size)
        return "opaque";
    if (c->sum.cut)
        return "cut";
    return c->pipe.cap.answered || c->pipe.cap.called ? "complete" : "unclosed";
}

static int64_t record_wall_ms(const struct call *c, uint64_t ns)
{
    const struct summary *s = c->summary;

    assert(ns == 0 || ns >= s->start_ns);
    return ns ? s->wall_start_ms + (int64_t)((ns - s->start_ns) / CLOCK_NS_PER_MS) : -1;
}

/* The client's body; reasoning that it sends back is kept as the reply's own would be. */
str call_record_body(struct call *c)
{
    const struct json *doc = c->in.request->doc;
    str body = c->in.body;
    struct json_edits ed;
    struct buf out;

    if (c->config->keep == CONFIG_KEEP_TEXT || !doc || doc->src.p != body.p ||
        c->in.request->message_count < 2)
        return body;
    call_parse_request(c);
    json_edits_init(&ed, doc, &c->arena);
    if (!redact_history(doc, &ed))
        return body;
    buf_init(&out, body.n + 64);
    json_edits_apply(&ed, &out);
    body = arena_move_buf(&c->arena, &out);
    return body;
}

/* A record has its limits, and a call that was answered is not to fail by them. */
static str record_mask_request(struct call *c)
{
    if (c->in.body.n > CALL_REQUEST_KEEP_MAX)
        return arena_printf(&c->arena, "{\"left_out\":\"a body of %zu bytes\"}", c->in.body.n);
    if (!c->record.request.n)
        c->record.request = call_mask_json(c, call_record_body(c));
    return c->record.request;
}

/* The subject: the end user that the request names, or the client. */
static str record_subject(struct call *c)
{
    if (c->in.request->user.n)
        return utf8_cut_size(call_mask_asked(c, c->in.request->user), SUBJECT_MAX);
    return c->in.key ? c->in.key->name : STR("");
}

/* Its front. More than that is masked, so that no secret is cut before it is known. */
static str record_asked_front(struct call *c, str text)
{
    str some = utf8_cut_size(text, 2 * ASKED_MAX), masked = call_mask_asked(c, some);
    size_t room = some.n < text.n && masked.n > ASKED_MARGIN ? masked.n - ASKED_MARGIN : masked.n;

    return str_trim(utf8_cut_size(masked, room < ASKED_MAX ? room : ASKED_MAX));
}

/* An application's title, or what the person asked. */
static str record_asked(struct call *c)
{
    struct question q;
    str all = STR(""), words;

    if (c->in.title.n)
        return record_asked_front(c, c->in.title);
    question_init(&q, c->in.request);
    while (all.n < ASKED_MAX && question_next(&q, &words)) {
        words = record_asked_front(c, words);
        all = all.n ? arena_join(&c->arena, all, STR("\n"), words) : words;
    }
    return all;
}

void call_build_row_facts(struct call *c, struct store_call *out)
{
    const struct summary *s = c->summary;
    str request = record_mask_request(c); /* first: its texts need not be looked at again */
    struct store_call row = {
        .id = s->id,
        .session_id = s->session,
        .parent_id = STR(""),
        .key_name = s->key_name,
        .route = s->route,
        .provider = s->provider,
        .model = s->model,
        .upstream_model = s->upstream_model,
        .dialect = str_c(c->in.wire->name),
        .upstream_dialect = str_c(c->attempt.wire ? c->attempt.wire->name : ""),
        .started_ms = s->wall_start_ms,
        .first_ms = record_wall_ms(c, s->first_byte_ns),
        .reasoning_ms = record_wall_ms(c, s->reasoning_ns),
        .answer_ms = record_wall_ms(c, s->answer_ns),
        .ended_ms = record_wall_ms(c, s->end_ns),
        .status = s->status,
        .stop = str_c(c->reply.stop_seen ? chat_stop_name(s->stop) : ""),
        .error_code = s->error_type,
        .error_message = s->error_type.n ? call_mask_error(c) : STR(""),
        .stream = s->stream,
        .complete = s->complete,
        .has_reasoning = c->pipe.reasoning.any || s->usage.reasoning > 0,
        .level = str_c(chat_level_name(s->level)),
        .cut = s->cut ? STR("budget") : STR(""),
        .state = str_c(record_reasoning_state(c)),
        .cap_tokens = s->cap,
        .input_tokens = s->usage.input,
        .output_tokens = s->usage.output,
        .reasoning_tokens = s->usage.reasoning,
        .cache_read_tokens = s->usage.cache_read,
        .cache_write_tokens = s->usage.cache_write,
        .reasoning_exact = s->reasoning_exact,
        .cost_usd = s->cost_usd,
        .source = STR(""),
        .request = request,
        .reply = STR(""),
        .reasoning = STR(""),
        .reasoning_summary = STR(""),
        .answer = STR(""),
        .tool_calls = call_mask_json(c, buf_str(&c->record.tool_calls)),
        .attempts = c->failure ? call_mask_json(c, buf_str(&c->failure->attempts)) : STR(""),
        .subject = record_subject(c),
        .asked = record_asked(c),
        .decision = STR(""),
        .tools = STR(""),
        .segments = STR(""),
        .step =
            c->in.step.n ? arena_dup(&c->arena, c->in.step) : STR(""), /* viewers get it later */
        .talk = STR(""),
    };
    static const char *const sources[SUMMARY_SOURCE_COUNT] = {
        "", "field", "tag", "channel", "summary", "opaque"};

    assert(s->source < SUMMARY_SOURCE_COUNT);
    row.source = str_c(sources[s->source]);
    *out = row;
}

/* Whether an envelope needs no masking, neither in the part before the provider's counts nor in
 * the counts. */
static bool record_is_clean(struct call *c, str front)
{
    const struct setup *setup = c->in.setup;

    return setup_cache_clean_counts(&c->gl->setup_cache, setup, c->sum.usage.raw) &&
           (!setup->mask || mask_json_clean(setup->mask, front));
}

/* An envelope, masked, without the values that have columns of their own. */
static str record_write_reply(struct call *c)
{
    struct buf out;
    size_t front;
    str all;

    buf_init(&out, 65536);
    buf_reserve(&out, ROOM);
    buf_add(&out, STR("{\"id\":"));
    (void)json_quote(&out, c->sum.reply_id);
    buf_add(&out, STR(",\"model\":"));
    (void)json_quote(&out, c->sum.reply_model);
    front = out.n;
    if (c->sum.usage.raw.n) {
        buf_add(&out, STR(",\"usage\":"));
        buf_add(&out, c->sum.usage.raw);
    }
    assert(front <= out.n);
    buf_add_c(&out, '}');
    all = buf_full(&out) ? STR("") : arena_dup(&c->arena, buf_str(&out));
    buf_release(&out);
    return record_is_clean(c, str_slice(all, 0, front)) ? all : call_mask_valid_json(c, all);
}

/* The record's reasoning is masked: if the text is the same, there was nothing to mask. */
static str record_mask_reasoning(struct call *c)
{
    str text = buf_str(&c->thought->text);

    return str_eq(text, buf_str(&c->record.reasoning)) ? text : call_mask_text(c, text);
}

void call_build_row(struct call *c, struct store_call *out)
{
    str thought = STR("");

    if (!c->recorded) {
        *out = store_call_none;
        out->id = c->in.id;
        return;
    }
    call_build_row_facts(c, out);
    out->reasoning = buf_str(&c->record.reasoning);
    out->answer = buf_str(&c->record.answer);
    if (c->config->keep != CONFIG_KEEP_NONE) {
        thought = record_mask_reasoning(c);
        out->reasoning_summary = split_summary(thought, &c->arena);
    }
    out->reply = record_write_reply(c);
    out->segments = call_write_segments(c);
    out->talk = conversation_kept(&c->record.conversation, c->sum.reply_id, c->in.id, &c->arena);
    gateway_share_conversation(c->gl->gateway, out->session_id, out->talk, c->record.tools > 0);
    call_decide(c, thought, out);
}
