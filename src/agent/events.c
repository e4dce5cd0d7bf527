/* events.c - see events.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/events.h"
#include "agent/run_state.h"
#include "agent/withheld.h"

#include "base/json.h"

#define ARENA_MAX ((size_t)1 << 30)
#define EVENT_MAX ((size_t)64 << 20)
#define PART_MAX 256
#define NUMBER_MAX 11 /* digits */
#define CURSOR_SHOWN 60

struct cursor_part {
    char part[PART_MAX]; /* the name after "RUN/"; "" is the run itself */
    int64_t n;           /* events that were read */
};

struct run_cursor {
    struct cursor_part *parts; /* the first is the run itself */
    size_t count, max;
};

struct events {
    struct run_cursor *cursor;
    size_t part;   /* in the cursor */
    int64_t at;    /* events of this part so far */
    bool open;     /* an event of this part is missing: later ones must wait */
    bool over;     /* the part has ended: no more events */
    bool thoughts; /* the reader may see reasoning */
    struct run_withheld withheld;
    str run; /* of the part */
    struct arena *arena;
    struct buf json, id;
    struct json_out out;
    void (*on_event)(void *ctx, const struct run_event *ev);
    void *ctx;
};

/* ---- the cursor ---- */

static size_t cursor_find_part(struct run_cursor *c, str part)
{
    for (size_t i = 0; i < c->count; i++)
        if (str_eq(str_c(c->parts[i].part), part))
            return i;
    if (c->count == RUN_CURSOR_PARTS_MAX || part.n >= PART_MAX)
        return c->count;
    c->parts = base_grow(c->parts, c->count, &c->max, sizeof *c->parts);
    assert(c->count < c->max && part.n < PART_MAX);
    c->parts[c->count] = (struct cursor_part){.n = 0};
    memcpy(c->parts[c->count].part, part.p, part.n);
    return c->count++;
}

static bool cursor_read_number(str text, int64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < text.n && i < NUMBER_MAX; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
        *out = 10 * *out + (text.p[i] - '0');
    }
    return text.n > 0 && text.n <= NUMBER_MAX;
}

static bool cursor_read_part(struct run_cursor *c, str item)
{
    size_t equals = str_find(item, STR("=")), i;
    bool named = equals != STR_NONE;
    int64_t n;

    if (!cursor_read_number(named ? str_slice(item, equals + 1, item.n) : item, &n))
        return false;
    i = cursor_find_part(c, named ? str_slice(item, 0, equals) : STR(""));
    if (i == c->count)
        return false;
    c->parts[i].n = n;
    return true;
}

bool run_cursor_read(struct run_cursor *c, str text, struct err *e)
{
    str rest = text;

    while (rest.n)
        if (!cursor_read_part(c, str_cut(&rest, ',')))
            return err_input(e,
                             "\"" STR_FMT
                             "\" is not the id of an event: send one as it was received,"
                             " such as 7 or 7,1.logs=4, or none for all events",
                             STR_ARG(str_slice(text, 0, CURSOR_SHOWN)));
    return true;
}

struct run_cursor *run_cursor_new(void)
{
    struct run_cursor *c = base_alloc(sizeof *c);

    *c = (struct run_cursor){0};
    (void)cursor_find_part(c, STR(""));
    return c;
}

void run_cursor_free(struct run_cursor *c)
{
    if (c)
        free(c->parts);
    free(c);
}

void run_cursor_write(const struct run_cursor *c, struct buf *out)
{
    assert(c->count > 0 && !c->parts[0].part[0]);
    for (size_t i = 0; i < c->count; i++)
        if (!i)
            buf_printf(out, "%lld", (long long)c->parts[i].n);
        else if (c->parts[i].n)
            buf_printf(out, ",%s=%lld", c->parts[i].part, (long long)c->parts[i].n);
}

/* ---- one event ---- */

/* Whether the reader still needs the next event; then starts its JSON. */
static bool event_begin(struct events *v)
{
    assert(v->part < v->cursor->count);
    if (v->open)
        return false;
    v->at++;
    if (v->at <= v->cursor->parts[v->part].n)
        return false;
    buf_reset(&v->json);
    json_out_init_object(&v->out, &v->json);
    json_member_str(&v->out, "run_id", v->run);
    json_member_i64(&v->out, "number", v->at);
    return true;
}

static void agent_events_event_end(struct events *v, const char *name)
{
    assert(v->at > v->cursor->parts[v->part].n);
    json_out_end(&v->out);
    v->cursor->parts[v->part].n = v->at;
    buf_reset(&v->id);
    run_cursor_write(v->cursor, &v->id);
    v->on_event(v->ctx, &(struct run_event){name, buf_str(&v->id), buf_str(&v->json)});
}

/* An event that this reader may not see also counts. */
static void event_pass(struct events *v)
{
    assert(v->at > v->cursor->parts[v->part].n);
    v->cursor->parts[v->part].n = v->at;
}

/* In JSON, a line break is white space: within texts it is escaped. */
static str event_one_line(struct events *v, str json)
{
    char *p;

    if (!memchr(json.p, '\n', json.n) && !memchr(json.p, '\r', json.n))
        return json;
    p = arena_alloc(v->arena, json.n);
    for (size_t i = 0; i < json.n; i++)
        p[i] = (char)(json.p[i] == '\n' || json.p[i] == '\r' ? ' ' : json.p[i]);
    return (str){p, json.n};
}

static void event_value(struct events *v, const char *key, str json)
{
    struct json doc;
    struct err e;

    json_init(&doc);
    json_out_key(&v->out, str_c(key));
    if (json.n && json_parse(&doc, json, &e))
        json_out_raw(&v->out, event_one_line(v, json));
    else if (json.n)
        json_out_str(&v->out, json);
    else
        json_out_null(&v->out);
    json_release(&doc);
}

/* ---- effects ---- */

/* Whether an output guard withholds the reply, temporarily or permanently. */
static bool events_withholds(const struct events *v, const struct ask_reply *reply)
{
    return v->withheld.all || (v->withheld.answer && !reply->call_count);
}

static void events_times(struct events *v, const struct agent_effect *f)
{
    json_member_i64(&v->out, "started_at_us", f->started_us);
    json_member_i64(&v->out, "ended_at_us", f->ended_us);
}

static void events_message(struct events *v, const struct agent_effect *f,
                           const struct ask_reply *reply)
{
    bool hidden = events_withholds(v, reply) || (reply->thought && !v->thoughts);

    if (!reply->text.n && !reply->call_count)
        return;
    if (!event_begin(v))
        return;
    json_member_i64(&v->out, "seq", f->seq);
    json_member_str(&v->out, "model", f->name);
    json_member_str(&v->out, "interaction_id", reply->id);
    json_member_str(&v->out, "text", hidden ? STR("") : reply->text);
    json_member_array(&v->out, "tool_calls");
    for (size_t i = 0; i < reply->call_count; i++) {
        json_out_object(&v->out);
        json_member_str(&v->out, "name", reply->calls[i].name);
        event_value(v, "arguments", reply->calls[i].arguments);
        json_out_end(&v->out);
    }
    json_out_end(&v->out);
    json_member_object(&v->out, "usage");
    json_member_i64(&v->out, "input_tokens", reply->usage.input);
    json_member_i64(&v->out, "output_tokens", reply->usage.output);
    json_member_i64(&v->out, "reasoning_tokens", reply->usage.reasoning);
    json_out_end(&v->out);
    events_times(v, f);
    agent_events_event_end(v, "message");
}

static void events_model(struct events *v, const struct agent_effect *f)
{
    struct ask_reply reply;

    if (f->state != AGENT_DONE) {
        v->open = !v->over;
        return;
    }
    if (f->failed) {
        if (event_begin(v)) {
            json_member_i64(&v->out, "seq", f->seq);
            event_value(v, "error", f->result);
            agent_events_event_end(v, "error");
        }
        return;
    }
    if (!reply_read(f->result, v->arena, &reply))
        return;
    if (events_withholds(v, &reply) && !v->withheld.for_good) {
        v->open = true;
        return;
    }
    if (reply.reasoning.n && event_begin(v)) {
        if (v->thoughts && !events_withholds(v, &reply)) {
            json_member_i64(&v->out, "seq", f->seq);
            json_member_str(&v->out, "interaction_id", reply.id);
            json_member_str(&v->out, "text", reply.reasoning);
            agent_events_event_end(v, "reasoning");
        } else {
            event_pass(v);
        }
    }
    events_message(v, f, &reply);
}

/* While the question is open, its reason is the result of the effect; afterwards it is in the
 * decision. */
static str events_reason(struct events *v, const struct agent_effect *f)
{
    struct json doc;
    struct err e;
    str why = f->result;

    json_init(&doc);
    if (f->state == AGENT_DONE &&
        (!json_parse(&doc, f->result, &e) ||
         !json_text(&doc, json_find(&doc, json_root(&doc), STR("why")), v->arena, &why)))
        why = STR("");
    why = arena_dup(v->arena, why);
    json_release(&doc);
    return why.n && v->thoughts ? why : STR("approval");
}

static void events_asked(struct events *v, const struct agent_effect *f)
{
    if (event_begin(v)) {
        json_member_i64(&v->out, "seq", f->seq);
        json_member_str(&v->out, "tool", f->name);
        event_value(v, "arguments", f->request);
        json_member_str(&v->out, "why", events_reason(v, f));
        agent_events_event_end(v, "approval");
    }
}

static void events_decided(struct events *v, const struct agent_effect *f)
{
    if (f->state != AGENT_DONE) {
        v->open = !v->over;
    } else if (event_begin(v)) {
        json_member_i64(&v->out, "seq", f->seq);
        event_value(v, "answer", run_json_hide(f->result, "why", !v->thoughts, v->arena));
        agent_events_event_end(v, "decided");
    }
}

static void events_call(struct events *v, const struct agent_effect *f)
{
    if (!event_begin(v))
        return;
    json_member_i64(&v->out, "seq", f->seq);
    json_member_str(&v->out, "call_id", f->key);
    json_member_str(&v->out, "tool", f->name);
    event_value(v, "arguments", f->request);
    json_member_bool(&v->out, "client", str_eq(f->kind, STR("client")));
    agent_events_event_end(v, "tool_call");
}

static void events_result(struct events *v, const struct agent_effect *f)
{
    if (f->state != AGENT_DONE) {
        v->open = !v->over;
        return;
    }
    if (!event_begin(v))
        return;
    json_member_i64(&v->out, "seq", f->seq);
    json_member_str(&v->out, "call_id", f->key);
    json_member_str(&v->out, "tool", f->name);
    json_member_bool(&v->out, "ok", !f->failed);
    event_value(v, "result", f->result);
    events_times(v, f);
    agent_events_event_end(v, "tool_result");
}

static bool events_is_call(const struct agent_effect *f)
{
    return str_eq(f->kind, STR("tool")) || str_eq(f->kind, STR("client"));
}

/* The question about an interrupted call has the call's seq and AGENT_UNKNOWN_SEQ. */
static const struct agent_effect *events_unknown(const struct agent_effect *all, size_t n,
                                                 int64_t seq)
{
    while (n-- > 0 && all[n].seq >= AGENT_UNKNOWN_SEQ)
        if (all[n].seq == seq + AGENT_UNKNOWN_SEQ)
            return &all[n];
    return NULL;
}

/* A call that an earlier process started, and that the run did not make again: a later turn shows
 * that the run has gone on without its result. */
static struct agent_effect events_outcome(const struct agent_effect *all, size_t n, size_t i)
{
    struct agent_effect out = all[i];

    for (size_t k = i + 1; out.state != AGENT_DONE && k < n && all[k].seq < AGENT_UNKNOWN_SEQ; k++)
        if (str_eq(all[k].kind, STR("model"))) {
            out.state = AGENT_DONE;
            out.failed = true;
            out.result = STR(AGENT_END_UNKNOWN);
            out.ended_us = all[k].started_us;
        }
    return out;
}

/* The calls of one turn, from `from` on; returns the first effect after them. */
static size_t events_turn(struct events *v, const struct agent_effect *all, size_t n, size_t from)
{
    size_t end = from;

    while (end < n && events_is_call(&all[end]) && all[end].seq < AGENT_UNKNOWN_SEQ)
        events_call(v, &all[end++]);
    for (size_t i = from; i < end; i++) {
        const struct agent_effect *asked = events_unknown(all, n, all[i].seq);
        struct agent_effect outcome = events_outcome(all, n, i);

        if (asked) {
            events_asked(v, asked);
            events_decided(v, asked);
        }
        events_result(v, &outcome);
    }
    assert(end > from);
    return end;
}

/* The questions of one turn, from `from` on: all of them are asked before one is decided. */
static size_t events_questions(struct events *v, const struct agent_effect *all, size_t n,
                               size_t from)
{
    size_t end = from;

    while (end < n && str_eq(all[end].kind, STR("approval")) && all[end].seq < AGENT_UNKNOWN_SEQ)
        events_asked(v, &all[end++]);
    for (size_t i = from; i < end; i++)
        events_decided(v, &all[i]);
    assert(end > from);
    return end;
}

static void events_effects(struct events *v, const struct agent_effect *all, size_t n)
{
    for (size_t i = 0; i < n && all[i].seq < AGENT_UNKNOWN_SEQ;) {
        if (all[i].seq >= 0 && events_is_call(&all[i])) {
            i = events_turn(v, all, n, i);
            continue;
        }
        if (all[i].seq >= 0 && str_eq(all[i].kind, STR("approval"))) {
            i = events_questions(v, all, n, i);
            continue;
        }
        if (all[i].seq >= 0 && str_eq(all[i].kind, STR("model")))
            events_model(v, &all[i]);
        i++;
    }
}

/* ---- one part of the run ---- */

static enum run_state events_state(const struct agent_row *row)
{
    return str_eq(row->status, STR("running"))   ? RUN_GOES_ON
           : str_eq(row->status, STR("waiting")) ? RUN_WAITS
                                                 : RUN_ENDED;
}

static void events_begin(struct events *v, const struct agent_row *row)
{
    if (!event_begin(v))
        return;
    json_member_str(&v->out, "app", row->app);
    json_member_str(&v->out, "session_id", row->session_id);
    json_member_i64(&v->out, "created_at_us", row->created_us);
    agent_events_event_end(v, "started");
}

static void events_ended(struct events *v, const struct agent_row *row)
{
    if (v->withheld.all && !v->withheld.for_good)
        v->open = true;
    if (!event_begin(v))
        return;
    json_member_str(&v->out, "status", row->status);
    json_member_str(&v->out, "reason", row->reason);
    event_value(v, "result", v->withheld.all ? STR("") : row->result);
    agent_events_event_end(v, "ended");
}

static bool events_part(struct events *v, struct agent_log *log, const struct agent_row *row,
                        str part, struct err *e)
{
    struct agent_effect *all;
    size_t n;

    v->part = cursor_find_part(v->cursor, part);
    if (v->part == v->cursor->count)
        return true;
    v->at = 0;
    v->open = false;
    v->over = events_state(row) == RUN_ENDED;
    v->run = row->id;
    if (!run_withheld_read(log, row->id, v->arena, &v->withheld, e) ||
        !agent_log_read(log, row->id, v->arena, &all, &n, e))
        return false;
    events_begin(v, row);
    events_effects(v, all, n);
    return true;
}

/* The row is read before the effects, so the effects include everything that the row reports as
 * ended. The events of parts come before the end of the whole run. */
static bool agent_events_read(struct events *v, struct agent_log *log, str run,
                              enum run_state *state, struct err *e)
{
    struct agent_row row;
    struct agent_rows parts;
    int64_t at;

    if (!agent_log_run_get(log, run, v->arena, &row, e) ||
        !agent_log_parts(log, run, row.session_id, v->arena, &parts, e) ||
        !events_part(v, log, &row, STR(""), e))
        return false;
    *state = events_state(&row);
    at = v->at;
    for (size_t i = 0; i < parts.n; i++) {
        const struct agent_row *part = &parts.at[i];

        if (!events_part(v, log, part, str_slice(part->id, run.n + 1, part->id.n), e))
            return false;
        if (v->over && v->part < v->cursor->count)
            events_ended(v, part);
    }
    if (*state == RUN_ENDED) {
        v->part = 0;
        v->at = at;
        v->run = row.id;
        v->open = false;
        v->withheld = (struct run_withheld){.answer = false}; /* the result was allowed */
        events_ended(v, &row);
    }
    return true;
}

bool run_events_read(struct agent_log *log, str run, struct run_cursor *c,
                     const struct run_events_sink *sink, enum run_state *state, struct err *e)
{
    struct arena a;
    struct events v = {.cursor = c,
                       .thoughts = sink->thoughts,
                       .arena = &a,
                       .on_event = sink->on_event,
                       .ctx = sink->ctx};
    bool ok;

    arena_init(&a, ARENA_MAX);
    buf_init(&v.json, EVENT_MAX);
    buf_init(&v.id, RUN_CURSOR_PARTS_MAX * (PART_MAX + NUMBER_MAX + 2));
    ok = agent_events_read(&v, log, run, state, e);
    buf_release(&v.json);
    buf_release(&v.id);
    arena_release(&a);
    return ok;
}
