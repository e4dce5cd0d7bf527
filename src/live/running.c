/* running.c - lists the running calls once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "live/internal.h"

size_t hub_running(struct hub *h, str session, bool (*fn)(void *ctx, const struct hub_running *r),
                   void *ctx)
{
    struct hub_channel *of;
    struct map_entry *found;
    struct hub_call *c;
    bool go_on = true;
    size_t n = 0;

    hub_lock(h, NULL);
    hub_calls_enter(h);
    found = session.n ? map_find(&h->sessions, session) : NULL;
    of = found ? found->value.ptr : NULL;
    c = session.n ? (of ? of->calls : NULL) : h->calls;
    for (; c && go_on; c = session.n ? c->session_next : c->next, n++) {
        struct hub_running r;

        pthread_mutex_lock(&c->lock);
        hub_call_open(c);
        r = (struct hub_running){c->about->id,
                                 c->about->session,
                                 c->about->key,
                                 c->about->subject,
                                 c->about->dialect,
                                 c->about->model,
                                 c->about->provider,
                                 c->about->level,
                                 c->about->asked,
                                 c->about->cap,
                                 c->b.started_us,
                                 c->progress.reasoning_tokens,
                                 c->progress.state,
                                 c->about->stream};
        pthread_mutex_unlock(&c->lock);
        go_on = fn(ctx, &r);
    }
    hub_unlock(h);
    return n;
}
