/* work.c - see work.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/work.h"

#include "agent/run_state.h"

#define BODY_MAX ((size_t)64 << 20)
#define NOTE_MAX ((size_t)16 << 20)
#define NO_ANSWER                                                                                  \
    "Your last reply to this had no answer: it was empty, or all of it was reasoning that was "    \
    "never closed. Write the answer itself."

struct agent_work {
    struct run r;
    struct agent_options o;
};

static void agent_work_free(struct agent_work *w)
{
    history_release(&w->r.history);
    buf_release(&w->r.tools);
    pthread_mutex_destroy(&w->r.lock);
    free(w);
}

bool agent_work_begin(const struct agent_options *o, struct arena *a, struct agent_result *out,
                      struct agent_work **result, struct err *e)
{
    struct agent_work *w = base_alloc(sizeof *w);

    *w = (struct agent_work){.o = *o, .r = {.arena = a, .out = out}};
    w->r.o = &w->o;
    *out = (struct agent_result){.reason = STR(""),
                                 .detail = STR(""),
                                 .text = STR(""),
                                 .finish = STR(""),
                                 .messages = STR("")};
    history_init(&w->r.history, 2);
    buf_init(&w->r.tools, BODY_MAX);
    pthread_mutex_init(&w->r.lock, NULL);
    if (o->tools)
        toolbox_write(o->tools, &w->r.tools);
    if (run_open(&w->r)) {
        agent_record_begin(&w->r);
        *result = w;
        return true;
    }
    *e = w->r.err;
    agent_work_free(w);
    return false;
}

bool agent_work_within(struct agent_work *w)
{
    return !w->r.broken && run_within(&w->r);
}

static void agent_work_message(struct buf *out, const char *role, str text, bool more)
{
    buf_printf(out, "{\"role\":\"%s\",\"content\":", role);
    (void)json_quote(out, text);
    buf_add(out, more ? STR("},") : STR("}"));
}

bool agent_work_ask(struct agent_work *w, const struct agent_prompt *p, struct ask_reply *reply)
{
    struct run *r = &w->r;
    struct buf body;
    struct err e;
    bool ok;

    if (r->broken || run_cancelled(r))
        return !r->broken && run_within(r);
    buf_init(&body, BODY_MAX);
    buf_add(&body, STR("{\"model\":"));
    (void)json_quote(&body, w->o.model_name);
    if (p->extra.n) {
        buf_add_c(&body, ',');
        buf_add(&body, p->extra);
    }
    buf_add(&body, STR(",\"messages\":["));
    if (p->system.n)
        agent_work_message(&body, "system", p->system, true);
    agent_work_message(&body, "user", p->user, false);
    buf_add(&body, STR("]}"));
    ok = buf_ok(&body, "the prompt", &e) || run_break(r, &e);
    r->what = p->what;
    r->reader = p->reader;
    r->quiet = p->quiet;
    ok = ok && run_think(r, buf_str(&body), p->level, reply) && effect_flush(r, NULL, 0, NULL);
    buf_release(&body);
    if (ok) {
        r->out->iterations++;
        r->reply_id = reply->id;
    }
    return ok;
}

bool agent_work_answer(struct agent_work *w, const struct agent_prompt *p, struct ask_reply *reply)
{
    struct agent_prompt again = *p;

    if (!agent_work_ask(w, p, reply))
        return false;
    if (reply->text.n)
        return true;
    again.user = arena_join(w->r.arena, p->user, STR("\n\n"), STR(NO_ANSWER));
    return agent_work_ask(w, &again, reply);
}

bool agent_work_act(struct agent_work *w, const struct ask_call *calls, size_t n,
                    struct agent_done *out)
{
    struct ask_reply reply = {.call_count = n};

    assert(!n || calls);
    reply.calls = arena_zero(w->r.arena, n + 1, sizeof *reply.calls);
    for (size_t i = 0; i < n; i++)
        reply.calls[i] = calls[i];
    if (w->r.broken || run_cancelled(&w->r))
        return !w->r.broken && run_within(&w->r);
    return turn_do(&w->r, &reply, out);
}

static bool agent_make_now(struct run *r, struct agent_effect *f,
                           bool (*make)(void *ctx, struct buf *out, struct err *e), void *ctx,
                           struct agent_done *out)
{
    struct buf made;
    struct err e;

    assert(f->state != AGENT_DONE);
    if (!effect_put(r, f))
        return false;
    buf_init(&made, NOTE_MAX);
    out->ok = make(ctx, &made, &e) && buf_ok(&made, f->name.p, &e);
    out->result = arena_dup(r->arena, out->ok ? buf_str(&made) : str_c(e.text));
    buf_release(&made);
    if (!out->ok && e.code == ERR_CANCELLED && run_cancelled(r))
        return run_within(r); /* the effect's end is not logged */
    f->state = AGENT_DONE;
    f->failed = !out->ok;
    f->result = out->result;
    f->ended_us = run_now_us(r);
    return effect_put(r, f);
}

bool agent_work_once(struct agent_work *w, str name, str asked,
                     bool (*make)(void *ctx, struct buf *out, struct err *e), void *ctx,
                     struct agent_done *out)
{
    struct run *r = &w->r;
    struct agent_effect *f, fresh = {.run = r->o->run,
                                     .seq = r->seq++,
                                     .kind = STR("note"),
                                     .name = arena_dup(r->arena, name),
                                     .request = asked,
                                     .result = STR(""),
                                     .started_us = run_now_us(r)};
    enum known known;

    assert(name.n > 0);
    *out = (struct agent_done){.result = STR("")};
    if (r->broken)
        return false;
    fresh.key = effect_key(r, fresh.seq, fresh.kind, name, asked);
    known = effect_find(r, fresh.seq, fresh.kind, fresh.key, &f);
    if (r->broken)
        return false;
    if (known != KNOWN_DONE)
        return agent_make_now(r, &fresh, make, ctx, out);
    out->ok = !f->failed;
    out->result = f->result;
    return true;
}

bool agent_work_end(struct agent_work *w, str report, struct err *e)
{
    bool ok;

    if (!w->r.broken) {
        w->r.ended_us = run_now_us(&w->r);
        agent_record_end(&w->r);
        (void)run_close(&w->r, report);
    }
    ok = !w->r.broken;
    if (!ok)
        *e = w->r.err;
    agent_work_free(w);
    return ok;
}
