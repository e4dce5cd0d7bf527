/* SPDX-License-Identifier: Apache-2.0 */
#include "net/tls_sessions.h"

#include "net/tls.h"

#include <pthread.h>

struct kept {
    SSL_SESSION *session;
    uint64_t order;
    size_t host_size;
    char *host;
};

/* A plain array: looking through all of it costs a microsecond, a handshake hundreds. */
struct tls_sessions {
    pthread_mutex_t lock;
    uint64_t order;
    size_t n;
    struct kept kept[TLS_SESSIONS_MAX];
};

struct tls_sessions *tls_sessions_new(void)
{
    struct tls_sessions *s = base_alloc(sizeof *s);

    memset(s, 0, sizeof *s);
    if (pthread_mutex_init(&s->lock, NULL) != 0)
        base_die("a mutex cannot be made");
    return s;
}

static void tls_remove_at(struct tls_sessions *s, size_t i)
{
    assert(i < s->n);
    free(s->kept[i].host);
    s->kept[i] = s->kept[--s->n];
}

void tls_sessions_free(struct tls_sessions *s)
{
    if (!s)
        return;
    while (s->n > 0) {
        SSL_SESSION_free(s->kept[0].session);
        tls_remove_at(s, 0);
    }
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static bool tls_sessions_is_of(const struct kept *k, str host)
{
    return k->host_size == host.n && memcmp(k->host, host.p, host.n) == 0;
}

/* Room for one more of this host. */
static void tls_sessions_make_room(struct tls_sessions *s, str host)
{
    size_t of_host = 0, oldest = 0, oldest_of_host = TLS_SESSIONS_MAX;

    assert(s->n <= TLS_SESSIONS_MAX);
    for (size_t i = 0; i < s->n; i++) {
        if (s->kept[i].order < s->kept[oldest].order)
            oldest = i;
        if (!tls_sessions_is_of(&s->kept[i], host))
            continue;
        of_host++;
        if (oldest_of_host == TLS_SESSIONS_MAX || s->kept[i].order < s->kept[oldest_of_host].order)
            oldest_of_host = i;
    }
    if (of_host >= TLS_SESSIONS_HOST_MAX)
        oldest = oldest_of_host;
    else if (s->n < TLS_SESSIONS_MAX)
        return;
    SSL_SESSION_free(s->kept[oldest].session);
    tls_remove_at(s, oldest);
}

void tls_sessions_add(struct tls_sessions *s, str host, SSL_SESSION *session)
{
    struct kept *k;

    pthread_mutex_lock(&s->lock);
    tls_sessions_make_room(s, host);
    assert(s->n < TLS_SESSIONS_MAX);
    k = &s->kept[s->n++];
    *k = (struct kept){session, s->order++, host.n, str_copy(host)};
    pthread_mutex_unlock(&s->lock);
}

SSL_SESSION *tls_sessions_take(struct tls_sessions *s, str host)
{
    SSL_SESSION *session = NULL;
    size_t newest = TLS_SESSIONS_MAX;

    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->n; i++)
        if (tls_sessions_is_of(&s->kept[i], host) &&
            (newest == TLS_SESSIONS_MAX || s->kept[i].order > s->kept[newest].order))
            newest = i;
    if (newest < TLS_SESSIONS_MAX) {
        session = s->kept[newest].session;
        tls_remove_at(s, newest);
    }
    pthread_mutex_unlock(&s->lock);
    return session;
}
