/* hide_thoughts.c - see hide_thoughts.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/hide_thoughts.h"

#include "base/json_edit.h"

#define TRACE STR("reasoning_trace")

static void hide_thoughts_of_trace(struct json_edits *ed, const struct json *doc,
                                   const struct json_node *trace)
{
    JSON_FOREACH_ITEM(step, doc, trace)
        if (json_is_object(step) && json_is(doc, json_find(doc, step, STR("action")), STR("think")))
            json_edit_set(ed, step, STR("observation"), STR("\"\""));
}

str run_hide_thoughts(str json, struct arena *a)
{
    struct json_edits ed;
    struct json doc;
    struct buf out;
    struct err e;

    if (str_find(json, TRACE) == STR_NONE)
        return json;
    if (json_open(&doc, json, &e)) {
        json_edits_init(&ed, &doc, a);
        for (uint32_t i = 0; i + 1 < doc.n; i++)
            if (json_is(&doc, &doc.nodes[i], TRACE))
                hide_thoughts_of_trace(&ed, &doc, &doc.nodes[i + 1]);
        buf_init(&out, 2 * json.n + 4096);
        json_edits_apply(&ed, &out);
        assert(!buf_full(&out)); /* thoughts become shorter, or get an empty member */
        json = arena_move_buf(a, &out);
    }
    json_release(&doc);
    return json;
}
