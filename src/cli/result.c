/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/result.h"

static void cli_write_calls(struct json_out *o, const struct split_collect *c)
{
    assert(c->call_count == 0 || c->calls);
    json_member_array(o, "tool_calls");
    for (size_t i = 0; i < c->call_count; i++) {
        json_out_object(o);
        json_member_str(o, "name", c->calls[i].name);
        json_member_str(o, "arguments", c->calls[i].arguments);
        json_out_end(o);
    }
    json_out_end(o);
}

void cli_write_summary(struct json_out *o, const struct split *sp, bool calls_unread)
{
    unsigned flags = sp->flags | (calls_unread ? SPLIT_UNREAD_TOOL : 0U);

    json_member_str(o, "state", str_c(split_state_name(sp->state)));
    json_member_array(o, "flags");
    for (unsigned i = 0; i < SPLIT_FLAG_COUNT; i++)
        if (flags >> i & 1)
            json_out_str(o, str_c(split_flag_name(i)));
    json_out_end(o);
    json_member_object(o, "accounted");
    for (unsigned k = 0; k < SPLIT_KIND_COUNT; k++) {
        json_out_key(o, str_c(split_kind_name(k)));
        json_out_u64(o, sp->size[k]);
    }
    json_out_end(o);
}

void cli_write_result(struct json_out *o, const struct split *sp, const struct split_collect *c)
{
    json_member_str(o, "reasoning", buf_str(&c->reasoning));
    json_member_str(o, "content", buf_str(&c->answer));
    cli_write_calls(o, c);
    cli_write_summary(o, sp, c->tools.unread);
}
