/* incident_help.c - see incident_help.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "incident_help.h"

#include "base/file.h"
#include "base/json.h"

#include <signal.h>
#include <unistd.h>

size_t count_of(str text, const char *what)
{
    size_t n = 0, at;

    while ((at = str_find(text, str_c(what))) != STR_NONE) {
        n++;
        text = str_slice(text, at + 1, text.n);
    }
    return n;
}

static void put(struct scene *s, const char *name, str text)
{
    struct err e;

    if (!file_write_atomic(arena_printf(&s->arena, "%s/%s", s->dir, name).p, text, 0600, &e))
        fail_msg("%s", e.text);
}

/* ---- the model ---- */

static size_t look(const struct ask_request *q, struct arena *a, str *system, str *last)
{
    const struct json_node *list, *m;
    struct json doc;
    struct err e;
    size_t replies = 0;
    str text;

    *system = *last = STR("");
    json_init(&doc);
    if (!json_parse(&doc, q->body, &e))
        base_die("the body: %s", e.text);
    list = json_find(&doc, json_root(&doc), STR("messages"));
    for (m = json_first(&doc, list); m; m = json_next(&doc, list, m)) {
        replies += json_is(&doc, json_find(&doc, m, STR("role")), STR("assistant"));
        if (!json_text(&doc, json_find(&doc, m, STR("content")), a, &text))
            continue;
        *last = arena_dup(a, text);
        if (json_is(&doc, json_find(&doc, m, STR("role")), STR("system")))
            *system = *last;
    }
    json_release(&doc);
    return replies;
}

static bool ask(void *ctx, const struct ask_request *q, const _Atomic bool *cancel, struct arena *a,
                struct ask_reply *reply)
{
    struct scene *s = ctx;
    str system, last;
    size_t replies = look(q, a, &system, &last);
    const char *said;

    pthread_mutex_lock(&s->lock);
    s->title = arena_dup(&s->arena, q->title);
    if (s->prompt_count < PROMPTS_MAX) {
        s->systems[s->prompt_count] = arena_dup(&s->arena, system);
        s->bodies[s->prompt_count] = arena_dup(&s->arena, q->body);
        s->levels[s->prompt_count] = arena_dup(&s->arena, q->quiet ? STR("quiet") : q->level);
        s->prompts[s->prompt_count++] = arena_dup(&s->arena, last);
    }
    pthread_mutex_unlock(&s->lock);
    said = s->says(system, last, replies);
    *reply = (struct ask_reply){.id = STR("call"),
                                .text = STR(""),
                                .reasoning = str_c(s->reasons),
                                .usage = chat_usage_none,
                                .cost_usd = -1,
                                .recorded = true};
    reply->usage.input = 100;
    reply->usage.output = 10;
    while (*said == '@' && !atomic_load(cancel))
        usleep(1000);
    if (*said == '@') {
        reply->error = (struct chat_error){.status = 499, .message = STR("cancelled")};
        return false;
    }
    if (*said == '#' && said[1] >= '0' && said[1] <= '9') {
        reply->error = (struct chat_error){.status = (int)strtol(said + 1, NULL, 10),
                                           .message = STR("the provider said no"),
                                           .code = STR("no"),
                                           .type = STR("no")};
        return false;
    }
    if (*said == '!')
        calls_of(said + 1, replies, a, reply);
    else
        reply->text = arena_dup(a, str_c(said));
    return true;
}

/* ---- the host ---- */

static const char config[] =
    "store: sqlite:%s/r.db\n"
    "log: {level: error}\n"
    "providers:\n"
    "  p: {kind: openai, base_url: \"http://127.0.0.1:1/v1\", models: [m]}\n"
    "  q: {kind: openai, base_url: \"http://127.0.0.1:1/v1\", models: [n],"
    " enable_reasoning: true}\n"
    "incidents: {agents: x, timeout: 60s}\n";

/* -S skips Python's site packages, so python starts five times as fast. */
static const char server[] = "mcp_servers:\n"
                             "  k:\n"
                             "    connection_params:\n"
                             "      command: python3\n"
                             "      args: [-SB, %s/test/mcp/tools_server.py, %s/tools.json, "
                             "%s/log]\n"
                             "    instructions: Look at k with care.\n"
                             "    data_masking: {enabled: true}\n";

void side_open(struct scene *s, const char *dir, const char *agents, model_says *says)
{
    const char *source = getenv("RATIONALE_SOURCE");
    bool own = strncmp(agents, "mcp_servers:", 12) == 0;
    struct err e;
    str text;

    memset(s, 0, sizeof *s);
    s->effects_left = s->cancel_at = s->leave_at = -1;
    s->says = says;
    pthread_mutex_init(&s->lock, NULL);
    arena_init(&s->arena, (size_t)1 << 30);
    (void)snprintf(s->dir, sizeof s->dir, "%s", dir);
    put(s, "r.yaml", arena_printf(&s->arena, config, s->dir));
    text = own ? STR("") : arena_printf(&s->arena, server, source ? source : ".", s->dir, s->dir);
    text = arena_join(&s->arena, text, str_c(agents), STR(""));
    if (!app_local_open(arena_printf(&s->arena, "%s/r.yaml", s->dir).p, &s->local, &e) ||
        !incident_setup_parse(text, "agents.yaml", s->dir, &s->setup, &e))
        fail_msg("%s", e.text);
}

void tools_file(char path[64], const char *tools)
{
    size_t n = strlen(tools);
    int fd;

    (void)snprintf(path, 64, "%s/incident_tools.XXXXXX", test_tmp());
    fd = mkstemp(path);
    if (fd < 0 || write(fd, tools, n) != (ssize_t)n || close(fd) != 0)
        fail_msg("%s cannot be written", path);
}

void scene_init(struct scene *s, const char *tools, const char *agents, model_says *says)
{
    char dir[64];

    (void)snprintf(dir, sizeof dir, "%s/incident_test.XXXXXX", test_tmp());
    if (!mkdtemp(dir))
        fail_msg("no folder");
    memset(s, 0, sizeof *s);
    arena_init(&s->arena, 1 << 20);
    (void)snprintf(s->dir, sizeof s->dir, "%s", dir);
    put(s, "tools.json", str_c(tools));
    put(s, "log", STR(""));
    put(s, "book.md", STR("# Look at the pod first.\n"));
    arena_release(&s->arena);
    side_open(s, dir, agents, says);
}

void side_close(struct scene *s)
{
    incident_setup_free(s->setup);
    app_local_close(&s->local);
    pthread_mutex_destroy(&s->lock);
    arena_release(&s->arena);
}

void scene_release(struct scene *s)
{
    char command[128];

    side_close(s);
    (void)snprintf(command, sizeof command, "rm -rf %s", s->dir);
    if (system(command) != 0)
        fail_msg("%s is still there", s->dir);
}

/* ---- callbacks ---- */

static void on_step(void *ctx, const struct incident_step *t)
{
    struct scene *s = ctx;

    pthread_mutex_lock(&s->lock); /* agents of one stage call this concurrently */
    if (s->step_count < PROMPTS_MAX)
        s->steps[s->step_count++] =
            (struct incident_step){.stage = arena_dup(&s->arena, t->stage),
                                   .agent = arena_dup(&s->arena, t->agent),
                                   .action = arena_dup(&s->arena, t->action),
                                   .reason = arena_dup(&s->arena, t->reason),
                                   .reasoning = arena_dup(&s->arena, t->reasoning),
                                   .observation = arena_dup(&s->arena, t->observation),
                                   .ok = t->ok};
    pthread_mutex_unlock(&s->lock);
}

static void on_progress(void *ctx, const struct incident_progress *p)
{
    struct scene *s = ctx;

    if (s->percent_count < PROMPTS_MAX)
        s->percents[s->percent_count++] = p->percent;
}

static void on_effect(void *ctx, const struct agent_effect *f)
{
    struct scene *s = ctx;

    (void)f;
    pthread_mutex_lock(&s->lock);
    if (s->effects_left >= 0 && s->effects_left-- == 0)
        (void)kill(getpid(), SIGKILL);
    if (s->cancel_at >= 0 && s->cancel_at-- == 0)
        atomic_store(&s->cancel, true);
    if (s->leave_at >= 0 && s->leave_at-- == 0)
        atomic_store(&s->local.leave, true);
    pthread_mutex_unlock(&s->lock);
}

struct incident_options side_options(struct scene *s, const char *alert_type)
{
    return (struct incident_options){.host = &s->local.host,
                                     .setup = s->setup,
                                     .alert = {.id = STR("alert-1"),
                                               .alert_type = str_c(alert_type),
                                               .severity = STR("critical"),
                                               .environment = STR("production"),
                                               .runbook = STR("book.md"),
                                               .data = STR("{\"pod\":\"web-1\"}"),
                                               .timestamp_us = 1700000000000000},
                                     .run = STR("run-1"),
                                     .session = STR(""),
                                     .runbook_text = STR(""),
                                     .model = STR(""),
                                     .ask = {ask, s},
                                     .cancel = &s->cancel,
                                     .on_step = on_step,
                                     .on_progress = on_progress,
                                     .on_effect = on_effect,
                                     .ctx = s};
}

struct incident_report side_run(struct scene *s, const struct incident_options *o)
{
    struct incident_report r;
    struct err e;

    if (!incident_run(o, &s->arena, &r, &e))
        fail_msg("%s", e.text);
    return r;
}

size_t side_calls(struct scene *s, const char *tool)
{
    struct err e;
    str text;

    if (!file_read(&s->arena, arena_printf(&s->arena, "%s/log", s->dir).p, 1 << 20, &text, &e))
        return 0;
    return count_of(text, arena_printf(&s->arena, "\"tool\": \"%s\"", tool).p);
}
