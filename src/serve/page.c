/* page.c - the dashboard: one page for all its addresses, and its files.
 *
 * The program contains them, compressed with gzip, and sends them unchanged to clients that accept
 * gzip. Their content security policy makes a browser load and run only these files and connect
 * only to us.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/embed.h"
#include "net/gzip.h"
#include "serve/internal.h"

#define FILE_SIZE_MAX ((size_t)4 << 20) /* of one of ours, unpacked */
#define PACKED ".gz"

#define POLICY                                                                                     \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src "        \
    "'self'; "                                                                                     \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "                                \
    "require-trusted-types-for 'script'; trusted-types 'none'"

static const struct {
    const char *end, *type;
} types[] = {
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".svg", "image/svg+xml"},
    {".json", "application/json"},
};

static str serve_page_type_of(str name)
{
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (str_ends(name, str_c(types[i].end)))
            return str_c(types[i].type);
    return STR("application/octet-stream");
}

/* The file of that name; it is kept as NAME.gz. */
static const struct embed *file_find(str name)
{
    for (size_t i = 0; i < page_files_count; i++) {
        str kept = str_c(page_files[i].name);

        if (str_ends(kept, STR(PACKED)) && str_eq(name, str_slice(kept, 0, kept.n - 3)))
            return &page_files[i];
    }
    return NULL;
}

static void protect(struct exchange *ex)
{
    exchange_header(ex, STR("content-security-policy"), STR(POLICY));
    exchange_header(ex, STR("x-content-type-options"), STR("nosniff"));
    exchange_header(ex, STR("referrer-policy"), STR("no-referrer"));
    exchange_header(ex, STR("cross-origin-opener-policy"), STR("same-origin"));
    exchange_header(ex, STR("cross-origin-resource-policy"), STR("same-origin"));
    exchange_header(ex, STR("cache-control"), STR("no-cache"));
}

/* Suggested questions: the recordings of a demo, otherwise none. */
static void send_questions(struct exchange *ex)
{
    str questions = ex->worker->daemon->questions;

    protect(ex);
    exchange_reply(ex, 200, STR("application/json"), questions.n ? questions : STR("[]"));
}

static void send_file(struct exchange *ex, const struct embed *file, str type)
{
    str accepted = http1_find(server_request(ex->x), STR("accept-encoding"));
    str packed = {file->bytes, file->size};
    struct buf plain;
    struct err e;

    exchange_header(ex, STR("vary"), STR("accept, accept-encoding"));
    if (gzip_accepted(accepted)) {
        exchange_header(ex, STR("content-encoding"), STR("gzip"));
        exchange_reply(ex, 200, type, packed);
        return;
    }
    buf_init(&plain, FILE_SIZE_MAX);
    if (!gzip_unpack(packed, &plain, &e))
        base_die("a file of the dashboard is broken");
    exchange_reply(ex, 200, type, buf_str(&plain));
    buf_release(&plain);
}

static void send_named(struct exchange *ex, str name)
{
    const struct embed *file = file_find(name);
    str tag;

    if (!file) {
        exchange_fail(ex, 404, "unknown_url", "the page has no such file");
        return;
    }
    protect(ex);
    /* Weak, because the same file may go out packed or plain. */
    tag = arena_printf(server_arena(ex->x), "W/\"%s\"", file->digest);
    exchange_header(ex, STR("etag"), tag);
    if (str_find(http1_find(server_request(ex->x), STR("if-none-match")), tag) != STR_NONE)
        exchange_reply(ex, 304, serve_page_type_of(name), STR(""));
    else
        send_file(ex, file, serve_page_type_of(name));
}

void page_file_handle(struct exchange *ex)
{
    if (str_eq(ex->rest, STR("questions.json")))
        send_questions(ex);
    else
        send_named(ex, ex->rest);
}

void page_handle(struct exchange *ex)
{
    send_named(ex, STR("index.html"));
}

/* A program that requests the root gets a short confirmation. */
void root_handle(struct exchange *ex)
{
    str accept = http1_find(server_request(ex->x), STR("accept"));

    if (str_find(accept, STR("text/html")) != STR_NONE) {
        page_handle(ex);
        return;
    }
    exchange_header(ex, STR("vary"), STR("accept, accept-encoding"));
    exchange_reply(ex,
                   200,
                   STR("application/json"),
                   STR("{\"message\":\"Rationale is running; its dashboard is here for a "
                       "browser\",\"status\":\"ok\"}"));
}
