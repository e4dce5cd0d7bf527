/* watch.c - `rationale watch`: runs a coding agent with its model calls on record.
 *
 * The agent's base URL leads to a gateway that passes its requests on unchanged and records them
 * (serve/watch.h). The gateway is the daemon that already uses the store, or one that the first
 * `watch` starts in the background. It belongs to no single `watch`: it ends when the last
 * connection that holds a run open is closed, however that `watch` ended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json.h"
#include "cli/daemon.h"
#include "cli/data.h"
#include "cli/watch_clients.h"
#include "gateway/watched.h"
#include "serve/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PORTS 32             /* ports that are tried */
#define START_TRIES 150      /* wait while another daemon of the store starts or ends */
#define START_LOOK_US 200000 /* pause between two attempts */
#define SETTLE_MS 30000
#define LOG_SIZE_MAX ((off_t)1 << 20)
#define NOT_FOUND_STATUS 127
#define NOT_RUN_STATUS 126
#define VALUE_MAX 8192

enum { CONFIG, UPSTREAM };

static const struct cli_option options[] = {
    [CONFIG] = {"config", 'c', "FILE", NULL, "the configuration; else the data folder's record"},
    [UPSTREAM] = {"upstream", 'u', "NAME=URL...", NULL, "another address of a provider"},
};

struct watch_command {
    const struct watch_client *client;
    char *const *argv; /* the arguments of the user: for the client, or the whole command */
    const char *given; /* --config, or NULL */
    struct data_place place;
    struct config *config;
    struct daemon_link hold; /* the run lasts as long as this connection */
    struct arena arena;
    struct json_out upstreams; /* {"upstreams": ...} for the gateway */
    struct buf body;
    char root[256]; /* http://127.0.0.1:8484/watch/RUN */
    char page[128]; /* of the dashboard */
    str login;      /* a code that logs in once; "": the dashboard needs no key */
    str run;
};

/* ---- upstreams ---- */

static void watch_put_upstream(struct watch_command *w, str name, str url)
{
    assert(name.n > 0);
    json_out_key(&w->upstreams, name);
    json_out_str(&w->upstreams, url);
}

/* NAME=URL, several separated by commas; false after an error message. */
static bool watch_read_upstreams(struct watch_command *w, str list)
{
    while (list.n) {
        str item = str_cut(&list, ','), name;
        size_t equals = str_find(item, STR("="));
        struct client_url url;
        struct err e;

        name = str_slice(item, 0, equals);
        if (equals == STR_NONE || !watched_upstream_find(name)) {
            cli_complain(CLI_USAGE,
                         "--upstream is \"" STR_FMT "\": it takes NAME=URL, such as "
                         "anthropic=https://proxy.example.com (or openai, chatgpt, gemini)",
                         STR_ARG(item));
            return false;
        }
        item = str_slice(item, equals + 1, item.n);
        if (!client_url_parse(item, &url, &e)) {
            cli_complain(CLI_USAGE, "--upstream " STR_FMT ": %s", STR_ARG(name), e.text);
            return false;
        }
        watch_put_upstream(w, name, item);
    }
    return true;
}

/* The address without the path that the agent appends. */
static str watch_without_suffix(const struct watch_setting *s, str address)
{
    const char *here = s->upstream ? strstr(s->value, "%s") : NULL;
    str suffix = here ? str_c(here + 2) : STR("");

    while (address.n && address.p[address.n - 1] == '/')
        address.n--;
    return suffix.n && str_ends(address, suffix) ? str_slice(address, 0, address.n - suffix.n)
                                                 : address;
}

/* If the user has set a base URL, the requests go there. */
static bool watch_keep_addresses(struct watch_command *w, str asked)
{
    struct client_url url;
    const struct watch_setting *s = w->client->variables;
    str seen = STR("");

    assert(w->client);
    for (; s < w->client->variables + WATCH_VARIABLES_MAX && s->name; s++) {
        const char *value = s->upstream ? getenv(s->name) : NULL;
        str flag = s->upstream ? arena_printf(&w->arena, "%s=", s->upstream) : STR("");
        str address = watch_without_suffix(s, str_c(value ? value : ""));
        struct err e;

        if (!value || !value[0] || str_find(asked, flag) != STR_NONE ||
            str_find(seen, flag) != STR_NONE)
            continue;
        if (!client_url_parse(str_c(value), &url, &e)) {
            cli_complain(CLI_USAGE,
                         "%s: %s; name the address with --upstream %s=URL",
                         s->name,
                         e.text,
                         s->upstream);
            return false;
        }
        watch_put_upstream(w, str_c(s->upstream), address);
        seen = arena_join(&w->arena, seen, flag, STR(""));
    }
    return true;
}

/* ---- the gateway ---- */

struct watch_ready {
    int fd;
};

static void watch_on_ready(void *ctx, str url)
{
    int fd = ((struct watch_ready *)ctx)->fd;

    (void)url;
    (void)!write(fd, "+", 1);
    close(fd);
}

/* Prints the warnings in the daemon's log, which does not go to the terminal. */
static bool watch_open_log(struct err *e)
{
    char path[FILE_PATH_MAX];
    struct stat st;
    size_t n;
    int fd, null = open("/dev/null", O_RDWR);

    if (!data_folder(path, e) || !file_mkdirs(path, 0700, e))
        return false;
    n = strlen(path);
    (void)snprintf(path + n, sizeof path - n, "/watch.log");
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0 || null < 0)
        return err_sys(e, "%s", path);
    if (fstat(fd, &st) == 0 && st.st_size > LOG_SIZE_MAX)
        (void)!ftruncate(fd, 0);
    (void)dup2(null, STDIN_FILENO);
    (void)dup2(null, STDOUT_FILENO);
    (void)dup2(fd, STDERR_FILENO);
    close(fd);
    close(null);
    return true;
}

/* In the child: serves until the last run has ended. */
static _Noreturn void watch_serve(const struct watch_command *w, int fd)
{
    struct watch_ready ready = {fd};
    struct serve_options o = {.config = w->place.path,
                              .text = w->place.text,
                              .port_tries = PORTS,
                              .questions = STR(""),
                              .temporary = true,
                              .hangup_ends = true,
                              .on_ready = watch_on_ready,
                              .ctx = &ready};
    struct err e;

    (void)setsid();
    if (watch_open_log(&e) &&
        (chdir("/") == 0 || err_set(&e, ERR_SYSTEM, "cannot change to the folder /")) &&
        serve_run(&o, &e))
        _exit(0);
    (void)!write(fd, e.text, strlen(e.text));
    _exit(1);
}

/* True: a daemon accepts connections. False: e has the reason. */
static bool watch_start_daemon(const struct watch_command *w, struct err *e)
{
    char text[sizeof e->text] = "";
    int fds[2];
    pid_t pid;
    ssize_t n;

    if (pipe2(fds, O_CLOEXEC) != 0)
        return err_sys(e, "pipe");
    pid = fork();
    if (pid == 0) {
        close(fds[0]);
        watch_serve(w, fds[1]);
    }
    close(fds[1]);
    if (pid < 0) {
        close(fds[0]);
        return err_sys(e, "fork");
    }
    do
        n = read(fds[0], text, sizeof text - 1);
    while (n < 0 && errno == EINTR);
    close(fds[0]);
    if (n > 0 && text[0] == '+')
        return true;
    (void)waitpid(pid, NULL, 0);
    text[n > 0 ? n : 0] = '\0';
    return err_set(e, ERR_SYSTEM, "the gateway did not start: %s", text[0] ? text : "it ended");
}

static bool watch_explain_refusal(struct daemon_link *d, str address, struct err *e)
{
    char own[DATA_KEY_SIZE];
    str body;

    if (d->status == 401)
        return err_set(e,
                       ERR_AUTH,
                       "the gateway at " STR_FMT " needs a key of its own: %s",
                       STR_ARG(address),
                       data_key(d->config, own)
                           ? "name its configuration with --config, and set RATIONALE_KEY"
                           : "set RATIONALE_KEY");
    if (!daemon_body(d, &body, e))
        body = STR("");
    return err_set(e,
                   d->status == 503   ? ERR_UPSTREAM
                   : d->status == 403 ? ERR_AUTH
                                      : ERR_INPUT,
                   "the gateway at " STR_FMT " refuses with %d: " STR_FMT,
                   STR_ARG(address),
                   d->status,
                   STR_ARG(str_slice(body, 0, 120)));
}

/* Asks the store's daemon for a run. */
static bool watch_open_run(struct watch_command *w, struct err *e)
{
    struct store_owner owner;
    struct json doc;
    str line;
    bool ok;

    assert(w->config);
    if (!store_owner(w->config->store_url, w->config->spool, &w->arena, &owner, e))
        owner.address = STR("");
    if (!daemon_open(&w->hold, w->config, e) ||
        !daemon_ask(&w->hold, "POST", STR("/api/v1/watch"), buf_str(&w->body), e))
        return false;
    if (w->hold.status != 200)
        return watch_explain_refusal(&w->hold, owner.address, e);
    json_init(&doc);
    ok = daemon_line(&w->hold, &line, e) && json_parse(&doc, line, e);
    ok = ok && json_text(&doc, json_find(&doc, json_root(&doc), STR("run")), &w->arena, &w->run);
    w->login = STR("");
    if (ok && json_text(&doc, json_find(&doc, json_root(&doc), STR("login")), &w->arena, &w->login))
        w->login = arena_dup(&w->arena, w->login);
    if (ok)
        w->run = arena_dup(&w->arena, w->run);
    json_release(&doc);
    if (!ok)
        return false;
    if (str_starts(owner.address, STR("0.0.0.0:")))
        owner.address = arena_join(
            &w->arena, STR("127.0.0.1"), str_slice(owner.address, 7, owner.address.n), STR(""));
    else if (str_starts(owner.address, STR("[::]:")))
        owner.address = arena_join(
            &w->arena, STR("[::1]"), str_slice(owner.address, 4, owner.address.n), STR(""));
    (void)snprintf(w->page, sizeof w->page, "http://" STR_FMT "/", STR_ARG(owner.address));
    (void)snprintf(w->root, sizeof w->root, "%swatch/" STR_FMT, w->page, STR_ARG(w->run));
    return true;
}

/* Another daemon may be about to end, or another `watch` about to start one: for a moment the store
 * is in use and nobody answers. */
static bool watch_reach_gateway(struct watch_command *w, struct err *e)
{
    for (unsigned tries = 0; tries < START_TRIES; tries++) {
        struct err started;

        if (watch_open_run(w, e))
            return true;
        daemon_close(&w->hold);
        if (e->code != ERR_NOT_FOUND && e->code != ERR_UPSTREAM)
            return false;
        if (!watch_start_daemon(w, &started)) {
            *e = started;
            if (str_find(str_c(started.text), STR("in use")) == STR_NONE)
                return false;
            usleep(START_LOOK_US);
        }
    }
    return false;
}

/* ---- the agent ---- */

static const char *watch_value(struct watch_command *w, const struct watch_setting *s)
{
    char value[VALUE_MAX], at[sizeof w->root + WATCHED_NAME_MAX];
    const char *here;
    struct buf out;
    str text;

    if (!s->upstream) {
        buf_init(&out, VALUE_MAX);
        watch_providers_json(w->root, &out);
        text = arena_move_buf(&w->arena, &out);
        return text.p;
    }
    (void)snprintf(at, sizeof at, "%s/%s", w->root, s->upstream);
    here = strstr(s->value, "%s");
    assert(here);
    (void)snprintf(value, sizeof value, "%.*s%s%s", (int)(here - s->value), s->value, at, here + 2);
    return arena_dup(&w->arena, str_c(value)).p;
}

/* A proxy in the environment must not be used: the gateway is on this machine. */
static void watch_bypass_proxy(struct watch_command *w)
{
    static const char *const names[] = {"NO_PROXY", "no_proxy"};

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *old = getenv(names[i]);

        (void)setenv(
            names[i],
            arena_printf(
                &w->arena, "%s%s127.0.0.1,localhost,::1", old ? old : "", old && old[0] ? "," : "")
                .p,
            1);
    }
}

static int watch_complain_start(const char *name, int why)
{
    assert(why != 0);
    return cli_complain(why == ENOENT ? NOT_FOUND_STATUS : NOT_RUN_STATUS,
                        "%s could not be started: %s",
                        name,
                        why == ENOENT ? "it is not in PATH" : strerror(why));
}

/* A name with a slash is a path, which exec finds. */
static bool watch_in_path(const char *name)
{
    char path[FILE_PATH_MAX];
    const char *env = getenv("PATH");
    str list = str_c(env ? env : "");
    bool found = strchr(name, '/') || !env;

    while (list.n && !found) {
        str folder = str_cut(&list, ':');

        (void)snprintf(
            path, sizeof path, STR_FMT "/%s", STR_ARG(folder.n ? folder : STR(".")), name);
        found = access(path, F_OK) == 0;
    }
    return found;
}

/* In the child: becomes the agent. */
static _Noreturn void watch_become_agent(struct watch_command *w)
{
    const struct watch_setting *s = w->client->variables;
    const struct watch_setting *a = w->client->arguments;
    const char **argv;
    size_t n = 0, words = 0;

    assert(w->argv[0]);
    while (w->argv[words])
        words++;
    argv = base_alloc((words + 2 * COUNT_OF(w->client->arguments) + 1) * sizeof *argv);

    for (; s < w->client->variables + WATCH_VARIABLES_MAX && s->name; s++)
        if (!s->needs || getenv(s->needs))
            (void)setenv(s->name, watch_value(w, s), 1);
    watch_bypass_proxy(w);
    argv[n++] = w->argv[0];
    for (; a < w->client->arguments + COUNT_OF(w->client->arguments) && a->name; a++) {
        argv[n++] = a->name;
        argv[n++] = watch_value(w, a);
    }
    for (char *const *word = w->argv + 1; *word; word++)
        argv[n++] = *word;
    assert(n <= words + 2 * COUNT_OF(w->client->arguments));
    argv[n] = NULL;
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGQUIT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    (void)signal(SIGHUP, SIG_DFL);
    (void)execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(watch_complain_start(argv[0], errno));
}

static volatile sig_atomic_t watch_agent_pid;

static void watch_forward(int sig)
{
    if (watch_agent_pid > 0)
        (void)kill((pid_t)watch_agent_pid, sig);
}

/* The terminal sends Ctrl-C to the agent, too; signals that only we get are passed on. */
static int watch_run_agent(struct watch_command *w)
{
    int status = 0;
    pid_t pid;

    assert(w->argv[0]);
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGQUIT, SIG_IGN);
    pid = fork();
    if (pid == 0)
        watch_become_agent(w);
    if (pid < 0)
        return cli_complain(CLI_INTERNAL, "fork: %s", strerror(errno));
    watch_agent_pid = pid;
    (void)signal(SIGTERM, watch_forward);
    (void)signal(SIGHUP, watch_forward);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- all of it ---- */

/* Prints how many calls were recorded, and the command that shows them. */
static void watch_print_count(struct watch_command *w)
{
    str path = arena_printf(&w->arena, "/api/v1/watch/" STR_FMT, STR_ARG(w->run)), body;
    struct daemon_link d;
    struct json doc;
    struct err e;
    int64_t calls = 0, tools = 0;

    assert(w->config);
    json_init(&doc);
    if (!daemon_open(&d, w->config, &e) || !daemon_ask(&d, "GET", path, STR(""), &e) ||
        !daemon_body(&d, &body, &e) || !json_parse(&doc, body, &e) ||
        !json_i64(&doc, json_find(&doc, json_root(&doc), STR("calls")), &calls) ||
        !json_i64(&doc, json_find(&doc, json_root(&doc), STR("tool_calls")), &tools))
        (void)cli_complain(0, "the gateway does not answer any more: %s", e.text);
    else if (!calls)
        (void)cli_complain(0,
                           "no model call was recorded: `rationale watch --help` says which are");
    else
        (void)cli_complain(0,
                           "%lld model call%s with %lld tool call%s recorded; see them with: "
                           "rationale decisions%s%s",
                           (long long)calls,
                           calls == 1 ? "" : "s",
                           (long long)tools,
                           tools == 1 ? "" : "s",
                           w->given ? " --config " : "",
                           w->given ? w->given : "");
    daemon_close(&d);
    json_release(&doc);
}

static int watch_with_gateway(struct watch_command *w)
{
    const char *hint;
    struct err e;
    int code;

    assert(w->client && w->argv[0] && !w->config);
    if (!watch_in_path(w->argv[0]))
        return watch_complain_start(w->argv[0], ENOENT);
    if (w->place.text.n && (!data_make_key(&e) || !data_find(w->given, &w->place, &e)))
        return cli_fail(&e);
    if (!data_load(&w->place, &w->config, &e))
        return cli_complain(CLI_CONFIG, "%s", e.text);
    if (str_eq(w->config->store_url, STR("none")) || w->config->tls_cert.n) {
        const char *why = w->config->tls_cert.n ? "tls is set" : "store: none keeps no record";

        config_release(w->config);
        return cli_complain(
            CLI_CONFIG, "%s: watch cannot use this gateway; name another file with --config", why);
    }
    if (!watch_reach_gateway(w, &e)) {
        config_release(w->config);
        return cli_complain(e.code == ERR_AUTH ? CLI_AUTH : CLI_UNREACHABLE, "%s", e.text);
    }
    (void)cli_complain(0,
                       "watching %s; the dashboard is at %s%s" STR_FMT,
                       w->argv[0],
                       w->page,
                       w->login.n ? "#login=" : "",
                       STR_ARG(w->login));
    code = watch_run_agent(w);
    (void)daemon_settle(w->config, SETTLE_MS); /* so that later commands see every call */
    watch_print_count(w);
    hint = watch_client_hint(w->client, code);
    if (hint)
        (void)cli_complain(0, "%s", hint);
    daemon_close(&w->hold);
    config_release(w->config);
    return code;
}

static int watch_complain_unknown(const char *name)
{
    struct buf known;
    int code;

    buf_init(&known, 300);
    buf_add(&known, STR("the known ones are "));
    for (size_t i = 0; watch_client_name(i); i++)
        buf_printf(&known, "%s%s", i ? ", " : "", watch_client_name(i));
    buf_add(&known, STR("; put -- before it to watch any other command"));
    buf_add_c(&known, '\0');
    code = cli_complain(CLI_USAGE,
                        "\"%s\" is no agent that is known%s",
                        name,
                        cli_guess(str_c(name), watch_client_name, known.p).text);
    buf_release(&known);
    return code;
}

static int cli_watch_run(struct cli *cli, const struct cli_args *args)
{
    struct watch_command w = {.given = args->value[CONFIG], .argv = args->rest, .run = STR("")};
    str asked = str_c(args->value[UPSTREAM] ? args->value[UPSTREAM] : "");
    struct err e;
    int code;

    (void)cli;
    if (!w.argv || !w.argv[0])
        return cli_complain(CLI_USAGE,
                            "watch needs an agent: rationale watch claude, or -- COMMAND");
    w.client = watch_client_find(args->rest_marked ? NULL : w.argv[0]);
    if (!w.client)
        return watch_complain_unknown(w.argv[0]);
    if (strcmp(w.client->name ? w.client->name : "", "opencode") == 0 &&
        getenv("OPENCODE_CONFIG_CONTENT"))
        return cli_complain(CLI_USAGE,
                            "OPENCODE_CONFIG_CONTENT is set, and `watch` needs it: put those "
                            "settings into a file and name it with OPENCODE_CONFIG");
    if (!data_find(w.given, &w.place, &e))
        return cli_complain(CLI_CONFIG, "%s", e.text);
    arena_init(&w.arena, 1 << 20);
    buf_init(&w.body, 1 << 16);
    json_out_init_object(&w.upstreams, &w.body);
    json_member_object(&w.upstreams, "upstreams");
    code = CLI_USAGE;
    if (watch_read_upstreams(&w, asked) && watch_keep_addresses(&w, asked)) {
        json_out_close(&w.upstreams, 2);
        code = watch_with_gateway(&w);
    }
    buf_release(&w.body);
    arena_release(&w.arena);
    return code;
}

const struct cli_command cli_watch = {
    .name = "watch",
    .summary = "run a coding agent with every decision on record",
    .words = "AGENT [ARGUMENT...] | -- COMMAND [ARGUMENT...]",
    .values = watch_client_name,
    .about =
        "Starts claude, codex, opencode, gemini, aider or qwen, or any command after --, and "
        "records its model calls: reason, tool, arguments, result, tokens and cost. The agent "
        "keeps its own login or key, which goes to its provider and is never stored. Requests and "
        "replies pass unchanged.\n\n"
        "A command after -- finds the gateway in ANTHROPIC_BASE_URL, OPENAI_BASE_URL, "
        "OPENAI_API_BASE and the variables of Gemini CLI. Other calls are not recorded.\n\n"
        "The record is in the data folder (~/.local/share/rationale), where list, show, decisions, "
        "search and tail find it. The exit code is the agent's; 128 and the signal's number if a "
        "signal ended it. Options come before AGENT: all that follows it is the agent's own.",
    .examples = "  rationale watch claude\n"
                "  rationale watch codex exec \"fix the failing test\"\n"
                "  rationale watch --upstream anthropic=https://proxy.example.com claude\n"
                "  rationale watch -- python3 my_agent.py\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .word_max = 0,
    .takes_rest = true,
    .run = cli_watch_run,
};
