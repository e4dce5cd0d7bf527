/* pipe.c - the child process: the loop reads it, callers write to it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mcp/pipe.h"

#include "base/log.h"
#include "base/proc.h"
#include "mcp/rpc.h"
#include "net/frames.h"

#include <errno.h>
#include <poll.h>
#include <strings.h>
#include <unistd.h>

#define SAID_MAX 160 /* bytes of standard error that an error text quotes */
#define READS_MAX 16 /* in a row, so that one child cannot occupy the loop */
#define LOOK_MS 50   /* how often a thread that writes checks whether it should stop */
#define OTHERS_MAX MCP_MESSAGE_MAX /* bytes that wait for on_other */

struct mcp_pipe {
    struct mcp_io *io;
    struct proc proc;
    void (*on_other)(void *ctx, str line);
    void *ctx;
    pthread_mutex_t write_lock, lock; /* lock: protects the members below */
    struct mcp_wait *waits;
    bool dead;
    struct err why;
    size_t others_size; /* that wait for on_other */
    /* Used by the loop: */
    struct loop_watch out, err;
    struct loop_task more_out, more_err; /* reading continues in the next round */
    struct frames frames;
    struct json doc;
    struct arena arena;
    size_t tail_size;
    char tail[MCP_PIPE_STDERR_MAX]; /* the end of standard error */
    bool watching;
    struct err *watch_error; /* where mcp_pipe_new expects the reason of a failure */
};

/* ---- incoming messages ---- */

struct other {
    struct mcp_pipe *pipe;
    struct buf line;
};

static void mcp_pipe_deliver_other(void *ctx)
{
    struct other *o = ctx;
    struct mcp_pipe *p = o->pipe;

    p->on_other(p->ctx, buf_str(&o->line));
    pthread_mutex_lock(&p->lock);
    assert(p->others_size >= sizeof *o + o->line.n);
    p->others_size -= sizeof *o + o->line.n;
    pthread_mutex_unlock(&p->lock);
    buf_release(&o->line);
    free(o);
}

/* The call that a message belongs to: by its id, or by its progress token. */
static str mcp_owner_of(struct mcp_pipe *p, const struct mcp_message *m)
{
    const struct json_node *token;

    if (m->kind == MCP_RESULT || m->kind == MCP_ERROR)
        return m->id;
    if (m->kind != MCP_NOTIFICATION || !str_eq(m->method, STR("notifications/progress")))
        return STR("");
    token = json_find(&p->doc, m->params, STR("progressToken"));
    return token ? json_raw(&p->doc, token) : STR("");
}

static void mcp_pipe_set_dead(struct mcp_pipe *p, const struct err *why)
{
    assert(why->code != ERR_NONE);
    pthread_mutex_lock(&p->lock);
    if (!p->dead) {
        p->dead = true;
        p->why = *why;
        for (struct mcp_wait *w = p->waits; w; w = w->next)
            mcp_inbox_fail(&w->inbox, why);
    }
    pthread_mutex_unlock(&p->lock);
}

/* Passes a message that belongs to no call to the helper's thread. If that thread is too slow,
 * notifications are dropped; requests are not, because the server would wait forever. */
static void mcp_pipe_queue_other(struct mcp_pipe *p, enum mcp_kind kind, str line)
{
    struct other *o;
    struct err e;
    bool fits;

    pthread_mutex_lock(&p->lock);
    fits = p->others_size <= OTHERS_MAX;
    if (fits)
        p->others_size += sizeof *o + line.n;
    pthread_mutex_unlock(&p->lock);
    if (fits) {
        o = base_alloc(sizeof *o);
        o->pipe = p;
        buf_init(&o->line, MCP_MESSAGE_MAX);
        buf_add(&o->line, line);
        assert(o->line.n == line.n);
        mcp_io_later(p->io, mcp_pipe_deliver_other, o);
    } else if (kind == MCP_REQUEST) {
        err_set(&e, ERR_LIMIT, "the MCP server sends requests faster than they are answered");
        mcp_pipe_set_dead(p, &e);
    }
}

/* An invalid reply is passed to its call, too, which then need not wait for a valid one. */
static str mcp_pipe_invalid_owner(struct mcp_pipe *p, const struct mcp_fault *fault)
{
    log_debug("mcp server sent an invalid message", LOG_TEXT("why", fault->why.text));
    return fault->id.n && !json_find(&p->doc, json_root(&p->doc), STR("method")) ? fault->id
                                                                                 : STR("");
}

static void mcp_pipe_on_line(void *ctx, const struct frames_frame *frame)
{
    struct mcp_pipe *p = ctx;
    struct mcp_message m;
    struct mcp_fault fault;
    struct mcp_wait *w;
    bool valid;
    str owner;

    if (!frame->data.n)
        return;
    arena_reset(&p->arena);
    valid = mcp_read(&p->doc, frame->data, &p->arena, &m, &fault);
    owner = valid ? mcp_owner_of(p, &m) : mcp_pipe_invalid_owner(p, &fault);
    pthread_mutex_lock(&p->lock);
    for (w = p->waits; w && !str_eq(w->id, owner); w = w->next)
        ;
    if (!valid && p->waits && !p->waits->next && mcp_is_broken_reply(frame->data, &fault))
        w = p->waits; /* its id cannot be read, but no other call waits */
    if (w)
        mcp_inbox_put(&w->inbox, 0, frame->data);
    pthread_mutex_unlock(&p->lock);
    if (!w && valid && (m.kind == MCP_REQUEST || m.kind == MCP_NOTIFICATION))
        mcp_pipe_queue_other(p, m.kind, frame->data);
}

/* The most useful part of standard error: from the first line that begins with "Error", else its
 * end. A program may print its usage after the error. */
static str mcp_pipe_last_words(const struct mcp_pipe *p)
{
    str all = str_trim((str){p->tail, p->tail_size}), rest = all;

    for (; rest.n; (void)str_cut(&rest, '\n'))
        if (rest.n >= 5 && strncasecmp(rest.p, "error", 5) == 0)
            return str_slice(rest, 0, rest.n < SAID_MAX ? rest.n : SAID_MAX);
    return str_slice(all, all.n > SAID_MAX ? all.n - SAID_MAX : 0, all.n);
}

static void mcp_pipe_mark_dead(struct mcp_pipe *p, enum err_code code, const char *why)
{
    str tail = mcp_pipe_last_words(p);
    struct err e;

    assert(p->tail_size <= sizeof p->tail);
    err_set(
        &e, code, "the MCP server %s%s" STR_FMT, why, tail.n ? "; it said: " : "", STR_ARG(tail));
    mcp_pipe_set_dead(p, &e);
}

static void mcp_keep_tail(struct mcp_pipe *p, str bytes)
{
    size_t drop;

    assert(p->tail_size <= sizeof p->tail);
    if (bytes.n > sizeof p->tail)
        bytes = str_slice(bytes, bytes.n - sizeof p->tail, bytes.n);
    drop = p->tail_size + bytes.n > sizeof p->tail ? p->tail_size + bytes.n - sizeof p->tail : 0;
    memmove(p->tail, p->tail + drop, p->tail_size - drop);
    p->tail_size -= drop;
    assert(bytes.n <= sizeof p->tail - p->tail_size);
    memcpy(p->tail + p->tail_size, bytes.p, bytes.n);
    p->tail_size += bytes.n;
}

static void mcp_pipe_read_err(void *ctx)
{
    struct mcp_pipe *p = ctx;
    char *bytes = loop_scratch(mcp_io_loop(p->io));

    for (int i = 0; i < READS_MAX; i++) {
        ssize_t n = read(p->proc.err, bytes, LOOP_SCRATCH_SIZE);

        if (n > 0)
            mcp_keep_tail(p, (str){bytes, (size_t)n});
        else if (n == 0 || errno != EINTR)
            return;
    }
    loop_yield(mcp_io_loop(p->io), &p->more_err);
}

static void mcp_on_err(void *ctx, unsigned ready)
{
    (void)ready;
    mcp_pipe_read_err(ctx);
}

static void mcp_pipe_read_out(void *ctx)
{
    struct mcp_pipe *p = ctx;
    char *bytes = loop_scratch(mcp_io_loop(p->io));

    for (int i = 0; i < READS_MAX; i++) {
        ssize_t n = read(p->proc.out, bytes, LOOP_SCRATCH_SIZE);

        if (n > 0) {
            frames_feed(&p->frames, (str){bytes, (size_t)n});
            if (p->frames.full) {
                mcp_pipe_mark_dead(p, ERR_LIMIT, "sent a line that is too long");
                return;
            }
        } else if (n == 0) {
            frames_finish(&p->frames);
            mcp_pipe_read_err(p);
            mcp_pipe_mark_dead(p, ERR_UPSTREAM, "has ended");
            return;
        } else if (errno != EINTR) {
            return;
        }
    }
    loop_yield(mcp_io_loop(p->io), &p->more_out);
}

static void mcp_on_out(void *ctx, unsigned ready)
{
    (void)ready;
    mcp_pipe_read_out(ctx);
}

/* ---- life ---- */

static void mcp_pipe_watch(void *ctx)
{
    struct mcp_pipe *p = ctx;
    struct loop *l = mcp_io_loop(p->io);

    loop_watch_init(&p->out, p->proc.out, mcp_on_out, p);
    loop_watch_init(&p->err, p->proc.err, mcp_on_err, p);
    loop_task_init(&p->more_out, mcp_pipe_read_out, p);
    loop_task_init(&p->more_err, mcp_pipe_read_err, p);
    p->watching = loop_watch_add(l, &p->out, LOOP_IN, p->watch_error) &&
                  loop_watch_add(l, &p->err, LOOP_IN, p->watch_error);
    mcp_on_out(p, LOOP_IN); /* edge-triggered events may have been missed */
    mcp_on_err(p, LOOP_IN);
}

static void mcp_pipe_remove_watches(void *ctx)
{
    struct mcp_pipe *p = ctx;
    struct loop *l = mcp_io_loop(p->io);

    if (p->out.want)
        loop_watch_remove(l, &p->out);
    if (p->err.want)
        loop_watch_remove(l, &p->err);
    loop_drop(l, &p->more_out);
    loop_drop(l, &p->more_err);
}

static void mcp_flush_helper(void *ctx)
{
    struct mcp_inbox *done = ctx;

    mcp_inbox_put(done, 0, STR(""));
}

struct mcp_pipe *mcp_pipe_new(struct mcp_io *io, const struct mcp_pipe_spec *spec,
                              void (*on_other)(void *ctx, str line), void *ctx, struct err *e)
{
    struct proc_spec child = {.argv = spec->argv, .env = spec->env, .cwd = spec->cwd};
    struct mcp_pipe *p = base_alloc(sizeof *p);

    *p = (struct mcp_pipe){.io = io, .on_other = on_other, .ctx = ctx, .watch_error = e};
    if (!proc_spawn(&p->proc, &child, e)) {
        free(p);
        return NULL;
    }
    pthread_mutex_init(&p->lock, NULL);
    pthread_mutex_init(&p->write_lock, NULL);
    json_init(&p->doc);
    arena_init(&p->arena, 4 * MCP_MESSAGE_MAX);
    frames_init(
        &p->frames, FRAMES_LINES, MCP_MESSAGE_MAX, (struct frames_sink){mcp_pipe_on_line, p});
    mcp_io_do(io, mcp_pipe_watch, p);
    if (p->watching)
        return p;
    mcp_pipe_free(p);
    return NULL;
}

void mcp_pipe_free(struct mcp_pipe *p)
{
    struct proc_status status;
    struct mcp_inbox done;
    struct err e;

    proc_close_in(&p->proc);
    if (!proc_wait(&p->proc, MCP_PIPE_GRACE_MS, &status, &e))
        proc_stop(&p->proc, MCP_PIPE_GRACE_MS, NULL);
    mcp_io_do(p->io, mcp_pipe_remove_watches, p);
    /* Its last message may still be on its way to on_other. */
    mcp_inbox_init(&done, 64);
    mcp_io_later(p->io, mcp_flush_helper, &done);
    free(mcp_inbox_take(&done, CLOCK_NEVER, NULL, &e));
    mcp_inbox_release(&done);
    proc_release(&p->proc);
    frames_release(&p->frames);
    json_release(&p->doc);
    arena_release(&p->arena);
    pthread_mutex_destroy(&p->lock);
    pthread_mutex_destroy(&p->write_lock);
    free(p);
}

void mcp_pipe_end_calls(struct mcp_pipe *p)
{
    struct err e;

    err_set(&e, ERR_CANCELLED, "the MCP client is closed");
    mcp_pipe_set_dead(p, &e);
}

bool mcp_pipe_alive(struct mcp_pipe *p)
{
    bool alive;

    pthread_mutex_lock(&p->lock);
    alive = !p->dead;
    pthread_mutex_unlock(&p->lock);
    return alive;
}

/* ---- calls ---- */

void mcp_pipe_expect(struct mcp_pipe *p, struct mcp_wait *w, str id)
{
    *w = (struct mcp_wait){.pipe = p, .id = id};
    mcp_inbox_init(&w->inbox, 2 * MCP_MESSAGE_MAX);
    pthread_mutex_lock(&p->lock);
    if (p->dead)
        mcp_inbox_fail(&w->inbox, &p->why);
    w->next = p->waits;
    p->waits = w;
    pthread_mutex_unlock(&p->lock);
}

void mcp_pipe_forget(struct mcp_wait *w)
{
    struct mcp_wait **at = &w->pipe->waits;

    pthread_mutex_lock(&w->pipe->lock);
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    pthread_mutex_unlock(&w->pipe->lock);
    free(w->item);
    mcp_inbox_release(&w->inbox);
}

/* Whether to continue writing. A message that has begun must be completed, or the next one would be
 * read as a part of it. */
static bool mcp_pipe_may_write(struct mcp_pipe *p, bool begun, const _Atomic bool *cancel,
                               struct err *e)
{
    bool dead;

    pthread_mutex_lock(&p->lock);
    dead = p->dead;
    if (dead)
        *e = p->why;
    pthread_mutex_unlock(&p->lock);
    if (!dead && !begun && cancel && atomic_load(cancel))
        return err_set(e, ERR_CANCELLED, "cancelled");
    return !dead;
}

static bool mcp_pipe_write_all(struct mcp_pipe *p, str bytes, uint64_t deadline_ns,
                               const _Atomic bool *cancel, struct err *e)
{
    for (size_t at = 0; at < bytes.n;) {
        ssize_t n;

        if (!mcp_pipe_may_write(p, at > 0, cancel, e))
            return false;
        n = write(p->proc.in, bytes.p + at, bytes.n - at);
        if (n >= 0) {
            at += (size_t)n;
        } else if (errno == EAGAIN) {
            struct pollfd fd = {.fd = p->proc.in, .events = POLLOUT};

            if (clock_mono_ns(&clock_real) >= deadline_ns) {
                err_set(e, ERR_TIMEOUT, "the MCP server does not read its input");
                if (at > 0)
                    mcp_pipe_set_dead(p, e);
                return false;
            }
            (void)poll(&fd, 1, LOOK_MS);
        } else if (errno != EINTR) {
            return err_set(e, ERR_UPSTREAM, "the MCP server has closed its input");
        }
    }
    return true;
}

bool mcp_pipe_send(struct mcp_pipe *p, str line, uint64_t deadline_ns, const _Atomic bool *cancel,
                   struct err *e)
{
    struct buf b;
    bool ok;

    assert(!memchr(line.p, '\n', line.n));
    if (!clock_mutex_lock(&p->write_lock, deadline_ns))
        return err_set(e, ERR_TIMEOUT, "the MCP server does not read its input");
    buf_init(&b, 4 * MCP_MESSAGE_MAX);
    buf_add(&b, line);
    buf_add_c(&b, '\n');
    ok = buf_ok(&b, "the message", e) && mcp_pipe_write_all(p, buf_str(&b), deadline_ns, cancel, e);
    pthread_mutex_unlock(&p->write_lock);
    buf_release(&b);
    return ok;
}

bool mcp_pipe_next(struct mcp_wait *w, uint64_t deadline_ns, const _Atomic bool *cancel, str *line,
                   struct err *e)
{
    struct mcp_item *item = mcp_inbox_take(&w->inbox, deadline_ns, cancel, e);

    if (!item)
        return false;
    free(w->item);
    w->item = item;
    *line = (str){item->bytes, item->n};
    return true;
}
