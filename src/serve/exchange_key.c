/* exchange_key.c - see exchange_key.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/exchange_key.h"

#include "gateway/guesses.h"
#include "serve/params.h"
#include "serve/watch.h"

static str exchange_key_in(const struct http1_head *h)
{
    str auth = http1_find(h, STR("authorization"));
    str key;

    if (auth.n > 7 && strncasecmp(auth.p, "bearer ", 7) == 0)
        return str_trim(str_slice(auth, 7, auth.n));
    key = http1_find(h, STR("x-api-key"));
    return key.n ? key : http1_find(h, STR("x-goog-api-key"));
}

/* Clients of Gemini may send the key in the query. */
static str exchange_key_in_query(struct exchange *ex)
{
    struct params p;

    if (ex->wire->dialect != CHAT_GEMINI)
        return STR("");
    params_init(&p, ex, server_arena(ex->x));
    return params_text(&p, "key");
}

str exchange_shown_key(struct exchange *ex)
{
    str key = exchange_key_in(server_request(ex->x));

    return key.n ? key : exchange_key_in_query(ex);
}

bool exchange_throttle_guess(struct exchange *ex, str message)
{
    int64_t wait_ms = guesses_add(ex->worker->gl.gateway->guesses,
                                  server_peer_address(ex->x),
                                  loop_now_ns(ex->worker->gl.loop));
    struct chat_error error;

    if (!wait_ms)
        return false;
    error = exchange_error_of(429, "too_many_wrong_keys", message);
    error.retry_after_ms = wait_ms;
    ex->refused = error.code;
    metrics_reject(ex->worker->gl.metrics, METRICS_WRONG_KEYS);
    exchange_error(ex, &error);
    return true;
}

void exchange_refuse_key(struct exchange *ex, const char *code, const char *message)
{
    if (!exchange_throttle_guess(ex,
                                 STR("the key is not known here, and this address has sent many "
                                     "wrong ones: correct it, or wait")))
        exchange_fail(ex, 401, code, "%s", message);
}

/* Without keys everybody on loopback may send requests, and any web page can make a browser send
 * some. So requests from pages must come from one of our pages. */
bool exchange_from_elsewhere(const struct http1_head *h, bool loopback)
{
    str origin = http1_find(h, STR("origin")), host = http1_find(h, STR("host"));
    size_t scheme = str_find(origin, STR("://"));

    if (!http1_has(h, STR("origin")))
        return false;
    if (scheme == STR_NONE)
        return true; /* for example the origin "null" */
    return !str_eq(str_slice(origin, scheme + 3, origin.n), host) ||
           (loopback && !config_is_loopback(http1_bare_host(host)));
}

/* With keys, a page of any site may send requests: it needs a key, and the browser sends no
 * cookie. */
static void exchange_allow_origins(struct exchange *ex)
{
    assert(ex->setup->config->key_count > 0);
    if (!http1_has(server_request(ex->x), STR("origin")) || ex->api || ex->route->open)
        return;
    exchange_header(ex, STR("access-control-allow-origin"), STR("*"));
    exchange_header(ex, STR("access-control-expose-headers"), STR("*"));
}

/* Without keys the daemon listens on loopback only; but a socket may be inherited, or the keys may
 * have been removed after it was opened. */
static bool exchange_is_near(struct exchange *ex)
{
    if (server_peer_near(ex->x))
        return true;
    exchange_fail(ex,
                  403,
                  "foreign_address",
                  "without keys only this machine is answered; configure keys to allow others");
    return false;
}

bool exchange_authenticate(struct exchange *ex)
{
    const struct config *c = ex->setup->config;
    bool keyless = c->key_count == 0 || ex->route == &watch_any; /* the id of a run is its key */
    uint8_t digest[32];
    str key;

    assert(ex->route && !ex->key);
    if (keyless && exchange_from_elsewhere(server_request(ex->x), true)) {
        exchange_fail(ex,
                      403,
                      "foreign_origin",
                      "a page of another site may not ask here; configure keys to allow it");
        return false;
    }
    if (keyless)
        return exchange_is_near(ex);
    exchange_allow_origins(ex);
    key = exchange_shown_key(ex);
    ex->key = setup_cache_key(&ex->worker->gl.setup_cache, ex->setup, key);
    if (!key.n && login_find(ex->worker->daemon->login,
                             http1_find(server_request(ex->x), STR("cookie")),
                             digest)) {
        ex->key = config_key_find(c, digest);
        ex->by_cookie = ex->key != NULL;
    }
    if (ex->key || ex->route->open)
        return true;
    if (key.n)
        exchange_refuse_key(
            ex,
            "invalid_api_key",
            "the key is not known here: send a key of this gateway, not of a provider");
    else
        exchange_fail(ex,
                      401,
                      "invalid_api_key",
                      "a key is needed: Authorization: Bearer, x-api-key or x-goog-api-key");
    return false;
}
