/* auth_parts.c - reads challenges, writes and reads forms, finds metadata.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mcp/auth_parts.h"

#include "base/ctype.h"
#include "base/json_get.h"
#include "mcp/rpc.h"
#include "net/http1.h"

/* ---- challenges ---- */

static bool mcp_auth_parts_is_token_char(char c)
{
    return http1_is_token((str){&c, 1});
}

str mcp_challenge_param(str challenge, str name, struct arena *a)
{
    size_t at = 0;

    assert(name.n > 0);
    while (at < challenge.n) {
        size_t begin = at, end;
        str key;
        struct buf value;

        while (at < challenge.n && mcp_auth_parts_is_token_char(challenge.p[at]))
            at++;
        key = str_slice(challenge, begin, at);
        if (at == begin || at >= challenge.n || challenge.p[at] != '=') {
            at += at == begin;
            continue;
        }
        at++;
        buf_init(&value, challenge.n + 1);
        if (at < challenge.n && challenge.p[at] == '"') {
            for (at++; at < challenge.n && challenge.p[at] != '"'; at++) {
                if (challenge.p[at] == '\\' && at + 1 < challenge.n)
                    at++;
                buf_add_c(&value, challenge.p[at]);
            }
            at++;
        } else {
            for (end = at; end < challenge.n && challenge.p[end] != ',' && challenge.p[end] != ' ';)
                end++;
            buf_add(&value, str_slice(challenge, at, end));
            at = end;
        }
        if (http1_same(key, name)) {
            str found = arena_move_buf(a, &value);
            return found;
        }
        buf_release(&value);
    }
    return STR("");
}

/* ---- forms ---- */

void mcp_form_add(struct buf *b, str name, str value)
{
    assert(name.n > 0);
    if (value.n == 0)
        return;
    if (b->n && b->p[b->n - 1] != '?')
        buf_add_c(b, '&');
    buf_add(b, name);
    buf_add_c(b, '=');
    buf_add_percent(b, value, "");
}

static str mcp_auth_parts_decode(str text, struct arena *a)
{
    char *out = arena_alloc(a, text.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];

        if (c == '%' && i + 2 < text.n && char_hex_value(text.p[i + 1]) >= 0 &&
            char_hex_value(text.p[i + 2]) >= 0) {
            c = (char)(char_hex_value(text.p[i + 1]) * 16 + char_hex_value(text.p[i + 2]));
            i += 2;
        } else if (c == '+') {
            c = ' ';
        }
        out[n++] = c;
    }
    out[n] = 0;
    assert(n <= text.n);
    return (str){out, n};
}

bool mcp_query_param(str url, str name, struct arena *a, str *out)
{
    size_t at = str_find(url, STR("?"));
    str rest = at == STR_NONE ? STR("") : str_slice(url, at + 1, str_find(url, STR("#")));

    assert(name.n > 0);
    while (rest.n) {
        str pair = str_cut(&rest, '&');
        size_t equals = str_find(pair, STR("="));

        if (equals != STR_NONE &&
            str_eq(mcp_auth_parts_decode(str_slice(pair, 0, equals), a), name)) {
            *out = mcp_auth_parts_decode(str_slice(pair, equals + 1, pair.n), a);
            return true;
        }
    }
    return false;
}

/* ---- URLs ---- */

static size_t mcp_authority_end(str url)
{
    size_t at = str_find(url, STR("://"));

    if (at == STR_NONE)
        return 0;
    for (at += 3; at < url.n && url.p[at] != '/' && url.p[at] != '?' && url.p[at] != '#';)
        at++;
    assert(at <= url.n);
    return at;
}

str mcp_url_origin(str url)
{
    return str_slice(url, 0, mcp_authority_end(url));
}

str mcp_url_path(str url)
{
    str path = str_slice(url, mcp_authority_end(url), url.n);

    for (size_t i = 0; i < path.n; i++)
        if (path.p[i] == '?' || path.p[i] == '#')
            path = str_slice(path, 0, i);
    while (path.n && path.p[path.n - 1] == '/')
        path.n--;
    return path;
}

static bool mcp_url_is_local(str url)
{
    static const str hosts[] = {STR_INIT("localhost"), STR_INIT("127.0.0.1"), STR_INIT("[::1]")};
    str origin = mcp_url_origin(url), host;
    size_t at = str_find(origin, STR("://"));

    host = at == STR_NONE ? STR("") : str_slice(origin, at + 3, origin.n);
    for (size_t i = 0; i < COUNT_OF(hosts); i++)
        if (str_starts(host, hosts[i]) && (host.n == hosts[i].n || host.p[hosts[i].n] == ':'))
            return true;
    return false;
}

bool mcp_url_is_safe(str url)
{
    return str_starts(url, STR("https://")) ||
           (str_starts(url, STR("http://")) && mcp_url_is_local(url));
}

bool mcp_url_may_follow(str url, str server_url)
{
    return str_starts(url, STR("https://")) ||
           (mcp_url_is_safe(url) && mcp_url_is_local(server_url));
}

/* ---- metadata ---- */

bool mcp_words_have(str list, str word)
{
    while (list.n)
        if (str_eq(str_cut(&list, ' '), word))
            return true;
    return false;
}

static str mcp_auth_parts_words(const struct json *doc, const struct json_node *v, struct arena *a)
{
    struct buf b;

    buf_init(&b, MCP_AUTH_BODY_MAX);
    JSON_FOREACH_ITEM(i, doc, v) {
        str word;

        if (!json_text(doc, i, a, &word))
            continue;
        if (b.n)
            buf_add_c(&b, ' ');
        buf_add(&b, word);
    }
    return arena_move_buf(a, &b);
}

/* Whether there is a JSON object at the URL; then doc is the object, and its text is in the
 * arena. */
static bool mcp_auth_parts_get(struct mcp_io *io, str url, struct mcp_patience patience,
                               struct arena *a, struct json *doc, struct err *e)
{
    struct mcp_fetch_request r = {.method = STR("GET"),
                                  .url = url,
                                  .headers = STR("accept: application/json\r\n"
                                                 "mcp-protocol-version: " MCP_MODERN "\r\n"),
                                  .body = STR(""),
                                  .cancel = patience.cancel,
                                  .keep_max = MCP_AUTH_BODY_MAX};
    struct mcp_fetched got;

    if (!mcp_url_is_safe(url))
        return err_set(e,
                       ERR_AUTH,
                       STR_FMT " must use https: http is for servers on this machine",
                       STR_ARG(str_slice(url, 0, 120)));
    if (!mcp_fetch_whole(io, &r, patience.deadline_ns, a, &got, e))
        return false;
    if (got.status != 200 || !json_parse(doc, got.body, e) || json_root(doc)->kind != JSON_OBJECT)
        return err_set(
            e, ERR_NOT_FOUND, "there are no metadata at " STR_FMT, STR_ARG(str_slice(url, 0, 120)));
    return true;
}

/* Whether the URL of a published resource covers ours: the same origin, and a path that ours begins
 * with. */
static bool mcp_auth_is_resource_of(str resource, str server_url)
{
    str mine = mcp_url_path(server_url), path = mcp_url_path(resource);

    return http1_same(mcp_url_origin(resource), mcp_url_origin(server_url)) &&
           str_starts(mine, path) && (mine.n == path.n || mine.p[path.n] == '/');
}

bool mcp_meta_resource(struct mcp_io *io, struct mcp_meta_place place, struct mcp_patience patience,
                       struct arena *a, struct mcp_resource_meta *out, struct err *e)
{
    str origin = mcp_url_origin(place.server_url), path = mcp_url_path(place.server_url),
        known = STR("/.well-known/oauth-protected-resource"), at[2];
    const struct json_node *root, *servers;
    struct json doc;
    bool ok = false;
    size_t n = 0;

    assert(place.server_url.n > 0);
    if (place.address.n) {
        if (!mcp_url_may_follow(place.address, place.server_url))
            return err_set(e,
                           ERR_AUTH,
                           "the server's metadata are at " STR_FMT
                           ", which must use https: http is for servers on this machine",
                           STR_ARG(str_slice(place.address, 0, 80)));
        at[n++] = place.address;
    } else {
        at[n++] = arena_join(a, origin, known, path);
        if (path.n)
            at[n++] = arena_join(a, origin, known, STR(""));
    }
    json_init(&doc);
    for (size_t i = 0; i < n && !ok; i++) {
        ok = mcp_auth_parts_get(io, at[i], patience, a, &doc, e);
        if (!ok && e->code != ERR_NOT_FOUND)
            goto out;
    }
    if (!ok)
        goto out;
    root = json_root(&doc);
    servers = json_find(&doc, root, STR("authorization_servers"));
    out->resource = mcp_member(&doc, root, STR("resource"), a);
    out->scopes = mcp_auth_parts_words(&doc, json_find(&doc, root, STR("scopes_supported")), a);
    ok = json_text(&doc, json_at(&doc, servers, 0), a, &out->issuer);
    if (!ok)
        err_set(e, ERR_AUTH, "the server's metadata name no authorization server");
    else if (!mcp_auth_is_resource_of(out->resource, place.server_url))
        ok = err_set(e,
                     ERR_AUTH,
                     "the server's metadata are of another resource: " STR_FMT,
                     STR_ARG(str_slice(out->resource, 0, 120)));
out:
    json_release(&doc);
    return ok;
}

static void mcp_read_issuer(const struct json *doc, struct arena *a, struct mcp_issuer_meta *out)
{
    const struct json_node *root = json_root(doc);
    str challenge =
        mcp_auth_parts_words(doc, json_find(doc, root, STR("code_challenge_methods_supported")), a);

    out->issuer = mcp_member(doc, root, STR("issuer"), a);
    out->authorize = mcp_member(doc, root, STR("authorization_endpoint"), a);
    out->token = mcp_member(doc, root, STR("token_endpoint"), a);
    out->registration = mcp_member(doc, root, STR("registration_endpoint"), a);
    out->scopes = mcp_auth_parts_words(doc, json_find(doc, root, STR("scopes_supported")), a);
    out->methods = mcp_auth_parts_words(
        doc, json_find(doc, root, STR("token_endpoint_auth_methods_supported")), a);
    out->pkce = mcp_words_have(challenge, STR("S256"));
    out->cimd = json_get_true(doc, root, "client_id_metadata_document_supported");
    out->iss = json_get_true(doc, root, "authorization_response_iss_parameter_supported");
}

bool mcp_meta_issuer(struct mcp_io *io, str issuer, struct mcp_patience patience, struct arena *a,
                     struct mcp_issuer_meta *out, struct err *e)
{
    str origin = mcp_url_origin(issuer), path = mcp_url_path(issuer),
        oauth = STR("/.well-known/oauth-authorization-server"),
        openid = STR("/.well-known/openid-configuration");
    str at[3] = {arena_join(a, origin, oauth, path),
                 arena_join(a, origin, openid, path),
                 arena_join(a, origin, path, openid)};
    struct json doc;
    bool ok = false;

    json_init(&doc);
    for (size_t i = 0; i < (path.n ? 3 : 2) && !ok; i++) {
        ok = mcp_auth_parts_get(io, at[i], patience, a, &doc, e);
        if (!ok && e->code != ERR_NOT_FOUND)
            break;
    }
    if (ok) {
        mcp_read_issuer(&doc, a, out);
        if (!str_eq(out->issuer, issuer))
            ok = err_set(e,
                         ERR_AUTH,
                         "the metadata of " STR_FMT " are of another issuer: " STR_FMT,
                         STR_ARG(str_slice(issuer, 0, 80)),
                         STR_ARG(str_slice(out->issuer, 0, 80)));
    }
    json_release(&doc);
    return ok;
}
