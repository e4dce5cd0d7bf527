/* config_notify.c - reads incidents.notify.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/config_notify.h"

#include "base/base64.h"
#include "gateway/config_build.h"

#define EVENTS_DEFAULT                                                                             \
    (1u << CONFIG_NOTIFY_COMPLETED | 1u << CONFIG_NOTIFY_FAILED | 1u << CONFIG_NOTIFY_APPROVAL)
#define EFFECT "messages to this target will fail"
#define ADDRESS_MAX 254
#define CHANNEL_MAX 80

static const char *const events[] = {
    "started", "completed", "failed", "cancelled", "approval", "resolved"};
static const char *const kinds[] = {"slack_webhook", "slack", "webhook", "email"};

const char *config_notify_event_name(enum config_notify_event event)
{
    return events[event];
}

const char *config_notify_kind_name(enum config_notify_kind kind)
{
    return kinds[kind];
}

static bool config_notify_url(struct config_build *b, const struct json_node *v, str url)
{
    struct client_url parsed;

    if (!config_url_check(b, v, url, &parsed))
        return false;
    if (!parsed.tls && !config_is_loopback(parsed.host))
        config_warn(b, v, "messages go to " STR_FMT " unencrypted", STR_ARG(parsed.host));
    return true;
}

/* ---- Slack ---- */

static bool config_notify_has(struct config_build *b, const struct json_node *v, const char *name)
{
    return config_member(b, v, arena_printf(&b->c->arena, "%s_env", name).p) ||
           config_member(b, v, arena_printf(&b->c->arena, "%s_file", name).p);
}

/* The URL is a secret: no message quotes it. */
static bool config_notify_slack_url(struct config_build *b, const struct json_node *v,
                                    struct config_notify *t)
{
    struct client_url parsed;
    struct err e;

    if (t->secret.page && !client_url_parse(secret_reveal(&t->secret), &parsed, &e))
        return config_wrong(b, v, "webhook_url gives no URL: set it to the one that Slack shows");
    return true;
}

static bool config_notify_slack(struct config_build *b, const struct json_node *v,
                                struct config_notify *t)
{
    bool webhook = config_notify_has(b, v, "webhook_url"), token = config_notify_has(b, v, "token");
    const struct json_node *api = config_member(b, v, "api_url");
    struct config_secret s = {.name = webhook ? "webhook_url" : "token",
                              .effect = EFFECT,
                              .to = &t->secret,
                              .missing = &t->missing};

    t->kind = webhook ? CONFIG_NOTIFY_SLACK_WEBHOOK : CONFIG_NOTIFY_SLACK_BOT;
    if (webhook == token)
        return config_wrong(b,
                            v,
                            "give either the URL of an incoming webhook (webhook_url_env or "
                            "webhook_url_file) or a bot's token (token_env or token_file)");
    if (webhook && (t->channel.n || api))
        return config_wrong(
            b, v, "an incoming webhook has its channel: channel and api_url are for a bot's token");
    if (token && (!t->channel.n || t->channel.n > CHANNEL_MAX))
        return config_wrong(b, v, "say in which channel: channel, such as C0123456789");
    return config_secret_read(b, v, &s) &&
           (webhook ? config_notify_slack_url(b, v, t)
                    : config_notify_url(b, api ? api : v, t->api_url));
}

/* ---- signed webhooks ---- */

/* 24 to 64 bytes. */
static bool config_notify_is_key(str text)
{
    struct buf bytes;
    bool ok;

    buf_init(&bytes, 64);
    ok = base64_decode(text, &bytes) && bytes.n >= 24;
    buf_release(&bytes);
    return ok;
}

static bool config_notify_webhook(struct config_build *b, const struct json_node *v,
                                  struct config_notify *t)
{
    struct config_secret s = {
        .name = "secret", .effect = EFFECT, .to = &t->secret, .missing = &t->missing};
    str key;

    t->kind = CONFIG_NOTIFY_WEBHOOK;
    if (!t->url.n)
        return config_wrong(b, v, "say where to: url");
    if (!config_notify_has(b, v, "secret"))
        return config_wrong(
            b, v, "messages are signed: name the key with secret_env or secret_file");
    if (!config_secret_read(b, v, &s) ||
        !config_notify_url(b, config_member(b, v, "url"), t->url) ||
        !config_headers_read(b, config_member(b, v, "headers"), &t->headers))
        return false;
    key = secret_reveal(&t->secret);
    if (t->secret.page &&
        !(str_starts(key, STR("whsec_")) && config_notify_is_key(str_slice(key, 6, key.n))))
        return config_wrong(b,
                            v,
                            "the signing key must be whsec_ and the base64 of 24 to 64 bytes; make "
                            "one with: echo whsec_$(openssl rand -base64 32)");
    return true;
}

/* ---- e-mail ---- */

/* ASCII without anything that has a meaning in SMTP or in a header. */
static bool config_notify_address(struct config_build *b, const struct json_node *v, str s)
{
    size_t at = str_find(s, STR("@"));
    bool ok = at != STR_NONE && at > 0 && at + 1 < s.n && s.n <= ADDRESS_MAX &&
              str_find(str_slice(s, at + 1, s.n), STR("@")) == STR_NONE;

    for (size_t i = 0; ok && i < s.n; i++)
        ok = s.p[i] > ' ' && s.p[i] < 0x7f && !strchr("<>()[]\\,;:\"", s.p[i]);
    return ok || config_wrong(b, v, "must be a plain address, such as oncall@example.com");
}

static bool config_notify_server(struct config_build *b, const struct json_node *v,
                                 struct config_notify *t)
{
    static const unsigned ports[] = {587, 465, 25};
    size_t bracket = str_find(t->server, STR("]")), colon = str_find(t->server, STR(":"));
    uint64_t port = ports[t->security];

    if (str_starts(t->server, STR("[")) && bracket != STR_NONE) {
        t->host = str_slice(t->server, 1, bracket);
        colon = bracket + 1 < t->server.n ? bracket + 1 : STR_NONE;
    } else {
        t->host = str_slice(t->server, 0, colon);
    }
    if (colon != STR_NONE && (t->server.p[colon] != ':' ||
                              !str_u64(str_slice(t->server, colon + 1, t->server.n), &port)))
        port = 0;
    t->port = (unsigned)port;
    return (t->host.n && t->host.n < 254 && port > 0 && port < 65536) ||
           config_wrong(b, v, "must be HOST or HOST:PORT, such as smtp.example.com:587");
}

static bool config_notify_recipients(struct config_build *b, const struct json_node *list,
                                     struct config_notify *t)
{
    const struct json *doc = &b->source->doc;
    size_t n = json_count(doc, list);

    if (n > CONFIG_NOTIFY_TO_MAX)
        return config_wrong(b, list, "at most %d recipients", CONFIG_NOTIFY_TO_MAX);
    t->to = arena_zero(&b->c->arena, n + 1, sizeof *t->to);
    for (const struct json_node *v = json_first(doc, list); v; v = json_next(doc, list, v)) {
        t->to[t->to_count] = config_text(b, v);
        if (!config_notify_address(b, v, t->to[t->to_count++]))
            return false;
    }
    return true;
}

static bool config_notify_email(struct config_build *b, const struct json_node *v,
                                struct config_notify *t)
{
    const struct json_node *to = config_member(b, v, "to");
    struct config_secret s = {.name = "password",
                              .effect = EFFECT,
                              .to = &t->secret,
                              .missing = &t->missing,
                              .is_password = true};

    t->kind = CONFIG_NOTIFY_EMAIL;
    if (!t->server.n || !t->from.n || !json_count(&b->source->doc, to))
        return config_wrong(b, v, "e-mail needs server, from and to");
    if (!t->username.n != !config_notify_has(b, v, "password"))
        return config_wrong(b, v, "username and password_env or password_file belong together");
    if (!config_notify_server(b, config_member(b, v, "server"), t) ||
        !config_notify_address(b, config_member(b, v, "from"), t->from) ||
        !config_notify_recipients(b, to, t) || !config_secret_read(b, v, &s))
        return false;
    if (t->security == CONFIG_NOTIFY_PLAIN && !config_is_loopback(t->host))
        config_warn(b,
                    v,
                    "messages%s go to " STR_FMT " unencrypted",
                    t->username.n ? " and the password" : "",
                    STR_ARG(t->host));
    return true;
}

/* ---- all of them ---- */

static void config_notify_events_read(struct config_build *b, const struct json_node *list,
                                      struct config_notify *t)
{
    const struct json *doc = &b->source->doc;

    t->events = list ? 0 : EVENTS_DEFAULT;
    for (const struct json_node *v = json_first(doc, list); v; v = json_next(doc, list, v))
        for (size_t i = 0; i < COUNT_OF(events); i++)
            if (json_is(doc, v, str_c(events[i])))
                t->events |= 1u << i;
}

static bool config_notify_one(struct config_build *b, const struct json_node *key,
                              struct config_notify *t)
{
    const struct json_node *v = json_value(key), *slack = config_member(b, v, "slack"),
                           *webhook = config_member(b, v, "webhook"),
                           *email = config_member(b, v, "email");

    t->name = config_text(b, key);
    t->missing = t->host = STR("");
    if (!config_check_name(b, key, t->name))
        return false;
    if ((slack != NULL) + (webhook != NULL) + (email != NULL) != 1)
        return config_wrong(b, key, "must have one of slack, webhook and email");
    if (!config_rows_read(b, &config_notify_rows, v, t))
        return false;
    config_notify_events_read(b, config_member(b, v, "events"), t);
    return slack     ? config_notify_slack(b, slack, t)
           : webhook ? config_notify_webhook(b, webhook, t)
                     : config_notify_email(b, email, t);
}

static bool config_notify_public_url(struct config_build *b, const struct json_node *root)
{
    struct config_incidents *c = &b->c->incidents;
    struct client_url parsed;
    struct err e;

    while (c->public_url.n && c->public_url.p[c->public_url.n - 1] == '/')
        c->public_url.n--;
    return !c->public_url.n || client_url_parse(c->public_url, &parsed, &e) ||
           config_wrong(b, config_at(&b->source->doc, root, "incidents.public_url"), "%s", e.text);
}

bool config_notify_read(struct config_build *b, const struct json_node *all)
{
    const struct json *doc = &b->source->doc;
    struct config_incidents *c = &b->c->incidents;
    size_t n = json_count(doc, all);
    bool ok = config_notify_public_url(b, json_root(doc));

    if (n > CONFIG_NOTIFY_MAX)
        return config_wrong(b, all, "at most %d targets", CONFIG_NOTIFY_MAX);
    c->notify = arena_zero(&b->c->arena, n + 1, sizeof *c->notify);
    for (const struct json_node *k = json_first(doc, all); k; k = json_next(doc, all, k))
        ok &= config_notify_one(b, k, &c->notify[c->notify_count++]);
    if (ok && n > 0 && !c->public_url.n)
        config_warn(
            b,
            all,
            "messages have no link: set incidents.public_url to the address of the dashboard");
    return ok;
}
