/* run_json.c - see run_json.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/run_json.h"

#include "agent/hide_thoughts.h"
#include "agent/history.h"
#include "agent/withheld.h"
#include "base/utf8.h"
#include "chat/repr.h"

#define ARENA_MAX ((size_t)1 << 30)

/* Writes JSON as JSON, other text as a string, and empty text as null. */
static void agent_run_json_value(struct json_out *o, const char *key, str json)
{
    struct json doc;
    struct err e;

    json_init(&doc);
    json_out_key(o, str_c(key));
    if (!json.n)
        json_out_null(o);
    else if (json_parse(&doc, json, &e))
        json_out_raw(o, json);
    else
        json_out_str(o, json);
    json_release(&doc);
}

/* Kind "unknown": the process ended while the call ran. Why: the model's reason for the call. */
void run_json_question(struct json_out *o, const struct agent_effect *f, bool thoughts)
{
    str kind = f->seq >= AGENT_UNKNOWN_SEQ ? STR("unknown") : STR("approval");

    json_out_object(o);
    json_member_str(o, "run_id", f->run);
    json_member_str(o, "kind", kind);
    json_member_i64(o, "seq", f->seq);
    json_member_str(o, "tool", f->name);
    agent_run_json_value(o, "arguments", f->request);
    json_member_str(o, "why", f->result.n && thoughts ? f->result : kind);
    json_member_i64(o, "asked_at_us", f->started_us);
}

static void agent_run_json_write_questions(struct agent_log *log, struct json_out *o,
                                           const struct agent_effect *first, bool thoughts,
                                           struct arena *a)
{
    struct agent_effect *all;
    struct err e;
    size_t n;

    assert(first->state != AGENT_DONE && str_eq(first->kind, STR("approval")));
    run_json_question(o, first, thoughts);
    json_member_array(o, "more");
    if (agent_log_read(log, first->run, a, &all, &n, &e))
        for (size_t i = 0; i < n; i++)
            if (all[i].state != AGENT_DONE && str_eq(all[i].kind, STR("approval")) &&
                all[i].seq != first->seq) {
                run_json_question(o, &all[i], thoughts);
                json_out_end(o);
            }
    json_out_close(o, 2);
}

/* The calls whose results the run's caller has not sent yet. */
static void run_write_client_calls(struct agent_log *log, struct json_out *o, str run,
                                   struct arena *a)
{
    struct agent_effect *all;
    struct err e;
    size_t n = 0, open = 0;

    if (agent_log_read(log, run, a, &all, &n, &e))
        for (size_t i = 0; i < n; i++) {
            if (all[i].state == AGENT_DONE || !str_eq(all[i].kind, STR("client")))
                continue;
            if (!open++) {
                json_out_object(o);
                json_member_str(o, "kind", STR("client"));
                json_member_array(o, "calls");
            }
            json_out_object(o);
            json_member_str(o, "call_id", all[i].key);
            json_member_str(o, "tool", all[i].name);
            agent_run_json_value(o, "arguments", all[i].request);
            json_out_end(o);
        }
    if (!open) {
        json_out_null(o);
        return;
    }
    json_out_close(o, 2);
}

void run_json_pending(struct agent_log *log, const struct agent_row *row, bool thoughts,
                      struct json_out *o, struct arena *a)
{
    struct agent_effect f;
    struct err e;

    if (!str_eq(row->status, STR("waiting")))
        json_out_null(o);
    else if (agent_log_question(log, row->id, a, &f, &e))
        agent_run_json_write_questions(log, o, &f, thoughts, a);
    else
        run_write_client_calls(log, o, row->id, a);
}

static void run_write_row(struct agent_log *log, struct json_out *o, const struct agent_row *row,
                          bool thoughts, struct arena *a)
{
    json_member_str(o, "run_id", row->id);
    json_member_str(o, "app", row->app);
    json_member_str(o, "session_id", row->session_id);
    json_member_str(o, "status", row->status);
    json_member_str(o, "reason", row->reason);
    json_member_i64(o, "created_at_us", row->created_us);
    json_member_i64(o, "updated_at_us", row->updated_us);
    if (str_eq(row->status, STR("running")) || str_eq(row->status, STR("waiting")))
        json_member_null(o, "duration_ms");
    else
        json_member_i64(o, "duration_ms", (row->updated_us - row->created_us) / 1000);
    json_out_key(o, STR("pending"));
    run_json_pending(log, row, thoughts, o, a);
}

bool run_json_list(struct agent_log *log, const struct agent_filter *f, bool thoughts,
                   struct buf *out, struct err *e)
{
    struct agent_row *rows;
    struct json_out o;
    struct arena a;
    size_t n;
    bool ok;

    arena_init(&a, ARENA_MAX);
    ok = agent_log_list(log, f, &a, &rows, &n, e);
    if (ok) {
        json_out_init_object(&o, out);
        json_member_array(&o, "runs");
        for (size_t i = 0; i < n; i++) {
            json_out_object(&o);
            run_write_row(log, &o, &rows[i], thoughts, &a);
            json_out_end(&o);
        }
        json_out_close(&o, 2);
        ok = json_out_ok(&o, e);
    }
    arena_release(&a);
    return ok;
}

str run_json_hide(str json, const char *member, bool hide, struct arena *a)
{
    struct json doc;
    struct buf out;
    struct err e;

    json_init(&doc);
    buf_init(&out, json.n + 1);
    if (hide && json_parse(&doc, json, &e) && json_root(&doc)->kind == JSON_OBJECT &&
        json_find(&doc, json_root(&doc), str_c(member))) {
        json_splice_remove(&doc, json_root(&doc), str_c(member), &out);
        json = arena_dup(a, buf_str(&out));
    }
    buf_release(&out);
    json_release(&doc);
    return json;
}

/* What a caller may see of a run. */
struct run_shown {
    bool thoughts;
    struct run_withheld withheld; /* nothing is, for an operator who may see reasoning */
    struct arena *arena;
};

static bool run_shown_read(struct agent_log *log, str id, const struct run_asker *who,
                           struct arena *a, struct run_shown *out, struct err *e)
{
    *out = (struct run_shown){.thoughts = who->thoughts, .arena = a};
    return (!who->key.n && who->thoughts) || run_withheld_read(log, id, a, &out->withheld, e);
}

/* The result of an effect, without the parts that the reader may not see. */
static str run_shown_result(const struct run_shown *x, const struct agent_effect *f)
{
    bool approval = str_eq(f->kind, STR("approval"));
    struct ask_reply reply;

    if (approval && f->state != AGENT_DONE)
        return x->thoughts ? f->result : STR("");
    if (approval)
        return run_json_hide(f->result, "why", !x->thoughts, x->arena);
    if (str_eq(f->kind, STR("note")))
        return x->withheld.answer ? STR("") : f->result;
    if (!str_eq(f->kind, STR("model")) || f->failed || !reply_read(f->result, x->arena, &reply))
        return f->result;
    if (x->withheld.answer && !reply.call_count)
        return STR("");
    return run_json_hide(run_json_hide(f->result, "reasoning", !x->thoughts, x->arena),
                         "text",
                         !x->thoughts && reply.thought,
                         x->arena);
}

static void run_write_effects(struct json_out *o, const struct agent_effect *all, size_t n,
                              const struct run_shown *x)
{
    json_member_array(o, "effects");
    for (size_t i = 0; i < n && !x->withheld.all; i++) {
        const struct agent_effect *f = &all[i];

        if (f->seq < 0) /* the run's inputs */
            continue;
        json_out_object(o);
        json_member_i64(o, "seq", f->seq);
        json_member_str(o, "kind", f->kind);
        json_member_str(o, "name", f->name);
        json_member_str(o, "state", f->state == AGENT_DONE ? STR("done") : STR("begun"));
        json_member_bool(o, "failed", f->failed);
        agent_run_json_value(o, "request", f->request);
        agent_run_json_value(o, "result", run_shown_result(x, f));
        json_member_i64(o, "started_at_us", f->started_us);
        json_member_i64_or_null(o, "ended_at_us", f->state == AGENT_DONE ? f->ended_us : -1);
        json_out_end(o);
    }
    json_out_end(o);
}

static void run_write_trace(struct json_out *o, const struct agent_result *r,
                            const struct run_shown *x)
{
    json_member_array(o, "trace");
    for (size_t i = 0; i < r->step_count && !x->withheld.all; i++) {
        const struct agent_step *s = &r->steps[i];
        bool hidden = x->withheld.answer && !s->tool.n;

        json_out_object(o);
        json_member_i64(o, "step", s->step);
        json_member_str(o, "action", s->action);
        json_member_str(o, "observation", hidden ? STR("") : s->observation);
        json_member_str(o, "tool", s->tool);
        json_member_bool(o, "ok", s->ok);
        json_out_end(o);
    }
    json_out_end(o);
}

str agent_call_text(str name, str arguments, struct arena *a)
{
    struct buf out;
    struct json doc;
    struct err e;

    buf_init(&out, TOOL_RESULT_MAX);
    buf_add(&out, name);
    buf_add_c(&out, '(');
    if (json_open(&doc, arguments.n ? arguments : STR("{}"), &e) &&
        json_root(&doc)->kind == JSON_OBJECT)
        repr_arguments(&out, &doc, json_root(&doc));
    else
        buf_add(&out, arguments);
    buf_add_c(&out, ')');
    json_release(&doc);
    return arena_move_buf(a, &out);
}

static str agent_run_json_text_in(str json, struct arena *a)
{
    struct ask_reply reply;

    return reply_read(json, a, &reply) && !reply.thought ? reply.text : STR("");
}

/* For a run without the loop: one step per effect. */
static void agent_run_json_trace_of(const struct agent_effect *all, size_t n, struct arena *a,
                                    struct agent_result *out)
{
    out->steps = arena_zero(a, n + 1, sizeof *out->steps);
    out->step_count = 0;
    for (size_t i = 0; i < n; i++) {
        const struct agent_effect *f = &all[i];
        bool model = str_eq(f->kind, STR("model")),
             tool = str_eq(f->kind, STR("tool")) || str_eq(f->kind, STR("client"));
        str seen = model && !f->failed ? agent_run_json_text_in(f->result, a) : f->result;

        if (f->state != AGENT_DONE || f->seq < 0 || str_eq(f->kind, STR("approval")))
            continue;
        out->steps[out->step_count++] =
            (struct agent_step){.action = tool    ? agent_call_text(f->name, f->request, a)
                                          : model ? STR("ask")
                                                  : f->name,
                                .observation = utf8_cut_count(seen, AGENT_OBSERVATION),
                                .tool = tool ? f->name : STR(""),
                                .ok = !f->failed};
        out->steps[out->step_count - 1].step = (unsigned)out->step_count;
    }
    assert(out->step_count <= n);
}

/* If the log ends early, the trace ends there. */
static bool agent_run_json_write_one(struct agent_log *log, str id, const struct run_shown *x,
                                     struct buf *out, struct err *e)
{
    struct arena *a = x->arena;
    struct agent_effect *all;
    struct agent_result r;
    struct agent_row row;
    struct json_out o;
    struct err ignored;
    size_t n;

    if (!agent_log_run_get(log, id, a, &row, e) || !agent_log_read(log, id, a, &all, &n, e))
        return false;
    if (!agent_replay(log, id, a, &r, &ignored) && !r.step_count)
        agent_run_json_trace_of(all, n, a, &r);
    json_out_init_object(&o, out);
    run_write_row(log, &o, &row, x->thoughts, a);
    agent_run_json_value(&o, "input", x->withheld.all ? STR("") : row.input);
    agent_run_json_value(&o,
                         "result",
                         x->withheld.all ? STR("")
                         : x->thoughts   ? row.result
                                         : run_hide_thoughts(row.result, a));
    run_write_trace(&o, &r, x);
    run_write_effects(&o, all, n, x);
    json_out_end(&o);
    return json_out_ok(&o, e);
}

bool run_json_one(struct agent_log *log, str id, const struct run_asker *who, struct buf *out,
                  struct err *e)
{
    struct agent_filter f = {
        .id = id, .status = STR(""), .app = STR(""), .key = who->key, .count_max = 1};
    struct agent_row *rows;
    struct run_shown shown;
    struct arena a;
    size_t n;
    bool ok;

    arena_init(&a, ARENA_MAX);
    ok = agent_log_list(log, &f, &a, &rows, &n, e);
    if (ok && !n)
        ok = err_set(e, ERR_NOT_FOUND, "there is no run \"" STR_FMT "\"", STR_ARG(id));
    ok = ok && run_shown_read(log, id, who, &a, &shown, e) &&
         agent_run_json_write_one(log, id, &shown, out, e);
    arena_release(&a);
    return ok;
}

bool run_json_replay(struct agent_log *log, str id, const struct run_asker *who, struct buf *out,
                     struct err *e)
{
    struct run_shown shown;
    struct agent_result r;
    struct agent_row row;
    struct json_out o;
    struct arena a;
    str status;
    bool ok;

    arena_init(&a, ARENA_MAX);
    ok = agent_log_run_get(log, id, &a, &row, e) && run_shown_read(log, id, who, &a, &shown, e) &&
         agent_replay(log, id, &a, &r, e);
    if (ok) {
        status = str_c(agent_end_name(r.end));
        json_out_init_object(&o, out);
        json_member_str(&o, "run_id", id);
        json_member_bool(&o, "same", str_eq(status, row.status) && str_eq(r.reason, row.reason));
        json_member_str(&o, "status", status);
        json_member_str(&o, "reason", r.reason);
        json_member_str(&o, "text", shown.withheld.answer || shown.withheld.all ? STR("") : r.text);
        run_write_trace(&o, &r, &shown);
        json_out_end(&o);
        ok = json_out_ok(&o, e);
    }
    arena_release(&a);
    return ok;
}
