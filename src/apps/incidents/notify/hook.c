/* hook.c - signed webhooks, as Standard Webhooks 1.0.0 has them; and the POST that Slack shares.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/notify/notify.h"

#include "base/base64.h"
#include "base/sha256.h"

#define BODY_MAX ((size_t)256 << 10)
#define HEADERS_MAX ((size_t)64 << 10)
#define SHOWN_MAX 120

/* ---- one POST ---- */

static bool hook_is_transient(int status)
{
    return status == 408 || status == 425 || status == 429 || status >= 500;
}

/* The front of a reply on one line, for a sentence. */
static str hook_shown(struct arena *a, str body)
{
    str front = str_trim(str_slice(body, 0, SHOWN_MAX));
    char *p = arena_alloc(a, front.n + 1);

    for (size_t i = 0; i < front.n; i++)
        p[i] = (char)(front.p[i] < ' ' || front.p[i] >= 0x7f ? ' ' : front.p[i]);
    return (str){p, front.n};
}

bool notify_post(const struct notify_attempt *t, const struct notify_post *p,
                 struct mcp_fetched *got, struct notify_outcome *out, struct err *e)
{
    struct mcp_fetch_request q = {.method = STR("POST"),
                                  .url = p->url,
                                  .headers = p->headers,
                                  .body = p->body,
                                  .cancel = t->cancel};
    str shown;

    if (!mcp_fetch_whole(t->io, &q, t->deadline_ns, t->arena, got, e)) {
        out->permanent = e->code == ERR_INPUT;
        return false;
    }
    if (got->status >= 200 && got->status < 300)
        return true;
    assert(got->status >= 100);
    out->after_ms = got->after_ms;
    out->permanent = !hook_is_transient(got->status);
    shown = hook_shown(t->arena, got->body);
    if (got->status >= 300 && got->status < 400)
        return err_set(
            e,
            ERR_UPSTREAM,
            "it answers with a redirect, which is not followed: configure the final address");
    return err_set(e,
                   ERR_UPSTREAM,
                   "it answers with status %d%s" STR_FMT,
                   got->status,
                   shown.n ? ": " : "",
                   STR_ARG(shown));
}

/* ---- the body and its signature ---- */

static void hook_write(struct buf *body, const struct notice *n)
{
    char at[CLOCK_TEXT_SIZE], type[64];
    struct json_out o;

    (void)snprintf(type, sizeof type, "incident.%s", config_notify_event_name(n->event));
    json_out_init_object(&o, body);
    json_member_str(&o, "type", str_c(type));
    json_member_str(&o, "timestamp", clock_format(n->at_us / 1000, at));
    json_member_object(&o, "data");
    json_member_str(&o, "incident_id", n->id);
    json_member_str(&o, "title", n->title);
    json_member_str(&o, "status", n->status);
    json_member_str(&o, "alert_type", n->alert_type);
    json_member_str_or_null(&o, "severity", n->severity);
    json_member_str_or_null(&o, "environment", n->environment);
    json_member_str_or_null(&o, "agent", n->agent);
    json_member_str_or_null(&o, "url", n->link);
    json_member_str_or_null(&o, n->event == CONFIG_NOTIFY_FAILED ? "error" : "analysis", n->text);
    json_member_str_or_null(&o, "question", n->question);
    json_member_raw(&o, "silence_proposal", n->silence.n ? n->silence : STR("null"));
    json_out_close(&o, 2);
}

/* v1,BASE64(HMAC-SHA256(key, ID.TIMESTAMP.BODY)); the key follows the prefix whsec_. */
static bool hook_sign(const struct notify_attempt *t, int64_t now_s, str body, struct buf *headers,
                      struct err *e)
{
    str secret = secret_reveal(&t->target->secret);
    uint8_t digest[SHA256_SIZE];
    struct sha256_mac mac;
    struct buf key;
    bool ok;

    buf_init(&key, SECRET_SIZE_MAX);
    ok = str_starts(secret, STR("whsec_")) && base64_decode(str_slice(secret, 6, secret.n), &key);
    if (ok) {
        sha256_mac_init(&mac, buf_str(&key));
        sha256_mac_feed(&mac, t->id);
        sha256_mac_feed(&mac, arena_printf(t->arena, ".%lld.", (long long)now_s));
        sha256_mac_feed(&mac, body);
        sha256_mac_finish(&mac, digest);
        buf_printf(headers,
                   "webhook-id: " STR_FMT "\r\nwebhook-timestamp: %lld\r\nwebhook-signature: v1,",
                   STR_ARG(t->id),
                   (long long)now_s);
        base64_add(headers, (str){(const char *)digest, sizeof digest});
        buf_printf(headers, "\r\nIdempotency-Key: " STR_FMT "\r\n", STR_ARG(t->id));
    }
    assert(!buf_full(headers));
    if (key.n)
        secret_wipe(key.p, key.n);
    buf_release(&key);
    return ok || err_input(e, "the signing key is not whsec_ and base64");
}

bool hook_send(const struct notify_attempt *t, struct notify_outcome *out, struct err *e)
{
    struct buf body, headers;
    struct mcp_fetched got;
    bool ok;

    buf_init(&body, BODY_MAX);
    buf_init(&headers, HEADERS_MAX);
    hook_write(&body, t->notice);
    buf_add(&headers, STR("Content-Type: application/json\r\nUser-Agent: rationale\r\n"));
    out->permanent = true;
    ok = buf_ok(&body, "the message", e) &&
         hook_sign(t, clock_wall_ms(&clock_real) / 1000, buf_str(&body), &headers, e);
    buf_add(&headers, secret_reveal(&t->target->headers));
    ok = ok && notify_post(t,
                           &(struct notify_post){t->target->url, buf_str(&headers), buf_str(&body)},
                           &got,
                           out,
                           e);
    secret_wipe(headers.p, headers.n);
    buf_release(&headers);
    buf_release(&body);
    return ok;
}
