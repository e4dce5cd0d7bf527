/* smtp.h - hands one message to a mail server (RFC 5321): plain, STARTTLS or TLS from the start.
 *
 *     if (!smtp_send(&message, tls, &until, &refused, e)) ...
 *
 * Never on a loop's thread: it waits for the server.
 *
 * Promises:
 *   - With STARTTLS or TLS nothing but the greeting, EHLO and STARTTLS goes unencrypted; a server
 *     that does not offer STARTTLS gets no message. Bytes that it sends between its answer to
 *     STARTTLS and the handshake are an error.
 *   - True: the server has taken responsibility for the message, for at least one recipient.
 *   - A reply is read strictly and bounded: SMTP_LINE_MAX, SMTP_LINES_MAX.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "base/secret.h"
#include "net/stream.h"

#define SMTP_LINE_MAX 1000
#define SMTP_LINES_MAX 128

enum smtp_security { SMTP_STARTTLS, SMTP_TLS, SMTP_PLAIN };

struct smtp_message {
    str host;
    unsigned port;
    enum smtp_security security;
    str username; /* "": no authentication */
    const struct secret *password;
    str from; /* addresses without anything but visible ASCII, and no < or > */
    const str *to;
    size_t to_count;
    str data; /* headers and body; lines end with CRLF */
};

/* ERR_INPUT, ERR_AUTH: a permanent refusal. ERR_UPSTREAM, ERR_TIMEOUT: a retry may succeed.
 * `refused` gets the refused recipients, with the server's text. */
bool smtp_send(const struct smtp_message *m, struct tls *tls, const struct stream_until *until,
               struct buf *refused, struct err *e) MUST_USE;

/* ---- replies ---- */

enum smtp_state { SMTP_MORE, SMTP_DONE, SMTP_BAD };

/* Reads one reply from the front of `bytes`: *used is its size, `text` the text of its lines, each
 * followed by a line feed. */
enum smtp_state smtp_reply_read(str bytes, size_t *used, int *code, struct buf *text);
/* Whether a reply to EHLO offers an extension, and with it a parameter ("" for none). */
bool smtp_offers(str ehlo, str extension, str parameter);
/* The message with a dot before each line that begins with one, and the end after it. */
void smtp_stuff(struct buf *out, str data);
