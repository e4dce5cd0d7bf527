/* `rationale run`, `rationale chat` and `rationale agents`: the agents of the configuration.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/agent_link.h"
#include "cli/table.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#define LEAVE_LOOK_MS 50
#define LINE_SIZE (AGENTS_INPUT_MAX + 2) /* an input may not be longer than this */

enum { RUN_CONFIG, RUN_THREAD, RUN_RUN, RUN_JSON };

static const struct cli_option run_options[] = {
    [RUN_CONFIG] = {"config", 'c', "FILE", NULL, "the configuration; else " CLI_CONFIG_FILE},
    [RUN_THREAD] = {"thread", 't', "ID", NULL, "the conversation to continue"},
    [RUN_RUN] = {"run", 0, "ID", NULL, "continue this run"},
    [RUN_JSON] = {"json", 0, NULL, NULL, "print each event as one line of JSON"},
};

static const char *agents_config(const struct cli_args *args)
{
    return args->value[RUN_CONFIG] ? args->value[RUN_CONFIG] : CLI_CONFIG_FILE;
}

/* A line of standard input without its line end. The rest of a line that is too long is dropped, so
 * that it is not taken for another answer. False at the end of the input. */
static bool agents_read_line(char *line, size_t size, str *out)
{
    size_t n = 0;
    int c;

    assert(size > 1);
    while ((c = getc(stdin)) != EOF && c != '\n')
        if (n + 1 < size)
            line[n++] = (char)c;
    line[n] = '\0';
    *out = (str){line, n};
    return c != EOF || n > 0;
}

/* Waits until a person has typed a line. False if Ctrl-C comes first: a command that executes its
 * runs itself blocks the signal (agent_link.h). */
static bool agents_wait_line(struct agent_link *l)
{
    struct pollfd typed = {.fd = STDIN_FILENO, .events = POLLIN};
    bool person = isatty(STDIN_FILENO);

    while (person && !atomic_load(&l->local.leave))
        person = poll(&typed, 1, LEAVE_LOOK_MS) == 0;
    return !atomic_load(&l->local.leave);
}

/* ---- approvals ---- */

/* Prints the waiting call and the model's reason, both of which the model wrote. */
static void agents_put_call(struct file_out *out, const char *before, const struct agent_show *s,
                            const char *after)
{
    assert(s->waiting.waits && s->waiting.seq >= 0);
    file_out_add(out, str_c(before));
    cli_put_line(out, s->waiting.tool);
    file_out_add(out, STR(" "));
    cli_put_line(out, s->waiting.arguments);
    file_out_printf(out, "%s\n  why: ", after);
    cli_put_line(out, s->waiting.why);
}

static void agents_print_waiting(const struct agent_show *s)
{
    struct file_out out;

    file_out_init(&out, STDERR_FILENO);
    if (s->waiting.seq < 0) {
        file_out_printf(&out, "run " STR_FMT " waits for tools of its caller\n", STR_ARG(s->run));
    } else {
        agents_put_call(&out, "waits for approval of ", s, "");
        file_out_printf(&out,
                        "\n  rationale runs approve '" STR_FMT "' %lld   (or deny)\n"
                        "  then: rationale run --run " STR_FMT "\n",
                        STR_ARG(s->waiting.run),
                        (long long)s->waiting.seq,
                        STR_ARG(s->run));
    }
    file_out_flush(&out);
}

/* Asks the person at the terminal. False: there is no terminal, or no answer. */
static bool agents_ask_person(struct agent_link *l, const struct agent_show *s, bool *allow)
{
    struct file_out out;
    char line[64];
    str answer;

    assert(s->waiting.waits);
    if (s->json || s->waiting.seq < 0 || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return false;
    file_out_init(&out, STDERR_FILENO);
    agents_put_call(&out, "Allow ", s, "?");
    file_out_add(&out, STR("\n  [y/n] "));
    file_out_flush(&out);
    if (!agents_wait_line(l) || !agents_read_line(line, sizeof line, &answer))
        return false;
    *allow = line[0] == 'y' || line[0] == 'Y';
    return true;
}

/* Continues until the run has ended, or waits for a person at another place. */
static int agents_finish(struct agent_link *l, struct agent_show *s, bool ok, struct err *e)
{
    bool allow;

    while (ok && s->waiting.waits && agents_ask_person(l, s, &allow))
        ok = agent_link_answer(l, s, allow, e);
    if (!ok)
        return cli_fail(e);
    if (s->waiting.waits && !s->json)
        agents_print_waiting(s);
    else if (!s->status.n && !s->json)
        (void)fprintf(stderr,
                      "interrupted; resume it with: rationale run --run " STR_FMT "\n",
                      STR_ARG(s->run));
    return atomic_load(&l->local.leave) ? CLI_SIGINT : agent_show_code(s);
}

/* ---- run ---- */

static struct agents_request agents_request_of(const struct agent_link *l, const char *name,
                                               str input, str thread)
{
    return (struct agents_request){.run = STR(""),
                                   .name = str_c(name),
                                   .workflow = !agents_find(l->config, str_c(name)) &&
                                               agents_find_workflow(l->config, str_c(name)),
                                   .input = input,
                                   .messages = STR(""),
                                   .thread = thread,
                                   .session = STR(""),
                                   .metadata = STR(""),
                                   .tools = STR(""),
                                   .key = STR("")};
}

static void agents_describe(const struct agent_link *l, const char *name, struct agent_show *s)
{
    const struct config_agent *a = agents_find(l->config, str_c(name));

    assert(l->config && name);
    s->agent = str_c(name);
    if (a)
        s->model = a->model;
}

/* The names of the current configuration: cli_guess takes a list without a context. */
static const struct config_agents *agents_named;

static const char *agents_name_at(size_t index)
{
    const struct config_agents *a = agents_named;

    assert(agents_named);
    if (index < a->agent_count)
        return a->agents[index].name.p;
    index -= a->agent_count;
    return index < a->workflow_count ? a->workflows[index].name.p : NULL;
}

static bool agents_has(const struct config *c, const char *name)
{
    const char *known;

    agents_named = c->agents;
    for (size_t i = 0; (known = agents_name_at(i)); i++)
        if (strcmp(known, name) == 0)
            return true;
    (void)cli_complain(
        CLI_NEGATIVE,
        "there is no agent \"%s\" in " STR_FMT "%s",
        name,
        STR_ARG(c->path),
        cli_guess(str_c(name), agents_name_at, "`rationale agents` lists them").text);
    return false;
}

static int agents_run_once(struct agent_link *l, struct cli *cli, const struct cli_args *args)
{
    struct agent_show s;
    struct agents_request q;
    struct err e;
    int code;
    bool ok;

    assert(args->value[RUN_RUN] || args->word_count == 2);
    agent_show_init(&s, cli, args->value[RUN_JSON] != NULL);
    if (args->value[RUN_RUN]) {
        ok = agent_link_resume(l, str_c(args->value[RUN_RUN]), &s, &e);
    } else {
        agents_describe(l, args->words[0], &s);
        q = agents_request_of(
            l, args->words[0], str_c(args->words[1]), str_c(args->value[RUN_THREAD]));
        ok = agent_link_run(l, &q, &s, &e);
    }
    code = agents_finish(l, &s, ok, &e);
    agent_show_release(&s);
    return code;
}

static int agents_run_command(struct cli *cli, const struct cli_args *args)
{
    struct agent_link l;
    int code;

    if (!args->value[RUN_RUN] && args->word_count < 2)
        return cli_complain(CLI_USAGE,
                            "run needs the name of an agent and its task: rationale run "
                            "NAME \"INPUT\"");
    if (agent_link_open(&l, agents_config(args), &code))
        code = args->value[RUN_RUN] || agents_has(l.config, args->words[0])
                   ? agents_run_once(&l, cli, args)
                   : CLI_NEGATIVE;
    agent_link_close(&l);
    return code;
}

const struct cli_command cli_run = {
    .name = "run",
    .summary = "run an agent or a workflow of the configuration",
    .words = "[NAME INPUT]",
    .about =
        "Runs an agent or a workflow of the configuration and prints its answer. Its reasoning, "
        "tool calls and results go to stderr as they happen.\n\n"
        "If a daemon uses the store, the daemon executes the run; otherwise this command does. "
        "Every step is stored, so --run ID resumes a run that was interrupted at any point. If a "
        "call needs approval, the command asks at the terminal, or the run waits for `rationale "
        "runs approve`.",
    .examples = "  rationale run librarian \"Is Dune available?\"\n"
                "  rationale run librarian \"Lend it to me\" --thread anna\n"
                "  rationale run triage \"checkout is slow\" --json\n",
    .options = run_options,
    .option_count = COUNT_OF(run_options),
    .word_max = 2,
    .run = agents_run_command,
};

/* ---- chat ---- */

#define CHAT_QUIET RUN_RUN /* the options of `run`, with this one in place of another */

static int agents_chat_turn(struct agent_link *l, struct cli *cli, const struct cli_args *args,
                            const char *thread, str line)
{
    struct agents_request q = agents_request_of(l, args->words[0], line, str_c(thread));
    struct agent_show s;
    struct err e;
    int code;

    assert(line.n > 0);
    agent_show_init(&s, cli, args->value[RUN_JSON] != NULL);
    s.quiet = args->value[CHAT_QUIET] != NULL;
    agents_describe(l, args->words[0], &s);
    code = agents_finish(l, &s, agent_link_run(l, &q, &s, &e), &e);
    agent_show_release(&s);
    return code;
}

static int agents_chat(struct agent_link *l, struct cli *cli, const struct cli_args *args)
{
    bool person = isatty(STDIN_FILENO) && !args->value[RUN_JSON];
    char made[RAND_ID_SIZE], *line = base_alloc(LINE_SIZE);
    const char *thread = args->value[RUN_THREAD];
    struct rand_ids ids;
    int code = CLI_OK, turn;
    str said;

    assert(args->word_count == 1);
    if (!thread) {
        rand_ids_init(&ids, &clock_real);
        thread = rand_id(&ids, made).p;
        rand_ids_release(&ids);
    }
    if (person)
        (void)fprintf(stderr, "thread %s; an empty line ends the conversation\n", thread);
    for (;;) {
        if (person)
            (void)fprintf(stderr, "> ");
        if (!agents_wait_line(l)) {
            code = CLI_SIGINT;
            break;
        }
        if (!agents_read_line(line, LINE_SIZE, &said) || !str_trim(said).n)
            break;
        turn = agents_chat_turn(l, cli, args, thread, str_trim(said));
        if (person || code == CLI_OK || turn == CLI_SIGINT)
            code = turn; /* a script gets the exit code of the first failure */
        if (turn == CLI_SIGINT || turn == CLI_CONFIG)
            break;
    }
    if (ferror(stdin))
        code = cli_complain(CLI_NEGATIVE, "cannot read standard input: %s", strerror(errno));
    free(line);
    return code;
}

static int agents_chat_command(struct cli *cli, const struct cli_args *args)
{
    struct agent_link l;
    int code;

    if (args->word_count < 1)
        return cli_complain(CLI_USAGE, "chat needs the name of an agent: rationale chat NAME");
    if (agent_link_open(&l, agents_config(args), &code))
        code = agents_has(l.config, args->words[0]) ? agents_chat(&l, cli, args) : CLI_NEGATIVE;
    agent_link_close(&l);
    return code;
}

static const struct cli_option chat_options[] = {
    [RUN_CONFIG] = {"config", 'c', "FILE", NULL, "the configuration; else " CLI_CONFIG_FILE},
    [RUN_THREAD] = {"thread", 't', "ID", NULL, "the conversation to continue; else a new one"},
    [CHAT_QUIET] = {"quiet", 'q', NULL, NULL, "only the answers"},
    [RUN_JSON] = {"json", 0, NULL, NULL, "print each event as one line of JSON"},
};

const struct cli_command cli_chat = {
    .name = "chat",
    .summary = "talk to an agent of the configuration",
    .words = "NAME",
    .about =
        "Reads a line, runs the agent with it and prints the answer, until an empty line or the "
        "end of the input. All lines are one conversation: a thread, which --thread continues "
        "later. If the input is no terminal, the exit code is that of the first line that failed.",
    .examples = "  rationale chat librarian\n"
                "  echo \"Is Dune available?\" | rationale chat librarian --thread anna\n",
    .options = chat_options,
    .option_count = COUNT_OF(chat_options),
    .word_max = 1,
    .run = agents_chat_command,
};

/* ---- agents ---- */

enum { LIST_CONFIG, LIST_JSON };

static const struct cli_option list_options[] = {
    [LIST_CONFIG] = {"config", 'c', "FILE", NULL, "the configuration; else " CLI_CONFIG_FILE},
    [LIST_JSON] = {"json", 0, NULL, NULL, "as JSON, in the words of the API"},
};

static void agents_list_json(struct cli *cli, const struct config *c)
{
    struct json_text t;

    json_text_begin(&t, (size_t)64 << 20);
    json_member_array(&t.o, "agents");
    for (size_t i = 0; i < c->agents->agent_count; i++)
        agents_write_definition(c, &c->agents->agents[i], &t.o);
    json_out_end(&t.o);
    json_member_array(&t.o, "workflows");
    for (size_t i = 0; i < c->agents->workflow_count; i++)
        agents_write_workflow(c, &c->agents->workflows[i], &t.o);
    cli_put_json_text(cli, &t);
}

static void agents_list_text(struct cli *cli, const struct config *c)
{
    static const struct table_column columns[] = {{"NAME", TABLE_TEXT, 0},
                                                  {"STRATEGY", TABLE_TEXT, 0},
                                                  {"MODEL", TABLE_TEXT, 0},
                                                  {"DESCRIPTION", TABLE_TEXT, 0}};
    struct table t;

    table_begin(&t, cli, columns, COUNT_OF(columns));
    for (size_t i = 0; i < c->agents->agent_count; i++) {
        const struct config_agent *d = &c->agents->agents[i];

        table_add(&t, d->name);
        table_add(&t, str_c(agents_strategy_name(d->strategy)));
        table_add(&t, d->model);
        table_add(&t, d->description);
    }
    for (size_t i = 0; i < c->agents->workflow_count; i++) {
        size_t stages = c->agents->workflows[i].stage_count;

        table_add(&t, c->agents->workflows[i].name);
        table_add(&t, STR("workflow"));
        table_add(&t, STR(""));
        table_printf(&t, "%zu stage%s", stages, stages == 1 ? "" : "s");
    }
    table_end(&t);
}

static int agents_list_command(struct cli *cli, const struct cli_args *args)
{
    const char *path = args->value[LIST_CONFIG] ? args->value[LIST_CONFIG] : CLI_CONFIG_FILE;
    struct config *c;
    struct err e;

    if (!config_load(path, &c, &e))
        return cli_fail_config(&e);
    if (args->value[LIST_JSON])
        agents_list_json(cli, c);
    else if (c->agents->agent_count + c->agents->workflow_count)
        agents_list_text(cli, c);
    else
        (void)cli_complain(CLI_OK, "%s defines no agents (agents: NAME: ...)", path);
    config_release(c);
    return CLI_OK;
}

const struct cli_command cli_agents = {
    .name = "agents",
    .summary = "list the agents and workflows of the configuration",
    .words = "",
    .about = "Lists the agents and workflows that the configuration defines: name, strategy, model "
             "and description.",
    .examples = "  rationale agents\n  rationale agents --json\n",
    .options = list_options,
    .option_count = COUNT_OF(list_options),
    .word_max = 0,
    .run = agents_list_command,
};
