/* SPDX-License-Identifier: Apache-2.0 */
#include "store/step.h"

str step_write(struct arena *a, str stage, str agent, str what)
{
    if (!agent.n)
        return arena_dup(a, what);
    return arena_printf(a,
                        STR_FMT "%s" STR_FMT ": " STR_FMT,
                        STR_ARG(stage),
                        stage.n ? " / " : "",
                        STR_ARG(agent),
                        STR_ARG(what));
}

void step_read(str step, str *stage, str *agent)
{
    size_t colon = str_find(step, STR(": ")), slash;

    *agent = str_slice(step, 0, colon == STR_NONE ? 0 : colon);
    slash = str_find(*agent, STR(" / "));
    *stage = str_slice(*agent, 0, slash == STR_NONE ? 0 : slash);
    if (slash != STR_NONE)
        *agent = str_slice(*agent, slash + 3, agent->n);
}
