/* version.c - chooses the prompt version of an investigation, which never changes afterwards.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/engine.h"

/* A compiled-in version may have changed since the run; then the log does not match, and the run
 * ends with that error. */
static bool incident_version_as_started(struct incident *in, struct registry *r, str id,
                                        struct prompt *out, struct err *e)
{
    prompt_built_in(&incidents_built_in, in->arena, out);
    if (!id.n || str_eq(id, out->id) || registry_get(r, id, in->arena, out, e))
        return true;
    if (e->code != ERR_NOT_FOUND)
        return false;
    log_warn(
        "the prompt of a run no longer exists", LOG_STR("run", in->o->run), LOG_STR("prompt", id));
    return true;
}

bool version_choose(struct incident *in, str input, struct err *e)
{
    struct incident_options begun;
    struct registry *r = NULL;
    struct prompt p;
    bool ok;

    assert(!in->role.n); /* a run uses one version */
    if (in->o->prompt) {
        prompt_use(in, in->o->prompt);
        return true;
    }
    ok = registry_open(in->config->store_url, in->o->host->clock, &r, e);
    if (ok && !input.n)
        registry_in_force(r, &incidents_built_in, in->arena, &p);
    else if (ok)
        ok = incident_input_read(input, in->arena, &begun, e) &&
             incident_version_as_started(in, r, begun.prompt_id, &p, e);
    if (ok)
        prompt_use(in, &p);
    registry_close(r);
    return ok;
}
