/* The clients of the gateway's bench: one thread, connections that are kept, every reply checked.
 *
 *     load PORT closed MODEL N SECONDS         N connections, each asks again when answered
 *     load PORT outage MODEL N SECONDS FILE [WAIT]
 *                                              the same; 503 is an answer, ids of all 200 to FILE;
 *                                              a 503 in less than WAIT seconds is counted as early
 *     load PORT rate MODEL N SECONDS RATE      RATE requests a second, whether answered or not
 *     load PORT paced MODEL N SECONDS EVENTS   N streams of EVENTS each, once
 *     load PORT hold MODEL N                   N streams, held until standard input ends
 *     load PORT leave MODEL N                  N streams one after the other, left after one event
 *     load PORT slow MODEL N                   N streams, read a byte a second until input ends
 *
 * Prints one line of JSON. A reply counts if its status is 200 and it has the text that the
 * upstream sent; any other reply is an error, and the exit code is 1. In an outage a stream may
 * also end without [DONE]: it is counted as unfinished, and is not acknowledged.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common.h"
#include "prose.h"

#include <poll.h>
#include <sys/prctl.h>

#define HEAD_MAX 4096
#define BODY_MAX 32768
#define TAIL 16

enum mode { CLOSED, OUTAGE, RATE, PACED, HOLD, LEAVE, SLOW };

enum part { HEAD, SIZE_LINE, DATA, DATA_END, TRAILER, DONE };

struct conn {
    int fd;
    bool open, busy;
    uint32_t nonce;
    uint64_t sent_ns;
    enum part part;
    bool chunked;
    char head[HEAD_MAX];
    size_t head_n;
    size_t left; /* of the chunk, or of the body */
    char *body;  /* of a whole reply */
    size_t body_n;
    int digits; /* of a time mark that is being read; -1: none */
    uint64_t mark, last_mark;
    uint64_t events;
    char tail[TAIL]; /* the body's last bytes */
    bool bad;
};

struct load {
    enum mode mode;
    const char *model;
    bool stream;
    unsigned port;
    int epoll;
    struct conn **conns;
    size_t conn_count, conns_max, first_seen, ended;
    uint64_t events_want;
    char *request;
    size_t request_n, asked_at, nonce_at;
    uint32_t nonce;
    uint64_t requests, events, errors, refused, refused_early, unfinished;
    FILE *acknowledged;
    uint64_t end_ns, wait_ns;
    bool small;
    struct samples latency, lag, first;
    size_t answer_size;
};

/* ---- requests ---- */

static void request_init(struct load *l)
{
    char body[2048], out[4096];
    int n = snprintf(body,
                     sizeof body,
                     "{\"model\": \"%s\", \"messages\": [{\"role\": \"system\", \"content\": "
                     "\"You are a careful assistant for people who look after old harbours. "
                     "Answer in a few plain sentences, name your sources, and say so when you "
                     "do not know.\"}, {\"role\": \"user\", \"content\": \"%*s " NONCE_MARK
                     "00000000\"}], \"temperature\": 0.7, \"max_tokens\": 2048, "
                     "\"stream\": %s}",
                     l->model,
                     PROSE_ASKED,
                     "",
                     l->stream ? "true, \"stream_options\": {\"include_usage\": true}" : "false");
    int m = snprintf(out,
                     sizeof out,
                     "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
                     "Accept: application/json\r\nContent-Type: application/json\r\n"
                     "User-Agent: OpenAI/Python 1.109.1\r\nX-Stainless-Lang: python\r\n"
                     "X-Stainless-Package-Version: 1.109.1\r\nX-Stainless-OS: Linux\r\n"
                     "X-Stainless-Arch: x64\r\nX-Stainless-Runtime: CPython\r\n"
                     "X-Rationale-Reasoning: show\r\n"
                     "Authorization: Bearer sk-bench-0000000000000000\r\n"
                     "Content-Length: %d\r\n\r\n%s",
                     l->port,
                     n,
                     body);

    l->request = strdup(out);
    l->request_n = (size_t)m;
    l->nonce_at = (size_t)(strstr(l->request, NONCE_MARK) - l->request) + strlen(NONCE_MARK);
    l->asked_at = l->nonce_at - strlen(NONCE_MARK) - 1 - PROSE_ASKED;
}

static void ask(struct load *l, struct conn *c)
{
    c->nonce = ++l->nonce % 100000000u;
    put_digits(l->request + l->nonce_at, c->nonce, NONCE_DIGITS);
    memcpy(l->request + l->asked_at, prose_slice(c->nonce, PROSE_QUESTION), PROSE_ASKED);
    c->busy = true;
    c->part = HEAD;
    c->head_n = c->body_n = 0;
    c->digits = -1;
    c->events = c->last_mark = 0;
    memset(c->tail, 0, sizeof c->tail);
    c->sent_ns = now_ns();
    if (send(c->fd, l->request, l->request_n, MSG_NOSIGNAL) != (ssize_t)l->request_n)
        c->bad = true; /* a request of 1 kB fits into any socket that is empty */
}

static struct conn *conn_new(struct load *l)
{
    struct conn *c = calloc(1, sizeof *c);
    struct epoll_event ev = {.events = EPOLLIN | EPOLLOUT, .data.ptr = c};

    if (!c || (!l->stream && !(c->body = malloc(BODY_MAX))))
        die("calloc");
    c->fd = dial(l->port, l->small);
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->fd, &ev) < 0)
        die("epoll_ctl");
    l->conns[l->conn_count++] = c;
    return c;
}

static void conn_drop(struct load *l, struct conn *c)
{
    close(c->fd);
    c->fd = -1;
    c->busy = c->open = false;
    l->ended++;
}

/* ---- replies ---- */

static void event_seen(struct load *l, struct conn *c)
{
    uint64_t now = now_ns();

    c->bad |= c->mark < c->last_mark;
    if (c->mark == c->last_mark)
        return; /* reasoning has two names in OpenAI's dialect, and both may be sent */
    c->last_mark = c->mark;
    if (c->events++ == 0) {
        sample(&l->first, now - c->sent_ns);
        l->first_seen++;
    }
    if (c->mark > FLOOD_EVENTS && now > c->mark)
        sample(&l->lag, now - c->mark);
}

/* The text contains times as '@' and digits; a frame may end within one. */
static void scan(struct load *l, struct conn *c, const char *p, size_t n)
{
    const char *end = p + n;

    while (p < end) {
        if (c->digits < 0) {
            p = memchr(p, '@', (size_t)(end - p));
            if (!p)
                return;
            p++;
            c->digits = 0;
            c->mark = 0;
            continue;
        }
        c->mark = c->mark * 10 + (uint64_t)(*p++ - '0');
        if (++c->digits == MARK_DIGITS) {
            c->digits = -1;
            event_seen(l, c);
        }
    }
}

static void body_bytes(struct load *l, struct conn *c, const char *p, size_t n)
{
    size_t keep = n < TAIL ? n : TAIL;

    memmove(c->tail, c->tail + keep, TAIL - keep);
    memcpy(c->tail + TAIL - keep, p + n - keep, keep);
    if (l->stream) {
        scan(l, c, p, n);
    } else if (c->body_n + n <= BODY_MAX) {
        memcpy(c->body + c->body_n, p, n);
        c->body_n += n;
    } else {
        c->bad = true;
    }
}

static bool right(struct load *l, struct conn *c)
{
    char nonce[] = NONCE_MARK "00000000 ";
    const char *at;

    if (c->bad)
        return false;
    if (l->stream)
        return c->events == l->events_want && memmem(c->tail, TAIL, "[DONE]", 6) != NULL;
    put_digits(nonce + strlen(NONCE_MARK), c->nonce, NONCE_DIGITS);
    at = memmem(c->body, c->body_n, nonce, strlen(nonce));
    return at && (size_t)(c->body + c->body_n - at) > strlen(nonce) + l->answer_size &&
           memcmp(at + strlen(nonce), prose_slice(c->nonce, PROSE_ANSWER), l->answer_size) == 0 &&
           c->body[c->body_n - 1] == '}';
}

/* While nothing can be recorded, a 503 that says so is not an error. */
static void outage_over(struct load *l, struct conn *c)
{
    bool good = right(l, c);
    const char *id = strcasestr(c->head, "\r\nx-rationale-id:");

    if (good && id) {
        (void)fprintf(l->acknowledged, "%.*s\n", (int)strcspn(id + 18, "\r"), id + 18);
    } else if (strncmp(c->head, "HTTP/1.1 503", 12) == 0 &&
               strcasestr(c->head, "\r\nretry-after:")) {
        l->refused++;
        l->refused_early += now_ns() - c->sent_ns < l->wait_ns;
    } else if (l->stream && !memmem(c->tail, TAIL, "[DONE]", 6)) {
        l->unfinished++;
    } else {
        l->errors++;
    }
    c->bad = false;
}

static void reply_over(struct load *l, struct conn *c)
{
    uint64_t now = now_ns();

    c->part = DONE;
    c->busy = false;
    l->events += c->events;
    l->requests++;
    if (l->mode == OUTAGE) {
        outage_over(l, c);
    } else if (!right(l, c)) {
        if (l->errors++ == 0)
            (void)fprintf(stderr,
                          "load: a wrong reply: %.*s... events %llu, tail %.*s\n",
                          (int)(c->head_n < 300 ? c->head_n : 300),
                          c->head,
                          (unsigned long long)c->events,
                          TAIL,
                          c->tail);
        c->bad = false;
    }
    sample(&l->latency, now - c->sent_ns);
    if (l->mode <= OUTAGE && now < l->end_ns)
        ask(l, c);
    else if (l->mode == PACED)
        l->ended++;
}

/* The head is complete: finds out how long the body is. */
static void head_over(struct conn *c)
{
    char *at;

    c->bad |= strncmp(c->head, "HTTP/1.1 200", 12) != 0;
    at = strcasestr(c->head, "\r\ncontent-length:");
    c->chunked = at == NULL;
    c->left = at ? strtoul(at + 17, NULL, 10) : 0;
    if (c->chunked && !strcasestr(c->head, "\r\ntransfer-encoding: chunked"))
        c->bad = true;
    c->part = c->chunked ? SIZE_LINE : DATA;
}

static const char *feed_head(struct conn *c, const char *p, const char *end)
{
    while (p < end && c->head_n + 1 < HEAD_MAX) {
        c->head[c->head_n++] = *p++;
        if (c->head_n >= 4 && memcmp(c->head + c->head_n - 4, "\r\n\r\n", 4) == 0) {
            c->head[c->head_n] = '\0';
            head_over(c);
            break;
        }
    }
    return p;
}

static void size_over(struct conn *c, char ch)
{
    if (ch != '\n')
        c->left = ch == '\r' ? c->left
                             : c->left * 16 + (size_t)(ch <= '9' ? ch - '0' : (ch | 32) - 'a' + 10);
    else
        c->part = c->left ? DATA : TRAILER;
}

static void feed(struct load *l, struct conn *c, const char *p, size_t n)
{
    const char *end = p + n;

    while (p < end && c->part != DONE) {
        if (c->part == HEAD) {
            p = feed_head(c, p, end);
        } else if (c->part == SIZE_LINE) {
            size_over(c, *p++);
        } else if (c->part == DATA) {
            size_t take = (size_t)(end - p) < c->left ? (size_t)(end - p) : c->left;

            body_bytes(l, c, p, take);
            p += take;
            c->left -= take;
            if (!c->left && !c->chunked)
                reply_over(l, c);
            else if (!c->left)
                c->part = DATA_END;
        } else if (c->part == DATA_END) {
            c->part = *p++ == '\n' ? SIZE_LINE : DATA_END;
        } else if (*p++ == '\n') {
            reply_over(l, c);
        }
    }
}

static void hear(struct load *l, struct conn *c)
{
    static char bytes[65536];
    ssize_t n = recv(c->fd, bytes, sizeof bytes, 0);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        if (l->errors++ == 0)
            (void)fprintf(stderr, "load: a connection was lost: %s\n", n ? strerror(errno) : "end");
        conn_drop(l, c);
        return;
    }
    feed(l, c, bytes, (size_t)n);
}

/* ---- rounds ---- */

static void opened(struct load *l, struct conn *c)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = c};

    c->open = true;
    if (l->mode == SLOW)
        (void)epoll_ctl(l->epoll, EPOLL_CTL_DEL, c->fd, NULL);
    else
        (void)epoll_ctl(l->epoll, EPOLL_CTL_MOD, c->fd, &ev);
    if (l->mode != RATE)
        ask(l, c);
}

static void turn(struct load *l, uint64_t until_ns)
{
    struct epoll_event events[ROUND_EVENTS];
    uint64_t now = now_ns(), wait_ns = until_ns > now ? until_ns - now : 0;
    struct timespec wait = {(time_t)(wait_ns / 1000000000u), (long)(wait_ns % 1000000000u)};
    int n = epoll_pwait2(l->epoll, events, ROUND_EVENTS, &wait, NULL);

    for (int i = 0; i < n; i++) {
        struct conn *c = events[i].data.ptr;

        if (c->fd < 0)
            continue;
        if (!c->open && (events[i].events & EPOLLOUT))
            opened(l, c);
        if (c->open && (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
            hear(l, c);
    }
}

static bool any_busy(const struct load *l)
{
    for (size_t i = 0; i < l->conn_count; i++)
        if (l->conns[i]->busy)
            return true;
    return false;
}

static void run_closed(struct load *l)
{
    uint64_t grace_ns = l->end_ns + 5000000000u + 2 * l->wait_ns;

    for (size_t i = 0; i < l->conns_max; i++)
        (void)conn_new(l);
    while (now_ns() < l->end_ns || (any_busy(l) && now_ns() < grace_ns))
        turn(l, now_ns() + 50000000u);
    l->errors += any_busy(l);
}

static struct conn *idle(struct load *l)
{
    for (size_t i = 0; i < l->conn_count; i++)
        if (l->conns[i]->open && !l->conns[i]->busy)
            return l->conns[i];
    return NULL;
}

/* Latency counts from the moment the request is written, so that a late timer of this process on a
 * busy machine does not count. */
static void run_rate(struct load *l, double rate)
{
    uint64_t begun = now_ns(), gap_ns = (uint64_t)(1e9 / rate), due = begun + 100000000u;

    for (size_t i = 0; i < l->conns_max; i++)
        (void)conn_new(l);
    while (due < l->end_ns) {
        turn(l, due);
        while (due <= now_ns() && due < l->end_ns) {
            struct conn *c = idle(l);

            if (!c)
                break;
            ask(l, c);
            due += gap_ns;
        }
        if (now_ns() > l->end_ns + 1000000000u)
            break;
    }
    for (uint64_t stop = now_ns() + 2000000000u; any_busy(l) && now_ns() < stop;)
        turn(l, now_ns() + 10000000u);
    l->errors += any_busy(l);
}

static void run_paced(struct load *l)
{
    uint64_t gap_ns = PACE_NS / l->conns_max, due = now_ns();

    while (l->conn_count < l->conns_max) {
        (void)conn_new(l);
        due += gap_ns;
        while (now_ns() < due)
            turn(l, due);
    }
    while (l->ended < l->conns_max && now_ns() < l->end_ns)
        turn(l, now_ns() + 50000000u);
    l->errors += l->conns_max - l->ended;
}

static bool input_over(int wait_ms)
{
    struct pollfd in = {.fd = 0, .events = POLLIN};
    char c;

    return poll(&in, 1, wait_ms) > 0 && read(0, &c, 1) <= 0;
}

static void run_hold(struct load *l)
{
    uint64_t stop = now_ns() + 60000000000u;

    while (l->first_seen < l->conns_max && now_ns() < stop) {
        /* A few at a time: the bench measures held streams, not a burst of new ones. */
        while (l->conn_count < l->conns_max && l->conn_count < l->first_seen + 200)
            (void)conn_new(l);
        turn(l, now_ns() + 50000000u);
    }
    l->errors += l->conns_max - l->first_seen + l->ended;
    printf("held %zu\n", l->first_seen);
    (void)fflush(stdout);
    while (!input_over(0))
        turn(l, now_ns() + 100000000u);
}

static void run_leave(struct load *l)
{
    for (size_t i = 0; i < l->conns_max; i++) {
        struct conn *c = conn_new(l);
        uint64_t stop = now_ns() + 2000000000u;

        while (c->fd >= 0 && c->events == 0 && now_ns() < stop)
            turn(l, stop);
        l->errors += c->events == 0;
        l->requests++;
        printf("leave %u %llu\n", c->nonce, (unsigned long long)now_ns());
        if (c->fd >= 0)
            conn_drop(l, c);
    }
}

static void run_slow(struct load *l)
{
    uint64_t stop = now_ns() + 10000000000u;
    size_t open = 0;
    char byte;

    for (size_t i = 0; i < l->conns_max; i++)
        (void)conn_new(l);
    while (open < l->conns_max && now_ns() < stop) {
        turn(l, now_ns() + 50000000u);
        open = 0;
        for (size_t i = 0; i < l->conn_count; i++)
            open += l->conns[i]->open;
    }
    printf("slow %zu\n", open);
    (void)fflush(stdout);
    while (!input_over(1000))
        for (size_t i = 0; i < l->conn_count; i++)
            (void)!recv(l->conns[i]->fd, &byte, 1, MSG_DONTWAIT);
}

/* ---- the figures ---- */

static void load_run(struct load *l, const char *more)
{
    switch (l->mode) {
    case OUTAGE:
        l->acknowledged = fopen(more ? more : "/dev/null", "w");
        if (!l->acknowledged)
            die(more);
        run_closed(l);
        if (fclose(l->acknowledged) != 0)
            die(more);
        break;
    case CLOSED:
        run_closed(l);
        break;
    case RATE:
        run_rate(l, more ? strtod(more, NULL) : 1);
        break;
    case PACED:
        run_paced(l);
        break;
    case HOLD:
        run_hold(l);
        break;
    case LEAVE:
        run_leave(l);
        break;
    case SLOW:
        run_slow(l);
        break;
    }
}

int main(int argc, char **argv)
{
    static const char *const modes[] = {
        "closed", "outage", "rate", "paced", "hold", "leave", "slow"};
    static struct load l;
    const char *more = argc > 6 ? argv[6] : NULL;
    uint64_t begun;
    enum size size;

    if (argc < 5)
        return 2;
    while (strcmp(argv[2], modes[l.mode]) != 0)
        if (++l.mode > SLOW)
            return 2;
    (void)prctl(PR_SET_TIMERSLACK, 1);
    prose_init();
    l.port = (unsigned)strtoul(argv[1], NULL, 10);
    l.model = argv[3];
    size = prose_size_find(l.model);
    l.stream = size == SIZES;
    l.answer_size = l.stream ? 0 : prose_sizes[size].answer;
    l.small = l.mode == SLOW;
    l.conns_max = strtoul(argv[4], NULL, 10);
    l.conns = calloc(l.conns_max, sizeof(void *));
    l.events_want = l.mode == PACED && more ? strtoul(more, NULL, 10) : EVENTS;
    l.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (l.epoll < 0 || !l.conns)
        die("epoll");
    request_init(&l);
    begun = now_ns();
    l.nonce = (uint32_t)(begun / 1000000u); /* another load asks other questions */
    l.end_ns = begun + (uint64_t)((argc > 5 ? strtod(argv[5], NULL) : 1) * 1e9);
    l.wait_ns = (uint64_t)((argc > 7 ? strtod(argv[7], NULL) : 0) * 1e9);
    load_run(&l, more);
    printf("{\"requests\":%llu,\"events\":%llu,\"errors\":%llu,\"seconds\":%.6f",
           (unsigned long long)l.requests,
           (unsigned long long)l.events,
           (unsigned long long)l.errors,
           (double)(now_ns() - begun) / 1e9);
    if (l.mode == OUTAGE)
        printf(",\"refused\":%llu,\"refused_early\":%llu,\"unfinished\":%llu",
               (unsigned long long)l.refused,
               (unsigned long long)l.refused_early,
               (unsigned long long)l.unfinished);
    samples_print("latency", &l.latency);
    samples_print("lag", &l.lag);
    samples_print("first", &l.first);
    printf("}\n");
    return l.errors ? 1 : 0;
}
