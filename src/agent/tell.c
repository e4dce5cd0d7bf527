/* tell.c - what the record is told of a run: its session, and each exchange with a tool.
 *
 * The effect log is what a run goes on from; this is for those who read about it afterwards.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/run_state.h"

static struct store_session session_of(const struct run *r)
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

/* In the buffer if something was masked, else as it is. */
static str agent_tell_masked(const struct run *r, str text, struct buf *out)
{
    buf_init(out, 4 * text.n + 65536);
    if (r->o->mask && text.n && mask_json(r->o->mask, text, out, NULL))
        return buf_full(out) ? STR(MASK_LEFT_OUT) : buf_str(out);
    return text;
}

void tell_begin(const struct run *r)
{
    struct store_session s = session_of(r);

    if (!r->o->store || !r->o->session.n || r->o->part)
        return;
    s.status = STR("in_progress");
    s.started_us = r->created_us;
    store_session_put(r->o->store, &s, NULL);
}

void tell_end(const struct run *r)
{
    struct store_session s = session_of(r);
    bool well = r->out->end == AGENT_FINISHED || r->out->end == AGENT_STOPPED;
    struct buf text, detail;

    if (!r->o->store || !r->o->session.n || r->o->part || r->out->end == AGENT_WAITING)
        return;
    s.status = well ? STR("completed") : STR("failed");
    s.completed_us = run_now_us(r);
    s.final_analysis = agent_tell_masked(r, r->out->text, &text);
    s.error_message = agent_tell_masked(r, well ? STR("") : r->out->detail, &detail);
    store_session_put(r->o->store, &s, NULL);
    buf_release(&text);
    buf_release(&detail);
}

void tell_tool(const struct run *r, const struct agent_effect *f, str parent, str server)
{
    struct buf arguments;
    struct store_tool t = {.id = f->key,
                           .session_id = r->o->session,
                           .parent_id = parent,
                           .server_name = server,
                           .communication_type = STR("tool_call"),
                           .tool_name = f->name,
                           .arguments = agent_tell_masked(r, f->request, &arguments),
                           .result = f->result,
                           .available_tools = STR(""),
                           .error_message = f->failed ? f->result : STR(""),
                           .step = STR(""),
                           .timestamp_us = f->started_us,
                           .duration_ms = (f->ended_us - f->started_us) / 1000,
                           .success = !f->failed};

    if (r->o->store && r->o->session.n)
        store_tool_put(r->o->store, &t, NULL);
    buf_release(&arguments);
}
