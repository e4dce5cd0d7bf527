/* login.c - exchanges a key for a cookie, for browsers, which should not keep keys.
 *
 * The cookie identifies the key, encrypted and signed with a secret of the store, for 12 hours: all
 * daemons that share the store accept it. It contains the key's digest, so removing a key from the
 * configuration takes effect at once. A login that was ended is remembered until it would expire.
 * If the store is not shared, each process has a new secret, so a restart ends all logins.
 *
 * A code is for a link that logs its reader in. Only the daemon that created it knows it, and
 * exchanges it for a cookie once, unless it was dropped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/login.h"

#include "base/ctype.h"
#include "base/sha256.h"
#include "serve/exchange_key.h"
#include "serve/peers.h"
#include "store/daemons.h"

#define ENDED_MAX 1024
#define CODES_MAX 256
#define LIFE_MS ((int64_t)12 * 3600 * 1000)
#define NONCE_SIZE 16
#define NAME "rationale_session="

/* The bytes of a cookie. */
struct cookie {
    uint8_t nonce[NONCE_SIZE];
    int64_t until_ms;
    uint8_t key[SHA256_SIZE]; /* encrypted with a hash of the nonce */
    uint8_t mac[SHA256_SIZE];
};

struct ended {
    char digest[SHA256_HEX_SIZE]; /* of the cookie */
    int64_t until_ms;
};

struct code {
    uint8_t digest[SHA256_SIZE], key[SHA256_SIZE];
    int64_t until_ms;
};

struct login {
    struct daemon *daemon;
    const struct clock *clock;
    uint8_t secret[32];
    pthread_mutex_t lock;
    size_t n;
    struct ended at[ENDED_MAX];
    size_t code_next;
    struct code codes[CODES_MAX]; /* when all are in use, the oldest is replaced */
};

struct login *login_new(struct daemon *d)
{
    struct login *l = base_alloc(sizeof *l);
    struct sha256 h;

    *l = (struct login){.daemon = d, .clock = d->gateway.clock};
    pthread_mutex_init(&l->lock, NULL);
    store_secret(d->gateway.store, STR("login"), l->secret);
    if (!store_daemon(d->gateway.store).n) {
        sha256_init(&h);
        sha256_feed(&h, (str){(const char *)l->secret, sizeof l->secret});
        sha256_feed(&h, store_id(d->gateway.store));
        sha256_finish(&h, l->secret);
    }
    return l;
}

void login_free(struct login *l)
{
    if (!l)
        return;
    pthread_mutex_destroy(&l->lock);
    free(l);
}

/* The value of our cookie in "a=1; rationale_session=VALUE; b=2". */
static str cookie_value(str cookies)
{
    while (cookies.n) {
        str one = str_trim(str_cut(&cookies, ';'));

        if (str_starts(one, STR(NAME)))
            return str_slice(one, strlen(NAME), one.n);
    }
    return STR("");
}

/* ---- ended logins ---- */

void login_end(struct login *l, str digest, int64_t until_ms)
{
    int64_t now = clock_wall_ms(l->clock);
    struct ended *e;

    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < l->n; i++)
        while (i < l->n && l->at[i].until_ms <= now)
            l->at[i] = l->at[--l->n];
    for (size_t i = 0; i < l->n; i++)
        if (str_eq(digest, str_c(l->at[i].digest))) {
            pthread_mutex_unlock(&l->lock);
            return;
        }
    assert(l->n <= ENDED_MAX);
    e = &l->at[0];
    if (l->n < ENDED_MAX)
        e = &l->at[l->n++];
    else
        for (size_t i = 1; i < l->n; i++) /* replaces the one that would expire first */
            e = l->at[i].until_ms < e->until_ms ? &l->at[i] : e;
    (void)snprintf(e->digest, sizeof e->digest, STR_FMT, STR_ARG(digest));
    e->until_ms = until_ms;
    pthread_mutex_unlock(&l->lock);
}

/* Compares the bytes: the text of the same cookie may have capital letters. */
static str login_digest(const struct cookie *c, char hex[SHA256_HEX_SIZE])
{
    uint8_t digest[SHA256_SIZE];

    sha256_of((str){(const char *)c, sizeof *c}, digest);
    return sha256_hex(digest, hex);
}

static bool login_has_ended(struct login *l, const struct cookie *c)
{
    char hex[SHA256_HEX_SIZE];
    str digest = login_digest(c, hex);
    bool found = false;

    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < l->n; i++)
        found |= str_eq(digest, str_c(l->at[i].digest));
    pthread_mutex_unlock(&l->lock);
    return found;
}

/* ---- cookies ---- */

static void login_hash(const struct login *l, const char *purpose, const void *bytes, size_t n,
                       uint8_t out[SHA256_SIZE])
{
    struct sha256_mac m;

    sha256_mac_init(&m, (str){(const char *)l->secret, sizeof l->secret});
    sha256_mac_feed(&m, str_c(purpose));
    sha256_mac_feed(&m, (str){bytes, n});
    sha256_mac_finish(&m, out);
}

/* Encrypts or decrypts. */
static void login_cipher(const struct login *l, struct cookie *c)
{
    uint8_t stream[SHA256_SIZE];

    login_hash(l, "key", c->nonce, sizeof c->nonce, stream);
    for (size_t i = 0; i < sizeof stream; i++)
        c->key[i] ^= stream[i];
}

static bool login_read(const struct login *l, str value, struct cookie *out)
{
    uint8_t mac[SHA256_SIZE], *bytes = (uint8_t *)out;

    if (value.n != 2 * sizeof *out)
        return false;
    for (size_t i = 0; i < sizeof *out; i++) {
        int high = char_hex_value(value.p[2 * i]), low = char_hex_value(value.p[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    login_hash(l, "cookie", out, offsetof(struct cookie, mac), mac);
    return mem_equal_ct(mac, out->mac, sizeof mac) && out->until_ms > clock_wall_ms(l->clock);
}

bool login_find(struct login *l, str cookies, uint8_t sha256[32])
{
    str value = cookie_value(cookies);
    struct cookie c;

    if (!login_read(l, value, &c) || login_has_ended(l, &c))
        return false;
    login_cipher(l, &c);
    memcpy(sha256, c.key, SHA256_SIZE);
    return true;
}

/* Ends a valid login, for all daemons. */
static void login_close(struct login *l, str value)
{
    char hex[SHA256_HEX_SIZE];
    struct cookie c;

    if (!login_read(l, value, &c) || login_has_ended(l, &c))
        return;
    login_end(l, login_digest(&c, hex), c.until_ms);
    peers_login_ended(l->daemon->peers, hex, c.until_ms);
}

static str login_make(const struct login *l, const uint8_t key[SHA256_SIZE],
                      char hex[2 * sizeof(struct cookie) + 1])
{
    struct cookie c = {.until_ms = clock_wall_ms(l->clock) + LIFE_MS};

    rand_os(c.nonce, sizeof c.nonce);
    memcpy(c.key, key, sizeof c.key);
    login_cipher(l, &c);
    login_hash(l, "cookie", &c, offsetof(struct cookie, mac), c.mac);
    for (size_t i = 0; i < sizeof c; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", ((const uint8_t *)&c)[i]);
    return (str){hex, 2 * sizeof c};
}

str login_code_new(struct login *l, const struct config_key *key, char hex[65])
{
    uint8_t chance[SHA256_SIZE];
    struct code *c;
    str code;

    assert(key);
    rand_os(chance, sizeof chance);
    code = sha256_hex(chance, hex);
    pthread_mutex_lock(&l->lock);
    c = &l->codes[l->code_next++ % CODES_MAX];
    sha256_of(code, c->digest);
    memcpy(c->key, key->sha256, sizeof c->key);
    c->until_ms = clock_wall_ms(l->clock) + LIFE_MS;
    pthread_mutex_unlock(&l->lock);
    return code;
}

/* The digest of the key that the code is for; the code is used up. */
static bool serve_login_take_code(struct login *l, str code, uint8_t digest[SHA256_SIZE])
{
    int64_t now = clock_wall_ms(l->clock);
    uint8_t of[SHA256_SIZE];
    bool found = false;

    sha256_of(code, of);
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < CODES_MAX; i++) {
        struct code *c = &l->codes[i];

        if (c->until_ms <= now || !mem_equal_ct(of, c->digest, sizeof of))
            continue;
        found = true;
        memcpy(digest, c->key, SHA256_SIZE);
        c->until_ms = 0;
    }
    pthread_mutex_unlock(&l->lock);
    return found;
}

void login_code_drop(struct login *l, str code)
{
    uint8_t digest[SHA256_SIZE];

    (void)serve_login_take_code(l, code, digest);
}

/* Reads "key" or "code" of the body; false after a reply. */
static bool serve_login_read(struct exchange *ex, uint8_t digest[SHA256_SIZE])
{
    const struct json_node *root = json_root(&ex->doc);
    struct arena *a = server_arena(ex->x);
    str text;

    if (json_text(&ex->doc, json_find(&ex->doc, root, STR("code")), a, &text)) {
        if (serve_login_take_code(ex->worker->daemon->login, text, digest))
            return true;
        exchange_refuse_key(
            ex,
            "invalid_code",
            "the code of the link was used already or has expired: open a new link");
        return false;
    }
    if (!json_text(&ex->doc, json_find(&ex->doc, root, STR("key")), a, &text)) {
        exchange_fail(ex, 422, "invalid_parameter", "key: must be a text");
        return false;
    }
    sha256_of(str_trim(text), digest);
    return true;
}

static void login_send_cookie(struct exchange *ex, str value, int64_t seconds)
{
    bool tls = ex->worker->daemon->tls_server != NULL;

    assert(seconds >= 0);
    exchange_header(ex,
                    STR("set-cookie"),
                    arena_printf(server_arena(ex->x),
                                 NAME STR_FMT "; Path=/; HttpOnly; SameSite=Strict; Max-Age=%lld%s",
                                 STR_ARG(value),
                                 (long long)seconds,
                                 tls ? "; Secure" : ""));
}

static void login_reply_role(struct exchange *ex)
{
    struct json_text t;

    json_text_begin(&t, 4096);
    if (ex->key)
        json_member_str(&t.o, "name", ex->key->name);
    else
        json_member_null(&t.o, "name");
    json_member_str(&t.o, "role", api_operator(ex) ? STR("operator") : STR("client"));
    exchange_reply_json(ex, 200, &t);
}

void login_handle(struct exchange *ex)
{
    const struct config *c = ex->setup->config;
    uint8_t digest[SHA256_SIZE];
    char hex[2 * sizeof(struct cookie) + 1];

    if (c->key_count == 0) {
        login_reply_role(ex); /* no key is needed */
        return;
    }
    if (!exchange_members(ex, "key code") || !serve_login_read(ex, digest))
        return;
    ex->key = config_key_find(c, digest);
    if (!ex->key) {
        exchange_refuse_key(ex, "invalid_api_key", "the key is not known here");
        return;
    }
    login_send_cookie(ex, login_make(ex->worker->daemon->login, digest, hex), LIFE_MS / 1000);
    login_reply_role(ex);
}

void logout_handle(struct exchange *ex)
{
    if (!exchange_members(ex, ""))
        return;
    login_close(ex->worker->daemon->login,
                cookie_value(http1_find(server_request(ex->x), STR("cookie"))));
    login_send_cookie(ex, STR(""), 0);
    exchange_reply(ex, 200, STR("application/json"), STR("{\"ok\":true}"));
}
