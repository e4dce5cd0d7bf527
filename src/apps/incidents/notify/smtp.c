/* smtp.c - see smtp.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/notify/smtp.h"

#include "base/base64.h"
#include "base/ctype.h"
#include "net/http1.h"

#include <unistd.h>

#define IN_MAX ((size_t)SMTP_LINE_MAX * SMTP_LINES_MAX + 4096)
#define SHOWN_MAX 100
#define HELO_MAX 200
#define REFUSED_MAX 2000

/* "250-text" or "250 text" or "250", without its line end. */
/* ---- replies ---- */

static bool smtp_line_ok(str line)
{
    if (line.n < 3 || line.n > SMTP_LINE_MAX || line.p[0] < '2' || line.p[0] > '5' ||
        !char_is_digit(line.p[1]) || !char_is_digit(line.p[2]))
        return false;
    for (size_t i = 0; i < line.n; i++)
        if (line.p[i] == '\r' || line.p[i] == '\n' || line.p[i] == '\0')
            return false;
    return line.n == 3 || line.p[3] == ' ' || line.p[3] == '-';
}

enum smtp_state smtp_reply_read(str bytes, size_t *used, int *code, struct buf *text)
{
    size_t at = 0;

    buf_reset(text);
    *code = 0;
    for (size_t lines = 0; lines < SMTP_LINES_MAX; lines++) {
        str rest = str_slice(bytes, at, bytes.n), line;
        size_t end = str_find(rest, STR("\r\n"));
        int number;

        if (end == STR_NONE)
            return rest.n > SMTP_LINE_MAX + 2 ? SMTP_BAD : SMTP_MORE;
        line = str_slice(rest, 0, end);
        if (!smtp_line_ok(line))
            return SMTP_BAD;
        number = (line.p[0] - '0') * 100 + (line.p[1] - '0') * 10 + (line.p[2] - '0');
        if (*code != 0 && *code != number)
            return SMTP_BAD;
        *code = number;
        buf_add(text, str_slice(line, 4, line.n));
        buf_add_c(text, '\n');
        at += end + 2;
        assert(at <= bytes.n);
        if (line.n == 3 || line.p[3] == ' ') {
            *used = at;
            return SMTP_DONE;
        }
    }
    return SMTP_BAD;
}

static str smtp_word(str *line)
{
    size_t n = 0;
    str word;

    while (n < line->n && line->p[n] != ' ' && line->p[n] != '=')
        n++;
    word = str_slice(*line, 0, n);
    *line = str_slice(*line, n + 1, line->n);
    return word;
}

bool smtp_offers(str ehlo, str extension, str parameter)
{
    bool first = true;

    while (ehlo.n > 0) {
        str line = str_cut(&ehlo, '\n');
        if (!first && http1_same(smtp_word(&line), extension)) {
            if (parameter.n == 0)
                return true;
            while (line.n > 0)
                if (http1_same(smtp_word(&line), parameter))
                    return true;
        }
        first = false; /* the first line is a greeting */
    }
    return false;
}

void smtp_stuff(struct buf *out, str data)
{
    bool start = true;

    for (size_t i = 0; i < data.n; i++) {
        if (start && data.p[i] == '.')
            buf_add_c(out, '.');
        buf_add_c(out, data.p[i]);
        start = data.p[i] == '\n';
    }
    buf_add(out, start ? STR(".\r\n") : STR("\r\n.\r\n"));
}

/* ---- one conversation ---- */

struct smtp {
    const struct smtp_message *m;
    struct tls *tls;
    struct stream *s;
    struct buf in, text, line;
    int code;
};

/* The server's reply, formatted for use inside a sentence. */
static bool smtp_refused(struct smtp *c, const char *what, struct err *e)
{
    char shown[SHOWN_MAX + 1];
    str text = str_trim(buf_str(&c->text));
    size_t n = text.n < SHOWN_MAX ? text.n : SHOWN_MAX;

    for (size_t i = 0; i < n; i++)
        shown[i] = text.p[i] >= ' ' && text.p[i] < 0x7f ? text.p[i] : ' ';
    shown[n] = '\0';
    return err_set(e,
                   c->code == 535 || c->code == 534 ? ERR_AUTH
                   : c->code >= 500                 ? ERR_INPUT
                                                    : ERR_UPSTREAM,
                   "the mail server answers %s with %d: %s",
                   what,
                   c->code,
                   shown);
}

static bool smtp_get(struct smtp *c, struct err *e)
{
    size_t used = 0;

    for (;;) {
        char bytes[4096];
        size_t n;

        switch (smtp_reply_read(buf_str(&c->in), &used, &c->code, &c->text)) {
        case SMTP_DONE:
            assert(used > 0 && used <= c->in.n);
            buf_drop(&c->in, used);
            return true;
        case SMTP_BAD:
            return err_set(e, ERR_UPSTREAM, "the server does not speak SMTP");
        default:
            break;
        }
        if (!stream_read(c->s, bytes, sizeof bytes, &n, e))
            return false;
        if (n == 0)
            return err_set(e, ERR_UPSTREAM, "the mail server closed the connection");
        buf_add(&c->in, (str){bytes, n});
        if (buf_full(&c->in))
            return err_set(e, ERR_UPSTREAM, "the server does not speak SMTP");
    }
}

/* Sends c->line, which is wiped, and expects a reply of the class (2 or 3). */
static bool smtp_ask(struct smtp *c, const char *what, int class, struct err *e)
{
    bool ok;

    assert(class == 2 || class == 3);
    buf_add(&c->line, STR("\r\n"));
    ok = buf_ok(&c->line, "a command", e) && stream_write(c->s, buf_str(&c->line), e) &&
         smtp_get(c, e);
    secret_wipe(c->line.p, c->line.n);
    buf_reset(&c->line);
    if (!ok)
        c->code = 0; /* it is from an earlier reply, or from a part of one */
    return ok && (c->code / 100 == class || smtp_refused(c, what, e));
}

static bool smtp_hello(struct smtp *c, struct err *e)
{
    char name[HELO_MAX] = "";
    size_t n;

    if (gethostname(name, sizeof name - 1) != 0)
        name[0] = '\0';
    for (n = 0; name[n]; n++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-", name[n]))
            break;
    buf_printf(&c->line, "EHLO %s", n > 0 && !name[n] ? name : "localhost");
    return smtp_ask(c, "EHLO", 2, e);
}

static bool smtp_secure(struct smtp *c, struct err *e)
{
    if (c->m->security != SMTP_STARTTLS)
        return true;
    if (!smtp_offers(buf_str(&c->text), STR("STARTTLS"), STR("")))
        return err_input(e,
                         "the mail server does not offer STARTTLS: use its TLS port with security: "
                         "tls, or security: plain");
    buf_add(&c->line, STR("STARTTLS"));
    if (!smtp_ask(c, "STARTTLS", 2, e))
        return false;
    if (c->in.n > 0)
        return err_set(e, ERR_UPSTREAM, "the mail server sent more than its answer to STARTTLS");
    return stream_start_tls(c->s, c->tls, e) && smtp_hello(c, e);
}

static void smtp_add_base64(struct smtp *c, str front, str text)
{
    struct buf both;

    buf_init(&both, 4 * SECRET_SIZE_MAX);
    buf_add(&both, front);
    buf_add(&both, text);
    base64_add(&c->line, buf_str(&both));
    if (both.n)
        secret_wipe(both.p, both.n);
    buf_release(&both);
}

static bool smtp_login(struct smtp *c, struct err *e)
{
    const struct smtp_message *m = c->m;
    str password = m->password ? secret_reveal(m->password) : STR("");
    struct buf user;

    if (m->username.n == 0)
        return true;
    if (smtp_offers(buf_str(&c->text), STR("AUTH"), STR("PLAIN"))) {
        buf_init(&user, 4096);
        buf_add_c(&user, '\0');
        buf_add(&user, m->username);
        buf_add_c(&user, '\0');
        buf_add(&c->line, STR("AUTH PLAIN "));
        smtp_add_base64(c, buf_str(&user), password);
        buf_release(&user);
        return smtp_ask(c, "AUTH PLAIN", 2, e);
    }
    if (!smtp_offers(buf_str(&c->text), STR("AUTH"), STR("LOGIN")))
        return err_input(e, "the mail server offers neither AUTH PLAIN nor AUTH LOGIN");
    buf_add(&c->line, STR("AUTH LOGIN"));
    if (!smtp_ask(c, "AUTH LOGIN", 3, e))
        return false;
    smtp_add_base64(c, STR(""), m->username);
    if (!smtp_ask(c, "the user name", 3, e))
        return false;
    smtp_add_base64(c, STR(""), password);
    return smtp_ask(c, "the password", 2, e);
}

/* Refused recipients are reported; without any that is accepted the message fails, for now if one
 * of them is refused for now. */
static bool smtp_recipients(struct smtp *c, struct buf *refused, struct err *e)
{
    size_t accepted = 0;
    bool later = false;
    struct err why;

    for (size_t i = 0; i < c->m->to_count; i++) {
        buf_printf(&c->line, "RCPT TO:<" STR_FMT ">", STR_ARG(c->m->to[i]));
        if (smtp_ask(c, "RCPT", 2, &why)) {
            accepted++;
            continue;
        }
        if (!later || !c->code)
            *e = why;
        if (!c->code)
            return false; /* the connection failed */
        later |= why.code == ERR_UPSTREAM;
        if (refused->n < REFUSED_MAX)
            buf_printf(refused,
                       "%s" STR_FMT ": %s",
                       refused->n ? "; " : "",
                       STR_ARG(c->m->to[i]),
                       why.text);
    }
    return accepted > 0;
}

static bool smtp_converse(struct smtp *c, struct buf *refused, struct err *e)
{
    struct buf data;
    bool ok;

    assert(c->s);
    if (c->m->security == SMTP_TLS && !stream_start_tls(c->s, c->tls, e))
        return false;
    if (!smtp_get(c, e))
        return false;
    if (c->code != 220)
        return smtp_refused(c, "the connection", e);
    if (!smtp_hello(c, e) || !smtp_secure(c, e) || !smtp_login(c, e))
        return false;
    buf_printf(&c->line, "MAIL FROM:<" STR_FMT ">", STR_ARG(c->m->from));
    if (!smtp_ask(c, "MAIL", 2, e) || !smtp_recipients(c, refused, e))
        return false;
    buf_add(&c->line, STR("DATA"));
    if (!smtp_ask(c, "DATA", 3, e))
        return false;
    buf_init(&data, 2 * c->m->data.n + 64);
    smtp_stuff(&data, c->m->data);
    ok = stream_write(c->s, buf_str(&data), e) && smtp_get(c, e) &&
         (c->code / 100 == 2 || smtp_refused(c, "the message", e));
    buf_release(&data);
    return ok;
}

bool smtp_send(const struct smtp_message *m, struct tls *tls, const struct stream_until *until,
               struct buf *refused, struct err *e)
{
    struct smtp c = {.m = m, .tls = tls};
    struct err ignored;
    bool ok = false;

    buf_init(&c.in, IN_MAX);
    buf_init(&c.text, IN_MAX);
    buf_init(&c.line, 8 * SECRET_SIZE_MAX);
    c.s = stream_open(m->host, m->port, until, e);
    if (c.s) {
        ok = smtp_converse(&c, refused, e);
        if (ok) { /* the server has the message: a failure to say goodbye changes nothing */
            (void)!stream_write(c.s, STR("QUIT\r\n"), &ignored);
        }
        stream_free(c.s);
    }
    buf_release(&c.in);
    buf_release(&c.text);
    buf_release(&c.line);
    return ok || err_prefix(e, STR_FMT ":%u: ", STR_ARG(m->host), m->port);
}
