/* publish.c - see publish.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/publish.h"

#include "base/json.h"
#include "base/utf8.h"
#include "store/step.h"

#define MEMBERS_MAX ((size_t)64 << 10)
#define ERROR_SHOWN 4096

void publish_session(struct store *s, struct hub *h, const struct store_session *row)
{
    if (s)
        store_session_put(s, row);
    if (h && row->status.n)
        hub_session(h,
                    &(struct hub_session){.id = row->id,
                                          .key = row->key_name,
                                          .status = row->status,
                                          .agent_type = row->agent_type,
                                          .alert_type = row->alert_type,
                                          .error_message = row->error_message,
                                          .started_us = row->started_us,
                                          .completed_us = row->completed_us});
}

static void publish_text(struct json_out *o, const char *name, str text)
{
    if (text.n)
        json_member_str(o, name, text);
    else {
        json_out_key(o, str_c(name));
        json_out_null(o);
    }
}

static void publish_tool(struct hub *h, const struct store_tool *t, str key, bool over)
{
    str stage, agent;
    struct json_out o;
    struct buf out;

    if (!h || !hub_awake(h))
        return;
    step_read(t->step, &stage, &agent);
    buf_init(&out, MEMBERS_MAX);
    json_out_init_object(&o, &out);
    json_member_str(&o, "communication_id", t->id);
    json_member_str(&o, "session_id", t->session_id);
    publish_text(&o, "parent_id", t->parent_id);
    publish_text(&o, "server_name", t->server_name);
    publish_text(&o, "tool_name", t->tool_name);
    json_member_str(&o, "communication_type", t->communication_type);
    json_member_str(&o,
                    "status",
                    !over        ? STR("started")
                    : t->success ? STR("completed")
                                 : STR("failed"));
    json_out_key(&o, STR("success"));
    if (over)
        json_out_bool(&o, t->success);
    else
        json_out_null(&o);
    json_out_key(&o, STR("duration_ms"));
    if (over)
        json_out_i64(&o, t->duration_ms);
    else
        json_out_null(&o);
    publish_text(&o,
                 "error_message",
                 over && !t->success ? utf8_cut_size(t->error_message, ERROR_SHOWN) : STR(""));
    json_member_str(&o, "step_description", t->step);
    publish_text(&o, "stage", stage);
    publish_text(&o, "agent", agent);
    json_member_i64(&o, "started_us", t->timestamp_us);
    json_out_end(&o);
    if (!buf_full(&out))
        hub_event(
            h, "mcp_communication", t->session_id, key, str_slice(buf_str(&out), 1, out.n - 1));
    buf_release(&out);
}

void publish_tool_start(struct hub *h, const struct store_tool *row, str key)
{
    publish_tool(h, row, key, false);
}

void publish_tool_end(struct store *s, struct hub *h, const struct store_tool *row, str key)
{
    if (s)
        store_tool_put(s, row);
    publish_tool(h, row, key, true);
}
