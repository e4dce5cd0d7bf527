/* effect.c - replays logged effects and appends new ones.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/run_state.h"

#include "base/sha256.h"
#include "base/utf8.h"

#define KEY_HEX 32

int64_t run_now_us(const struct run *r)
{
    return clock_wall_ms(r->o->clock) * 1000;
}

bool run_cancelled(const struct run *r)
{
    return r->o->cancel && atomic_load(r->o->cancel);
}

bool run_break(struct run *r, const struct err *e)
{
    pthread_mutex_lock(&r->lock);
    if (!r->broken) {
        r->broken = true;
        r->err = *e;
    }
    pthread_mutex_unlock(&r->lock);
    return false;
}

static void agent_effect_feed(struct sha256 *h, str s)
{
    uint64_t n = s.n;

    sha256_feed(h, (str){(const char *)&n, sizeof n});
    sha256_feed(h, s);
}

str effect_masked(struct run *r, str json)
{
    struct buf out;

    buf_init(&out, 4 * json.n + 65536);
    if (r->o->mask && json.n && mask_json(r->o->mask, json, &out, NULL))
        json = buf_full(&out) ? STR("{}") : arena_dup(r->arena, buf_str(&out));
    buf_release(&out);
    return json;
}

/* The key is computed from masked text, which the log has, so a run that resumes from the log makes
 * the same requests. */
str effect_key(struct run *r, int64_t seq, str kind, str name, str asked)
{
    uint8_t digest[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];
    struct sha256 h;
    struct buf masked;

    buf_init(&masked, 2 * asked.n + 65536);
    if (r->o->mask && asked.n && mask_json(r->o->mask, asked, &masked, NULL))
        asked = buf_str(&masked);
    sha256_init(&h);
    agent_effect_feed(&h, r->o->run);
    agent_effect_feed(&h, (str){(const char *)&seq, sizeof seq});
    agent_effect_feed(&h, kind);
    agent_effect_feed(&h, name);
    agent_effect_feed(&h, asked);
    sha256_finish(&h, digest);
    buf_release(&masked);
    return arena_dup(r->arena, str_slice(sha256_hex(digest, hex), 0, KEY_HEX));
}

/* By seq, ascending. */
struct agent_effect *effect_at(const struct run *r, int64_t seq)
{
    size_t low = 0, high = r->logged_count;

    assert(!r->logged_count || r->logged);

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (r->logged[mid].seq < seq)
            low = mid + 1;
        else
            high = mid;
    }
    assert_slow(low == 0 || r->logged[low - 1].seq < seq);
    return low < r->logged_count && r->logged[low].seq == seq ? &r->logged[low] : NULL;
}

bool effect_missing(struct run *r, int64_t seq)
{
    struct err e;

    err_set(&e, ERR_NOT_FOUND, "the log of this run ends before effect %lld", (long long)seq);
    return run_break(r, &e);
}

bool effect_logged(const struct run *r, int64_t seq)
{
    return effect_at(r, seq) != NULL;
}

enum known effect_find(struct run *r, int64_t seq, str kind, str key, struct agent_effect **out)
{
    struct agent_effect *f = effect_at(r, seq);
    struct err e;

    *out = f;
    assert(!f || str_eq(f->run, r->o->run));
    if (!f) {
        if (r->o->replay)
            (void)effect_missing(r, seq);
        return KNOWN_NOT;
    }
    if (!str_eq(f->kind, kind) || !str_eq(f->key, key)) {
        err_input(&e,
                  "replay_mismatch: effect %lld of the log is another one (" STR_FMT " " STR_FMT
                  "): was the prompt, the model or a tool changed?",
                  (long long)seq,
                  STR_ARG(f->kind),
                  STR_ARG(f->name));
        run_break(r, &e);
        return KNOWN_NOT;
    }
    return f->state == AGENT_DONE ? KNOWN_DONE : KNOWN_BEGUN;
}

bool effect_put(struct run *r, const struct agent_effect *f)
{
    struct err e;

    if (r->o->log && !agent_log_put(r->o->log, f, 1, &e))
        return run_break(r, &e);
    if (r->o->on_effect)
        r->o->on_effect(r->o->ctx, f);
    return true;
}

void effect_hold(struct run *r, const struct agent_effect *f)
{
    struct agent_effect *to = &r->held[r->held_count];

    assert(r->held_count <= COUNT_OF(r->held) && f->state == AGENT_DONE);
    if (r->held_count == COUNT_OF(r->held)) {
        (void)effect_flush(r, f, 1, NULL);
        return;
    }
    *to = *f;
    to->result = arena_dup(r->arena, f->result);
    r->held_count++;
}

bool effect_flush(struct run *r, const struct agent_effect *effects, size_t n,
                  const struct agent_row *row)
{
    size_t count = r->held_count + n;
    struct agent_effect *all = arena_zero(r->arena, count + 1, sizeof *all);
    struct err e;

    assert(r->held_count <= COUNT_OF(r->held) && (n == 0 || effects));
    for (size_t i = 0; i < count; i++)
        all[i] = i < r->held_count ? r->held[i] : effects[i - r->held_count];
    r->held_count = 0;
    if (r->o->log && (count || row) && !agent_log_put_with(r->o->log, all, count, row, &e))
        return run_break(r, &e);
    for (size_t i = 0; r->o->on_effect && i < count; i++)
        r->o->on_effect(r->o->ctx, &all[i]);
    return true;
}

/* ---- a person's decision ---- */

static struct agent_effect *effect_find_question(struct agent_effect *all, size_t n, int64_t seq)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].seq == seq && str_eq(all[i].kind, STR("approval")))
            return &all[i];
    return NULL;
}

static void agent_decision_write_note(struct buf *out, const struct agent_decision *d)
{
    str note = utf8_cut_count(str_trim(d->note), AGENT_NOTE_MAX);
    struct buf masked;

    assert(note.n <= d->note.n);
    if (!note.n)
        return;
    buf_init(&masked, 4 * note.n + 65536);
    if (d->mask && mask_text(d->mask, note, &masked, NULL))
        note = buf_str(&masked);
    buf_add(out, STR(",\"note\":"));
    (void)json_quote(out, note);
    buf_release(&masked);
}

/* The id tells two equal decisions of one millisecond apart. */
static void agent_decision_write(struct buf *out, const struct agent_decision *d, str why)
{
    uint64_t id;

    rand_os(&id, sizeof id);
    buf_printf(out,
               "{\"word\":\"%s\",\"id\":\"%016llx\",\"who\":",
               NAME_OF(d->word, "approve", "deny", "change"),
               (unsigned long long)id);
    (void)json_quote(out, d->who);
    buf_add(out, STR(",\"why\":"));
    (void)json_quote(out, why);
    if (d->word == AGENT_CHANGE) {
        buf_add(out, STR(",\"arguments\":"));
        (void)json_quote(out, d->arguments);
    }
    agent_decision_write_note(out, d);
    buf_printf(out, ",\"at_us\":%lld}", (long long)d->now_us);
}

bool run_wake(struct agent_log *log, str run, struct arena *a, int64_t now_us, struct err *e)
{
    struct agent_row row;

    if (!agent_log_run_get(log, run, a, &row, e))
        return false;
    row.from = STR("waiting");
    row.status = STR("running");
    row.updated_us = now_us;
    if (!agent_log_run_put(log, &row, e) || !agent_log_run_get(log, run, a, &row, e))
        return false;
    return str_eq(row.status, STR("running")) || str_eq(row.status, STR("waiting")) ||
           err_set(e,
                   ERR_CONFLICT,
                   "the run has ended (" STR_FMT ") and takes nothing more: start a new run",
                   STR_ARG(row.status));
}

bool agent_keep_cancel(struct agent_log *log, str run, int64_t now_us, struct err *e)
{
    struct agent_row row;
    struct arena a;
    bool ok;

    arena_init(&a, (size_t)1 << 30);
    ok = agent_log_run_get(log, run, &a, &row, e);
    if (ok) {
        row.from = STR("running");
        row.status = STR("running");
        row.reason = STR(AGENT_CANCEL_ASKED);
        row.updated_us = now_us;
        row.care = AGENT_ON_DISK;
        ok = agent_log_run_put(log, &row, e);
    }
    arena_release(&a);
    return ok;
}

bool agent_answer(struct agent_log *log, str run, int64_t seq, const struct agent_decision *d,
                  struct err *e)
{
    struct agent_effect *all, *f = NULL, done;
    struct arena a;
    struct buf out;
    size_t n = 0;
    bool ok;

    arena_init(&a, (size_t)1 << 30);
    buf_init(&out, TOOL_RESULT_MAX);
    ok = agent_log_read(log, run, &a, &all, &n, e);
    if (ok && !(f = effect_find_question(all, n, seq)))
        ok = err_set(e, ERR_NOT_FOUND, "nothing of this run waits for an answer there");
    if (f && f->state == AGENT_DONE)
        ok = err_input(e, "this call was decided on already");
    ok = ok && f && run_wake(log, run, &a, d->now_us, e);
    if (ok) {
        assert(f->seq == seq && f->state == AGENT_INTENT);
        agent_decision_write(&out, d, f->result);
        done = *f;
        done.state = AGENT_DONE;
        done.result = buf_str(&out);
        done.ended_us = d->now_us;
        done.outside = true;
        ok = buf_ok(&out, "the answer", e) && agent_log_put(log, &done, 1, e) &&
             agent_log_read(log, run, &a, &all, &n, e);
    }
    /* If two answers arrive at once, the first one stays. */
    if (ok && (!(f = effect_find_question(all, n, seq)) || !str_eq(f->result, buf_str(&out))))
        ok = err_input(e, "this call was decided on already");
    buf_release(&out);
    arena_release(&a);
    return ok;
}
