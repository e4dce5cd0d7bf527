/* The upstream of the gateway's bench: one thread that answers at once.
 *
 *     stub PACED_EVENTS     prints its port, and "left NUMBER NS" when a held stream is let go
 *
 * The requested model selects the reply: "small", "prose", "large" and "turn" are whole replies
 * (prose.h), "burst" a stream in one write, "flood" a longer one, "paced" an event every 10 ms,
 * "hold" an event and then silence.
 * POST /v1/messages is answered in Anthropic's dialect, all else in OpenAI's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common.h"
#include "replies.h"

#define IN_MAX (1 << 20) /* a request with a long conversation */

struct conn {
    int fd;
    char *in;
    size_t in_n;
    struct bytes out; /* a copy of the bytes that are not written yet */
    size_t out_at;
    const struct replies *replies;
    uint64_t next_ns; /* of the next event of a paced stream; 0: not paced */
    int sent;
    bool held;
    uint32_t nonce;
    struct conn *next; /* of the paced ones, in order of time */
};

struct stub {
    int epoll, listener, paced_events;
    struct replies openai, anthropic;
    struct conn *first, **last; /* paced */
    char scratch[32768];
};

static void conn_close(struct stub *s, struct conn *c)
{
    if (c->held) {
        printf("left %u %llu\n", c->nonce, (unsigned long long)now_ns());
        (void)fflush(stdout);
    }
    for (struct conn **p = &s->first; *p; p = &(*p)->next)
        if (*p == c) {
            *p = c->next;
            if (s->last == &c->next)
                s->last = p;
            break;
        }
    close(c->fd);
    free(c->in);
    free(c->out.p);
    free(c);
}

static void want_out(struct stub *s, struct conn *c, bool on)
{
    struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP | (on ? (uint32_t)EPOLLOUT : 0u),
                             .data.ptr = c};

    (void)epoll_ctl(s->epoll, EPOLL_CTL_MOD, c->fd, &ev);
}

static void say(struct stub *s, struct conn *c, const char *p, size_t n)
{
    ssize_t wrote = c->out.n ? 0 : send(c->fd, p, n, MSG_NOSIGNAL);
    size_t done = wrote > 0 ? (size_t)wrote : 0;

    if (done == n || (wrote < 0 && errno != EAGAIN))
        return;
    c->out.p = realloc(c->out.p, c->out.n + n - done);
    if (!c->out.p)
        die("realloc");
    memcpy(c->out.p + c->out.n, p + done, n - done);
    c->out.n += n - done;
    want_out(s, c, true);
}

static void graph_reply_rest(struct stub *s, struct conn *c)
{
    ssize_t wrote = send(c->fd, c->out.p + c->out_at, c->out.n - c->out_at, MSG_NOSIGNAL);

    if (wrote > 0)
        c->out_at += (size_t)wrote;
    if (c->out_at == c->out.n) {
        free(c->out.p);
        c->out = (struct bytes){0};
        c->out_at = 0;
        want_out(s, c, false);
    }
}

static void say_event(struct stub *s, struct conn *c, const struct bytes *event, size_t at)
{
    memcpy(s->scratch, event->p, event->n);
    put_digits(s->scratch + at, now_ns(), MARK_DIGITS);
    say(s, c, s->scratch, event->n);
}

static void pace_add(struct stub *s, struct conn *c, uint64_t at_ns)
{
    c->next_ns = at_ns;
    c->next = NULL;
    *s->last = c;
    s->last = &c->next;
}

/* All paced streams have the same period, so the first one is due next. */
static void pace(struct stub *s)
{
    while (s->first && s->first->next_ns <= now_ns()) {
        struct conn *c = s->first;
        const struct replies *r = c->replies;

        s->first = c->next;
        if (!s->first)
            s->last = &s->first;
        if (c->sent == EVENTS_THINK)
            say(s, c, r->turn.p, r->turn.n);
        if (c->sent == s->paced_events) {
            say(s, c, r->last.p, r->last.n);
            c->next_ns = 0;
            continue;
        }
        say_event(s,
                  c,
                  c->sent < EVENTS_THINK ? &r->think : &r->text,
                  c->sent < EVENTS_THINK ? r->think_at : r->text_at);
        c->sent++;
        pace_add(s, c, c->next_ns + PACE_NS);
    }
}

static void begin_stream(struct stub *s, struct conn *c)
{
    const struct replies *r = c->replies;

    memcpy(s->scratch, r->head.p, r->head.n);
    memcpy(s->scratch + r->head.n, r->first.p, r->first.n);
    say(s, c, s->scratch, r->head.n + r->first.n);
}

static void say_whole(struct stub *s, struct conn *c, enum size size)
{
    const struct whole *w = &c->replies->whole[size];
    const struct prose_size *p = &prose_sizes[size];

    memcpy(s->scratch, w->bytes.p, w->bytes.n);
    memcpy(s->scratch + w->thought_at, prose_slice(c->nonce, PROSE_THOUGHT), p->thought);
    put_digits(s->scratch + w->nonce_at, c->nonce, NONCE_DIGITS);
    memcpy(s->scratch + w->answer_at, prose_slice(c->nonce, PROSE_ANSWER), p->answer);
    say(s, c, s->scratch, w->bytes.n);
}

static void answer(struct stub *s, struct conn *c, const char *model)
{
    const struct replies *r = c->replies;
    enum size size = prose_size_find(model);

    if (strncmp(model, "burst", 5) == 0) {
        say(s, c, r->burst.p, r->burst.n);
    } else if (strncmp(model, "flood", 5) == 0) {
        say(s, c, r->flood.p, r->flood.n);
    } else if (strncmp(model, "paced", 5) == 0) {
        begin_stream(s, c);
        c->sent = 0;
        pace_add(s, c, now_ns() + PACE_NS);
    } else if (strncmp(model, "hold", 4) == 0) {
        begin_stream(s, c);
        say_event(s, c, &r->think, r->think_at);
        c->held = true;
    } else {
        say_whole(s, c, size < SIZES ? size : SMALL);
    }
}

static const char *after(const char *p, const char *end, const char *mark)
{
    const char *at = memmem(p, (size_t)(end - p), mark, strlen(mark));

    return at ? at + strlen(mark) : NULL;
}

/* The call's number: the last one in the request, because a conversation repeats earlier ones. */
static uint32_t nonce_find(const char *body, const char *end)
{
    const char *p = end;

    while ((p = memrchr(body, NONCE_MARK[0], (size_t)(p - body))) != NULL)
        if (end - p > (ptrdiff_t)strlen(NONCE_MARK) + NONCE_DIGITS &&
            memcmp(p, NONCE_MARK, strlen(NONCE_MARK)) == 0)
            return (uint32_t)read_digits(p + strlen(NONCE_MARK), NONCE_DIGITS);
    return 0;
}

/* Consumes one complete request. False: it is not complete yet. */
static bool take(struct stub *s, struct conn *c)
{
    const char *end = c->in + c->in_n, *body = after(c->in, end, "\r\n\r\n"), *p;
    size_t size = 0, head;

    if (!body)
        return false;
    head = (size_t)(body - c->in);
    for (p = c->in; (p = after(p, body, "\r\n")) != NULL && p < body;)
        if (strncasecmp(p, "content-length:", 15) == 0)
            size = strtoul(p + 15, NULL, 10);
    if (head + size > c->in_n)
        return false;
    end = body + size;
    c->replies = after(c->in, body, " /v1/messages") ? &s->anthropic : &s->openai;
    c->nonce = nonce_find(body, end);
    p = after(body, end, "\"model\":");
    while (p && (*p == ' ' || *p == '"'))
        p++;
    answer(s, c, p ? p : "");
    memmove(c->in, end, c->in_n - head - size);
    c->in_n -= head + size;
    return true;
}

static bool hear(struct stub *s, struct conn *c)
{
    ssize_t n = recv(c->fd, c->in + c->in_n, IN_MAX - c->in_n, 0);

    if (n < 0 && errno == EAGAIN)
        return true;
    if (n <= 0)
        return false;
    c->in_n += (size_t)n;
    while (c->in_n && take(s, c))
        continue;
    return c->in_n < IN_MAX;
}

static void accept_all(struct stub *s)
{
    int fd;

    while ((fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct conn *c = calloc(1, sizeof *c);
        struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = c};

        if (!c || !(c->in = malloc(IN_MAX)))
            die("calloc");
        quick(fd);
        c->fd = fd;
        (void)epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ev);
    }
}

static void serve(struct stub *s)
{
    struct epoll_event events[ROUND_EVENTS];

    for (;;) {
        uint64_t now = now_ns(), due = s->first ? s->first->next_ns : now + 1000000000u;
        struct timespec wait = {0, due > now ? (long)(due - now) : 0};
        int n;

        if (wait.tv_nsec > 999999999)
            wait.tv_nsec = 999999999;
        n = epoll_pwait2(s->epoll, events, ROUND_EVENTS, &wait, NULL);
        for (int i = 0; i < n; i++) {
            struct conn *c = events[i].data.ptr;

            if (!c) {
                accept_all(s);
                continue;
            }
            if (events[i].events & EPOLLOUT)
                graph_reply_rest(s, c);
            if (((events[i].events & EPOLLIN) && !hear(s, c)) ||
                (events[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)))
                conn_close(s, c);
        }
        pace(s);
    }
}

int main(int argc, char **argv)
{
    static struct stub s;
    struct epoll_event ev = {.events = EPOLLIN};
    unsigned port = 0;

    s.paced_events = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 300;
    s.last = &s.first;
    prose_init();
    replies_init(&s.openai, false);
    replies_init(&s.anthropic, true);
    s.listener = listen_on(&port);
    s.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (s.epoll < 0 || epoll_ctl(s.epoll, EPOLL_CTL_ADD, s.listener, &ev) < 0)
        die("epoll");
    printf("%u\n", port);
    (void)fflush(stdout);
    serve(&s);
}
