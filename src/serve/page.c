/* page.c - the first page: what is served here, and a box to ask.
 *
 * Its files are in the program. A browser that obeys the policy sent with them loads nothing from
 * elsewhere, runs nothing that is not one of them, and talks to nobody but us.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/embed.h"
#include "serve/internal.h"

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

static str type_of(str name)
{
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (str_ends(name, str_c(types[i].end)))
            return str_c(types[i].type);
    return STR("application/octet-stream");
}

static const struct embed *file_find(str name)
{
    for (size_t i = 0; i < page_files_count; i++)
        if (str_eq(name, str_c(page_files[i].name)))
            return &page_files[i];
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

/* What to ask, for who does not know yet: of a demo its recordings, else nothing. */
static void send_questions(struct exchange *ex)
{
    str questions = ex->worker->daemon->questions;

    protect(ex);
    exchange_reply(ex, 200, STR("application/json"), questions.n ? questions : STR("[]"));
}

void page_handle(struct exchange *ex)
{
    str name = ex->rest.n ? ex->rest : STR("index.html");
    const struct embed *file = file_find(name);
    str tag;

    if (str_eq(name, STR("questions.json"))) {
        send_questions(ex);
        return;
    }
    if (!file) {
        exchange_fail(ex, 404, "unknown_url", "the page has no such file");
        return;
    }
    protect(ex);
    /* Weak, because the same file may go out packed. */
    tag = arena_printf(server_arena(ex->x), "W/\"%s\"", file->digest);
    exchange_header(ex, STR("etag"), tag);
    if (str_find(http1_find(server_request(ex->x), STR("if-none-match")), tag) != STR_NONE)
        exchange_reply(ex, 304, type_of(name), STR(""));
    else
        exchange_reply(ex, 200, type_of(name), (str){file->bytes, file->size});
}
