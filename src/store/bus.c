/* bus.c - see bus.h.
 *
 * A payload is "DAEMON INSTANCE NUMBER " and its messages, each "TOPIC SIZE " and the text. NUMBER
 * counts the messages that this instance wanted to send before, dropped ones included. A size
 * followed by '+' means that the next message continues this one, under the topic "~". The number
 * also keeps payloads apart, because PostgreSQL sends equal payloads of one transaction once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/bus.h"

#include "base/rand.h"
#include "base/utf8.h"

#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define BUS_ID_SIZE 80
#define BUS_AGAIN_MS 500
#define BUS_PAYLOADS_MAX 16 /* in one statement */
#define BUS_HANDLERS_MAX 8
#define BUS_BODY_MAX ((size_t)(BUS_PAYLOAD_MAX - BUS_ID_SIZE - 40)) /* without the head */
#define BUS_HELLO "."
#define BUS_BYE "-"
#define BUS_CONTINUED "~"

struct bus_handler {
    char topic[BUS_TOPIC_SIZE_MAX + 1];
    void (*fn)(void *ctx, const struct bus_peer *from, str text);
    void *ctx;
};

struct bus_known {
    bool alive, again;
    char daemon[BUS_ID_SIZE], instance[BUS_ID_SIZE];
    uint64_t next;     /* the number that its next message should have */
    uint64_t heard_ns; /* when it sent the last one */
    /* Of a message that continues. */
    char topic[BUS_TOPIC_SIZE_MAX + 1];
    struct buf part;
};

struct bus_payload {
    uint64_t first; /* the number of its first message */
    size_t n;
    char text[BUS_BODY_MAX];
};

struct bus {
    char *url, daemon[BUS_ID_SIZE], instance[17], channel[64];
    struct log *log;
    pthread_t thread;
    bool started, away; /* away: no connection, and the log says so */
    int wake_fd;
    _Atomic bool stop, due, later; /* due, later: a group is to be sent, soon or some time later */
    _Atomic unsigned peers;
    /* Used by the thread only, or before it starts. */
    PGconn *conn;
    uint64_t hello_ns, group_ns, connect_ns;
    struct bus_handler topics[BUS_TOPICS_MAX];
    struct {
        void (*fn)(void *ctx, const struct bus_peer *who, enum bus_event event);
        void *ctx;
    } on_peer[BUS_HANDLERS_MAX];
    struct {
        void (*fn)(void *ctx);
        void *ctx;
    } on_group[BUS_HANDLERS_MAX];
    size_t topic_count, on_peer_count, on_group_count;
    struct bus_known known[BUS_PEERS_MAX];

    pthread_mutex_t lock; /* protects the members below */
    struct bus_payload *queue[BUS_QUEUE_MAX / BUS_BODY_MAX];
    size_t queue_count;
    uint64_t number; /* of the next message */
};

/* ---- sending ---- */

static void bus_wake_for(struct bus *b, _Atomic bool *what)
{
    uint64_t one = 1;

    if (!atomic_exchange(what, true))
        (void)!write(b->wake_fd, &one, sizeof one);
}

void bus_wake(struct bus *b)
{
    if (b)
        bus_wake_for(b, &b->due);
}

/* Under the lock. The payload that has room for this much; NULL: the queue is full. */
static struct bus_payload *bus_payload_for(struct bus *b, size_t size)
{
    struct bus_payload *p = b->queue_count ? b->queue[b->queue_count - 1] : NULL;

    assert(size <= BUS_BODY_MAX && b->queue_count <= COUNT_OF(b->queue));
    if (p && p->n + size <= sizeof p->text)
        return p;
    if (b->queue_count == COUNT_OF(b->queue))
        return NULL;
    p = base_alloc(sizeof *p);
    p->first = b->number;
    p->n = 0;
    b->queue[b->queue_count++] = p;
    return p;
}

/* Under the lock. One message, or a part of one. */
static bool bus_put(struct bus *b, str topic, str text, bool more)
{
    char head[BUS_TOPIC_SIZE_MAX + 32];
    size_t n = (size_t)snprintf(
        head, sizeof head, STR_FMT " %zu%s ", STR_ARG(topic), text.n, more ? "+" : "");
    struct bus_payload *p = bus_payload_for(b, n + text.n);

    b->number++;
    if (!p)
        return false;
    assert(n < sizeof head && p->n + n + text.n <= sizeof p->text);
    memcpy(p->text + p->n, head, n);
    if (text.n)
        memcpy(p->text + p->n + n, text.p, text.n);
    p->n += n + text.n;
    return true;
}

static void bus_put_all(struct bus *b, str topic, str text)
{
    size_t size = BUS_BODY_MAX - BUS_TOPIC_SIZE_MAX - 32;

    while (text.n > size) {
        size_t n = size;

        while ((text.p[n] & 0xC0) == 0x80)
            n--;
        assert(n > 0 && size - n < 4); /* the text is UTF-8 */
        if (!bus_put(b, topic, str_slice(text, 0, n), true))
            return;
        text = str_slice(text, n, text.n);
        topic = STR(BUS_CONTINUED);
    }
    (void)bus_put(b, topic, text, false);
}

static void bus_queue(struct bus *b, str topic, str text)
{
    pthread_mutex_lock(&b->lock);
    if (text.n > BUS_TEXT_MAX || !utf8_valid(text) || (text.n && memchr(text.p, 0, text.n)))
        b->number++;
    else
        bus_put_all(b, topic, text);
    pthread_mutex_unlock(&b->lock);
}

void bus_send(struct bus *b, str topic, str text)
{
    if (!bus_peers(b))
        return;
    bus_queue(b, topic, text);
    bus_wake_for(b, &b->due);
}

void bus_send_later(struct bus *b, str topic, str text)
{
    if (!bus_peers(b))
        return;
    bus_queue(b, topic, text);
    bus_wake_for(b, &b->later);
}

unsigned bus_peers(const struct bus *b)
{
    return b ? atomic_load_explicit(&b->peers, memory_order_relaxed) : 0;
}

static size_t bus_take(struct bus *b, struct bus_payload **out, size_t max)
{
    size_t n;

    pthread_mutex_lock(&b->lock);
    n = b->queue_count < max ? b->queue_count : max;
    memcpy(out, b->queue, n * sizeof *out);
    assert(n <= max && n <= b->queue_count);
    b->queue_count -= n;
    memmove(b->queue, b->queue + n, b->queue_count * sizeof *b->queue);
    pthread_mutex_unlock(&b->lock);
    return n;
}

/* A payload that cannot be sent is lost: the numbers of later ones show it. NOTIFY needs no plan,
 * unlike a SELECT of pg_notify. */
static void bus_notify(struct bus *b, struct bus_payload *const *list, size_t n)
{
    char text[BUS_PAYLOAD_MAX + 1];
    struct buf sql;
    PGresult *r;

    assert(b->conn && n > 0 && n <= BUS_PAYLOADS_MAX);
    buf_init(&sql, (size_t)3 * BUS_PAYLOADS_MAX * BUS_PAYLOAD_MAX); /* quotes are doubled */
    for (size_t i = 0; i < n; i++) {
        int size = snprintf(text,
                            sizeof text,
                            "%s %s %llu %.*s",
                            b->daemon,
                            b->instance,
                            (unsigned long long)list[i]->first,
                            (int)list[i]->n,
                            list[i]->text);
        char *quoted = PQescapeLiteral(b->conn, text, (size_t)size);

        assert(size > 0 && (size_t)size < sizeof text);
        if (quoted)
            buf_printf(&sql, "NOTIFY \"%s\", %s;", b->channel, quoted);
        PQfreemem(quoted);
    }
    buf_add_c(&sql, '\0');
    r = PQexec(b->conn, sql.p);
    if (PQresultStatus(r) != PGRES_COMMAND_OK)
        log_warn("messages to the other daemons are lost",
                 LOG_STR("why", str_trim(str_c(PQerrorMessage(b->conn)))));
    PQclear(r);
    buf_release(&sql);
}

static void bus_send_group(struct bus *b)
{
    struct bus_payload *list[BUS_PAYLOADS_MAX];
    size_t n;

    for (size_t i = 0; i < b->on_group_count; i++)
        b->on_group[i].fn(b->on_group[i].ctx);
    while ((n = bus_take(b, list, COUNT_OF(list))) > 0) {
        if (PQstatus(b->conn) == CONNECTION_OK)
            bus_notify(b, list, n);
        while (n > 0)
            free(list[--n]);
    }
}

static void bus_publish(struct bus *b, str topic)
{
    pthread_mutex_lock(&b->lock);
    (void)bus_put(b, topic, STR(""), false);
    pthread_mutex_unlock(&b->lock);
}

/* ---- the others ---- */

static struct bus_peer bus_peer_of(struct bus *b, const struct bus_known *k)
{
    return (struct bus_peer){(unsigned)(k - b->known), str_c(k->daemon), k->again};
}

static void bus_peer_changed(struct bus *b, struct bus_known *k, enum bus_event event)
{
    struct bus_peer who = bus_peer_of(b, k);

    if (event == BUS_PEER_NEW)
        atomic_fetch_add(&b->peers, 1);
    if (event == BUS_PEER_GONE)
        atomic_fetch_sub(&b->peers, 1);
    assert(atomic_load(&b->peers) <= BUS_PEERS_MAX);
    for (size_t i = 0; i < b->on_peer_count; i++)
        b->on_peer[i].fn(b->on_peer[i].ctx, &who, event);
}

static void bus_peer_gone(struct bus *b, struct bus_known *k)
{
    assert(k->alive && atomic_load(&b->peers) > 0);
    k->alive = false;
    buf_release(&k->part);
    bus_peer_changed(b, k, BUS_PEER_GONE);
}

/* The sender of a payload; one that is new gets an answer at once. NULL: there are too many. */
static struct bus_known *bus_sender(struct bus *b, str daemon, str instance, uint64_t number)
{
    struct bus_known *found = NULL;

    for (size_t i = 0; i < BUS_PEERS_MAX; i++) {
        struct bus_known *k = &b->known[i];

        if (k->alive && str_eq(str_c(k->instance), instance))
            return k;
        if (!k->alive && (!found || str_eq(str_c(k->instance), instance)))
            found = k;
    }
    if (!found || daemon.n >= BUS_ID_SIZE || instance.n >= BUS_ID_SIZE)
        return NULL;
    for (size_t i = 0; i < BUS_PEERS_MAX; i++) /* the daemon was started again */
        if (b->known[i].alive && str_eq(str_c(b->known[i].daemon), daemon))
            bus_peer_gone(b, &b->known[i]);
    found->alive = true;
    found->again = str_eq(str_c(found->instance), instance);
    found->next = number;
    buf_init(&found->part, BUS_TEXT_MAX + BUS_BODY_MAX);
    (void)snprintf(found->daemon, BUS_ID_SIZE, STR_FMT, STR_ARG(daemon));
    (void)snprintf(found->instance, BUS_ID_SIZE, STR_FMT, STR_ARG(instance));
    bus_peer_changed(b, found, BUS_PEER_NEW);
    b->hello_ns = 0;
    return found;
}

static void bus_dispatch(struct bus *b, struct bus_known *k, str topic, str text)
{
    struct bus_peer from = bus_peer_of(b, k);

    for (size_t i = 0; i < b->topic_count; i++)
        if (str_eq(topic, str_c(b->topics[i].topic)))
            b->topics[i].fn(b->topics[i].ctx, &from, text);
}

/* A message whose beginning was lost is lost as a whole. */
static void bus_receive_rest(struct bus *b, struct bus_known *k, str text, bool more)
{
    if (!k->part.n)
        return;
    buf_add(&k->part, text);
    if (more)
        return;
    if (!buf_full(&k->part))
        bus_dispatch(b, k, str_c(k->topic), buf_str(&k->part));
    buf_release(&k->part);
}

static bool bus_receive_one(struct bus *b, struct bus_known *k, str *rest)
{
    str topic = str_cut(rest, ' '), size = str_cut(rest, ' '), text;
    bool more = str_ends(size, STR("+"));
    uint64_t n;

    if (!str_u64(str_slice(size, 0, size.n - more), &n) || n > rest->n)
        return false;
    text = str_slice(*rest, 0, (size_t)n);
    *rest = str_slice(*rest, (size_t)n, rest->n);
    k->next++;
    if (str_eq(topic, STR(BUS_BYE))) {
        bus_peer_gone(b, k);
        return false;
    }
    if (str_eq(topic, STR(BUS_CONTINUED))) {
        bus_receive_rest(b, k, text, more);
    } else if (more) {
        (void)snprintf(k->topic, sizeof k->topic, STR_FMT, STR_ARG(topic));
        buf_add(&k->part, text);
    } else {
        bus_dispatch(b, k, topic, text);
    }
    return true;
}

static void bus_receive(struct bus *b, str payload)
{
    str daemon = str_cut(&payload, ' '), instance = str_cut(&payload, ' '),
        word = str_cut(&payload, ' ');
    struct bus_known *k;
    uint64_t number;

    if (!str_u64(word, &number) || str_eq(instance, str_c(b->instance)))
        return;
    k = bus_sender(b, daemon, instance, number);
    if (!k)
        return;
    k->heard_ns = clock_mono_ns(&clock_real);
    if (number != k->next) {
        k->next = number;
        buf_release(&k->part);
        bus_peer_changed(b, k, BUS_PEER_GAP);
    }
    while (payload.n && bus_receive_one(b, k, &payload))
        ;
}

/* ---- the thread ---- */

static bool bus_exec(struct bus *b, const char *sql)
{
    PGresult *r = PQexec(b->conn, sql);
    ExecStatusType got = PQresultStatus(r);
    bool ok = got == PGRES_COMMAND_OK || got == PGRES_TUPLES_OK;

    PQclear(r);
    return ok;
}

/* A lost commit only loses messages. */
static void bus_connect(struct bus *b)
{
    const char *const names[] = {
        "application_name", "connect_timeout", "tcp_user_timeout", "dbname", NULL};
    const char *const values[] = {"rationale bus", "5", "5000", b->url, NULL};
    char sql[160];

    b->connect_ns = clock_mono_ns(&clock_real);
    PQfinish(b->conn);
    b->conn = PQconnectdbParams(names, values, 1);
    if (PQstatus(b->conn) == CONNECTION_OK &&
        bus_exec(b, "SET synchronous_commit = off; SET client_min_messages = error")) {
        (void)snprintf(sql, sizeof sql, "LISTEN \"%s\"", b->channel);
        if (bus_exec(b, sql)) {
            b->hello_ns = 0;
            b->away = false;
            return;
        }
    }
    if (!b->away)
        log_warn("no messages of other daemons: PostgreSQL cannot be reached",
                 LOG_STR("why", str_trim(str_c(PQerrorMessage(b->conn)))));
    b->away = true;
    PQfinish(b->conn);
    b->conn = NULL;
}

static void bus_read(struct bus *b)
{
    PGnotify *n;

    if (!b->conn)
        return;
    if (!PQconsumeInput(b->conn) || PQstatus(b->conn) != CONNECTION_OK) {
        PQfinish(b->conn);
        b->conn = NULL;
        return;
    }
    while ((n = PQnotifies(b->conn))) {
        bus_receive(b, str_c(n->extra));
        PQfreemem(n);
    }
}

static void bus_forget_silent(struct bus *b, uint64_t now)
{
    for (size_t i = 0; i < BUS_PEERS_MAX; i++)
        if (b->known[i].alive &&
            now - b->known[i].heard_ns > (uint64_t)BUS_SILENT_MS * CLOCK_NS_PER_MS)
            bus_peer_gone(b, &b->known[i]);
}

/* How long the thread may sleep, in ms. */
static int bus_turn(struct bus *b)
{
    uint64_t now = clock_mono_ns(&clock_real), ms = CLOCK_NS_PER_MS, wait;

    if (!b->conn && now - b->connect_ns >= BUS_AGAIN_MS * ms)
        bus_connect(b);
    bus_read(b);
    now = clock_mono_ns(&clock_real);
    if (b->hello_ns == 0 || now - b->hello_ns >= BUS_HELLO_MS * ms) {
        bus_forget_silent(b, now);
        bus_publish(b, STR(BUS_HELLO));
        atomic_store(&b->due, true);
        b->hello_ns = now;
    }
    if (!atomic_load(&b->due) && !atomic_load(&b->later))
        return BUS_HELLO_MS;
    wait = atomic_load(&b->due) ? BUS_GROUP_MS : BUS_LATER_MS;
    if (now - b->group_ns < wait * ms)
        return (int)(wait - (now - b->group_ns) / ms);
    atomic_store(&b->due, false);
    atomic_store(&b->later, false);
    b->group_ns = now;
    bus_send_group(b);
    bus_read(b); /* messages that arrived while the statement was waited for */
    return b->hello_ns ? BUS_GROUP_MS : 0;
}

static void *bus_run(void *bus)
{
    struct bus *b = bus;
    struct log_scope scope;
    uint64_t count;

    log_scope_enter(&scope, b->log, STR(""));
    while (!atomic_load(&b->stop)) {
        int ms = bus_turn(b);
        struct pollfd fds[] = {{.fd = b->wake_fd, .events = POLLIN},
                               {.fd = b->conn ? PQsocket(b->conn) : -1, .events = POLLIN}};

        /* While a group is due, no wake shortens its wait. */
        if (atomic_load(&b->due))
            fds[0].fd = -1;
        (void)poll(fds, COUNT_OF(fds), ms > BUS_AGAIN_MS && !b->conn ? BUS_AGAIN_MS : ms);
        if (fds[0].revents & POLLIN)
            (void)!read(b->wake_fd, &count, sizeof count);
    }
    bus_publish(b, STR(BUS_BYE));
    if (b->conn)
        bus_send_group(b);
    PQfinish(b->conn);
    log_scope_leave(&scope);
    return NULL;
}

/* ---- life ---- */

struct bus *bus_new(str url, str daemon, str channel, struct log *log)
{
    struct bus *b = base_alloc(sizeof *b);
    uint8_t id[8];

    memset(b, 0, sizeof *b);
    b->url = str_copy(url);
    b->log = log;
    (void)snprintf(b->daemon, sizeof b->daemon, STR_FMT, STR_ARG(daemon));
    (void)snprintf(b->channel, sizeof b->channel, "rationale_" STR_FMT, STR_ARG(channel));
    rand_os(id, sizeof id);
    for (size_t i = 0; i < sizeof id; i++)
        (void)snprintf(b->instance + 2 * i, 3, "%02x", id[i]);
    b->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (b->wake_fd < 0)
        base_die("no eventfd: %s", strerror(errno));
    pthread_mutex_init(&b->lock, NULL);
    return b;
}

void bus_on(struct bus *b, str topic, void (*fn)(void *ctx, const struct bus_peer *from, str text),
            void *ctx)
{
    struct bus_handler *h;

    if (!b)
        return;
    assert(b->topic_count < BUS_TOPICS_MAX && topic.n <= BUS_TOPIC_SIZE_MAX && !b->started);
    h = &b->topics[b->topic_count++];
    memcpy(h->topic, topic.p, topic.n);
    h->topic[topic.n] = '\0';
    h->fn = fn;
    h->ctx = ctx;
}

void bus_on_peer(struct bus *b,
                 void (*fn)(void *ctx, const struct bus_peer *who, enum bus_event event), void *ctx)
{
    if (!b)
        return;
    assert(b->on_peer_count < BUS_HANDLERS_MAX && !b->started);
    b->on_peer[b->on_peer_count].fn = fn;
    b->on_peer[b->on_peer_count++].ctx = ctx;
}

void bus_on_group(struct bus *b, void (*fn)(void *ctx), void *ctx)
{
    if (!b)
        return;
    assert(b->on_group_count < BUS_HANDLERS_MAX && !b->started);
    b->on_group[b->on_group_count].fn = fn;
    b->on_group[b->on_group_count++].ctx = ctx;
}

void bus_start(struct bus *b)
{
    if (!b)
        return;
    assert(!b->started);
    b->started = true;
    if (pthread_create(&b->thread, NULL, bus_run, b) != 0)
        base_die("no thread could be started");
}

void bus_free(struct bus *b)
{
    if (!b)
        return;
    atomic_store(&b->stop, true);
    bus_wake(b);
    if (b->started)
        pthread_join(b->thread, NULL);
    for (size_t i = 0; i < BUS_PEERS_MAX; i++)
        if (b->known[i].alive)
            buf_release(&b->known[i].part);
    for (size_t i = 0; i < b->queue_count; i++)
        free(b->queue[i]);
    (void)close(b->wake_fd);
    pthread_mutex_destroy(&b->lock);
    free(b->url);
    free(b);
}
