/* config_start.c - see config_start.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/config_start.h"

#include "apps/app.h"
#include "cli/daemon.h"
#include "net/tls.h"
#include "serve/listen.h"
#include "store/query.h"

#include <errno.h>
#include <ftw.h>
#include <unistd.h>

/* ---- the address ---- */

static void start_check_listen(const struct config *c, const struct config_start_sink *sink)
{
    bool narrowed = /* serve does the same, and a warning was printed when the file was read */
        c->key_count == 0 && !config_is_loopback(c->listen_host);
    struct listening l;
    struct err e;

    assert(sink->on_warning && sink->on_problem);
    if (listen_open(&l, narrowed ? STR("127.0.0.1") : c->listen_host, c->listen_port, 1, &e)) {
        close(l.fds[0]);
        return;
    }
    if (str_ends(str_c(e.text), str_c(strerror(EADDRINUSE))))
        sink->on_warning(sink->ctx, "listen", e.text);
    else
        sink->on_problem(sink->ctx,
                         "listen",
                         e.text,
                         "write an address of this machine and a port that this user may use");
}

static void start_check_certificate(const struct config *c, const struct config_start_sink *sink)
{
    struct err e;

    if (c->tls_cert.n && !tls_is_current(c->tls_cert.p, &e))
        sink->on_warning(sink->ctx, "tls.cert", e.text);
}

/* ---- the store ---- */

/* A store that does not exist yet, or is of an earlier version: serve creates or updates it. */
static void start_check_store(const struct config *c, const struct config_start_sink *sink)
{
    struct reader *r;
    struct err e;

    assert(sink->on_problem);
    if (str_eq(c->store_url, STR("none")))
        return;
    if (reader_open(c->store_url, &r, &e))
        reader_close(r);
    else if (e.code != ERR_NOT_FOUND && !strstr(e.text, "`rationale serve` brings"))
        sink->on_problem(sink->ctx,
                         "store",
                         e.text,
                         str_starts(c->store_url, STR("sqlite:"))
                             ? "name another file, or restore this one from a backup"
                             : "start PostgreSQL, or correct its address, user and database");
}

/* ---- the gateway and its applications ---- */

static bool start_try(const char *path, const char *folder, struct err *e)
{
    struct app_local local;
    struct apps *apps = NULL;
    struct config *c;
    bool ok;

    assert(folder[0] == '/');
    if (!config_load(path, &c, e))
        return false;
    if (!str_eq(c->store_url, STR("none"))) {
        c->store_url = arena_printf(&c->arena, "sqlite:%s/check.db", folder);
        c->spool = STR("");
    }
    if (!app_local_start(c, &local, e))
        return false;
    ok = apps_open(&local.host, &apps, e);
    local.leave = true;
    apps_close(apps);
    app_local_close(&local);
    return ok;
}

static int start_remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

static void start_check_apps(const char *path, const struct config_start_sink *sink)
{
    const char *tmp = getenv("TMPDIR");
    char folder[FILE_PATH_MAX];
    struct err e;

    (void)snprintf(
        folder, sizeof folder, "%s/rationale-check-XXXXXX", tmp && tmp[0] == '/' ? tmp : "/tmp");
    if (!mkdtemp(folder)) {
        err_sys(&e, "%s", folder);
        sink->on_warning(sink->ctx, "", e.text);
        return;
    }
    if (!start_try(path, folder, &e))
        sink->on_problem(sink->ctx, "", e.text, "");
    (void)nftw(folder, start_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void config_start_check(const char *path, const struct config *c,
                        const struct config_start_sink *sink)
{
    struct daemon_link d;
    struct err e;
    bool serves = daemon_open(&d, c, &e);

    assert(path && c);
    daemon_close(&d);
    if (!serves) { /* a running daemon has shown that it works */
        start_check_listen(c, sink);
        start_check_store(c, sink);
    }
    start_check_certificate(c, sink);
    start_check_apps(path, sink);
}
