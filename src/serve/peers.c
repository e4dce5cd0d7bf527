/* peers.c - see peers.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/peers.h"

#include "base/sha256.h"
#include "gateway/share.h"
#include "serve/internal.h"
#include "store/daemons.h"
#include "store/db.h"

#define TOPIC_LOGOUT STR("logout")
#define DIGEST_SIZE 65
#define LOGINS_LOOKS 5 /* until the table is read again */
#define ENDED_MAX 256  /* logins that wait to be stored */

struct peers_ended {
    char digest[DIGEST_SIZE];
    int64_t until_ms;
};

struct peers {
    struct daemon *d;
    struct bus *bus;
    struct db *db;  /* of the thread; NULL: not open yet */
    bool read;      /* the logins that others ended are known */
    unsigned looks; /* checks since then: a message of the bus may be lost */
    pthread_t thread;
    pthread_mutex_t lock; /* protects the members below */
    pthread_cond_t wake;
    bool started, stop, due;
    struct peers_ended ended[ENDED_MAX];
    size_t ended_count;
};

struct bus *peers_bus(struct peers *p)
{
    return p ? p->bus : NULL;
}

static void peers_wake(struct peers *p)
{
    pthread_mutex_lock(&p->lock);
    p->due = true;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

/* ---- from the bus and the store ---- */

static void peers_on_due(void *ctx, const struct bus_peer *from, str text)
{
    (void)from, (void)text;
    peers_wake(ctx);
}

static void peers_on_gone(void *ctx, str daemon)
{
    log_info("the work of another daemon continues here", LOG_STR("daemon", daemon));
    peers_wake(ctx);
}

static void peers_on_lost(void *ctx)
{
    struct peers *p = ctx;

    log_warn("another daemon took over the work of this one, because its lease expired");
    if (apps_enter(p->d)) {
        apps_lost(p->d->apps);
        apps_leave(p->d);
    }
}

/* "DIGEST UNTIL_MS" */
static void peers_on_logout(void *ctx, const struct bus_peer *from, str text)
{
    struct peers *p = ctx;
    uint64_t until;

    (void)from;
    if (text.n > DIGEST_SIZE && str_u64(str_slice(text, DIGEST_SIZE, text.n), &until))
        login_end(p->d->login, str_slice(text, 0, DIGEST_SIZE - 1), (int64_t)until);
}

/* ---- logins that ended ---- */

void peers_login_ended(struct peers *p, const char *digest, int64_t until_ms)
{
    char text[DIGEST_SIZE + 32];
    int n = snprintf(text, sizeof text, "%s %lld", digest, (long long)until_ms);

    if (!p)
        return;
    assert(n > 0 && (size_t)n < sizeof text);
    bus_send(p->bus, TOPIC_LOGOUT, (str){text, (size_t)n});
    pthread_mutex_lock(&p->lock);
    if (p->ended_count < ENDED_MAX) {
        struct peers_ended *e = &p->ended[p->ended_count++];

        (void)snprintf(e->digest, sizeof e->digest, "%s", digest);
        e->until_ms = until_ms;
    }
    p->due = true;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

static bool peers_on_ended_row(void *ctx, const struct db_value *c, size_t n)
{
    struct peers *p = ctx;

    assert(n > 1);
    login_end(p->d->login, c[0].s, c[1].i / 1000);
    return true;
}

static bool peers_read_logins(struct peers *p, struct err *e)
{
    struct setup *s;
    bool ok = true;

    if (!p->db) {
        s = gateway_setup(&p->d->gateway);
        ok = db_open(s->config->store_url, DB_BESIDE, &p->db, e);
        setup_release(s);
    }
    return ok &&
           db_run(p->db,
                  "DELETE FROM login_ends WHERE until_us < $1",
                  DB_ARGS(db_int(clock_wall_ms(p->d->gateway.clock) * 1000)),
                  e) &&
           db_query(p->db,
                    "SELECT digest, until_us FROM login_ends",
                    NULL,
                    0,
                    (struct db_rows){peers_on_ended_row, p},
                    e);
}

static bool peers_store_login(struct peers *p, const struct peers_ended *ended, struct err *e)
{
    assert(p->db);
    return db_run(p->db,
                  "INSERT INTO login_ends (digest, until_us) VALUES ($1, $2)"
                  " ON CONFLICT (digest) DO NOTHING",
                  DB_ARGS(db_text(str_c(ended->digest)), db_int(ended->until_ms * 1000)),
                  e);
}

static void peers_logins(struct peers *p)
{
    struct peers_ended one;
    struct err e;

    if (!p->read || ++p->looks >= LOGINS_LOOKS) {
        p->read = peers_read_logins(p, &e);
        p->looks = 0;
    }
    while (p->read) {
        pthread_mutex_lock(&p->lock);
        if (!p->ended_count) {
            pthread_mutex_unlock(&p->lock);
            return;
        }
        one = p->ended[p->ended_count - 1];
        pthread_mutex_unlock(&p->lock);
        if (!peers_store_login(p, &one, &e))
            return; /* retried at the next check */
        pthread_mutex_lock(&p->lock);
        for (size_t i = 0; i < p->ended_count; i++)
            if (strcmp(p->ended[i].digest, one.digest) == 0)
                p->ended[i] = p->ended[--p->ended_count];
        pthread_mutex_unlock(&p->lock);
    }
}

/* ---- the thread ---- */

static bool peers_wait(struct peers *p)
{
    uint64_t until = clock_deadline_ns(&clock_real, PEERS_LOOK_MS);
    bool stop;

    pthread_mutex_lock(&p->lock);
    while (!p->stop && !p->due && clock_cond_wait(&p->wake, &p->lock, until))
        ;
    p->due = false;
    stop = p->stop;
    pthread_mutex_unlock(&p->lock);
    return !stop;
}

static void *peers_run(void *peers)
{
    struct peers *p = peers;
    struct log_scope scope;

    log_scope_enter(&scope, p->d->log, STR(""));
    do {
        peers_logins(p);
        if (p->d->runs)
            apps_look(p->d->apps);
    } while (peers_wait(p));
    log_scope_leave(&scope);
    return NULL;
}

/* ---- life ---- */

struct peers *peers_new(struct daemon *d)
{
    str id = store_daemon(d->gateway.store);
    uint8_t secret[32];
    char hex[SHA256_HEX_SIZE];
    struct peers *p;

    if (!id.n)
        return NULL;
    store_secret(d->gateway.store, STR("bus channel"), secret);
    p = base_alloc(sizeof *p);
    memset(p, 0, sizeof *p);
    p->d = d;
    p->bus = bus_new(
        d->gateway.setup->config->store_url, id, str_slice(sha256_hex(secret, hex), 0, 48), d->log);
    pthread_mutex_init(&p->lock, NULL);
    clock_cond_init(&p->wake);
    gateway_share(&d->gateway, p->bus);
    bus_on(p->bus, STR(AGENT_DUE_TOPIC), peers_on_due, p);
    bus_on(p->bus, TOPIC_LOGOUT, peers_on_logout, p);
    return p;
}

void peers_start(struct peers *p)
{
    if (!p)
        return;
    bus_start(p->bus);
    daemons_watch(store_daemons(p->d->gateway.store),
                  &(struct daemons_watch){peers_on_gone, peers_on_lost, p});
    p->started = true;
    if (pthread_create(&p->thread, NULL, peers_run, p) != 0)
        base_die("no thread could be started");
}

void peers_stop(struct peers *p)
{
    if (!p || !p->started)
        return;
    daemons_watch(store_daemons(p->d->gateway.store), NULL);
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    p->started = false;
}

void peers_release_runs(struct peers *p)
{
    struct err e;

    if (p && bus_peers(p->bus) && p->d->runs && !agent_log_release(p->d->runs, &e))
        log_warn("the runs of this daemon are not handed over", LOG_ERR(&e));
}

void peers_free(struct peers *p)
{
    if (!p)
        return;
    peers_stop(p);
    bus_free(p->bus);
    gateway_share_stop(&p->d->gateway);
    db_close(p->db);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
