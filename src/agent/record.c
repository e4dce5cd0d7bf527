/* record.c - adds a run to the record: its session, and each exchange with a tool.
 *
 * A run is resumed from the effect log; the record is for people who read about the run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/run_state.h"

#include "gateway/publish.h"
#include "store/step.h"

#define STEP_ARENA ((size_t)1 << 20)

static struct store_session agent_session_of(const struct run *r)
{
    return (struct store_session){.id = r->o->session,
                                  .alert_id = STR(""),
                                  .agent_type = r->o->app,
                                  .alert_type = STR(""),
                                  .status = STR(""),
                                  .alert_data = STR(""),
                                  .session_metadata = STR(""),
                                  .error_message = STR(""),
                                  .final_analysis = STR(""),
                                  .key_name = r->o->key.n ? r->o->key : STR(""),
                                  .started_us = -1,
                                  .completed_us = -1};
}

/* The masked text in the buffer, or the text itself if nothing was masked. */
static str agent_record_masked(const struct run *r, str text, struct buf *out)
{
    buf_init(out, 4 * text.n + 65536);
    if (r->o->mask && text.n && mask_json(r->o->mask, text, out, NULL))
        return buf_full(out) ? STR(MASK_LEFT_OUT) : buf_str(out);
    return text;
}

void agent_record_begin(const struct run *r)
{
    struct store_session s = agent_session_of(r);

    if (!r->o->store || !r->o->session.n || r->o->part)
        return;
    s.status = STR("in_progress");
    s.started_us = r->created_us;
    publish_session(r->o->store, r->o->hub, &s);
}

void agent_record_end(const struct run *r)
{
    struct store_session s = agent_session_of(r);
    bool well = r->out->end == AGENT_FINISHED || r->out->end == AGENT_STOPPED;
    struct buf text, detail;

    if (!r->o->store || !r->o->session.n || r->o->part || r->out->end == AGENT_WAITING ||
        str_eq(r->out->reason, STR("left"))) /* the run continues, here or elsewhere */
        return;
    s.status = well ? STR("completed") : STR("failed");
    s.completed_us = r->ended_us;
    s.final_analysis = agent_record_masked(r, r->out->text, &text);
    s.error_message = agent_record_masked(r, well ? STR("") : r->out->detail, &detail);
    publish_session(r->o->store, r->o->hub, &s);
    buf_release(&text);
    buf_release(&detail);
}

str agent_record_step(const struct run *r, str what, struct arena *a)
{
    return step_write(
        a, r->o->stage.n ? r->o->stage : STR(""), r->o->agent.n ? r->o->agent : r->o->app, what);
}

static struct store_tool agent_record_tool_row(const struct run *r, const struct tool *tool, str id,
                                               int64_t at_us, struct arena *a)
{
    str what = arena_printf(a,
                            "call " STR_FMT "%s" STR_FMT,
                            STR_ARG(tool->server),
                            tool->server.n ? "." : "",
                            STR_ARG(tool->own));

    return (struct store_tool){.id = id,
                               .session_id = r->o->session,
                               .parent_id = r->reply_id.n ? r->reply_id : STR(""),
                               .server_name = tool->server,
                               .communication_type = STR("tool_call"),
                               .tool_name = tool->own,
                               .arguments = STR(""),
                               .result = STR(""),
                               .available_tools = STR(""),
                               .error_message = STR(""),
                               .step = agent_record_step(r, what, a),
                               .timestamp_us = at_us};
}

static str agent_record_tool_key(const struct run *r)
{
    return r->o->key.n ? r->o->key : STR("");
}

void agent_record_tool_start(const struct run *r, const struct tool *tool, str id, int64_t at_us)
{
    struct store_tool t;
    struct arena a;

    if (!r->o->hub || !r->o->session.n)
        return;
    arena_init(&a, STEP_ARENA);
    t = agent_record_tool_row(r, tool, id, at_us, &a);
    publish_tool_start(r->o->hub, &t, agent_record_tool_key(r));
    arena_release(&a);
}

/* The message of a failed call: the tool's text, or the text of {"error": text}; part of the
 * result, or one copy of at most its size. */
static str agent_record_error(str result, struct arena *a)
{
    struct json doc;
    struct err e;
    str text;

    if (str_starts(result, STR(TOOL_REPORTS)))
        return str_trim(str_slice(result, strlen(TOOL_REPORTS), result.n));
    if (json_open(&doc, result, &e) &&
        json_text(&doc, json_find(&doc, json_root(&doc), STR("error")), a, &text))
        result = text;
    json_release(&doc);
    return result;
}

void agent_record_tool(const struct run *r, const struct tool *tool, const struct agent_effect *f,
                       int64_t at_us)
{
    struct buf arguments;
    struct store_tool t;
    struct arena a;

    if ((!r->o->store && !r->o->hub) || !r->o->session.n)
        return;
    assert(f->state == AGENT_DONE);
    arena_init(&a, STEP_ARENA + f->result.n);
    t = agent_record_tool_row(r, tool, f->key, at_us, &a);
    t.arguments = agent_record_masked(r, f->request, &arguments);
    t.result = f->result;
    t.error_message = f->failed ? agent_record_error(f->result, &a) : STR("");
    t.duration_ms = (f->ended_us - f->started_us) / 1000;
    t.success = !f->failed;
    publish_tool_end(r->o->store, r->o->hub, &t, agent_record_tool_key(r));
    buf_release(&arguments);
    arena_release(&a);
}
