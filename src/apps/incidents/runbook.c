/* runbook.c - runbooks: a file in the folder, or a page of a host that is allowed.
 *
 * The file is opened below the folder and nowhere else, even if its name or a link points
 * elsewhere: the kernel refuses to leave the folder (openat2), so no race between check and open
 * exists.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/engine.h"
#include "base/base64.h"
#include "base/ctype.h"
#include "base/utf8.h"
#include "mcp/io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RUNBOOK_MAX ((size_t)1 << 20)
#define FETCH_MS 20000
#define REDIRECTS_MAX 3
#define NAME_SHOWN 120

bool runbook_is_url(str name)
{
    return str_starts(name, STR("http://")) || str_starts(name, STR("https://"));
}

/* ---- a file ---- */

static int runbook_open_below(const char *folder, const char *name, struct err *e)
{
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC), fd;

    assert(folder[0]); /* "" would be another folder than the configured one */
    if (dir < 0) {
        (void)err_sys(e, "the folder of runbooks, %s, cannot be opened", folder);
        return -1;
    }
    fd = (int)syscall(SYS_openat2, dir, name, &how, sizeof how);
    if (fd < 0 && (errno == EXDEV || errno == ELOOP))
        err_input(e, "the runbook \"%.*s\" is not in the folder", NAME_SHOWN, name);
    else if (fd < 0 && errno == ENOENT)
        err_set(e, ERR_NOT_FOUND, "there is no runbook \"%.*s\"", NAME_SHOWN, name);
    else if (fd < 0)
        (void)err_sys(e, "the runbook \"%.*s\"", NAME_SHOWN, name);
    close(dir);
    return fd;
}

static bool incident_runbook_take_text(str text, struct buf *out, struct err *e)
{
    if (!utf8_valid(text))
        return err_input(e, "the runbook is no text");
    buf_add(out, text);
    return true;
}

static bool incident_runbook_read_file(const struct runbook_source *r, struct buf *out,
                                       struct err *e)
{
    struct arena a;
    struct stat st;
    bool ok = false;
    str name, text;
    int fd;

    if (!*r->folder)
        return err_input(e, "no folder of runbooks is configured (incidents.runbooks)");
    if (memchr(r->name.p, '\0', r->name.n))
        return err_input(e, "the runbook's name has a NUL in it");
    arena_init(&a, 4 * RUNBOOK_MAX);
    name = arena_dup(&a, r->name);
    fd = runbook_open_below(r->folder, name.p, e);
    if (fd >= 0) {
        if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
            err_input(e, "the runbook \"%.*s\" is no file", NAME_SHOWN, name.p);
        else
            ok = file_read_fd(&a, fd, RUNBOOK_MAX, &text, e) &&
                 incident_runbook_take_text(text, out, e);
        close(fd);
    }
    arena_release(&a);
    return ok;
}

/* ---- a page ---- */

str runbook_raw_url(str url, struct arena *a)
{
    str rest = url, part[3];

    if (!str_starts(rest, STR("https://github.com/")))
        return url;
    rest = str_slice(rest, 19, rest.n);
    for (size_t i = 0; i < COUNT_OF(part); i++) {
        part[i] = str_cut(&rest, '/');
        if (!part[i].n)
            return url;
    }
    if (!str_is_one_of(part[2], "blob raw") || !rest.n)
        return url;
    rest = str_cut(&rest, '#');
    rest = str_cut(&rest, '?');
    return arena_printf(a,
                        "https://raw.githubusercontent.com/" STR_FMT "/" STR_FMT "/" STR_FMT,
                        STR_ARG(part[0]),
                        STR_ARG(part[1]),
                        STR_ARG(rest));
}

/* Cuts "user:password@" out of the URL; *user is "" without one. */
static str runbook_cut_user(str url, str *user, struct arena *a)
{
    size_t from = str_find(url, STR("://")) + 3, end = from, at = from;

    assert(runbook_is_url(url));
    for (; end < url.n && !strchr("/?#", url.p[end]); end++)
        if (url.p[end] == '@')
            at = end + 1;
    *user = str_slice(url, from, at > from ? at - 1 : from);
    return at == from ? url
                      : arena_join(a, str_slice(url, 0, from), str_slice(url, at, url.n), STR(""));
}

/* The header of a "user:password" as it is in a URL, with percent escapes. */
static str runbook_authorize(str user, struct arena *a)
{
    struct buf plain, header;

    buf_init(&plain, user.n + 1); /* of a name without a password: its colon */
    buf_init(&header, 2 * user.n + 64);
    for (size_t i = 0; i < user.n; i++) {
        int high = i + 2 < user.n && user.p[i] == '%' ? char_hex_value(user.p[i + 1]) : -1;
        int low = high >= 0 ? char_hex_value(user.p[i + 2]) : -1;

        buf_add_c(&plain, low >= 0 ? (char)(high * 16 + low) : user.p[i]);
        i += low >= 0 ? 2 : 0;
    }
    if (str_find(user, STR(":")) == STR_NONE)
        buf_add_c(&plain, ':');
    assert(!buf_full(&plain));
    buf_add(&header, STR("Authorization: Basic "));
    base64_add(&header, buf_str(&plain));
    buf_add(&header, STR("\r\n"));
    assert(!buf_full(&header));
    buf_release(&plain);
    return arena_move_buf(a, &header);
}

static bool runbook_host_is(str host, str domain)
{
    size_t skip = host.n - domain.n;

    return host.n >= domain.n && strncasecmp(host.p + skip, domain.p, domain.n) == 0 &&
           (skip == 0 || host.p[skip - 1] == '.');
}

/* GitHub serves files from a second host; allowing github.com allows that host too. */
static bool host_allowed(const struct runbook_source *r, str host)
{
    for (size_t i = 0; i < r->domain_count; i++)
        if (runbook_host_is(host, r->domains[i]) ||
            (str_eq(host, STR("raw.githubusercontent.com")) &&
             str_eq(r->domains[i], STR("github.com"))))
            return true;
    return false;
}

static bool runbook_url_allowed(const struct runbook_source *r, str url, struct err *e)
{
    struct client_url parsed;

    url = str_slice(url, 0, str_find(url, STR("#")));
    url = str_slice(url, 0, str_find(url, STR("?")));
    if (!client_url_parse(url, &parsed, e))
        return err_prefix(e, "the runbook's address: ");
    return host_allowed(r, parsed.host) || err_set(e,
                                                   ERR_AUTH,
                                                   "runbooks are not fetched from " STR_FMT
                                                   ": add the host to incidents.runbook_domains",
                                                   STR_ARG(str_slice(parsed.host, 0, 80)));
}

/* Where a redirect from the URL leads; an address without a scheme is relative to the URL. */
static str runbook_redirect(str url, str location, struct arena *a)
{
    size_t host = str_find(url, STR("://")) + 3, path = host, end;

    assert(runbook_is_url(url) && location.n > 0);
    if (runbook_is_url(location))
        return location;
    while (path < url.n && !strchr("/?#", url.p[path]))
        path++;
    for (end = path; end < url.n && !strchr("?#", url.p[end]); end++)
        ;
    while (end > path && url.p[end - 1] != '/')
        end--;
    if (str_starts(location, STR("//")))
        end = host - 2;
    else if (location.p[0] == '/')
        end = path;
    return arena_join(a,
                      str_slice(url, 0, end),
                      end == path && location.p[0] != '/' ? STR("/") : STR(""),
                      location);
}

static bool runbook_fetch_url(struct mcp_io *io, const struct runbook_source *r, struct arena *a,
                              str url, struct buf *out, struct err *e)
{
    const char *token = getenv("GITHUB_TOKEN");
    uint64_t deadline = clock_deadline_ns(&clock_real, FETCH_MS);
    struct mcp_fetched got;

    for (int i = 0; i <= REDIRECTS_MAX; i++) {
        struct mcp_fetch_request q = {.method = STR("GET"),
                                      .headers = STR("Accept: text/markdown, text/plain, */*\r\n"),
                                      .body = STR("")};
        str user;

        q.url = runbook_raw_url(runbook_cut_user(url, &user, a), a);
        url = user.n ? url : q.url; /* a relative redirect keeps the user */
        if (!runbook_url_allowed(r, q.url, e))
            return false;
        if (user.n)
            q.headers = arena_join(a, q.headers, runbook_authorize(user, a), STR(""));
        else if (token && *token && str_starts(q.url, STR("https://raw.githubusercontent.com/")))
            q.headers =
                arena_printf(a, STR_FMT "Authorization: Bearer %s\r\n", STR_ARG(q.headers), token);
        if (!mcp_fetch_whole(io, &q, deadline, a, &got, e))
            return err_prefix(e, "the runbook cannot be fetched: ");
        if (got.status >= 300 && got.status < 400 && got.location.n) {
            url = runbook_redirect(url, got.location, a);
            continue;
        }
        if (got.status != 200)
            return err_set(e, ERR_UPSTREAM, "the runbook cannot be fetched: status %d", got.status);
        if (got.body.n > RUNBOOK_MAX)
            return err_set(e, ERR_LIMIT, "the runbook is larger than %zu bytes", RUNBOOK_MAX);
        return incident_runbook_take_text(got.body, out, e);
    }
    return err_set(e, ERR_UPSTREAM, "the runbook's address leads round in a circle");
}

static bool incident_runbook_read_url(const struct runbook_source *r, struct buf *out,
                                      struct err *e)
{
    struct mcp_io *io;
    struct arena a;
    bool ok;

    assert(runbook_is_url(r->name));
    arena_init(&a, (size_t)256 << 20);
    ok = runbook_check(r, e);
    io = ok ? mcp_io_new(r->ca_file, e) : NULL;
    ok = io && runbook_fetch_url(io, r, &a, r->name, out, e);
    if (io)
        mcp_io_free(io);
    arena_release(&a);
    return ok;
}

bool runbook_read(void *runbook_source, struct buf *out, struct err *e)
{
    const struct runbook_source *r = runbook_source;

    return runbook_is_url(r->name) ? incident_runbook_read_url(r, out, e)
                                   : incident_runbook_read_file(r, out, e);
}

bool runbook_check(const struct runbook_source *r, struct err *e)
{
    struct buf text;
    bool ok;

    if (runbook_is_url(r->name)) {
        struct arena a;
        str user;

        arena_init(&a, (size_t)1 << 20);
        ok = runbook_url_allowed(r, runbook_cut_user(r->name, &user, &a), e);
        arena_release(&a);
        return ok;
    }
    buf_init(&text, 2 * RUNBOOK_MAX);
    ok = incident_runbook_read_file(r, &text, e);
    buf_release(&text);
    return ok;
}
