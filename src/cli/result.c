/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/result.h"

static void write_calls(struct json_out *o, const struct split_collect *c)
{
    json_out_key(o, STR("tool_calls"));
    json_out_array(o);
    for (size_t i = 0; i < c->call_count; i++) {
        json_out_object(o);
        json_out_key(o, STR("name"));
        json_out_str(o, c->calls[i].name);
        json_out_key(o, STR("arguments"));
        json_out_str(o, c->calls[i].arguments);
        json_out_end(o);
    }
    json_out_end(o);
}

void cli_write_summary(struct json_out *o, const struct split *sp, bool calls_unread)
{
    unsigned flags = sp->flags | (calls_unread ? SPLIT_UNREAD_TOOL : 0U);

    json_out_key(o, STR("state"));
    json_out_str(o, str_c(split_state_name(sp->state)));
    json_out_key(o, STR("flags"));
    json_out_array(o);
    for (unsigned i = 0; i < SPLIT_FLAG_COUNT; i++)
        if (flags >> i & 1)
            json_out_str(o, str_c(split_flag_name(i)));
    json_out_end(o);
    json_out_key(o, STR("accounted"));
    json_out_object(o);
    for (unsigned k = 0; k < SPLIT_KIND_COUNT; k++) {
        json_out_key(o, str_c(split_kind_name(k)));
        json_out_u64(o, sp->size[k]);
    }
    json_out_end(o);
}

void cli_write_result(struct json_out *o, const struct split *sp, const struct split_collect *c)
{
    json_out_key(o, STR("reasoning"));
    json_out_str(o, buf_str(&c->reasoning));
    json_out_key(o, STR("content"));
    json_out_str(o, buf_str(&c->answer));
    write_calls(o, c);
    cli_write_summary(o, sp, c->tools.unread);
}
