/* page.c - the dashboard (one page for all its addresses) and the manual, with their files.
 *
 * The program contains them, compressed with gzip, and sends them unchanged to clients that accept
 * gzip. Their content security policy makes a browser load and run only these files and connect
 * only to us.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/page.h"
#include "net/gzip.h"

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

struct page_table {
    const struct embed *files;
    size_t count;
};

/* The file of that name; it is kept as NAME.gz. */
static const struct embed *page_file_find(struct page_table table, str name)
{
    for (size_t i = 0; i < table.count; i++) {
        str kept = str_c(table.files[i].name);

        if (str_ends(kept, STR(PACKED)) && str_eq(name, str_slice(kept, 0, kept.n - 3)))
            return &table.files[i];
    }
    return NULL;
}

/* The name of a part of the dashboard contains a hash of its bytes, so a browser need not ask for
 * it again. */
static str page_caching(struct page_table table, str name)
{
    bool hashed = table.files == page_files && memchr(name.p, '-', name.n);

    return hashed ? STR("public, max-age=31536000, immutable") : STR("no-cache");
}

static void page_add_security_headers(struct exchange *ex, str caching)
{
    exchange_header(ex, STR("content-security-policy"), STR(POLICY));
    exchange_header(ex, STR("x-content-type-options"), STR("nosniff"));
    exchange_header(ex, STR("referrer-policy"), STR("no-referrer"));
    exchange_header(ex, STR("cross-origin-opener-policy"), STR("same-origin"));
    exchange_header(ex, STR("cross-origin-resource-policy"), STR("same-origin"));
    exchange_header(ex, STR("cache-control"), caching);
}

/* Suggested questions: the recordings of a demo, otherwise none. */
static void page_send_questions(struct exchange *ex)
{
    str questions = ex->worker->daemon->questions;

    page_add_security_headers(ex, STR("no-cache"));
    exchange_reply(ex, 200, STR("application/json"), questions.n ? questions : STR("[]"));
}

static void page_send_file(struct exchange *ex, const struct embed *file, str type, int status)
{
    str accepted = http1_find(server_request(ex->x), STR("accept-encoding"));
    str packed = {file->bytes, file->size};
    struct buf plain;

    assert(file->size > 0);
    exchange_header(ex, STR("vary"), STR("accept, accept-encoding"));
    if (gzip_accepted(accepted)) {
        exchange_header(ex, STR("content-encoding"), STR("gzip"));
        exchange_reply(ex, status, type, packed);
        return;
    }
    gzip_unpack_embedded(file, &plain);
    exchange_reply(ex, status, type, buf_str(&plain));
    buf_release(&plain);
}

static void page_send_named(struct exchange *ex, struct page_table table, str name, int status)
{
    const struct embed *file = page_file_find(table, name);
    str tag;

    assert(status == 200 || status == 404);
    if (!file) {
        if (table.files == manual_files && page_missing(ex))
            return;
        exchange_fail(ex,
                      404,
                      "unknown_url",
                      "this page does not exist; the dashboard is at / and the manual at /docs");
        return;
    }
    page_add_security_headers(ex, page_caching(table, name));
    /* Weak, because the same file may go out packed or plain. */
    tag = arena_printf(server_arena(ex->x), "W/\"%s\"", file->digest);
    exchange_header(ex, STR("etag"), tag);
    if (status == 200 &&
        str_find(http1_find(server_request(ex->x), STR("if-none-match")), tag) != STR_NONE)
        exchange_reply(ex, 304, serve_page_type_of(name), STR(""));
    else
        page_send_file(ex, file, serve_page_type_of(name), status);
}

static struct page_table page_dashboard(void)
{
    return (struct page_table){page_files, page_files_count};
}

void page_file_handle(struct exchange *ex)
{
    if (str_eq(ex->rest, STR("questions.json")))
        page_send_questions(ex);
    else
        page_send_named(ex, page_dashboard(), ex->rest, 200);
}

void page_handle(struct exchange *ex)
{
    page_send_named(ex, page_dashboard(), STR("index.html"), 200);
}

/* /docs is the index, and /docs/start/gateway the page start/gateway.html. */
void manual_handle(struct exchange *ex)
{
    struct page_table manual = {manual_files, manual_files_count};
    str name = ex->rest.n ? ex->rest : STR("index");

    if (str_find(name, STR(".")) == STR_NONE)
        name = arena_printf(server_arena(ex->x), STR_FMT ".html", STR_ARG(name));
    page_send_named(ex, manual, name, 200);
}

static bool page_asked_by_browser(struct exchange *ex)
{
    return str_find(http1_find(server_request(ex->x), STR("accept")), STR("text/html")) != STR_NONE;
}

bool page_missing(struct exchange *ex)
{
    static const str programs[] = {STR_INIT("/api/"),
                                   STR_INIT("/v1/"),
                                   STR_INIT("/v1beta/"),
                                   STR_INIT("/page/"),
                                   STR_INIT("/ws/")};
    const struct http1_head *h = server_request(ex->x);

    for (size_t i = 0; i < COUNT_OF(programs); i++)
        if (str_starts(h->path, programs[i]))
            return false;
    if (!str_eq(h->method, STR("GET")) || !page_asked_by_browser(ex))
        return false;
    page_send_named(ex, page_dashboard(), STR("index.html"), 404);
    return true;
}

/* A program that requests the root gets a short confirmation. */
void root_handle(struct exchange *ex)
{
    if (page_asked_by_browser(ex)) {
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
