/* server_hands.c - runs the tools of the HTTP server on threads, several at once.
 *
 * Only the loop's thread uses the core. It checks a call and passes it to a thread with copies of
 * all that the tool needs. The thread runs the tool and posts letters: messages to send, and
 * finally the result. The loop handles the letters in order. In the meantime a client may
 * disconnect and a session may end; then the tool still runs to its end, and the result is dropped.
 * A call that is cancelled while it waits for a thread does not run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mcp/serving.h"
#include "net/loop.h"

#define HANDS 8
#define JOBS_MAX 256 /* calls that wait or run */
/* Bytes of letters that the loop has not handled. A tool that sends more waits for the loop. */
#define LETTERS_BYTES_MAX ((size_t)4 << 20)

struct letter {
    struct job *job;
    struct letter *next;
    size_t size;
    bool done; /* the tool has ended; the last letter */
    char text[];
};

struct job {
    struct mcp_channel channel; /* first; the tool sends on it */
    struct mcp_channel *to;     /* the loop's alone; NULL once the client has left */
    struct mcp_hands *hands;
    const struct mcp_ready_tool *tool;
    struct arena arena;
    struct json doc;
    struct mcp_message message;
    struct mcp_answer answer;
    struct mcp_ask ask;
    struct mcp_session *session;
    char session_id[RAND_ID_SIZE];
    struct job *queued;      /* the next one that waits for a thread */
    struct job *next, *prev; /* of all */
};

struct mcp_hands {
    struct mcp_server *server;
    struct loop *loop;
    struct loop_task open; /* the letters */
    struct job *jobs;      /* used by the loop only */
    size_t count;
    pthread_t threads[HANDS];
    pthread_mutex_t lock; /* protects the members below */
    pthread_cond_t work, room;
    struct job *first, *last;
    struct letter *letters, *last_letter;
    size_t letters_bytes;
    bool stop;
};

/* ---- on a thread ---- */

static void mcp_write_letter(struct job *j, str text, bool done)
{
    struct mcp_hands *h = j->hands;
    struct letter *l = base_alloc(sizeof *l + text.n);
    bool first;

    *l = (struct letter){.job = j, .size = text.n, .done = done};
    if (text.n)
        memcpy(l->text, text.p, text.n);
    pthread_mutex_lock(&h->lock);
    while (h->letters_bytes > LETTERS_BYTES_MAX && !h->stop)
        pthread_cond_wait(&h->room, &h->lock);
    h->letters_bytes += text.n;
    assert(!h->letters == !h->last_letter);
    first = !h->letters;
    if (first)
        h->letters = l;
    else
        h->last_letter->next = l;
    h->last_letter = l;
    pthread_mutex_unlock(&h->lock);
    if (first)
        loop_post(h->loop, &h->open);
}

static void mcp_send_later(struct mcp_channel *c, str json)
{
    mcp_write_letter((struct job *)(void *)c, json, false);
}

static void *mcp_server_hands_work(void *arg)
{
    struct mcp_hands *h = arg;

    for (;;) {
        struct job *j;

        pthread_mutex_lock(&h->lock);
        while (!h->first && !h->stop)
            pthread_cond_wait(&h->work, &h->lock);
        j = h->stop ? NULL : h->first;
        if (j) {
            h->first = j->queued;
            if (!h->first)
                h->last = NULL;
        }
        pthread_mutex_unlock(&h->lock);
        if (!j)
            return NULL;
        j->tool->tool->run(j->tool->ctx, &j->ask, &j->answer);
        mcp_write_letter(j, STR(""), true);
    }
}

/* ---- on the loop ---- */

static void mcp_server_hands_job_free(struct job *j)
{
    struct mcp_hands *h = j->hands;

    assert(h->count > 0 && (j->prev || h->jobs == j));
    if (j->prev)
        j->prev->next = j->next;
    else
        h->jobs = j->next;
    if (j->next)
        j->next->prev = j->prev;
    h->count--;
    mcp_answer_release(&j->answer);
    json_release(&j->doc);
    arena_release(&j->arena);
    free(j);
}

static void mcp_end_without_session(struct job *j)
{
    struct buf out;

    assert(j->to);
    buf_init(&out, MCP_MESSAGE_MAX);
    mcp_emit_error(
        &out, j->message.id, MCP_SESSION_NOT_FOUND, STR("the session was ended"), STR(""));
    j->to->end(j->to, 200, buf_str(&out));
    buf_release(&out);
}

static void job_done(struct job *j)
{
    struct mcp_server *s = j->hands->server;

    assert(j->hands->count > 0);
    if (j->to && j->session &&
        mcp_session_find(s, str_c(j->session_id), j->channel.who) != j->session) {
        mcp_end_without_session(j);
    } else if (j->to) {
        j->answer.channel = j->to;
        mcp_finish(&j->answer, "content");
    }
    mcp_server_hands_job_free(j);
    mcp_notify_changes(s);
}

static void mcp_open_letters(void *ctx)
{
    struct mcp_hands *h = ctx;
    struct letter *l, *next;

    pthread_mutex_lock(&h->lock);
    l = h->letters;
    h->letters = h->last_letter = NULL;
    h->letters_bytes = 0;
    pthread_cond_broadcast(&h->room);
    pthread_mutex_unlock(&h->lock);
    for (; l; l = next) {
        next = l->next;
        if (l->done)
            job_done(l->job);
        else if (l->job->to)
            l->job->to->send(l->job->to, (str){l->text, l->size});
        free(l);
    }
}

static struct job *mcp_server_hands_job_new(struct mcp_hands *h, const struct mcp_answer *r,
                                            const struct mcp_ready_tool *t)
{
    struct job *j = base_alloc(sizeof *j);
    struct mcp_fault fault;

    *j = (struct job){.channel = {.send = mcp_send_later, .who = r->channel->who},
                      .to = r->channel,
                      .hands = h,
                      .tool = t,
                      .session = r->session};
    arena_init(&j->arena, 8 * MCP_MESSAGE_MAX);
    json_init(&j->doc);
    if (!mcp_read(&j->doc, arena_dup(&j->arena, r->doc->src), &j->arena, &j->message, &fault))
        base_die("a message that was read cannot be read again");
    if (r->session)
        memcpy(j->session_id, r->session->id, sizeof j->session_id);
    j->answer = (struct mcp_answer){.server = h->server,
                                    .session = r->session,
                                    .channel = &j->channel,
                                    .doc = &j->doc,
                                    .message = &j->message,
                                    .arena = &j->arena};
    mcp_answer_init(&j->answer);
    j->next = h->jobs;
    if (j->next)
        j->next->prev = j;
    h->jobs = j;
    h->count++;
    assert(h->count <= JOBS_MAX);
    return j;
}

bool mcp_hands_take(struct mcp_hands *h, const struct mcp_answer *r, const struct mcp_ready_tool *t)
{
    struct job *j;

    if (h->count >= JOBS_MAX)
        return false;
    j = mcp_server_hands_job_new(h, r, t);
    if (!mcp_open_ask(&j->answer, &j->ask))
        base_die("a call that was good is not good any more");
    pthread_mutex_lock(&h->lock);
    assert(!h->first == !h->last);
    if (h->last)
        h->last->queued = j;
    else
        h->first = j;
    h->last = j;
    pthread_cond_signal(&h->work);
    pthread_mutex_unlock(&h->lock);
    return true;
}

void mcp_hands_gone(struct mcp_hands *h, const struct mcp_channel *c)
{
    for (struct job *j = h ? h->jobs : NULL; j; j = j->next)
        if (j->to == c)
            j->to = NULL;
}

/* Removes a job from the queue, unless a thread has taken it. */
static bool mcp_hands_unqueue(struct mcp_hands *h, struct job *j)
{
    struct job **at = &h->first, *before = NULL;
    bool queued;

    pthread_mutex_lock(&h->lock);
    for (; *at && *at != j; at = &(*at)->queued)
        before = *at;
    queued = *at == j;
    if (queued) {
        *at = j->queued;
        if (h->last == j)
            h->last = before;
    }
    assert(!h->first == !h->last);
    pthread_mutex_unlock(&h->lock);
    return queued;
}

void mcp_hands_cancel(struct mcp_hands *h, const struct mcp_session *session, str id)
{
    for (struct job *j = h ? h->jobs : NULL, *next; j; j = next) {
        next = j->next;
        if (!j->to || !str_eq(str_c(j->session_id), str_c(session->id)) ||
            !str_eq(j->message.id, id))
            continue;
        j->to->end_cancelled(j->to);
        j->to = NULL;
        if (mcp_hands_unqueue(h, j))
            mcp_server_hands_job_free(j);
    }
}

size_t mcp_hands_count(const struct mcp_hands *h)
{
    return h->count;
}

struct mcp_hands *mcp_hands_new(struct mcp_server *s, struct loop *loop)
{
    struct mcp_hands *h = base_alloc(sizeof *h);

    *h = (struct mcp_hands){.server = s, .loop = loop};
    loop_task_init(&h->open, mcp_open_letters, h);
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->work, NULL);
    pthread_cond_init(&h->room, NULL);
    for (size_t i = 0; i < HANDS; i++)
        if (pthread_create(&h->threads[i], NULL, mcp_server_hands_work, h) != 0)
            base_die("no thread could be started");
    return h;
}

void mcp_hands_free(struct mcp_hands *h)
{
    pthread_mutex_lock(&h->lock);
    h->stop = true;
    pthread_cond_broadcast(&h->work);
    pthread_cond_broadcast(&h->room);
    pthread_mutex_unlock(&h->lock);
    for (size_t i = 0; i < HANDS; i++)
        (void)pthread_join(h->threads[i], NULL);
    loop_call_posted(h->loop);
    assert(!h->letters);
    while (h->jobs)
        mcp_server_hands_job_free(h->jobs);
    assert(!h->jobs && h->count == 0);
    pthread_mutex_destroy(&h->lock);
    pthread_cond_destroy(&h->work);
    pthread_cond_destroy(&h->room);
    free(h);
}
