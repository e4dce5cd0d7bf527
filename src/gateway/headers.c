/* headers.c - the tables of what does not pass, and the copies of what does.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/headers.h"

#include "gateway/provider.h"

#include <pthread.h>

struct headers_row {
    str name;
    bool prefix; /* every name that begins with it */
    bool own;    /* passes to a provider of the client's own dialect */
};

#define ONE(name)                                                                                  \
    {                                                                                              \
        STR_INIT(name), false, false                                                               \
    }
#define ALL(prefix)                                                                                \
    {                                                                                              \
        STR_INIT(prefix), true, false                                                              \
    }
#define OWN(prefix)                                                                                \
    {                                                                                              \
        STR_INIT(prefix), true, true                                                               \
    }

/* The last word of a name that carries a credential, in any vendor's header. */
static const str credentials[] = {
    STR_INIT("api-key"),
    STR_INIT("api_key"),
    STR_INIT("apikey"),
    STR_INIT("access-key"),
    STR_INIT("-auth"),
    STR_INIT("subscription-key"),
    STR_INIT("functions-key"),
    STR_INIT("token"),
    STR_INIT("secret"),
    STR_INIT("password"),
    STR_INIT("credential"),
    STR_INIT("credentials"),
    STR_INIT("authentication"),
    STR_INIT("assertion"),
    STR_INIT("authorization"),
};

/* In lower case. Hop-by-hop headers; those that the gateway writes itself; those that describe the
 * way to the gateway, a browser or a body that is changed. */
static const struct headers_row requests[] = {
    ONE("accept"),
    ONE("accept-encoding"),
    ALL("access-control-"),
    ALL("cdn-"),
    ALL("cf-"),
    ONE("chatgpt-account-id"), /* of a login that is not sent along */
    ONE("client-ip"),
    ONE("connection"),
    ALL("content-"),
    ALL("cookie"),
    ONE("digest"),
    ONE("expect"),
    ALL("fastly-"),
    ONE("forwarded"),
    ONE("host"),
    ONE("http2-settings"),
    ONE("keep-alive"),
    ONE("max-forwards"),
    ONE("origin"),
    ALL("proxy-"),
    ONE("referer"),
    ALL("remote-"),
    ALL("sec-"),
    ALL("signature"),
    ONE("te"),
    ONE("traceparent"),
    ONE("tracestate"),
    ONE("trailer"),
    ONE("transfer-encoding"),
    ONE("true-client-ip"),
    ONE("upgrade"),
    ONE("upgrade-insecure-requests"),
    ONE("via"),
    ALL("x-accel-"),
    ALL("x-amz"),
    ALL("x-auth-request-"),
    ONE("x-client-ip"),
    ONE("x-cluster-client-ip"),
    ALL("x-envoy-"),
    ALL("x-forwarded"),
    ALL("x-ms-client-principal"),
    ALL("x-ms-token-"),
    ALL("x-original-"),
    ALL("x-rationale-"),
    ONE("x-real-ip"),
    ONE("x-reasoning-effort"),
    ALL("x-remote-"),
    OWN("anthropic-"),
    OWN("openai-"),
    OWN("x-goog-"),
    OWN("x-stainless-"),
};

/* The same of replies. Retry-After is written by the gateway, from what the provider said. */
static const struct headers_row replies[] = {
    ONE("accept-ranges"),
    ALL("access-control-"),
    ONE("age"),
    ONE("allow"),
    ONE("alt-svc"),
    ONE("cache-control"),
    ONE("clear-site-data"),
    ONE("connection"),
    ALL("content-"),
    ALL("cross-origin-"),
    ONE("date"),
    ONE("etag"),
    ONE("expect-ct"),
    ONE("expires"),
    ONE("keep-alive"),
    ONE("last-modified"),
    ONE("link"),
    ONE("location"),
    ONE("nel"),
    ONE("origin-agent-cluster"),
    ONE("permissions-policy"),
    ONE("pragma"),
    ALL("proxy-"),
    ALL("public-key-pins"),
    ONE("referrer-policy"),
    ONE("refresh"),
    ONE("report-to"),
    ONE("reporting-endpoints"),
    ALL("retry-after"),
    ONE("server"),
    ALL("set-cookie"),
    ONE("strict-transport-security"),
    ONE("te"),
    ONE("timing-allow-origin"),
    ONE("trailer"),
    ONE("transfer-encoding"),
    ONE("upgrade"),
    ONE("vary"),
    ONE("via"),
    ONE("www-authenticate"),
    ALL("x-accel-"),
    ONE("x-content-type-options"),
    ONE("x-dns-prefetch-control"),
    ONE("x-download-options"),
    ONE("x-frame-options"),
    ONE("x-permitted-cross-domain-policies"),
    ONE("x-powered-by"),
    ALL("x-rationale-"),
    ONE("x-robots-tag"),
    ONE("x-ua-compatible"),
    ONE("x-xss-protection"),
};

/* Parameters that the gateway sets itself, or that are credentials without one of the endings. */
static const str params[] = {
    STR_INIT("alt"), STR_INIT("$alt"), STR_INIT("key"), STR_INIT("auth"), STR_INIT("sig")};

/* A table, and which of its rows a name may match, a bit a row: by the first letter and the third,
 * because many names begin with "x-". */
struct headers_table {
    const struct headers_row *rows;
    size_t n;
    uint64_t by_letters[64];
};

static struct headers_table request_table = {requests, COUNT_OF(requests), {0}},
                            reply_table = {replies, COUNT_OF(replies), {0}};
static uint64_t credentials_by_last[32]; /* the same of credentials, by the last letter */
static pthread_once_t headers_once = PTHREAD_ONCE_INIT;

_Static_assert(COUNT_OF(requests) <= 64 && COUNT_OF(replies) <= 64, "a row is a bit");

/* Case makes no difference. A row that is a prefix has three letters or more. */
static size_t headers_letters(str name)
{
    return ((size_t)(name.p[0] & 31) ^ (name.n > 2 ? (size_t)(name.p[2] & 31) << 1 : 0)) & 63;
}

static void headers_index_table(struct headers_table *t)
{
    for (size_t i = 0; i < t->n; i++) {
        assert(t->rows[i].name.n > 2 || !t->rows[i].prefix);
        t->by_letters[headers_letters(t->rows[i].name)] |= (uint64_t)1 << i;
    }
}

static void headers_index_tables(void)
{
    headers_index_table(&request_table);
    headers_index_table(&reply_table);
    for (size_t i = 0; i < COUNT_OF(credentials); i++)
        credentials_by_last[credentials[i].p[credentials[i].n - 1] & 31] |= (uint64_t)1 << i;
}

static void headers_need_tables(void)
{
    (void)pthread_once(&headers_once, headers_index_tables);
}

static bool headers_is_credential(str name)
{
    uint64_t left;

    headers_need_tables();
    for (left = name.n ? credentials_by_last[name.p[name.n - 1] & 31] : 0; left; left &= left - 1) {
        str end = credentials[__builtin_ctzll(left)];

        if (name.n >= end.n && http1_same(str_slice(name, name.n - end.n, name.n), end))
            return true;
    }
    return false;
}

/* The first row that is about a name, or NULL. */
static const struct headers_row *headers_row_find(const struct headers_table *t, str name)
{
    uint64_t left;

    headers_need_tables();
    for (left = name.n ? t->by_letters[headers_letters(name)] : 0; left; left &= left - 1) {
        const struct headers_row *row = &t->rows[__builtin_ctzll(left)];

        if (name.n < row->name.n || (name.n > row->name.n && !row->prefix))
            continue;
        if (http1_same_size(name.p, row->name.p, row->name.n))
            return row;
    }
    return NULL;
}

/* ---- names that Connection lists ---- */

struct headers_listed {
    str names[HEADERS_CONNECTION_MAX];
    size_t n;
};

static bool headers_read_connection(const struct http1_head *h, struct headers_listed *out,
                                    struct err *e)
{
    str list, item;

    out->n = 0;
    if (!http1_has(h, STR("connection")))
        return true;
    for (size_t i = 0; i < h->field_count; i++) {
        if (!http1_same(h->fields[i].name, STR("connection")))
            continue;
        list = h->fields[i].value;
        while (http1_list_next(&list, &item)) {
            if (out->n == HEADERS_CONNECTION_MAX)
                return err_input(
                    e, "connection: lists more than %d headers", HEADERS_CONNECTION_MAX);
            out->names[out->n++] = item;
        }
    }
    return true;
}

static bool headers_is_listed(const struct headers_listed *l, str name)
{
    for (size_t i = 0; i < l->n; i++)
        if (http1_same(l->names[i], name))
            return true;
    return false;
}

/* ---- requests ---- */

static void headers_add_line(struct buf *lines, const struct http1_field *f)
{
    buf_add(lines, f->name);
    buf_add(lines, STR(": "));
    buf_add(lines, f->value);
    buf_add(lines, STR("\r\n"));
}

bool headers_add_request(const struct http1_head *h, bool same, struct buf *lines, struct err *e)
{
    struct headers_listed listed;

    if (!headers_read_connection(h, &listed, e))
        return false;
    for (size_t i = 0; i < h->field_count; i++) {
        const struct http1_field *f = &h->fields[i];
        const struct headers_row *row = headers_row_find(&request_table, f->name);

        if ((row && !(row->own && same)) || headers_is_credential(f->name) ||
            headers_is_listed(&listed, f->name))
            continue;
        headers_add_line(lines, f);
    }
    return true;
}

bool headers_is_hop(str name)
{
    static const str names[] = {STR_INIT("connection"),
                                STR_INIT("keep-alive"),
                                STR_INIT("proxy-connection"),
                                STR_INIT("proxy-authorization"),
                                STR_INIT("te"),
                                STR_INIT("trailer"),
                                STR_INIT("transfer-encoding"),
                                STR_INIT("upgrade"),
                                STR_INIT("sec-websocket-extensions")};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (http1_same(name, names[i]))
            return true;
    return false;
}

bool headers_add_all(const struct http1_head *h, bool plain, struct buf *lines, struct err *e)
{
    static const str ours[] = {STR_INIT("host"), STR_INIT("content-length"), STR_INIT("expect")};
    struct headers_listed listed;

    if (!headers_read_connection(h, &listed, e))
        return false;
    for (size_t i = 0; i < h->field_count; i++) {
        const struct http1_field *f = &h->fields[i];
        bool skip = headers_is_hop(f->name) || headers_is_listed(&listed, f->name) ||
                    (plain && http1_same(f->name, STR("accept-encoding")));

        for (size_t k = 0; k < COUNT_OF(ours); k++)
            skip |= http1_same(f->name, ours[k]);
        if (!skip)
            headers_add_line(lines, f);
    }
    if (plain)
        buf_add(lines, STR("accept-encoding: identity\r\n"));
    return buf_ok(lines, "the request's headers", e);
}

static int headers_hex(char c)
{
    return c >= '0' && c <= '9'                 ? c - '0'
           : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                : -1;
}

/* A parameter's name with %XX undone, as any server reads it. */
static str headers_param_name(str raw, char out[HEADERS_PARAM_MAX])
{
    size_t n = 0;

    assert(raw.n <= HEADERS_PARAM_MAX);
    for (size_t i = 0; i < raw.n; i++) {
        int high = raw.p[i] == '%' && i + 2 < raw.n ? headers_hex(raw.p[i + 1]) : -1;
        int low = high >= 0 ? headers_hex(raw.p[i + 2]) : -1;

        out[n++] = low >= 0 ? (char)((unsigned)high << 4 | (unsigned)low) : raw.p[i];
        i += low >= 0 ? 2 : 0;
    }
    assert(n <= raw.n);
    return (str){out, n};
}

static bool headers_param_passes(str pair)
{
    char memory[HEADERS_PARAM_MAX];
    size_t equals = str_find(pair, STR("="));
    str name = str_slice(pair, 0, equals);

    if (name.n == 0 || name.n > HEADERS_PARAM_MAX)
        return false;
    name = headers_param_name(name, memory);
    for (size_t i = 0; i < COUNT_OF(params); i++)
        if (http1_same(name, params[i]))
            return false;
    return !headers_is_credential(name);
}

void headers_add_query(str query, struct buf *target)
{
    char next = str_find(buf_str(target), STR("?")) == STR_NONE ? '?' : '&';

    while (query.n) {
        str pair = str_cut(&query, '&');

        if (!headers_param_passes(pair))
            continue;
        buf_add_c(target, next);
        buf_add(target, pair);
        next = '&';
    }
}

/* ---- credentials ---- */

struct headers_secrets {
    str *out;
    size_t n;
};

/* Adds the text after the first `before` of each part of a list. */
static void headers_add_secrets(struct headers_secrets *s, str list, str between, str before)
{
    while (list.n && s->n < HEADERS_SECRETS_MAX) {
        size_t end = str_find(list, between);
        str part = str_slice(list, 0, end);
        size_t at = str_find(part, before);

        s->out[s->n++] = str_trim(at == STR_NONE ? part : str_slice(part, at + 1, part.n));
        list = end == STR_NONE ? STR("") : str_slice(list, end + 1, list.n);
    }
}

size_t headers_find_secrets(const struct http1_head *h, str out[HEADERS_SECRETS_MAX])
{
    struct headers_secrets s = {out, 0};
    str query = h->query;

    for (size_t i = 0; i < h->field_count; i++) {
        const struct http1_field *f = &h->fields[i];

        if (!http1_same(f->name, STR("cookie")) && headers_is_credential(f->name))
            headers_add_secrets(&s, f->value, STR(","), STR(" "));
    }
    while (query.n) {
        str pair = str_cut(&query, '&');

        if (!headers_param_passes(pair))
            headers_add_secrets(&s, pair, STR("&"), STR("="));
    }
    /* Last: a client may have more cookies than there is room for. */
    for (size_t i = 0; i < h->field_count; i++)
        if (http1_same(h->fields[i].name, STR("cookie")))
            headers_add_secrets(&s, h->fields[i].value, STR(";"), STR("="));
    assert(s.n <= HEADERS_SECRETS_MAX);
    return s.n;
}

/* ---- replies ---- */

static bool headers_reply_passes(const struct http1_field *f, const struct headers_listed *listed,
                                 str key)
{
    if (headers_row_find(&reply_table, f->name) || headers_is_credential(f->name) ||
        headers_is_listed(listed, f->name))
        return false;
    return key.n < PROVIDER_KEY_MIN || str_find(f->value, key) == STR_NONE;
}

size_t headers_copy_reply(const struct http1_head *h, str key, struct arena *a,
                          const struct http1_field **out)
{
    const struct http1_field *picked[HEADERS_REPLY_MAX];
    struct headers_listed listed;
    struct http1_field *copy;
    size_t n = 0, size = 0;
    struct err e;
    char *p;

    *out = NULL;
    if (!headers_read_connection(h, &listed, &e))
        return 0; /* it is unknown which of them are for the gateway only */
    for (size_t i = 0; i < h->field_count && n < HEADERS_REPLY_MAX; i++) {
        const struct http1_field *f = &h->fields[i];

        if (!headers_reply_passes(f, &listed, key) ||
            size + f->name.n + f->value.n > HEADERS_REPLY_SIZE_MAX)
            continue;
        size += f->name.n + f->value.n;
        picked[n++] = f;
    }
    if (!n)
        return 0;
    copy = arena_alloc(a, n * sizeof *copy + size);
    p = (char *)(copy + n);
    for (size_t i = 0; i < n; i++) {
        copy[i].name = (str){p, picked[i]->name.n};
        p = str_put(p, picked[i]->name);
        copy[i].value = (str){p, picked[i]->value.n};
        p = str_put(p, picked[i]->value);
    }
    assert(p == (char *)(copy + n) + size);
    *out = copy;
    return n;
}
