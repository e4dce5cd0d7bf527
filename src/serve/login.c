/* login.c - exchanges a key for a cookie, for browsers, which should not keep keys.
 *
 * The cookie's value is random; its meaning is in memory only, for 12 hours. It refers to the key's
 * digest, so removing a key from the configuration takes effect at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/sha256.h"
#include "serve/internal.h"

#define ENTRIES_MAX 1024
#define LIFE_MS ((int64_t)12 * 3600 * 1000)
#define ID_BYTES 32
#define NAME "rationale_session="

struct entry {
    uint8_t id[SHA256_SIZE]; /* the digest of what the cookie says */
    uint8_t key[SHA256_SIZE];
    int64_t until_ms;
};

struct login {
    const struct clock *clock;
    pthread_mutex_t lock;
    size_t n;
    struct entry at[ENTRIES_MAX];
};

struct login *login_new(const struct clock *clock)
{
    struct login *l = base_alloc(sizeof *l);

    *l = (struct login){.clock = clock};
    pthread_mutex_init(&l->lock, NULL);
    return l;
}

void login_free(struct login *l)
{
    if (!l)
        return;
    pthread_mutex_destroy(&l->lock);
    free(l);
}

/* Of "a=1; rationale_session=VALUE; b=2". */
static str cookie_value(str cookies)
{
    while (cookies.n) {
        size_t end = str_find(cookies, STR(";"));
        str one = str_trim(str_slice(cookies, 0, end));

        if (str_starts(one, STR(NAME)))
            return str_slice(one, strlen(NAME), one.n);
        cookies = end == STR_NONE ? STR("") : str_slice(cookies, end + 1, cookies.n);
    }
    return STR("");
}

static struct entry *serve_login_find(struct login *l, str value)
{
    int64_t now = clock_wall_ms(l->clock);
    uint8_t id[SHA256_SIZE];
    struct entry *found = NULL;

    sha256_of(value, id);
    for (size_t i = 0; i < l->n; i++) {
        while (i < l->n && l->at[i].until_ms <= now)
            l->at[i] = l->at[--l->n];
        if (i < l->n && mem_equal_ct(l->at[i].id, id, sizeof id))
            found = &l->at[i];
    }
    return found;
}

bool login_find(struct login *l, str cookies, uint8_t sha256[32])
{
    str value = cookie_value(cookies);
    struct entry *found;

    if (value.n != ID_BYTES * 2)
        return false;
    pthread_mutex_lock(&l->lock);
    found = serve_login_find(l, value);
    if (found)
        memcpy(sha256, found->key, SHA256_SIZE);
    pthread_mutex_unlock(&l->lock);
    return found != NULL;
}

/* The oldest makes room. */
static void serve_login_add(struct login *l, str value, const uint8_t key[SHA256_SIZE])
{
    struct entry *e;

    pthread_mutex_lock(&l->lock);
    (void)serve_login_find(l, value);
    e = &l->at[0];
    if (l->n < ENTRIES_MAX)
        e = &l->at[l->n++];
    else
        for (size_t i = 1; i < l->n; i++)
            e = l->at[i].until_ms < e->until_ms ? &l->at[i] : e;
    sha256_of(value, e->id);
    memcpy(e->key, key, SHA256_SIZE);
    e->until_ms = clock_wall_ms(l->clock) + LIFE_MS;
    pthread_mutex_unlock(&l->lock);
}

static void send_cookie(struct exchange *ex, str value, int64_t seconds)
{
    bool tls = ex->worker->daemon->tls_server != NULL;

    exchange_header(ex,
                    STR("set-cookie"),
                    arena_printf(server_arena(ex->x),
                                 NAME STR_FMT "; Path=/; HttpOnly; SameSite=Strict; Max-Age=%lld%s",
                                 STR_ARG(value),
                                 (long long)seconds,
                                 tls ? "; Secure" : ""));
}

static const char *role_name(const struct exchange *ex)
{
    return api_operator(ex) ? "operator" : "client";
}

static void welcome(struct exchange *ex)
{
    struct json_out o;
    struct buf b;

    buf_init(&b, 4096);
    json_out_init(&o, &b);
    json_out_object(&o);
    json_out_key(&o, STR("name"));
    if (ex->key)
        json_out_str(&o, ex->key->name);
    else
        json_out_null(&o);
    json_out_key(&o, STR("role"));
    json_out_str(&o, str_c(role_name(ex)));
    json_out_end(&o);
    exchange_reply(ex, 200, STR("application/json"), buf_str(&b));
    buf_release(&b);
}

void login_handle(struct exchange *ex)
{
    const struct config *c = ex->setup->config;
    uint8_t chance[ID_BYTES], digest[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];
    str key;

    if (c->key_count == 0) {
        welcome(ex); /* no key is needed */
        return;
    }
    if (!exchange_json(ex))
        return;
    if (!json_text(&ex->doc,
                   json_find(&ex->doc, json_root(&ex->doc), STR("key")),
                   server_arena(ex->x),
                   &key)) {
        exchange_fail(ex, 422, "invalid_parameter", "key: must be a text");
        return;
    }
    sha256_of(str_trim(key), digest);
    ex->key = config_key_find(c, digest);
    if (!ex->key) {
        exchange_fail(ex, 401, "invalid_api_key", "the key is not known here");
        return;
    }
    rand_os(chance, sizeof chance);
    serve_login_add(ex->worker->daemon->login, sha256_hex(chance, hex), digest);
    send_cookie(ex, str_c(hex), LIFE_MS / 1000);
    welcome(ex);
}

void logout_handle(struct exchange *ex)
{
    struct login *l = ex->worker->daemon->login;
    str value = cookie_value(http1_find(server_request(ex->x), STR("cookie")));
    struct entry *found;

    pthread_mutex_lock(&l->lock);
    found = value.n ? serve_login_find(l, value) : NULL;
    if (found)
        *found = l->at[--l->n];
    pthread_mutex_unlock(&l->lock);
    send_cookie(ex, STR(""), 0);
    exchange_reply(ex, 200, STR("application/json"), STR("{\"ok\":true}"));
}
