/* Runs the messages of llhttp's tests (Markdown). Messages that its strict mode refuses must be
 * refused here, and messages that it accepts must be accepted; the table below lists the
 * exceptions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/http1.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "test.h"

#define FILE_SIZE_MAX (1 << 20)
#define HEAD_MAX (96 * 1024)
#define CASES_MIN 150

#define LF "a bare LF ends a line of a head, as in nginx"
#define METHODS "any token is a method; the handler knows which it serves"
#define TUNNEL "no tunnels are made here"
#define PROTOCOL "only HTTP/1.0 and HTTP/1.1 are spoken"
#define CODING "chunked, once, is the only transfer coding"
#define STRAY "empty lines may stand before a request, not before a reply"

enum verdict { TAKEN, REFUSED };

/* Deliberate differences. */
static const struct {
    const char *file, *title; /* NULL: the whole file */
    const char *why;
} exceptions[] = {
    {"request-invalid", "HTTP protocol and ANNOUNCE method", METHODS},
    {"request-invalid", "Invalid method", METHODS},
    {"request-invalid", "Headers separated by LF", LF},
    {"request-invalid", "Empty headers separated by LF", LF},
    {"request-invalid", "Missing CR between headers", LF},
    {"response-invalid", "Only LFs present and no body", LF},
    {"response-invalid", "Only LFs present", LF},
    {"response-sample", "No carriage ret", LF},
    {"request-method", "CONNECT request", TUNNEL},
    {"request-method", "CONNECT request with CAPS", TUNNEL},
    {"request-method", "CONNECT with body", TUNNEL},
    {"request-uri", "Underscore in hostname", TUNNEL},
    {"request-method", "M-SEARCH request", "the target * is for OPTIONS alone"},
    {"request-method", "SOURCE request with ICE", PROTOCOL},
    {"request-method", "OPTIONS request with RTSP", PROTOCOL},
    {"request-method", "ANNOUNCE request with RTSP", PROTOCOL},
    {"response-sample", "RTSP response", PROTOCOL},
    {"response-sample", "ICE response", PROTOCOL},
    {"request-sample", "No HTTP version", PROTOCOL},
    {"response-sample", "HTTP version 0.9", PROTOCOL},
    {"request-transfer-encoding", "POST with `chunked` as last transfer-encoding", CODING},
    {"request-transfer-encoding",
     "POST with `chunked` as last transfer-encoding (multiple headers)",
     CODING},
    {"response-transfer-encoding", "`chunked` before other transfer-encoding", CODING},
    {"response-transfer-encoding",
     "multiple transfer-encoding where chunked is not the last one",
     CODING},
    {"response-transfer-encoding",
     "`chunkedchunked` transfer-encoding does not enable chunked enconding",
     CODING},
    {"request-uri", "Fragment in URI", "a fragment is never sent"},
    {"request-uri", "`host:port` and basic auth", "user info in a target is a trap"},
    {"response-connection", "HTTP 304 with Content-Length", STRAY},
    {"response-connection", "HTTP 100 first, then 400", STRAY},
    {"response-pipelining", "Should parse multiple events", STRAY},
    {"response-sample", "Response starting with CRLF", STRAY},
};

static void on_bytes(void *ctx, str bytes)
{
    *(size_t *)ctx += bytes.n;
}

/* Most messages have no Host, which is not under test: inserts one after the first line. */
static void add_host(struct buf *message)
{
    struct buf with;
    str text = buf_str(message);
    size_t first = 0;

    while (text.p[first] == '\r' || text.p[first] == '\n')
        first++;
    first += str_find(str_slice(text, first, text.n), STR("\n"));
    buf_init(&with, HEAD_MAX);
    buf_add(&with, str_slice(text, 0, first + 1));
    buf_add(&with, STR("Host: a\r\n"));
    buf_add(&with, str_slice(text, first + 1, text.n));
    buf_release(message);
    *message = with;
}

/* Consumes one message from the front of the text. Returns false when the verdict is final. */
static bool take_message(struct buf *text, bool request, enum verdict *verdict, const char **why)
{
    static struct http1_head head;
    struct http1_fault fault = {0};
    struct http1_body body;
    size_t used = 0, sum = 0;
    enum http1_result got = request
                                ? http1_request(buf_str(text), HEAD_MAX, &head, &used, &fault)
                                : http1_reply(buf_str(text), HEAD_MAX, false, &head, &used, &fault);

    if (got == HTTP1_BAD && strcmp(fault.why, "there is no Host") == 0) {
        add_host(text);
        return true;
    }
    if (got == HTTP1_MORE && text->n > 0 && !str_ends(buf_str(text), STR("\r\n\r\n\r\n"))) {
        buf_add(text, STR("\r\n\r\n\r\n")); /* some texts end where llhttp has already decided */
        return true;
    }
    *why = fault.why;
    *verdict = got == HTTP1_BAD ? REFUSED : TAKEN;
    if (got != HTTP1_DONE)
        return false;
    buf_drop(text, used);
    http1_body_init(&body, &head);
    used = http1_body_feed(&body, buf_str(text), (struct http1_sink){on_bytes, &sum});
    buf_drop(text, used);
    *why = body.fault.why;
    *verdict = body.fault.status ? REFUSED : TAKEN;
    if (!body.done || head.upgrade)
        return false;
    if (!head.keep_alive && str_trim(buf_str(text)).n > 0) {
        *why = "bytes behind the last message";
        *verdict = REFUSED;
    }
    return head.keep_alive && text->n > 0;
}

static enum verdict verdict_of(str text, bool request, const char **why)
{
    enum verdict verdict = TAKEN;
    struct buf rest;

    buf_init(&rest, FILE_SIZE_MAX);
    buf_add(&rest, text);
    *why = NULL;
    while (take_message(&rest, request, &verdict, why))
        ;
    buf_release(&rest);
    return verdict;
}

static int hex_of(char c)
{
    const char *all = "0123456789abcdef", *at = c ? strchr(all, c | 0x20) : NULL;

    return at ? (int)(at - all) : -1;
}

/* The bytes of a code block: line ends become CRLF, escape sequences are decoded, and a backslash
 * before a line end joins two lines. */
static str bytes_of(struct arena *a, str block)
{
    char *out = arena_alloc(a, block.n * 2 + 1);
    size_t n = 0;

    for (size_t i = 0; i < block.n; i++) {
        char c = block.p[i], e = i + 1 < block.n ? block.p[i + 1] : '\0';

        if (c == '\n') {
            out[n++] = '\r';
            out[n++] = '\n';
        } else if (c == '\\' && (e == 'r' || e == 'n' || e == 't' || e == 'f')) {
            out[n++] = e == 'r' ? '\r' : e == 'n' ? '\n' : e == 't' ? '\t' : '\f';
            i++;
        } else if (c == '\\' && e == '\n') {
            i++;
        } else if (c == '\\' && e == 'x' && i + 3 < block.n && hex_of(block.p[i + 2]) >= 0) {
            out[n++] = (char)(hex_of(block.p[i + 2]) * 16 + hex_of(block.p[i + 3]));
            i += 3;
        } else {
            out[n++] = c;
        }
    }
    return (str){out, n};
}

/* The text between a line that begins with `open` and the next fence; empty if no such line
 * exists. */
static str block_of(str *rest, str open)
{
    size_t at = str_find(*rest, open), end;
    str block;

    if (at == STR_NONE)
        return STR("");
    *rest = str_slice(*rest, at + open.n, rest->n);
    end = str_find(*rest, STR("\n```"));
    block = str_slice(*rest, 0, end);
    *rest = str_slice(*rest, end, rest->n);
    return block;
}

static const char *exception_of(const char *file, str title)
{
    for (size_t i = 0; i < COUNT_OF(exceptions); i++)
        if (strcmp(exceptions[i].file, file) == 0 &&
            (!exceptions[i].title || str_eq(title, str_c(exceptions[i].title))))
            return exceptions[i].why;
    return NULL;
}

struct tally {
    const char *file;
    size_t count, wrong;
};

static void check_case(struct arena *a, str title, str section, struct tally *t)
{
    size_t meta = str_find(section, STR("\"type\": \""));
    str type = meta == STR_NONE ? STR("") : str_slice(section, meta + 9, section.n);
    str http, log;
    enum verdict want, got;
    const char *why;

    type = str_slice(type, 0, str_find(type, STR("\"")));
    if (!str_eq(type, STR("request")) && !str_eq(type, STR("response")))
        return; /* tests a lenient mode, which this parser does not have */
    http = bytes_of(a, block_of(&section, STR("```http\n")));
    log = block_of(&section, STR("```log\n"));
    want = str_find(log, STR("error code=")) != STR_NONE ? REFUSED : TAKEN;
    if (str_find(log, STR("code=21 ")) != STR_NONE || str_find(log, STR("code=22 ")) != STR_NONE)
        want = TAKEN; /* llhttp only pauses here */
    got = verdict_of(http, str_eq(type, STR("request")), &why);
    t->count++;
    if ((got == want) == !exception_of(t->file, title))
        return;
    t->wrong++;
    print_error("%s: " STR_FMT ": %s (%s)\n",
                t->file,
                STR_ARG(title),
                got == want      ? "is no exception any more"
                : got == REFUSED ? "refused"
                                 : "taken",
                why ? why : "");
}

static void check_file(struct arena *a, str text, struct tally *t)
{
    while (text.n > 0) {
        size_t end = str_find(str_slice(text, 1, text.n), STR("\n##"));
        str section = str_slice(text, 0, end == STR_NONE ? text.n : end + 2);
        str title = str_slice(section, 0, str_find(section, STR("\n")));

        while (title.n > 0 && (title.p[0] == '#' || title.p[0] == ' '))
            title = str_slice(title, 1, title.n);
        check_case(a, title, section, t);
        text = str_slice(text, section.n, text.n);
    }
}

TEST(http1_refuses_what_llhttp_refuses_and_takes_what_it_takes)
{
    static const char *const files[] = {
        "request-connection",
        "request-content-length",
        "request-finish",
        "request-invalid",
        "request-lenient-header-value-relaxed",
        "request-lenient-headers",
        "request-lenient-version",
        "request-method",
        "request-pausing",
        "request-pipelining",
        "request-sample",
        "request-transfer-encoding",
        "request-uri",
        "response-connection",
        "response-content-length",
        "response-finish",
        "response-invalid",
        "response-lenient-version",
        "response-pausing",
        "response-pipelining",
        "response-sample",
        "response-transfer-encoding",
    };
    const char *folder = test_corpora("http1");
    struct tally t = {0};

    if (!folder)
        return;
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        struct arena a;
        struct err e;
        str text;

        arena_init(&a, 4 * FILE_SIZE_MAX);
        t.file = files[i];
        CHECK_F(file_read(
                    &a, arena_printf(&a, "%s/%s.md", folder, files[i]).p, FILE_SIZE_MAX, &text, &e),
                "%s",
                e.text);
        check_file(&a, text, &t);
        arena_release(&a);
    }
    CHECK_INT(t.wrong, 0);
    CHECK_F(t.count >= CASES_MIN, "%zu cases", t.count);
}

TEST_MAIN(T(http1_refuses_what_llhttp_refuses_and_takes_what_it_takes))
