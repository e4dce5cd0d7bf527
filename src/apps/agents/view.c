/* view.c - agents, workflows and the results of their runs, as JSON.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/agents/agents.h"

#include "base/json_get.h"
#include "base/utf8.h"

#define ARENA_MAX ((size_t)512 << 20)
#define BRIEF_MAX 300 /* characters of a text in a list */
/* Rows of a list in memory: a request of 8 MiB needs 48 MiB there, in the row and while it is
 * read. */
#define ROWS_AT_ONCE 4

/* ---- a run ---- */

/* The size of a Markdown mark that begins here: of a heading, a strong text or code. */
static size_t agents_view_mark(str text, bool line_begins)
{
    size_t n = 0;

    while (n < text.n && n < 7 && text.p[n] == '#')
        n++;
    if (n)
        return line_begins && n <= 6 && n < text.n && text.p[n] == ' ' ? n + 1 : 0;
    if (str_starts(text, STR("**")))
        return 2;
    while (n < text.n && text.p[n] == '`')
        n++;
    return n;
}

/* A text of a model for a list: the beginning in one line, without Markdown. */
static void agents_run_write_brief(struct json_out *o, const char *key, str text)
{
    char out[BRIEF_MAX * UTF8_SIZE_MAX];
    bool line_begins = true;
    size_t n = 0, size;

    for (; text.n && n < sizeof out; text = str_slice(text, size, text.n)) {
        char c = text.p[0];

        size = agents_view_mark(text, line_begins);
        if (size)
            continue;
        size = 1;
        line_begins = c == '\n' || (line_begins && c == ' ');
        c = c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
        if (c != ' ' || (n && out[n - 1] != ' '))
            out[n++] = c;
    }
    json_member_str(
        o, key, utf8_cut_count(str_trim((str){out, n - utf8_tail((str){out, n})}), BRIEF_MAX));
}

static void agents_run_write_result(const struct agent_row *row, bool brief, struct json_out *o,
                                    struct arena *a)
{
    const struct json_node *root = NULL, *tokens, *v;
    struct json doc;
    struct err e;
    str text;

    json_init(&doc);
    if (row->result.n && json_parse(&doc, row->result, &e))
        root = json_root(&doc);
    text = json_get_text(&doc, root, "detail", a);
    json_member_str(o, "detail", brief ? utf8_cut_count(text, BRIEF_MAX) : text);
    text = json_get_text(&doc, root, "text", a);
    if (brief)
        agents_run_write_brief(o, "text", text);
    else
        json_member_str(o, "text", text);
    v = json_find(&doc, root, STR("finish"));
    if (!brief) {
        json_member_raw(o, "output", v ? json_raw(&doc, v) : STR("null"));
    }
    tokens = json_find(&doc, root, STR("tokens"));
    json_member_object(o, "usage");
    for (size_t i = 0; i < 3; i++) {
        static const char *const names[][2] = {{"input", "input_tokens"},
                                               {"output", "output_tokens"},
                                               {"reasoning", "reasoning_tokens"}};

        json_member_i64(o, names[i][1], json_get_i64(&doc, tokens, names[i][0], 0));
    }
    for (size_t i = 0; i < 2; i++) {
        static const char *const names[] = {"model_calls", "tool_calls"};

        json_member_i64(o, names[i], json_get_i64(&doc, root, names[i], 0));
    }
    v = json_find(&doc, root, STR("cost_usd"));
    json_member_raw(o, "cost_usd", v ? json_raw(&doc, v) : STR("null"));
    json_out_end(o);
    json_release(&doc);
}

/* The run itself, or the first of its parts, that waits. */
static const struct agent_row *agents_view_run_waiting(const struct agent_row *row,
                                                       const struct agent_row *parts, size_t n)
{
    assert(n == 0 || parts);
    for (size_t i = n; i-- > 0;)
        if (str_eq(parts[i].status, STR("waiting")))
            return &parts[i];
    return row;
}

/* Brief, as in a list: texts are truncated, and large members are left out. */
struct run_form {
    bool brief, thoughts;
};

static bool agents_run_write(struct agent_log *log, const struct agent_row *row,
                             struct run_form form, struct json_out *o, struct arena *a,
                             struct err *e)
{
    struct arena of_parts; /* they may take all of an arena */
    struct agent_rows parts;
    struct agents_request q;

    arena_init(&of_parts, ARENA_MAX);
    if (!agent_log_parts(log, row->id, row->session_id, &of_parts, &parts, e) ||
        !agents_request_read(row->input, a, &q, e)) {
        arena_release(&of_parts);
        return false;
    }
    json_out_object(o);
    json_member_str(o, "run_id", row->id);
    json_member_str(o, q.workflow ? "workflow" : "agent", q.name);
    json_member_str(o, "status", row->status);
    json_member_str(o, "reason", row->reason);
    json_member_str(o, "input", form.brief ? utf8_cut_count(q.input, BRIEF_MAX) : q.input);
    agents_run_write_result(row, form.brief, o, a);
    json_out_key(o, STR("pending"));
    run_json_pending(log, agents_view_run_waiting(row, parts.at, parts.n), form.thoughts, o, a);
    json_member_str(o, "session_id", row->session_id);
    json_member_str_or_null(o, "thread", q.thread);
    if (!form.brief)
        json_member_raw(o, "metadata", q.metadata.n ? q.metadata : STR("{}"));
    json_member_i64(o, "created_at_us", row->created_us);
    json_member_i64(o, "updated_at_us", row->updated_us);
    json_out_end(o);
    arena_release(&of_parts);
    return true;
}

bool agents_find_run(struct agent_log *log, str run, const struct run_asker *who, struct arena *a,
                     struct agent_row *out, struct err *e)
{
    if (!agent_log_run_get(log, run, a, out, e))
        return false;
    if (who->key.n && !str_eq(out->key, who->key))
        return err_set(e, ERR_NOT_FOUND, "there is no run \"" STR_FMT "\"", STR_ARG(run));
    return str_eq(out->app, STR(AGENTS_APP)) ||
           err_set(e,
                   ERR_NOT_FOUND,
                   "the run \"" STR_FMT "\" is one of " STR_FMT
                   " and not of an agent: GET /api/v1/runs/ID has its steps",
                   STR_ARG(run),
                   STR_ARG(out->app));
}

bool agents_write_run(struct agent_log *log, str run, const struct run_asker *who, struct buf *out,
                      struct err *e)
{
    struct agent_row row;
    struct json_out o;
    struct arena a;
    bool ok;

    arena_init(&a, ARENA_MAX);
    json_out_init(&o, out);
    ok = agents_find_run(log, run, who, &a, &row, e) &&
         agents_run_write(log, &row, (struct run_form){.thoughts = who->thoughts}, &o, &a, e) &&
         json_out_ok(&o, e);
    arena_release(&a);
    return ok;
}

/* ---- runs ---- */

/* Whether the run matches the filter. */
static bool agents_view_run_matches(const struct agent_row *row, const struct agents_run_query *q,
                                    struct arena *a)
{
    struct agents_request r;
    struct err e;

    return agents_request_read(row->input, a, &r, &e) && str_eq(r.name, q->name) &&
           r.workflow == q->workflow;
}

bool agents_write_runs(struct agent_log *log, const struct agents_run_query *q,
                       const struct run_asker *who, struct buf *out, struct err *e)
{
    struct agent_filter f = {.id = STR(""),
                             .status = STR(""),
                             .app = STR(AGENTS_APP),
                             .key = who->key,
                             .session = STR(""),
                             .count_max = ROWS_AT_ONCE,
                             .whole = true};
    size_t n = ROWS_AT_ONCE, found = 0, last = q->offset + q->count_max;
    struct agent_row *rows;
    struct json_out o;
    struct arena a;
    bool ok = true;

    arena_init(&a, ARENA_MAX);
    json_out_init_object(&o, out);
    json_member_array(&o, "runs");
    for (; ok && n == ROWS_AT_ONCE && found < last && f.offset < AGENT_LIST_MAX; f.offset += n) {
        arena_reset(&a);
        ok = agent_log_list(log, &f, &a, &rows, &n, e);
        assert(!ok || n <= ROWS_AT_ONCE);
        for (size_t i = 0; ok && i < n && found < last; i++)
            if (agents_view_run_matches(&rows[i], q, &a) && found++ >= q->offset)
                ok = agents_run_write(
                    log, &rows[i], (struct run_form){true, who->thoughts}, &o, &a, e);
    }
    assert(found <= last);
    json_out_close(&o, 2);
    ok = ok && json_out_ok(&o, e);
    arena_release(&a);
    return ok;
}

/* ---- definitions ---- */

/* The agent, the source of tools or the address that is asked; of an address without its query,
 * which may have a secret. */
static void agents_guard_write(const struct config *c, const char *key,
                               const struct config_guard *g, struct json_out *o)
{
    assert(g->kind != CONFIG_GUARD_AGENT || g->agent < c->agents->agent_count);
    json_out_key(o, str_c(key));
    if (g->kind == CONFIG_GUARD_NONE)
        json_out_null(o);
    else if (g->kind == CONFIG_GUARD_AGENT)
        json_out_str(o, c->agents->agents[g->agent].name);
    else if (g->tools)
        json_out_str(o, g->tools->name);
    else
        json_out_str(o, str_slice(g->url, 0, str_find(g->url, STR("?"))));
}

static void agents_refs_write(const struct config *c, const struct config_tool_ref *refs, size_t n,
                              struct json_out *o)
{
    json_out_array(o);
    for (size_t i = 0; i < n; i++) {
        str source = c->agents->tools[refs[i].source].name;
        char name[512];
        int size = snprintf(name,
                            sizeof name,
                            STR_FMT "%s" STR_FMT,
                            STR_ARG(str_slice(source, 0, 200)),
                            refs[i].tool.n ? "." : "",
                            STR_ARG(str_slice(refs[i].tool, 0, 200)));

        assert(refs[i].source < c->agents->tools_count && size > 0 && (size_t)size < sizeof name);
        json_out_str(o, (str){name, (size_t)size});
    }
    json_out_end(o);
}

void agents_write_definition(const struct config *c, const struct config_agent *d,
                             struct json_out *o)
{
    json_out_object(o);
    json_member_str(o, "name", d->name);
    json_member_str(o, "description", d->description);
    json_member_str(o, "model", d->model);
    json_member_str(o, "level", d->level ? str_c(chat_level_name(d->level)) : STR(""));
    json_member_str(o, "strategy", str_c(agents_strategy_name(d->strategy)));
    json_out_key(o, STR("tools"));
    agents_refs_write(c, d->tools, d->tool_count, o);
    json_out_key(o, STR("approve"));
    agents_refs_write(c, d->approve, d->approve_count, o);
    json_member_array(o, "handoff");
    for (size_t i = 0; i < d->handoff_count; i++)
        json_out_str(o, c->agents->agents[d->handoff[i]].name);
    json_out_end(o);
    json_member_raw(o, "output", d->output.n ? d->output : STR("null"));
    json_member_object(o, "limits");
    json_member_i64(o, "steps", d->limits.steps);
    json_member_i64(o, "tokens", d->limits.tokens);
    json_member_double(o, "usd", d->limits.usd);
    json_member_i64(o, "time_ms", (int64_t)d->limits.time_ms);
    json_out_end(o);
    json_member_object(o, "guard");
    agents_guard_write(c, "input", &d->guard_input, o);
    agents_guard_write(c, "output", &d->guard_output, o);
    json_out_close(o, 2);
}

void agents_write_workflow(const struct config *c, const struct config_workflow *w,
                           struct json_out *o)
{
    assert(w->stage_count <= CONFIG_STAGES_MAX);
    json_out_object(o);
    json_member_str(o, "name", w->name);
    json_member_array(o, "stages");
    for (size_t i = 0; i < w->stage_count; i++) {
        const struct config_stage *s = &w->stages[i];

        json_out_object(o);
        json_member_array(o, "agents");
        for (size_t k = 0; k < s->agent_count; k++)
            json_out_str(o, c->agents->agents[s->agents[k]].name);
        json_out_end(o);
        json_member_bool(o, "parallel", s->parallel);
        json_member_str(o, "success", s->all ? STR("all") : STR("any"));
        json_out_end(o);
    }
    json_out_close(o, 2);
}
