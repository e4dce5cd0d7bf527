/* email.c - a message as e-mail: safe headers, and text in quoted-printable.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/notify/notify.h"
#include "apps/incidents/notify/smtp.h"

#include "base/base64.h"
#include "base/utf8.h"

#define DATA_MAX ((size_t)1 << 20)
#define LINE_MAX_QP 73 /* of a line before its soft break */
#define WORD_BYTES 42  /* of text in one encoded word */

/* ---- headers ---- */

static bool email_is_plain(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < ' ' || s.p[i] > '~')
            return false;
    return s.n <= 60 && str_find(s, STR("=?")) == STR_NONE;
}

/* The text unchanged, or as encoded words (RFC 2047), each of whole characters and on its own
 * line. */
static void email_header_text(struct buf *out, const char *name, str text)
{
    bool first = true;

    buf_printf(out, "%s: ", name);
    if (email_is_plain(text)) {
        buf_add(out, text);
        text = STR("");
    }
    while (text.n > 0) {
        str word = utf8_cut_size(text, WORD_BYTES);

        if (word.n == 0)
            break; /* not UTF-8 */
        buf_add(out, first ? STR("=?UTF-8?B?") : STR("\r\n =?UTF-8?B?"));
        base64_add(out, word);
        buf_add(out, STR("?="));
        text = str_slice(text, word.n, text.n);
        first = false;
    }
    buf_add(out, STR("\r\n"));
}

static void email_headers(struct buf *out, const struct notify_attempt *t)
{
    const struct config_notify *c = t->target;
    str domain = str_slice(c->from, str_find(c->from, STR("@")) + 1, c->from.n);
    time_t now = (time_t)(clock_wall_ms(&clock_real) / 1000);
    char date[64];
    struct tm tm;

    (void)strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S +0000", gmtime_r(&now, &tm));
    buf_printf(out, "Date: %s\r\nFrom: Rationale <" STR_FMT ">\r\nTo: ", date, STR_ARG(c->from));
    for (size_t i = 0; i < c->to_count; i++)
        buf_printf(out, "%s<" STR_FMT ">", i ? ",\r\n " : "", STR_ARG(c->to[i]));
    buf_add(out, STR("\r\n"));
    email_header_text(out, "Subject", t->notice->title);
    buf_printf(out,
               "Message-ID: <" STR_FMT "@" STR_FMT ">\r\nReferences: <" STR_FMT "@" STR_FMT
               ">\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n"
               "Content-Transfer-Encoding: quoted-printable\r\nAuto-Submitted: auto-generated\r\n"
               "\r\n",
               STR_ARG(t->id),
               STR_ARG(domain),
               STR_ARG(t->notice->id),
               STR_ARG(domain));
}

/* ---- the text ---- */

/* Quoted-printable (RFC 2045); line feeds become line ends. */
static void email_quote(struct buf *out, str text)
{
    static const char hex[] = "0123456789ABCDEF";
    size_t column = 0;

    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        bool ends = i + 1 == text.n || text.p[i + 1] == '\n';
        bool plain = (c > ' ' && c <= '~' && c != '=') || ((c == ' ' || c == '\t') && !ends);

        if (c == '\n') {
            buf_add(out, STR("\r\n"));
            column = 0;
            continue;
        }
        if (column + (plain ? 1 : 3) > LINE_MAX_QP) {
            buf_add(out, STR("=\r\n"));
            column = 0;
        }
        if (plain) {
            buf_add_c(out, (char)c);
        } else {
            buf_add_c(out, '=');
            buf_add_c(out, hex[c >> 4]);
            buf_add_c(out, hex[c & 15]);
        }
        column += plain ? 1 : 3;
        assert(column <= LINE_MAX_QP);
    }
    buf_add(out, STR("\r\n"));
}

static void email_text(struct buf *out, const struct notice *n)
{
    struct buf text;

    buf_init(&text, DATA_MAX);
    buf_printf(&text,
               STR_FMT "\n\nStatus: " STR_FMT "\nIncident: " STR_FMT "\n",
               STR_ARG(n->title),
               STR_ARG(n->status),
               STR_ARG(n->link.n ? n->link : n->id));
    if (n->question.n)
        buf_printf(&text, "\nA person must approve:\n" STR_FMT "\n", STR_ARG(n->question));
    if (n->text.n)
        buf_printf(&text, "\n" STR_FMT "\n", STR_ARG(n->text));
    if (n->silence_link.n)
        buf_printf(&text,
                   "\nTo silence the alert, check and submit this form:\n" STR_FMT "\n",
                   STR_ARG(n->silence_link));
    email_quote(out, buf_str(&text));
    buf_release(&text);
}

bool email_send(const struct notify_attempt *t, struct notify_outcome *out, struct err *e)
{
    const struct config_notify *c = t->target;
    struct stream_until until = {t->deadline_ns, t->cancel};
    struct buf data, refused;
    bool ok;

    buf_init(&data, DATA_MAX);
    buf_init(&refused, 4096);
    email_headers(&data, t);
    email_text(&data, t->notice);
    out->permanent = true;
    if (!t->tls && c->security != CONFIG_NOTIFY_PLAIN)
        ok = err_input(e, "there are no certificate authorities for TLS: see ca_file");
    else
        ok = buf_ok(&data, "the message", e) &&
             smtp_send(&(struct smtp_message){.host = c->host,
                                              .port = c->port,
                                              .security = (enum smtp_security)c->security,
                                              .username = c->username,
                                              .password = &c->secret,
                                              .from = c->from,
                                              .to = c->to,
                                              .to_count = c->to_count,
                                              .data = buf_str(&data)},
                       t->tls,
                       &until,
                       &refused,
                       e);
    if (ok)
        out->note = arena_dup(t->arena, buf_str(&refused));
    else
        out->permanent = e->code == ERR_INPUT || e->code == ERR_AUTH;
    buf_release(&data);
    buf_release(&refused);
    return ok;
}
