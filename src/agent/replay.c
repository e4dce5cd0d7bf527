/* replay.c - replays a run from its log alone.
 *
 * A run stores its prompts, tools and limits together with the intent of its first effect. So the
 * log is enough to repeat the same steps later, without the application, its tools or a model; the
 * key of each effect proves that the steps are the same.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/run_state.h"

#include "base/json_get.h"

#define NOTE_MAX ((size_t)64 << 20)
#define NOTE_NAME "options"

/* ---- writing the inputs ---- */

static void agent_replay_write_tools(const struct toolbox *b, struct json_out *o)
{
    json_member_array(o, "tools");
    for (size_t i = 0; i < toolbox_count(b); i++) {
        const struct tool *t = toolbox_at(b, i);

        json_out_object(o);
        json_member_str(o, "name", t->name);
        json_member_str(o, "description", t->description);
        json_member_str(o, "schema", t->schema);
        json_member_str(o, "accepts", str_eq(t->accepts, t->schema) ? STR("") : t->accepts);
        json_member_i64(o, "flags", t->flags & ~(unsigned)TOOL_STRICT);
        json_member_i64(o, "unknown", t->unknown);
        json_out_end(o);
    }
    json_out_end(o);
}

static void agent_write_options(const struct agent_options *x, struct buf *out)
{
    struct json_out o;

    json_out_init_object(&o, out);
    json_member_str(&o, "model", x->model_name);
    json_member_str(&o, "extra", x->extra);
    json_member_str(&o, "system", x->system);
    json_member_str(&o, "messages", x->messages);
    json_member_str(&o, "user", x->user);
    json_member_i64(&o, "iterations", x->limits.iterations);
    json_member_i64(&o, "tokens", x->limits.tokens);
    json_member_i64(&o, "tokens_hard", x->limits.tokens_hard);
    json_member_double(&o, "cost_usd", x->limits.cost_usd);
    if (x->limits.repeats)
        json_member_i64(&o, "repeats", x->limits.repeats);
    if (x->before) {
        json_member_i64(&o, "before_steps", x->before->iterations);
        json_member_i64(&o, "before_input", x->before->input_tokens);
        json_member_i64(&o, "before_output", x->before->output_tokens);
        json_member_double(&o, "before_usd", x->before->cost_usd);
    }
    json_member_i64(&o, "conclude", x->conclude);
    json_member_str(&o, "output", x->output);
    json_member_str(&o, "insist", str_c(x->insist));
    json_member_i64(&o, "say_success", x->say_success);
    json_member_i64(&o, "result_shown", (int64_t)x->result_shown);
    json_member_i64(&o, "results", x->results != NULL);
    agent_replay_write_tools(x->tools, &o);
    json_out_end(&o);
}

struct agent_effect replay_note(struct run *r, struct buf *out)
{
    struct buf plain;

    buf_init(out, NOTE_MAX);
    agent_write_options(r->o, out);
    if (r->o->mask) {
        buf_init(&plain, NOTE_MAX);
        if (mask_json(r->o->mask, buf_str(out), &plain, NULL)) {
            buf_release(out);
            *out = plain;
        } else {
            buf_release(&plain);
        }
    }
    return (struct agent_effect){.run = r->o->run,
                                 .seq = REPLAY_SEQ,
                                 .kind = STR("note"),
                                 .care = AGENT_LATER,
                                 .name = STR(NOTE_NAME),
                                 .key = STR(NOTE_NAME),
                                 .request = STR(""),
                                 .result = buf_str(out),
                                 .state = AGENT_DONE,
                                 .started_us = run_now_us(r),
                                 .ended_us = run_now_us(r)};
}

/* ---- reading them back ---- */

struct reading {
    const struct json *doc;
    struct arena *a;
};

/* Replaces all tools: in a replay no tool runs. */
static bool agent_replay_refuse_tool(void *ctx, const struct tool_call *c, struct buf *out,
                                     struct err *e)
{
    (void)ctx, (void)c, (void)out;
    return err_set(e, ERR_SYSTEM, "a replay runs no tools");
}

static bool agent_replay_refuse_question(void *ctx, const struct ask_request *q,
                                         const _Atomic bool *cancel, struct arena *a,
                                         struct ask_reply *reply)
{
    (void)ctx, (void)q, (void)cancel, (void)a;
    *reply = (struct ask_reply){
        .error = {.status = 500, .message = STR("a replay asks no model"), .code = STR("")}};
    return false;
}

static bool agent_replay_read_tools(const struct reading *r, struct toolbox *b, struct err *e)
{
    const struct json_node *list = json_find(r->doc, json_root(r->doc), STR("tools"));

    JSON_FOREACH(v, r->doc, list) {
        struct tool t = {.name = json_copy_text(r->doc, v, "name", r->a),
                         .description = json_copy_text(r->doc, v, "description", r->a),
                         .schema = json_copy_text(r->doc, v, "schema", r->a),
                         .accepts = json_copy_text(r->doc, v, "accepts", r->a),
                         .flags = (unsigned)json_get_i64(r->doc, v, "flags", 0),
                         .unknown = (enum tool_unknown)json_get_i64(r->doc, v, "unknown", 0),
                         .run = agent_replay_refuse_tool};

        if (!toolbox_add(b, &t, e))
            return err_prefix(e, "the log of the run: ");
    }
    return true;
}

static void agent_read_options(const struct reading *r, struct agent_options *out,
                               struct agent_result *before)
{
    const struct json_node *root = json_root(r->doc);

    *before =
        (struct agent_result){.iterations = (unsigned)json_get_i64(r->doc, root, "before_steps", 0),
                              .input_tokens = json_get_i64(r->doc, root, "before_input", 0),
                              .output_tokens = json_get_i64(r->doc, root, "before_output", 0)};
    if (!json_double(r->doc, json_find(r->doc, root, STR("before_usd")), &before->cost_usd))
        before->cost_usd = 0;
    out->before = before;

    out->model_name = json_copy_text(r->doc, root, "model", r->a);
    out->extra = json_copy_text(r->doc, root, "extra", r->a);
    out->system = json_copy_text(r->doc, root, "system", r->a);
    out->messages = json_copy_text(r->doc, root, "messages", r->a);
    out->user = json_copy_text(r->doc, root, "user", r->a);
    out->limits.iterations = (unsigned)json_get_i64(r->doc, root, "iterations", 0);
    out->limits.repeats = (unsigned)json_get_i64(r->doc, root, "repeats", 0);
    out->limits.tokens = json_get_i64(r->doc, root, "tokens", 0);
    out->limits.tokens_hard = json_get_i64(r->doc, root, "tokens_hard", 0) != 0;
    if (!json_double(r->doc, json_find(r->doc, root, STR("cost_usd")), &out->limits.cost_usd))
        out->limits.cost_usd = 0;
    out->conclude = json_get_i64(r->doc, root, "conclude", 0) != 0;
    out->output = json_copy_text(r->doc, root, "output", r->a);
    out->say_success = json_get_i64(r->doc, root, "say_success", 0) != 0;
    out->insist =
        json_copy_text(r->doc, root, "insist", r->a).p; /* ends in a NUL, like all copied texts */
    if (!out->insist[0])
        out->insist = NULL;
    out->result_shown = (size_t)json_get_i64(r->doc, root, "result_shown", 0);
    if (json_get_i64(r->doc, root, "results", 0))
        out->results = agent_results_new();
}

static bool agent_find_note(struct agent_log *log, str run, struct arena *a, str *out,
                            struct err *e)
{
    struct agent_effect *all;
    size_t n;

    if (!agent_log_read(log, run, a, &all, &n, e))
        return false;
    for (size_t i = 0; i < n && all[i].seq <= REPLAY_SEQ; i++)
        if (all[i].seq == REPLAY_SEQ) {
            *out = all[i].result;
            return true;
        }
    return err_set(e, ERR_NOT_FOUND, "the log does not have the inputs of this run");
}

bool agent_replay(struct agent_log *log, str run, struct arena *a, struct agent_result *out,
                  struct err *e)
{
    struct agent_options o = {.run = run,
                              .app = STR(""),
                              .session = STR(""),
                              .input = STR(""),
                              .level = STR(""),
                              .ask = {agent_replay_refuse_question, NULL},
                              .replay = true,
                              .log = log,
                              .clock = &clock_real};
    struct reading r = {.a = a};
    struct agent_result before;
    struct agent_row row;
    struct json doc;
    str note;
    bool ok;

    *out = (struct agent_result){.reason = STR(""), .text = STR("")};
    json_init(&doc);
    o.tools = toolbox_new(&clock_real);
    ok = agent_log_run_get(log, run, a, &row, e) && agent_find_note(log, run, a, &note, e) &&
         json_parse(&doc, note, e);
    if (ok) {
        r.doc = &doc;
        agent_read_options(&r, &o, &before);
        ok = agent_replay_read_tools(&r, o.tools, e) && agent_run(&o, a, out, e);
    }
    toolbox_free(o.tools);
    agent_results_free(o.results);
    json_release(&doc);
    return ok;
}

/* ---- arguments that a person changed ---- */

static str replay_question_tool(const struct agent_effect *all, size_t n, int64_t seq)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].seq == seq && str_eq(all[i].kind, STR("approval")))
            return all[i].name;
    return STR("");
}

bool agent_check_change(struct agent_log *log, str run, int64_t seq, str arguments, struct err *e)
{
    struct toolbox *box = toolbox_new(&clock_real);
    struct agent_effect *all;
    const struct tool *t;
    struct reading r;
    struct arena a;
    struct json doc;
    struct buf why;
    struct err ignored;
    size_t n;
    str note = STR("");
    bool ok;

    arena_init(&a, (size_t)1 << 30);
    json_init(&doc);
    r = (struct reading){&doc, &a};
    buf_init(&why, 4096);
    ok = agent_log_read(log, run, &a, &all, &n, e);
    /* Applications without the loop store no schemas; their runs check the arguments themselves. */
    if (ok && agent_find_note(log, run, &a, &note, &ignored) && json_parse(&doc, note, &ignored) &&
        agent_replay_read_tools(&r, box, &ignored)) {
        t = toolbox_find(box, replay_question_tool(all, n, seq));
        if (t && !toolbox_check(box, t, arguments, &why))
            ok = err_input(e, "arguments: " STR_FMT, STR_ARG(buf_str(&why)));
    }
    buf_release(&why);
    json_release(&doc);
    toolbox_free(box);
    arena_release(&a);
    return ok;
}
