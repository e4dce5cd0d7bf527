/* `rationale doctor`: finds problems of the installation, and says what to do. It changes
 * nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/daemon.h"
#include "cli/data.h"
#include "cli/history.h"
#include "cli/probe.h"
#include "gateway/storage_info.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define FINDINGS_MAX 512
#define FREE_LOW ((uint64_t)1 << 30)
#define FILES_LOW 1024
#define WHAT_SIZE 1024 /* room for a path */

enum { CONFIG, OFFLINE, JSON };

static const struct cli_option options[] = {
    [CONFIG] = {"config", 'c', "FILE", NULL, "the configuration (default: rationale.yaml)"},
    [OFFLINE] = {"offline", 0, NULL, NULL, "do not ask the providers"},
    [JSON] = {"json", 0, NULL, NULL, "as JSON: ok, findings, providers"},
};

enum level { GOOD, WARN, BAD };
static const char *const level_names[] = {"ok", "warning", "error"};

struct finding {
    const char *group;
    enum level level;
    char what[WHAT_SIZE], fix[240];
};

struct doctor {
    struct finding at[FINDINGS_MAX];
    size_t n;
    const char *group; /* of the next finding */
    int code;          /* exit code of the first problem */
    struct arena arena;
    struct probe *probes; /* one for each provider; NULL: not probed */
    size_t probe_count;
};

static void doctor_print(struct doctor *d, enum level level, const char *fix, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
static void doctor_print(struct doctor *d, enum level level, const char *fix, const char *fmt, ...)
{
    struct finding *f = &d->at[d->n];
    va_list args;

    assert(d->n <= FINDINGS_MAX && d->group && fix);
    if (d->n == FINDINGS_MAX)
        return;
    d->n++;
    f->group = d->group;
    f->level = level;
    va_start(args, fmt);
    (void)vsnprintf(f->what, sizeof f->what, fmt, args);
    va_end(args);
    (void)snprintf(f->fix, sizeof f->fix, "%s", fix);
}

#define DOCTOR_GOOD(d, ...) doctor_print(d, GOOD, "", __VA_ARGS__)

/* ---- the checks ---- */

static const char *doctor_warning_fix(str warning)
{
    return str_find(warning, STR("environment variable")) != STR_NONE
               ? "set the variable where the gateway starts, and restart it"
               : "docs/reference/configuration.md explains this setting";
}

static void doctor_look_at_config(struct doctor *d, const struct config *c, bool builtin)
{
    DOCTOR_GOOD(d,
                STR_FMT "%s",
                STR_ARG(c->path),
                builtin ? " does not exist; `rationale watch` needs none" : " is good");
    for (size_t i = 0; i < c->warning_count; i++)
        doctor_print(d, WARN, doctor_warning_fix(c->warnings[i]), STR_FMT, STR_ARG(c->warnings[i]));
    if (c->key_count == 0)
        doctor_print(d,
                     config_is_loopback(c->listen_host) ? GOOD : WARN,
                     "make one with `rationale keys new NAME` to let others in",
                     "there are no keys: only this machine is answered");
    if (c->key_count && !config_is_loopback(c->listen_host) && c->tls_cert.n == 0)
        doctor_print(d,
                     WARN,
                     "set tls.cert and tls.key, or put a proxy with TLS in front",
                     "keys go over the network in the clear");
}

static void doctor_print_models(struct doctor *d, const struct probe *p)
{
    const struct config_provider *of = p->provider;
    char missing[160] = "";
    size_t n = 0;

    assert(p->state == PROBE_GOOD);
    for (size_t i = 0; i < p->missing_count && n < sizeof missing - 1; i++)
        n += (size_t)snprintf(missing + n,
                              sizeof missing - n,
                              "%s" STR_FMT,
                              i ? ", " : "",
                              STR_ARG(str_slice(p->missing[i], 0, 60)));
    if (p->missing_count)
        doctor_print(d,
                     WARN,
                     "correct models, or check what this key may use; an alias may still work",
                     STR_FMT " answers in %llu ms, but does not list %s",
                     STR_ARG(of->name),
                     (unsigned long long)p->took_ms,
                     missing);
    else
        DOCTOR_GOOD(d,
                    STR_FMT " answers in %llu ms and lists %zu models%s",
                    STR_ARG(of->name),
                    (unsigned long long)p->took_ms,
                    p->listed,
                    of->model_count && p->listed && !p->more
                        ? ", all of the configuration's among them"
                        : "");
}

static void doctor_print_provider(struct doctor *d, const struct config_provider *p,
                                  const struct probe *probe)
{
    assert(!probe || probe->provider == p);
    if (p->key_missing.n)
        doctor_print(d,
                     BAD,
                     "set the variable or the file that holds its key",
                     STR_FMT ": " STR_FMT,
                     STR_ARG(p->name),
                     STR_ARG(p->key_missing));
    else if (!probe || probe->state == PROBE_SKIPPED)
        DOCTOR_GOOD(d, STR_FMT " has what it needs", STR_ARG(p->name));
    else if (probe->state == PROBE_GOOD)
        doctor_print_models(d, probe);
    else
        doctor_print(d,
                     probe->state == PROBE_UNLISTED ? WARN : BAD,
                     probe->fix,
                     STR_FMT ": %s",
                     STR_ARG(p->name),
                     probe->why);
}

static void doctor_look_at_providers(struct doctor *d, const struct config *c, bool offline)
{
    struct progress p;
    struct err e;
    bool asked;

    d->group = "providers";
    if (!offline) {
        d->probes = arena_zero(&d->arena, c->provider_count + 1, sizeof *d->probes);
        progress_enable();
        p = progress_begin("asking the providers", "", 0);
        asked = probe_run(c, d->probes, &d->arena, &e);
        progress_end(&p);
        if (asked) {
            d->probe_count = c->provider_count;
        } else {
            doctor_print(d, BAD, "see ca_file in docs/reference/configuration.md", "%s", e.text);
            d->probes = NULL;
        }
    }
    for (size_t i = 0; i < c->provider_count; i++)
        doctor_print_provider(d, &c->providers[i], d->probes ? &d->probes[i] : NULL);
}

static void doctor_look_at_disk(struct doctor *d, str path)
{
    char dir[4096];
    struct statvfs fs;
    struct stat st;
    size_t n = path.n < sizeof dir ? path.n : sizeof dir - 1;

    assert(n < sizeof dir);
    memcpy(dir, path.p, n);
    dir[n] = '\0';
    if (stat(dir, &st) == 0 && (st.st_mode & 077))
        doctor_print(d, WARN, "chmod 600 it", "others may read %s", dir);
    while (n > 0 && dir[n - 1] != '/')
        n--;
    (void)snprintf(dir + n, sizeof dir - n, "%s", n ? "" : ".");
    if (statvfs(dir, &fs) != 0)
        return;
    if (access(dir, W_OK) != 0)
        doctor_print(d,
                     errno == EROFS ? BAD : WARN,
                     "let the gateway's user write there, or set store to another path",
                     "this user cannot write to %s: %s",
                     dir,
                     strerror(errno));
    if ((uint64_t)fs.f_bavail * fs.f_frsize < FREE_LOW)
        doctor_print(d,
                     WARN,
                     "make room, or set retention",
                     "the disk has %llu MiB left",
                     (unsigned long long)((uint64_t)fs.f_bavail * fs.f_frsize >> 20));
    else
        DOCTOR_GOOD(d,
                    "the disk has %llu GiB left",
                    (unsigned long long)((uint64_t)fs.f_bavail * fs.f_frsize >> 30));
}

/* Checks whether the daemon of the store, if one runs, can record calls. */
static void doctor_look_at_daemon(struct doctor *d, const struct config *c)
{
    str why = STR(""), body;
    struct daemon_link link;
    struct json doc;
    struct arena a;
    struct err e;

    if (!daemon_open(&link, c, &e))
        return;
    json_init(&doc);
    arena_init(&a, 1 << 16);
    if (daemon_ask(&link, "GET", STR("/ready"), STR(""), &e) && daemon_body(&link, &body, &e) &&
        json_parse(&doc, body, &e)) {
        if (json_text(&doc, json_find(&doc, json_root(&doc), STR("why")), &a, &why)) {
            doctor_print(
                d,
                BAD,
                "make room, or restart it after a failed sync; until then calls are refused "
                "(see unrecorded)",
                "the daemon is not ready: " STR_FMT,
                STR_ARG(str_slice(why, 0, 200)));
            d->code = d->code ? d->code : CLI_STORE;
        } else {
            DOCTOR_GOOD(d, "the daemon puts calls on record");
        }
    }
    arena_release(&a);
    json_release(&doc);
    daemon_close(&link);
}

static str doctor_bytes(struct arena *a, int64_t n)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double x = (double)n;
    size_t unit = 0;

    if (n < 0)
        return STR("unknown size");
    for (; x >= 1024 && unit + 1 < COUNT_OF(units); unit++)
        x /= 1024;
    assert(unit < COUNT_OF(units));
    return arena_printf(a, unit ? "%.1f %s" : "%.0f %s", x, units[unit]);
}

/* Reports what is recorded, where, its size and its retention. The reader may be NULL. */
static void doctor_look_at_kept(struct doctor *d, const struct config *c, struct reader *r)
{
    struct arena a;
    struct storage_info k;
    struct err e;

    d->group = "record";
    arena_init(&a, 1 << 16);
    if (!storage_info_read(c, r, &a, &k, &e)) {
        arena_release(&a);
        return;
    }
    DOCTOR_GOOD(d,
                "kept: requests, answers and %s%s",
                c->keep == CONFIG_KEEP_TEXT      ? "the text of reasoning"
                : c->keep == CONFIG_KEEP_SUMMARY ? "summaries of reasoning, not its text"
                                                 : "no reasoning",
                k.masked ? "; secrets are masked first" : "; nothing is masked");
    if (c->keep != CONFIG_KEEP_TEXT)
        DOCTOR_GOOD(d,
                    "reasoning.keep is " STR_FMT " in " STR_FMT
                    "; set it to text to keep reasoning",
                    STR_ARG(k.reasoning),
                    STR_ARG(c->path));
    DOCTOR_GOOD(d,
                "where: " STR_FMT " (" STR_FMT "), journal " STR_FMT " (" STR_FMT ")",
                STR_ARG(k.where),
                STR_ARG(doctor_bytes(&a, k.bytes)),
                STR_ARG(k.journal),
                STR_ARG(doctor_bytes(&a, k.journal_bytes)));
    if (k.retention.n)
        DOCTOR_GOOD(d, "retention: " STR_FMT, STR_ARG(k.retention));
    else
        DOCTOR_GOOD(d,
                    "retention: not set, so records stay until you erase them; set retention.age "
                    "or retention.size to delete old ones");
    arena_release(&a);
}

static void doctor_look_at_journal(struct doctor *d, const struct config *c, struct reader *r)
{
    char journal[FILE_PATH_MAX];

    if (daemon_settle(c, 0) == DAEMON_NONE && daemon_left_records(c, r, journal))
        doctor_print(d,
                     WARN,
                     "`rationale serve` stores them as it starts",
                     "no command shows the newest records: a daemon that was killed left them in "
                     "its journal %.800s",
                     journal);
}

static void doctor_look_at_store(struct doctor *d, const struct config *c)
{
    struct query_asker a = {.key_name = STR(""), .now_us = clock_wall_ms(&clock_real) * 1000};
    struct reader *r;
    struct buf out;
    struct err e;

    d->group = "store";
    if (str_eq(c->store_url, STR("none"))) {
        doctor_print(d, WARN, "set store: sqlite:PATH", "nothing is on record");
        return;
    }
    if (str_starts(c->store_url, STR("sqlite:")))
        doctor_look_at_disk(d, str_slice(c->store_url, 7, c->store_url.n));
    doctor_look_at_daemon(d, c);
    if (!reader_open(c->store_url, &r, &e)) {
        doctor_print(d,
                     e.code == ERR_NOT_FOUND ? WARN : BAD,
                     e.code == ERR_NOT_FOUND ? "`rationale serve` makes it when it first starts"
                                             : "is it running, is it ours, is there room?",
                     "%s",
                     e.text);
        if (e.code != ERR_NOT_FOUND)
            d->code = d->code ? d->code : CLI_STORE;
        doctor_look_at_kept(d, c, NULL);
        return;
    }
    buf_init(&out, QUERY_OUT_MAX);
    if (query_metrics(r, &a, &out, &e)) {
        DOCTOR_GOOD(d, "the store answers");
    } else {
        doctor_print(d, BAD, "restore it from a backup", "%s", e.text);
        d->code = d->code ? d->code : CLI_STORE;
    }
    buf_release(&out);
    doctor_look_at_journal(d, c, r);
    doctor_look_at_kept(d, c, r);
    reader_close(r);
}

static void doctor_look_at_system(struct doctor *d)
{
    struct rlimit files;

    d->group = "system";
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max < FILES_LOW)
        doctor_print(d,
                     WARN,
                     "raise `ulimit -n`, or LimitNOFILE of the service",
                     "only %llu files may be open, connections among them",
                     (unsigned long long)files.rlim_max);
    else
        DOCTOR_GOOD(d, "enough files may be open");
}

/* ---- output ---- */

static void doctor_put_json(struct cli *cli, const struct doctor *d)
{
    struct json_text t;
    bool ok = true;

    assert(d->n <= FINDINGS_MAX);
    for (size_t i = 0; i < d->n; i++)
        ok &= d->at[i].level != BAD;
    json_text_begin(&t, 1 << 20);
    json_member_bool(&t.o, "ok", ok);
    json_member_array(&t.o, "findings");
    for (size_t i = 0; i < d->n; i++) {
        json_out_object(&t.o);
        json_member_str(&t.o, "group", str_c(d->at[i].group));
        json_member_str(&t.o, "level", str_c(level_names[d->at[i].level]));
        json_member_str(&t.o, "what", str_c(d->at[i].what));
        json_member_str(&t.o, "fix", str_c(d->at[i].fix));
        json_out_end(&t.o);
    }
    json_out_end(&t.o);
    json_out_key(&t.o, STR("providers"));
    probe_write(&t.o, d->probes, d->probe_count);
    cli_put_json_text(cli, &t);
}

static void doctor_put_text(struct cli *cli, const struct doctor *d)
{
    const char *group = "";
    struct arena a;

    assert(d->n <= FINDINGS_MAX);
    arena_init(&a, 1 << 20);
    for (size_t i = 0; i < d->n; i++) {
        const struct finding *f = &d->at[i];

        if (strcmp(group, f->group) != 0)
            file_out_printf(&cli->out, "%s%s%s\n", cli_bold(cli), f->group, cli_plain(cli));
        group = f->group;
        file_out_printf(&cli->out,
                        "  %s%-8s%s" STR_FMT "\n",
                        cli_status(cli, str_c(level_names[f->level])),
                        level_names[f->level],
                        cli_plain(cli),
                        STR_ARG(history_line(&a, str_c(f->what), WHAT_SIZE)));
        if (f->fix[0] && f->level != GOOD)
            file_out_printf(&cli->out, "          to do: %s\n", f->fix);
    }
    arena_release(&a);
}

static int doctor_run(struct cli *cli, const struct cli_args *args)
{
    struct doctor *d = base_alloc(sizeof *d);
    struct config *c = NULL;
    struct err e;
    int code;

    *d = (struct doctor){.group = "configuration"};
    arena_init(&d->arena, (size_t)64 << 20);
    if (data_config(args->value[CONFIG], &c, &e)) {
        bool builtin = !file_exists(arena_printf(&d->arena, STR_FMT, STR_ARG(c->path)).p);

        doctor_look_at_config(d, c, builtin);
        if (!builtin) /* watched agents have their own providers and keys */
            doctor_look_at_providers(d, c, args->value[OFFLINE] != NULL);
        doctor_look_at_store(d, c);
    } else {
        doctor_print(d,
                     BAD,
                     e.code == ERR_NOT_FOUND ? CLI_CONFIG_ADVICE
                                             : "docs/reference/configuration.md has every name",
                     "%s",
                     e.text);
        d->code = CLI_CONFIG;
    }
    doctor_look_at_system(d);
    for (size_t i = 0; i < d->n && !d->code; i++)
        if (d->at[i].level == BAD)
            d->code = CLI_NEGATIVE;
    if (args->value[JSON])
        doctor_put_json(cli, d);
    else
        doctor_put_text(cli, d);
    code = d->code;
    config_release(c);
    arena_release(&d->arena);
    free(d);
    return code;
}

const struct cli_command cli_doctor = {
    .name = "doctor",
    .summary = "find problems of the setup, and say how to fix them",
    .words = "",
    .about =
        "Checks the configuration, the providers, the store and the system, and says what is "
        "wrong and how to fix it. It also reports what is recorded, where, its size and how long "
        "it is kept. It changes nothing. It asks each provider for its list of models, which "
        "costs nothing and takes at most five seconds for all of them: whether it answers, "
        "accepts the key, and knows the configured models. --offline sends no requests. The exit "
        "code is 0 if nothing is broken, 3 for the configuration, 6 for the store, otherwise 1.",
    .examples = "  rationale doctor --config rationale.yaml\n"
                "  rationale doctor --offline --json\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .run = doctor_run,
};
