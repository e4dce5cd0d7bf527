/* A reply of a mail server reads alike from the whole and from any front that contains all of it. A
 * dot-stuffed text has one end, and is the original text without the added dots.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/notify/smtp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_reply(str bytes)
{
    size_t used = 0, again = 0;
    struct buf text, other;
    int code, code_again;
    enum smtp_state state;

    buf_init(&text, (size_t)1 << 20);
    buf_init(&other, (size_t)1 << 20);
    state = smtp_reply_read(bytes, &used, &code, &text);
    if (state == SMTP_DONE) {
        assert(used >= 5 && used <= bytes.n && code >= 200 && code < 600);
        assert(smtp_reply_read(str_slice(bytes, 0, used), &again, &code_again, &other) ==
               SMTP_DONE);
        assert(again == used && code_again == code && str_eq(buf_str(&text), buf_str(&other)));
        assert(smtp_reply_read(str_slice(bytes, 0, used - 1), &again, &code_again, &other) ==
               SMTP_MORE);
        (void)smtp_offers(buf_str(&text), STR("AUTH"), STR("PLAIN"));
        assert(!smtp_offers(buf_str(&text), STR("AUTH"), STR("PLAIN")) ||
               smtp_offers(buf_str(&text), STR("AUTH"), STR("")));
    }
    buf_release(&text);
    buf_release(&other);
}

static void check_stuffed(str data)
{
    struct buf out;
    size_t at = 0;
    bool start = true;
    str rest;

    buf_init(&out, 4 * data.n + 64);
    smtp_stuff(&out, data);
    rest = buf_str(&out);
    for (size_t i = 0; i < data.n; i++) {
        at += start && data.p[i] == '.';
        assert(rest.p[at++] == data.p[i]);
        start = data.p[i] == '\n';
    }
    assert(str_eq(str_slice(rest, at, rest.n), start ? STR(".\r\n") : STR("\r\n.\r\n")));
    buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str bytes = {(const char *)data, size};

    check_reply(bytes);
    check_stuffed(bytes);
    return 0;
}
