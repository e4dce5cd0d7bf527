/* api.c - shared by the routes under /api/v1.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/params.h"

#include <arpa/inet.h>

bool api_path(str path)
{
    return str_starts(path, STR("/api/v1/")) || str_eq(path, STR("/openapi.json"));
}

void api_protect(struct exchange *ex)
{
    assert(!ex->ended);
    exchange_header(ex, STR("x-content-type-options"), STR("nosniff"));
    exchange_header(ex, STR("cache-control"), STR("no-store"));
    exchange_header(ex, STR("referrer-policy"), STR("no-referrer"));
    exchange_header(ex, STR("cross-origin-resource-policy"), STR("same-origin"));
    exchange_header(
        ex, STR("content-security-policy"), STR("default-src 'none'; frame-ancestors 'none'"));
}

void api_error(const struct chat_error *error, struct buf *out)
{
    struct json_out o;

    assert(error->status >= 400);
    json_out_init_object(&o, out);
    json_member_object(&o, "detail");
    json_member_str(&o, "error", error->code);
    json_member_str(&o, "message", error->message);
    json_out_close(&o, 2);
}

void api_invalid(struct exchange *ex, int status, const char *field, str value,
                 const char *expected, const char *why)
{
    struct json_text t;
    struct json_out *o = &t.o;

    assert(field && why && status >= 400 && status < 500);
    json_text_begin(&t, 65536);
    json_member_object(o, "detail");
    json_member_str(o, "error", STR("invalid_parameter"));
    json_member_str(o, "message", arena_printf(server_arena(ex->x), "%s: %s", field, why));
    json_member_str(o, "field", str_c(field));
    json_member_str(o, "reason", str_c(why));
    json_member_array(o, "validation_errors");
    json_out_object(o);
    json_member_str(o, "field", str_c(field));
    json_member_str(o, "message", str_c(why));
    json_member_str(o, "invalid_value", str_slice(value, 0, 200));
    json_member_str(o, "expected_type", str_c(expected));
    exchange_reply_json(ex, status, &t);
}

struct chat_error exchange_error_of(int status, const char *code, str message)
{
    return (struct chat_error){.status = status,
                               .type = STR(""),
                               .code = str_c(code),
                               .param = STR(""),
                               .message = message,
                               .raw = STR(""),
                               .frame = STR(""),
                               .id = STR(""),
                               .retry_after_ms = -1};
}

bool api_operator(const struct exchange *ex)
{
    assert(ex->setup);
    return ex->setup->config->key_count == 0 || (ex->key && ex->key->role == CONFIG_OPERATOR);
}

bool api_sees_reasoning(const struct exchange *ex)
{
    return config_shows_reasoning(
        ex->setup->config, ex->key, exchange_reasoning_asked(server_request(ex->x)));
}

bool api_operators_only(struct exchange *ex)
{
    if (api_operator(ex))
        return true;
    assert(ex->key); /* without keys everybody is an operator, but this route needs a key */
    exchange_fail(ex,
                  403,
                  "operators_only",
                  "the key \"" STR_FMT "\" is not an operator's",
                  STR_ARG(ex->key->name));
    return false;
}

static bool serve_api_is_safe(str method)
{
    return str_eq(method, STR("GET")) || str_eq(method, STR("HEAD"));
}

static bool api_is_address(str host)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr to;

    if (host.n >= sizeof text)
        return false;
    memcpy(text, host.p, host.n);
    text[host.n] = '\0';
    return inet_pton(AF_INET, text, &to) == 1 || inet_pton(AF_INET6, text, &to) == 1;
}

/* Whether the host may be the name of another site. /metrics is also asked for by an address, which
 * no other site can take for its name. */
static bool api_is_foreign(const struct exchange *ex, str host)
{
    return host.n && !config_is_loopback(host) &&
           !(ex->route->handle == metrics_handle && api_is_address(host));
}

/* Without keys, a DNS rebinding attack could make a browser send requests here under the name of
 * another site, which could then read the replies. So the host name must be this machine's. With a
 * cookie, or to change something, the page that sends the request must be ours. */
bool api_allowed(struct exchange *ex)
{
    const struct http1_head *h = server_request(ex->x);
    bool ours = ex->api || ex->route->handle == metrics_handle;

    assert(ex->setup && ex->route);
    if (!ours && !ex->by_cookie)
        return true;
    if (ex->setup->config->key_count == 0 && api_is_foreign(ex, http1_bare_host(h->host))) {
        exchange_fail(ex,
                      403,
                      "foreign_host",
                      "without keys only this machine is answered, by the name localhost");
        return false;
    }
    if (!serve_api_is_safe(h->method) && exchange_from_elsewhere(h, false)) {
        exchange_fail(ex, 403, "foreign_origin", "a page of another site may not ask here");
        return false;
    }
    return true;
}
