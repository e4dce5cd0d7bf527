/* slack.c - messages to Slack: an incoming webhook, or a bot that keeps one message per incident up
 * to date and posts news in its thread.
 *
 * A section has at most 3,000 characters and all blocks together about 13,000 (Slack refuses more
 * with msg_blocks_too_long, which its documentation does not mention).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/notify/notify.h"

#include "base/utf8.h"

#define BODY_MAX ((size_t)256 << 10)
#define HEADER_MAX 150
#define SECTION_MAX 2900
#define SECTIONS_MAX 3
#define PIECE_MAX 500 /* bytes converted at once: five times that fits into a section */
#define REPLY_TEXT_MAX 600
#define ID_MAX 200

/* ---- text ---- */

static void slack_escape(struct buf *out, str text)
{
    for (size_t i = 0; i < text.n; i++)
        switch (text.p[i]) {
        case '&':
            buf_add(out, STR("&amp;"));
            break;
        case '<':
            buf_add(out, STR("&lt;"));
            break;
        case '>':
            buf_add(out, STR("&gt;"));
            break;
        default:
            buf_add_c(out, text.p[i]);
        }
}

/* A line of Markdown as Slack's own: headings and ** are *bold*. */
static void slack_line(struct buf *out, str line)
{
    size_t hashes = 0, at;

    while (hashes < line.n && line.p[hashes] == '#')
        hashes++;
    if (hashes > 0 && hashes < line.n && line.p[hashes] == ' ') {
        buf_add_c(out, '*');
        line = str_trim(str_slice(line, hashes, line.n));
    } else {
        hashes = 0;
    }
    while ((at = str_find(line, STR("**"))) != STR_NONE) {
        slack_escape(out, str_slice(line, 0, at));
        if (!hashes)
            buf_add_c(out, '*');
        line = str_slice(line, at + 2, line.n);
    }
    slack_escape(out, line);
    if (hashes)
        buf_add_c(out, '*');
}

static void slack_section(struct json_out *o, str text)
{
    if (!str_trim(text).n)
        return;
    json_out_object(o);
    json_member_str(o, "type", STR("section"));
    json_member_object(o, "text");
    json_member_str(o, "type", STR("mrkdwn"));
    json_member_str(o, "text", str_trim(text));
    json_out_close(o, 2);
}

/* Sections of whole lines; the rest is left out, and the link leads to it. */
static void slack_sections(struct json_out *o, str text)
{
    struct buf section, piece;
    unsigned count = 0;

    buf_init(&section, 2 * (size_t)SECTION_MAX);
    buf_init(&piece, 8 * (size_t)PIECE_MAX);
    while (text.n > 0 && count < SECTIONS_MAX) {
        size_t end = str_find(text, STR("\n"));
        bool whole = end != STR_NONE && end <= PIECE_MAX;
        str line = whole ? str_slice(text, 0, end) : utf8_cut_size(text, PIECE_MAX);

        if (!whole && line.n == 0)
            break; /* not UTF-8, which the masker excludes */
        if (!whole && end == STR_NONE && text.n <= PIECE_MAX)
            line = text;
        buf_reset(&piece);
        slack_line(&piece, line);
        text = str_slice(text, line.n + whole, text.n);
        assert(!buf_full(&piece) && piece.n <= SECTION_MAX);
        if (section.n + piece.n + 1 > SECTION_MAX) {
            slack_section(o, buf_str(&section));
            buf_reset(&section);
            count++;
        }
        if (count < SECTIONS_MAX) {
            buf_add(&section, buf_str(&piece));
            buf_add(&section, whole ? STR("\n") : STR(""));
        }
    }
    assert(count <= SECTIONS_MAX);
    if (count < SECTIONS_MAX)
        slack_section(o, buf_str(&section));
    buf_release(&section);
    buf_release(&piece);
}

/* ---- the message ---- */

static void slack_facts(struct json_out *o, const struct notice *n)
{
    struct buf b;

    buf_init(&b, 4 * (size_t)SECTION_MAX);
    buf_add(&b, STR("*Status:* "));
    slack_escape(&b, n->status);
    if (n->agent.n) {
        buf_add(&b, STR("   *Agent:* "));
        slack_escape(&b, n->agent);
    }
    if (n->link.n) {
        buf_add(&b, STR("   <"));
        slack_escape(&b, n->link);
        buf_add(&b, STR("|Open the incident>"));
    }
    if (n->silence_link.n && n->silence_link.n < SECTION_MAX / 2) {
        buf_add(&b, STR("   <"));
        slack_escape(&b, n->silence_link);
        buf_add(&b, STR("|Silence the alert…>"));
    }
    slack_section(o, buf_str(&b));
    buf_release(&b);
}

static void slack_blocks(struct json_out *o, const struct notice *n, size_t text_max)
{
    struct buf question, title;

    buf_init(&title, 8 * (size_t)SECTION_MAX);
    slack_escape(&title, n->title); /* no <!channel> of an alert's */
    json_member_str(o, "text", buf_str(&title));
    buf_release(&title);
    json_member_bool(o, "unfurl_links", false);
    json_member_array(o, "blocks");
    json_out_object(o);
    json_member_str(o, "type", STR("header"));
    json_member_object(o, "text");
    json_member_str(o, "type", STR("plain_text"));
    json_member_str(o, "text", utf8_cut_size(n->title, HEADER_MAX));
    json_member_bool(o, "emoji", false);
    json_out_close(o, 2);
    slack_facts(o, n);
    if (n->question.n) {
        buf_init(&question, 8 * (size_t)SECTION_MAX);
        buf_add(&question, STR("A person must approve:\n"));
        slack_escape(&question, utf8_cut_size(n->question, SECTION_MAX / 6));
        slack_section(o, buf_str(&question));
        buf_release(&question);
    }
    slack_sections(o, utf8_cut_size(n->text, text_max));
    json_out_end(o);
}

/* ---- answers ---- */

static const struct {
    const char *code, *help;
} helps[] = {
    {"invalid_auth", "check the bot's token"},
    {"not_authed", "check the bot's token"},
    {"token_revoked", "make a new token"},
    {"token_expired", "make a new token"},
    {"account_inactive", "the bot was removed: install the app again"},
    {"missing_scope", "give the app the scope chat:write and install it again"},
    {"not_in_channel", "invite the bot: /invite @BOT in the channel"},
    {"channel_not_found", "check the channel's id, and invite the bot if it is private"},
    {"is_archived", "the channel is archived: choose another"},
    {"channel_is_archived", "the channel is archived: choose another"},
    {"no_service", "the webhook was removed: make a new one"},
    {"no_active_hooks", "the webhook is disabled: make a new one"},
    {"invalid_token", "the webhook's URL is wrong: copy it again"},
    {"action_prohibited", "an administrator restricts posting to the channel"},
};

static bool slack_failed(str code, struct err *e)
{
    code = str_slice(code, 0, 60);
    for (size_t i = 0; i < COUNT_OF(helps); i++)
        if (str_eq(code, str_c(helps[i].code)))
            return err_set(
                e, ERR_UPSTREAM, "Slack says " STR_FMT ": %s", STR_ARG(code), helps[i].help);
    return err_set(e, ERR_UPSTREAM, "Slack says " STR_FMT, STR_ARG(code));
}

static bool slack_is_transient(str code)
{
    return str_is_one_of(code,
                         "ratelimited rate_limited internal_error fatal_error service_unavailable"
                         " request_timeout team_added_to_org");
}

bool slack_webhook_send(const struct notify_attempt *t, struct notify_outcome *out, struct err *e)
{
    struct mcp_fetched got = {.status = 0};
    struct buf body;
    struct json_out o;
    bool ok;

    buf_init(&body, BODY_MAX);
    json_out_init_object(&o, &body);
    slack_blocks(&o, t->notice, NOTIFY_ANALYSIS_MAX);
    json_out_end(&o);
    out->permanent = true;
    ok = json_out_ok(&o, e) &&
         notify_post(t,
                     &(struct notify_post){secret_reveal(&t->target->secret),
                                           STR("Content-Type: application/json\r\n"),
                                           buf_str(&body)},
                     &got,
                     out,
                     e);
    buf_release(&body);
    if (!ok && out->permanent && got.status >= 400)
        return slack_failed(str_trim(got.body), e);
    return ok;
}

/* ---- the bot ---- */

struct slack_call {
    const char *method; /* "chat.postMessage" */
    str channel, ts, thread;
    size_t text_max;
};

static bool slack_is_id(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] > '~')
            return false;
    return s.n > 0 && s.n <= ID_MAX;
}

/* Identifies the message for updates; "" if the answer does not: the next message is a new one. */
static str slack_receipt(struct arena *a, str channel, str ts)
{
    return slack_is_id(channel) && slack_is_id(ts) ? arena_join(a, channel, STR(" "), ts) : STR("");
}

/* The answer of the API; `code` is its error, in the arena, "" if the request failed before. */
static bool slack_api(const struct notify_attempt *t, const struct slack_call *c, struct buf *body,
                      struct notify_outcome *out, str *code, struct err *e)
{
    struct mcp_fetched got;
    struct buf headers;
    struct json doc;
    bool ok, good = false;

    *code = STR("");
    buf_init(&headers, 2 * (size_t)SECRET_SIZE_MAX);
    buf_add(&headers,
            STR("Content-Type: application/json; charset=utf-8\r\nAuthorization: Bearer "));
    buf_add(&headers, secret_reveal(&t->target->secret));
    buf_add(&headers, STR("\r\n"));
    ok = notify_post(
        t,
        &(struct notify_post){
            arena_printf(t->arena, STR_FMT "/%s", STR_ARG(t->target->api_url), c->method),
            buf_str(&headers),
            buf_str(body)},
        &got,
        out,
        e);
    secret_wipe(headers.p, headers.n);
    buf_release(&headers);
    if (!ok)
        return false;
    if (!json_open(&doc, got.body, e)) {
        ok = err_set(e, ERR_UPSTREAM, "the answer is not JSON: is api_url that of Slack?");
    } else if (!json_bool(json_find(&doc, json_root(&doc), STR("ok")), &good) || !good) {
        *code = arena_dup(t->arena, json_get_text(&doc, json_root(&doc), "error", t->arena));
        out->permanent = !slack_is_transient(*code);
        out->after_ms = got.after_ms;
        ok = slack_failed(code->n ? *code : STR("neither ok nor an error"), e);
    } else if (!out->receipt.n) {
        out->receipt = slack_receipt(t->arena,
                                     json_get_text(&doc, json_root(&doc), "channel", t->arena),
                                     json_get_text(&doc, json_root(&doc), "ts", t->arena));
    }
    json_release(&doc);
    return ok;
}

static bool slack_call(const struct notify_attempt *t, const struct slack_call *c,
                       struct notify_outcome *out, str *code, struct err *e)
{
    struct buf body;
    struct json_out o;
    bool ok;

    buf_init(&body, BODY_MAX);
    json_out_init_object(&o, &body);
    json_member_str(&o, "channel", c->channel);
    if (c->ts.n)
        json_member_str(&o, "ts", c->ts);
    if (c->thread.n)
        json_member_str(&o, "thread_ts", c->thread);
    slack_blocks(&o, t->notice, c->text_max);
    json_out_end(&o);
    out->permanent = true;
    *code = STR("");
    ok = json_out_ok(&o, e) && slack_api(t, c, &body, out, code, e);
    buf_release(&body);
    return ok;
}

/* An update repeated by a retry changes nothing, so it goes before the reply in the thread. */
bool slack_bot_send(const struct notify_attempt *t, struct notify_outcome *out, struct err *e)
{
    size_t space = str_find(t->receipt, STR(" "));
    struct slack_call post = {.method = "chat.postMessage",
                              .channel = t->target->channel,
                              .ts = STR(""),
                              .thread = STR(""),
                              .text_max = NOTIFY_ANALYSIS_MAX};
    struct slack_call update = post;
    str code;

    if (space == STR_NONE)
        return slack_call(t, &post, out, &code, e);
    out->receipt = t->receipt;
    update.method = "chat.update";
    update.channel = post.channel = str_slice(t->receipt, 0, space);
    update.ts = post.thread = str_slice(t->receipt, space + 1, t->receipt.n);
    post.text_max = REPLY_TEXT_MAX;
    if (!slack_call(t, &update, out, &code, e) && !str_eq(code, STR("edit_window_closed")) &&
        !str_eq(code, STR("cant_update_message")) && !str_eq(code, STR("message_not_found")))
        return false;
    if (!str_eq(code, STR("message_not_found")) && slack_call(t, &post, out, &code, e))
        return true;
    if (!str_eq(code, STR("message_not_found")) && !str_eq(code, STR("thread_not_found")))
        return false;
    post.thread = STR(""); /* the message was deleted */
    post.text_max = NOTIFY_ANALYSIS_MAX;
    out->receipt = STR("");
    return slack_call(t, &post, out, &code, e);
}
