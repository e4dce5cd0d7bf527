/* withheld.c - see withheld.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/withheld.h"

#include "agent/run_state.h"

/* Whether the caller's note says that a guard checks the answer. */
static bool withheld_is_guarded(str note)
{
    struct json doc;
    struct err e;
    bool guarded = false;

    json_init(&doc);
    if (!note.n || !json_parse(&doc, note, &e) ||
        !json_bool(json_find(&doc, json_root(&doc), STR("guarded")), &guarded))
        guarded = false;
    json_release(&doc);
    return guarded;
}

static bool withheld_add(struct agent_log *log, str run, bool itself, struct arena *a,
                         struct run_withheld *out, struct err *e)
{
    struct agent_effect note;
    struct agent_row row;
    bool goes_on;

    if (!agent_log_effect_get(log, run, CALLER_SEQ, a, &note, e))
        return e->code == ERR_NOT_FOUND;
    if (!withheld_is_guarded(note.result))
        return true;
    if (!agent_log_run_get(log, run, a, &row, e))
        return e->code == ERR_NOT_FOUND;
    if (str_eq(row.status, STR("done")))
        return true;
    goes_on = str_eq(row.status, STR("running")) || str_eq(row.status, STR("waiting"));
    out->answer = out->answer || itself;
    out->all = out->all || !itself;
    out->for_good = out->for_good || !goes_on;
    return true;
}

bool run_withheld_read(struct agent_log *log, str run, struct arena *a, struct run_withheld *out,
                       struct err *e)
{
    *out = (struct run_withheld){.answer = false};
    for (size_t i = 0; i < run.n; i++)
        if (run.p[i] == '/' && !withheld_add(log, str_slice(run, 0, i), false, a, out, e))
            return false;
    return withheld_add(log, run, true, a, out, e);
}
