/* auth.c - the OAuth flow: client, scopes and token.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mcp/auth.h"

#include "base/base64.h"
#include "base/rand.h"
#include "base/secret.h"
#include "base/sha256.h"
#include "mcp/auth_parts.h"
#include "mcp/client_state.h"
#include "net/http1.h"

#define ISSUERS_MAX 16
#define RANDOM_SIZE 32
#define SCOPES_SIZE_MAX 16384 /* of all requested scopes: comparing them takes quadratic time */
#define NAME_SIZE_MAX 4096    /* of an issuer's name and of our client id there */
#define FLOW_ARENA_MAX ((size_t)64 << 20) /* a dozen documents of MCP_AUTH_BODY_MAX, decoded */

/* Our registration with one issuer. */
struct identity {
    str issuer, id;
    const char *method;
    struct secret secret;
};

struct mcp_auth {
    struct mcp_io *io;
    struct mcp_auth_options o;
    pthread_mutex_t lock;
    struct arena arena; /* for all that is kept here */
    str server_url;
    struct identity known[ISSUERS_MAX];
    size_t known_count;
    struct buf issuer; /* the issuer that gave the token */
    struct buf asked;  /* all scopes that were requested so far */
    struct secret token, refresh;
    unsigned number; /* of the token */
};

/* One run of the flow. */
struct flow {
    struct mcp_auth *a;
    struct arena arena;
    struct mcp_patience patience;
    struct mcp_resource_meta resource;
    struct mcp_issuer_meta issuer;
    const struct identity *who;
    str scope;
    struct err *e;
};

struct mcp_auth *mcp_auth_new(struct mcp_io *io, const struct mcp_auth_options *o, str server_url)
{
    struct mcp_auth *a = base_alloc(sizeof *a);

    assert(server_url.n > 0);
    *a = (struct mcp_auth){.io = io, .o = *o};
    pthread_mutex_init(&a->lock, NULL);
    buf_init(&a->issuer, NAME_SIZE_MAX);
    buf_init(&a->asked, SCOPES_SIZE_MAX);
    arena_init(&a->arena, (size_t)8 << 20);
    a->server_url = arena_dup(&a->arena, server_url);
    return a;
}

void mcp_auth_free(struct mcp_auth *a)
{
    if (!a)
        return;
    for (size_t i = 0; i < a->known_count; i++)
        secret_release(&a->known[i].secret);
    secret_release(&a->token);
    secret_release(&a->refresh);
    buf_release(&a->issuer);
    buf_release(&a->asked);
    pthread_mutex_destroy(&a->lock);
    arena_release(&a->arena);
    free(a);
}

unsigned mcp_auth_header(struct mcp_auth *a, struct buf *headers)
{
    unsigned number;
    str token;

    pthread_mutex_lock(&a->lock);
    token = secret_reveal(&a->token);
    if (token.n) {
        buf_add(headers, STR("authorization: Bearer "));
        buf_add(headers, token);
        buf_add(headers, STR("\r\n"));
    }
    number = token.n ? a->number : 0;
    pthread_mutex_unlock(&a->lock);
    return number;
}

/* ---- who we are ---- */

/* The ways to authenticate the client, the best first. */
static const char *const auth_methods[] = {"client_secret_basic", "client_secret_post", "none"};

static const char *mcp_pick_method(str supported, bool secret)
{
    if (!secret)
        return "none";
    for (size_t i = 0; i < COUNT_OF(auth_methods); i++)
        if (mcp_words_have(supported, str_c(auth_methods[i])))
            return auth_methods[i];
    return auth_methods[0];
}

static bool mcp_auth_add_identity(struct flow *f, str id, str secret, const char *method)
{
    struct mcp_auth *a = f->a;
    struct identity *who = &a->known[a->known_count];

    assert(a->known_count <= ISSUERS_MAX);
    if (a->known_count == ISSUERS_MAX)
        return err_set(f->e, ERR_LIMIT, "more than %d authorization servers", ISSUERS_MAX);
    if (id.n > NAME_SIZE_MAX)
        return err_set(f->e, ERR_LIMIT, "our id has more than %d bytes", NAME_SIZE_MAX);
    *who = (struct identity){.method = method};
    if (secret.n && !secret_init(&who->secret, secret, f->e))
        return false;
    /* Copies only what is kept, or the arena would grow with every failure. */
    who->issuer = arena_dup(&a->arena, f->issuer.issuer);
    who->id = arena_dup(&a->arena, id);
    a->known_count++;
    f->who = who;
    return true;
}

static void mcp_put_registration(struct flow *f, struct buf *b)
{
    const struct mcp_auth_options *o = &f->a->o;
    str methods = f->issuer.methods;
    const char *method = methods.n == 0 || mcp_words_have(methods, STR("none"))
                             ? "none"
                             : mcp_pick_method(methods, true);
    struct json_out out;

    json_out_init_object(&out, b);
    json_member_str(&out, "client_name", o->client_name.n ? o->client_name : STR("rationale"));
    json_member_array(&out, "redirect_uris");
    json_out_str(&out, o->redirect_uri);
    json_out_end(&out);
    json_member_raw(&out, "grant_types", STR("[\"authorization_code\",\"refresh_token\"]"));
    json_member_raw(&out, "response_types", STR("[\"code\"]"));
    json_member_str(&out, "application_type", STR("native"));
    json_member_str(&out, "token_endpoint_auth_method", str_c(method));
    json_out_end(&out);
}

static bool mcp_auth_post(struct flow *f, str url, str headers, str body, struct json *doc)
{
    struct mcp_fetch_request r = {.method = STR("POST"),
                                  .url = url,
                                  .headers = headers,
                                  .body = body,
                                  .cancel = f->patience.cancel,
                                  .keep_max = MCP_AUTH_BODY_MAX};
    struct mcp_fetched got;
    str why, more;

    if (!mcp_url_may_follow(url, f->a->server_url))
        return err_set(f->e, ERR_AUTH, "the authorization server's endpoint is not https");
    if (!mcp_fetch_whole(f->a->io, &r, f->patience.deadline_ns, &f->arena, &got, f->e))
        return false;
    if (!json_parse(doc, got.body, f->e))
        return err_set(
            f->e, ERR_AUTH, "the authorization server answered %d, and not in JSON", got.status);
    if (got.status == 200 || got.status == 201)
        return true;
    why = mcp_member(doc, json_root(doc), STR("error"), &f->arena);
    more = mcp_member(doc, json_root(doc), STR("error_description"), &f->arena);
    return err_set(f->e,
                   ERR_AUTH,
                   "the authorization server refused (%d): " STR_FMT " " STR_FMT,
                   got.status,
                   STR_ARG(str_slice(why, 0, 60)),
                   STR_ARG(str_slice(more, 0, 100)));
}

static bool mcp_register_now(struct flow *f)
{
    struct json doc;
    struct buf b;
    bool ok;
    const char *method = NULL;
    str id, secret, given;

    assert(f->issuer.registration.n > 0);
    buf_init(&b, MCP_AUTH_BODY_MAX);
    json_init(&doc);
    mcp_put_registration(f, &b);
    ok = mcp_auth_post(f,
                       f->issuer.registration,
                       STR("content-type: application/json\r\naccept: application/json\r\n"),
                       buf_str(&b),
                       &doc);
    if (ok) {
        id = mcp_member(&doc, json_root(&doc), STR("client_id"), &f->arena);
        secret = mcp_member(&doc, json_root(&doc), STR("client_secret"), &f->arena);
        given = mcp_member(&doc, json_root(&doc), STR("token_endpoint_auth_method"), &f->arena);
        if (given.n)
            method = str_eq(given, STR("client_secret_basic"))  ? auth_methods[0]
                     : str_eq(given, STR("client_secret_post")) ? auth_methods[1]
                                                                : "none";
        else
            method = mcp_words_have(f->issuer.methods, STR("none"))
                         ? "none"
                         : mcp_pick_method(f->issuer.methods, secret.n > 0);
        ok = id.n ? mcp_auth_add_identity(f, id, secret, method)
                  : err_set(f->e, ERR_AUTH, "the registration gave no client_id");
    }
    json_release(&doc);
    buf_release(&b);
    return ok;
}

static bool mcp_auth_choose_identity(struct flow *f)
{
    const struct mcp_auth_options *o = &f->a->o;

    assert(f->issuer.issuer.n <= NAME_SIZE_MAX);
    for (size_t i = 0; i < f->a->known_count; i++)
        if (str_eq(f->a->known[i].issuer, f->issuer.issuer)) {
            f->who = &f->a->known[i];
            return true;
        }
    if (o->client_id.n && (!o->client_issuer.n || str_eq(o->client_issuer, f->issuer.issuer)))
        return mcp_auth_add_identity(f,
                                     o->client_id,
                                     o->client_secret,
                                     mcp_pick_method(f->issuer.methods, o->client_secret.n > 0));
    if (o->metadata_url.n && f->issuer.cimd)
        return mcp_auth_add_identity(f, o->metadata_url, STR(""), "none");
    if (f->issuer.registration.n)
        return mcp_register_now(f);
    return err_set(f->e,
                   ERR_AUTH,
                   "we are not registered with " STR_FMT " and cannot register ourselves",
                   STR_ARG(str_slice(f->issuer.issuer, 0, 120)));
}

/* ---- tokens ---- */

static bool mcp_auth_take_token(struct flow *f, const struct json *doc)
{
    struct mcp_auth *a = f->a;
    const struct json_node *root = json_root(doc);
    str token = mcp_member(doc, root, STR("access_token"), &f->arena),
        refresh = mcp_member(doc, root, STR("refresh_token"), &f->arena),
        type = mcp_member(doc, root, STR("token_type"), &f->arena);

    for (size_t i = 0; i < token.n; i++)
        if (token.p[i] <= ' ' || token.p[i] > '~')
            return err_set(f->e, ERR_AUTH, "the token is none that a header can hold");
    if (!token.n || !http1_same(type, STR("bearer")))
        return err_set(f->e, ERR_AUTH, "the authorization server gave no bearer token");
    secret_release(&a->token);
    if (!secret_init(&a->token, token, f->e))
        return false;
    if (refresh.n) {
        secret_release(&a->refresh);
        if (!secret_init(&a->refresh, refresh, f->e))
            return false;
    }
    buf_reset(&a->issuer);
    buf_add(&a->issuer, f->issuer.issuer);
    buf_reset(&a->asked);
    buf_add(&a->asked, f->scope);
    assert(!buf_full(&a->issuer) && !buf_full(&a->asked)); /* both sizes were checked before */
    a->number++;
    return true;
}

static bool mcp_ask_token(struct flow *f, struct buf *form)
{
    str secret = secret_reveal(&f->who->secret);
    struct buf headers, both;
    struct json doc;
    bool ok;

    assert(f->who && f->who->id.n > 0);
    buf_init(&headers, 3 * SECRET_SIZE_MAX * 4);
    buf_init(&both, 3 * SECRET_SIZE_MAX * 2);
    json_init(&doc);
    buf_add(&headers,
            STR("content-type: application/x-www-form-urlencoded\r\n"
                "accept: application/json\r\n"));
    mcp_form_add(form, STR("resource"), f->resource.resource);
    if (strcmp(f->who->method, "client_secret_basic") == 0) {
        buf_add_percent(&both, f->who->id, "");
        buf_add_c(&both, ':');
        buf_add_percent(&both, secret, "");
        buf_add(&headers, STR("authorization: Basic "));
        base64_add(&headers, buf_str(&both));
        buf_add(&headers, STR("\r\n"));
    } else {
        mcp_form_add(form, STR("client_id"), f->who->id);
        if (strcmp(f->who->method, "client_secret_post") == 0)
            mcp_form_add(form, STR("client_secret"), secret);
    }
    ok = mcp_auth_post(f, f->issuer.token, buf_str(&headers), buf_str(form), &doc) &&
         mcp_auth_take_token(f, &doc);
    json_release(&doc);
    if (both.p)
        secret_wipe(both.p, both.n);
    if (headers.p)
        secret_wipe(headers.p, headers.n);
    buf_release(&both);
    buf_release(&headers);
    return ok;
}

static str mcp_random_text(struct flow *f)
{
    char bytes[RANDOM_SIZE];
    struct buf b;

    rand_os(bytes, sizeof bytes);
    buf_init(&b, 2 * RANDOM_SIZE);
    base64_add_url(&b, (str){bytes, sizeof bytes});
    assert(b.n == (RANDOM_SIZE * 4 + 2) / 3);
    return arena_move_buf(&f->arena, &b);
}

/* Reads the redirect of the browser: checks state and issuer, and returns the code. */
static bool mcp_read_redirect(struct flow *f, str url, str state, str *code)
{
    str got, iss;

    assert(state.n > 0);
    if (mcp_query_param(url, STR("iss"), &f->arena, &iss) ? !str_eq(iss, f->issuer.issuer)
                                                          : f->issuer.iss)
        return err_set(f->e, ERR_AUTH, "the answer is not from the issuer that was asked");
    if (!mcp_query_param(url, STR("state"), &f->arena, &got) || !str_eq(got, state))
        return err_set(f->e, ERR_AUTH, "the redirect does not belong to this request (state)");
    if (mcp_query_param(url, STR("error"), &f->arena, &got))
        return err_set(f->e,
                       ERR_AUTH,
                       "the user or the server said no: " STR_FMT,
                       STR_ARG(str_slice(got, 0, 80)));
    return mcp_query_param(url, STR("code"), &f->arena, code) ||
           err_set(f->e, ERR_AUTH, "the answer has no code");
}

static bool mcp_ask_user(struct flow *f, str verifier, str *code)
{
    const struct mcp_auth_options *o = &f->a->o;
    uint8_t digest[SHA256_SIZE];
    str state = mcp_random_text(f);
    struct buf url, challenge, back;
    bool ok;

    assert(f->issuer.pkce && o->authorize);
    buf_init(&url, MCP_AUTH_BODY_MAX);
    buf_init(&challenge, 2 * RANDOM_SIZE);
    buf_init(&back, MCP_AUTH_BODY_MAX);
    sha256_of(verifier, digest);
    base64_add_url(&challenge, (str){(const char *)digest, sizeof digest});
    buf_add(&url, f->issuer.authorize);
    buf_add_c(&url, str_find(f->issuer.authorize, STR("?")) == STR_NONE ? '?' : '&');
    mcp_form_add(&url, STR("response_type"), STR("code"));
    mcp_form_add(&url, STR("client_id"), f->who->id);
    mcp_form_add(&url, STR("redirect_uri"), o->redirect_uri);
    mcp_form_add(&url, STR("state"), state);
    mcp_form_add(&url, STR("code_challenge"), buf_str(&challenge));
    mcp_form_add(&url, STR("code_challenge_method"), STR("S256"));
    mcp_form_add(&url, STR("resource"), f->resource.resource);
    mcp_form_add(&url, STR("scope"), f->scope);
    ok = o->authorize(o->ctx, buf_str(&url), &back, f->e) &&
         mcp_read_redirect(f, arena_dup(&f->arena, buf_str(&back)), state, code);
    buf_release(&back);
    buf_release(&challenge);
    buf_release(&url);
    return ok;
}

static bool mcp_with_code(struct flow *f)
{
    const struct mcp_auth_options *o = &f->a->o;
    str verifier = mcp_random_text(f), code = STR("");
    struct buf form;
    bool ok;

    if (!o->authorize)
        return err_set(
            f->e, ERR_AUTH, "the server wants a user to sign in, and there is no browser to do so");
    if (!f->issuer.pkce)
        return err_set(f->e, ERR_AUTH, "the authorization server does not do PKCE with S256");
    if (!mcp_url_may_follow(f->issuer.authorize, f->a->server_url))
        return err_set(f->e, ERR_AUTH, "the authorization server's endpoint is not https");
    if (!mcp_ask_user(f, verifier, &code))
        return false;
    buf_init(&form, MCP_AUTH_BODY_MAX);
    mcp_form_add(&form, STR("grant_type"), STR("authorization_code"));
    mcp_form_add(&form, STR("code"), code);
    mcp_form_add(&form, STR("redirect_uri"), o->redirect_uri);
    mcp_form_add(&form, STR("code_verifier"), verifier);
    ok = mcp_ask_token(f, &form);
    buf_release(&form);
    return ok;
}

static bool mcp_by_itself(struct flow *f, str grant, str refresh)
{
    struct buf form;
    bool ok;

    assert(f->who && grant.n > 0);
    buf_init(&form, MCP_AUTH_BODY_MAX);
    mcp_form_add(&form, STR("grant_type"), grant);
    mcp_form_add(&form, STR("refresh_token"), refresh);
    mcp_form_add(&form, STR("scope"), refresh.n ? STR("") : f->scope);
    ok = mcp_ask_token(f, &form);
    buf_release(&form);
    return ok;
}

/* ---- the flow ---- */

/* The scopes of the challenge, otherwise of the server's metadata, and those requested before. */
static bool mcp_pick_scope(struct flow *f, str challenge)
{
    str wanted = mcp_challenge_param(challenge, STR("scope"), &f->arena),
        rest = buf_str(&f->a->asked);
    struct buf b;
    bool ok;

    buf_init(&b, SCOPES_SIZE_MAX);
    buf_add(&b, wanted.n ? wanted : f->resource.scopes);
    while (rest.n) {
        str word = str_cut(&rest, ' ');

        if (word.n && !mcp_words_have(buf_str(&b), word)) {
            if (b.n)
                buf_add_c(&b, ' ');
            buf_add(&b, word);
        }
    }
    if (mcp_words_have(f->issuer.scopes, STR("offline_access")) && !f->a->o.client_credentials &&
        !mcp_words_have(buf_str(&b), STR("offline_access")))
        buf_printf(&b, "%soffline_access", b.n ? " " : "");
    ok = buf_ok(&b, "the list of scopes that the server wants", f->e);
    f->scope = arena_dup(&f->arena, buf_str(&b));
    assert(f->scope.n <= SCOPES_SIZE_MAX);
    buf_release(&b);
    return ok;
}

static bool mcp_is_within(str scope, str asked)
{
    while (scope.n)
        if (!mcp_words_have(asked, str_cut(&scope, ' ')))
            return false;
    return true;
}

static bool mcp_auth_read_issuer(struct flow *f, str issuer)
{
    if (issuer.n > NAME_SIZE_MAX)
        return err_set(
            f->e, ERR_LIMIT, "the issuer's address has more than %d bytes", NAME_SIZE_MAX);
    if (!mcp_url_may_follow(issuer, f->a->server_url))
        return err_set(f->e,
                       ERR_AUTH,
                       "the issuer " STR_FMT " must use https: http is for servers on this machine",
                       STR_ARG(str_slice(issuer, 0, 120)));
    return mcp_meta_issuer(f->a->io, issuer, f->patience, &f->arena, &f->issuer, f->e);
}

static bool mcp_auth_discover(struct flow *f, str challenge)
{
    struct mcp_auth *a = f->a;
    str at = mcp_challenge_param(challenge, STR("resource_metadata"), &f->arena), origin;

    if (mcp_meta_resource(a->io,
                          (struct mcp_meta_place){a->server_url, at},
                          f->patience,
                          &f->arena,
                          &f->resource,
                          f->e))
        return mcp_auth_read_issuer(f, f->resource.issuer);
    if (f->e->code != ERR_NOT_FOUND)
        return false;
    /* Up to the revision 2025-03-26 the server was its own authorization server, at well-known
     * paths. */
    origin = mcp_url_origin(a->server_url);
    f->resource = (struct mcp_resource_meta){a->server_url, origin, STR("")};
    if (mcp_auth_read_issuer(f, origin))
        return true;
    if (f->e->code != ERR_NOT_FOUND)
        return false;
    f->issuer = (struct mcp_issuer_meta){
        .issuer = origin,
        .authorize = arena_join(&f->arena, origin, STR("/authorize"), STR("")),
        .token = arena_join(&f->arena, origin, STR("/token"), STR("")),
        .registration = arena_join(&f->arena, origin, STR("/register"), STR("")),
        .scopes = STR(""),
        .methods = STR(""),
        .pkce = true};
    return true;
}

static bool mcp_auth_run(struct flow *f, int status, str challenge)
{
    struct mcp_auth *a = f->a;
    str refresh = secret_reveal(&a->refresh);

    if (!mcp_auth_discover(f, challenge))
        return false;
    if (!mcp_pick_scope(f, challenge))
        return false;
    if (status == 403 && mcp_is_within(f->scope, buf_str(&a->asked)))
        return err_set(f->e, ERR_AUTH, "the server wants a scope that was asked for already");
    if (!mcp_auth_choose_identity(f))
        return false;
    if (status == 401 && refresh.n && str_eq(buf_str(&a->issuer), f->issuer.issuer) &&
        mcp_by_itself(f, STR("refresh_token"), refresh))
        return true;
    return a->o.client_credentials ? mcp_by_itself(f, STR("client_credentials"), STR(""))
                                   : mcp_with_code(f);
}

bool mcp_auth_challenged(struct mcp_auth *a, int status, str challenge, unsigned used,
                         struct mcp_patience patience, struct err *e)
{
    struct flow f = {.a = a, .patience = patience, .e = e};
    bool ok = true;

    assert(status == 401 || status == 403);
    if (!mcp_lock_until(&a->lock, patience.deadline_ns, patience.cancel, e))
        return false;
    if (used == a->number || !secret_reveal(&a->token).n) {
        arena_init(&f.arena, FLOW_ARENA_MAX);
        ok = mcp_auth_run(&f, status, challenge);
        arena_release(&f.arena);
    }
    pthread_mutex_unlock(&a->lock);
    return ok || err_prefix(e, "signing in: ");
}
