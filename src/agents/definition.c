/* definition.c - finds definitions by their names.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agents/definition.h"

#include "gateway/config_build.h"

const struct config_agent *agents_find(const struct config *c, str name)
{
    assert(c->agents);
    for (size_t i = 0; i < c->agents->agent_count; i++)
        if (str_eq(c->agents->agents[i].name, name))
            return &c->agents->agents[i];
    return NULL;
}

const struct config_workflow *agents_find_workflow(const struct config *c, str name)
{
    assert(c->agents);
    for (size_t i = 0; i < c->agents->workflow_count; i++)
        if (str_eq(c->agents->workflows[i].name, name))
            return &c->agents->workflows[i];
    return NULL;
}

const char *agents_nearest(const struct config *c, str name)
{
    const char *names[CONFIG_AGENTS_MAX + CONFIG_WORKFLOWS_MAX + 1];
    size_t n = 0;

    assert(c->agents->agent_count <= CONFIG_AGENTS_MAX);
    assert(c->agents->workflow_count <= CONFIG_WORKFLOWS_MAX);
    for (size_t i = 0; i < c->agents->agent_count; i++)
        names[n++] = c->agents->agents[i].name.p;
    for (size_t i = 0; i < c->agents->workflow_count; i++)
        names[n++] = c->agents->workflows[i].name.p;
    names[n] = NULL;
    return config_nearest(name, names);
}

const char *agents_strategy_name(enum config_strategy s)
{
    return NAME_OF(s, "native", "react", "classic");
}
