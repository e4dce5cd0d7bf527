/* `rationale prompts`: shows versions of prompts, adds them, and changes their states.
 *
 * The command reads the store itself. A change of state is made by the daemon if one runs,
 * otherwise by this process; both write it to the audit log.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/tune/tune.h"
#include "cli/daemon.h"
#include "cli/data.h"
#include "cli/history.h"
#include "cli/table.h"

#define ARENA_MAX ((size_t)512 << 20)
#define OUT_MAX ((size_t)64 << 20)

enum { CONFIG, NAME, PARENT, RUN, SCORES, JSON };

static const struct cli_option options[] = {
    [CONFIG] = {"config", 'c', "FILE", NULL, "the configuration (default: rationale.yaml)"},
    [NAME] = {"name", 0, "NAME", NULL, "list: only versions of this prompt"},
    [PARENT] = {"parent", 0, "ID", NULL, "add: the version it was made from"},
    [RUN] = {"run", 0, "ID", NULL, "add: the run that made it"},
    [SCORES] = {"scores", 0, "JSON", NULL, "add: how it did"},
    [JSON] = {"json", 0, NULL, NULL, "the result as JSON"},
};

struct prompts {
    struct cli *cli;
    const struct cli_args *args;
    struct config *config;
    struct registry *registry;
    struct store *store; /* for the audit log, while this process has it open */
    struct arena arena;
    struct buf out;
};

static const char *prompts_verb(size_t index)
{
    return NAME_OF(index, "list", "show", "add", "approve", "activate", "retire", NULL);
}

static bool prompts_open_write(struct prompts *p, struct err *e)
{
    assert(!p->registry);
    return registry_open(p->config->store_url, &clock_real, &p->registry, e);
}

static bool prompts_open_read(struct prompts *p, struct err *e)
{
    return p->registry || registry_open_read(p->config->store_url, &p->registry, e);
}

static void prompts_put(struct prompts *p)
{
    cli_put_json(p->cli, buf_str(&p->out));
    file_out_add(&p->cli->out, STR("\n"));
}

/* ---- showing ---- */

static void prompts_table(struct prompts *p, const struct prompt *list, size_t n)
{
    static const struct table_column columns[] = {{"ID", TABLE_TEXT, 0},
                                                  {"STATE", TABLE_STATUS, 0},
                                                  {"CREATED", TABLE_TEXT, 0},
                                                  {"PARENT", TABLE_TEXT, 0},
                                                  {"SCORES", TABLE_TEXT, 0}};
    struct table t;

    table_begin(&t, p->cli, columns, COUNT_OF(columns));
    for (const struct prompt *v = list; v < list + n; v++) {
        table_add(&t, v->id);
        table_add(&t, str_c(v->built_in ? "built in" : prompt_state_name(v->state)));
        table_add(&t, v->created_us ? history_time(&p->arena, v->created_us) : STR(""));
        table_add(&t, v->parent);
        table_add(&t, v->scores);
    }
    table_end(&t);
}

/* The built-in ones follow the others. */
static size_t prompts_with_built_in(struct prompts *p, struct prompt **all, size_t n)
{
    const char *name = p->args->value[NAME];
    struct prompt *out;
    size_t rows = 0, kept = n;

    while (tune_app_at(rows))
        rows++;
    out = arena_zero(&p->arena, n + rows, sizeof *out);
    for (size_t i = 0; i < n; i++)
        out[i] = (*all)[i];
    for (size_t i = 0; i < rows; i++)
        if (!name || strcmp(name, tune_app_at(i)->prompt->name) == 0)
            prompt_built_in(tune_app_at(i)->prompt, &p->arena, &out[n++]);
    assert(n <= kept + rows);
    *all = out;
    return n;
}

static bool prompts_is_built_in(struct prompts *p, str id, struct prompt *out)
{
    for (size_t i = 0; tune_app_at(i); i++) {
        prompt_built_in(tune_app_at(i)->prompt, &p->arena, out);
        if (str_eq(out->id, id))
            return true;
    }
    return false;
}

static int cli_prompts_list(struct prompts *p)
{
    struct prompt *all = NULL;
    struct json_out o;
    struct err e;
    size_t n = 0;

    if (!prompts_open_read(p, &e) ||
        !registry_list(p->registry, str_c(p->args->value[NAME]), &p->arena, &all, &n, &e))
        return history_fail(&e);
    n = prompts_with_built_in(p, &all, n);
    if (p->args->value[JSON]) {
        json_out_init(&o, &p->out);
        json_out_array(&o);
        for (size_t i = 0; i < n; i++)
            prompt_write(&all[i], false, &o);
        json_out_end(&o);
        prompts_put(p);
        return CLI_OK;
    }
    prompts_table(p, all, n);
    return CLI_OK;
}

static void prompts_show_texts(struct prompts *p, const struct prompt *v)
{
    const struct json_node *root;
    struct json doc;
    struct err e;
    str key, text;

    if (json_open(&doc, v->components, &e)) {
        root = json_root(&doc);
        JSON_FOREACH(k, &doc, root) {
            if (!json_text(&doc, k, &p->arena, &key) ||
                !json_text(&doc, json_value(k), &p->arena, &text))
                continue;
            file_out_printf(&p->cli->out,
                            "\n%s" STR_FMT "%s\n",
                            cli_bold(p->cli),
                            STR_ARG(history_line(&p->arena, key, 200)),
                            cli_plain(p->cli));
            history_show_text(p->cli, text, "  ");
        }
    }
    json_release(&doc);
}

static int prompts_show(struct prompts *p, str id)
{
    struct prompt v;
    struct json_out o;
    struct err e;

    if (!prompts_is_built_in(p, id, &v) &&
        (!prompts_open_read(p, &e) || !registry_get(p->registry, id, &p->arena, &v, &e)))
        return history_fail(&e);
    if (p->args->value[JSON]) {
        json_out_init(&o, &p->out);
        prompt_write(&v, true, &o);
        prompts_put(p);
    } else {
        prompts_table(p, &v, 1);
        prompts_show_texts(p, &v);
    }
    return CLI_OK;
}

/* ---- changing ---- */

static int prompts_add(struct prompts *p, const char *name, const char *file)
{
    struct prompt_new v = {.name = str_c(name),
                           .parent = str_c(p->args->value[PARENT]),
                           .run_id = str_c(p->args->value[RUN]),
                           .scores = str_c(p->args->value[SCORES]),
                           .who = STR("cli")};
    struct err e;
    str id;

    assert(name && file);
    if (!file_read(&p->arena, file, 8 * PROMPT_SIZE_MAX, &v.components, &e))
        return cli_fail(&e);
    /* A plain text is the system prompt. */
    if (!str_starts(str_trim(v.components), STR("{"))) {
        buf_add(&p->out, STR("{\"system_prompt\":"));
        (void)json_quote(&p->out, v.components);
        buf_add_c(&p->out, '}');
        v.components = arena_dup(&p->arena, buf_str(&p->out));
        buf_reset(&p->out);
    }
    if (!prompts_open_write(p, &e))
        return history_fail(&e);
    if (!registry_put(p->registry, &v, &p->arena, &id, &e)) {
        err_prefix(&e, "%s: ", file);
        return cli_fail(&e);
    }
    return prompts_show(p, id);
}

/* False with *e if no daemon of the store answers; otherwise the code is the exit code. */
static bool prompts_by_daemon(struct prompts *p, const char *word, str id, int *code, struct err *e)
{
    struct daemon_link d;
    str reply;
    str path = arena_printf(
        &p->arena, "/api/v1/prompts/" STR_FMT "/%s", STR_ARG(daemon_encode(&p->arena, id)), word);
    bool there = daemon_open(&d, p->config, e) && daemon_ask(&d, "POST", path, STR(""), e) &&
                 daemon_body(&d, &reply, e) &&
                 (d.status != 503 || err_set(e, ERR_UPSTREAM, "the daemon answers 503"));

    assert(word && id.n > 0);
    if (there && d.status == 200)
        *code = CLI_OK;
    else if (there)
        *code = daemon_refused(&d, reply, CLI_NEGATIVE);
    daemon_close(&d);
    return there;
}

static int prompts_by_ourselves(struct prompts *p, str id, enum prompt_state to,
                                const struct err *daemon)
{
    struct store_options o = data_store_options(p->config);
    struct err e;

    assert(!p->store);
    if (str_eq(o.url, STR("none")))
        return cli_complain(CLI_STORE, "nothing is on record: the store is \"none\"");
    if (!store_open(&o, &p->store, &e))
        return daemon_complain(daemon, &e);
    if (!prompts_open_write(p, &e))
        return history_fail(&e);
    registry_audit(p->registry, p->store);
    return registry_move(p->registry, id, to, STR("cli"), &e) ? CLI_OK : cli_fail(&e);
}

static int prompts_move(struct prompts *p, const char *word, str id)
{
    enum prompt_state to = word[0] == 'r'   ? PROMPT_RETIRED
                           : word[1] == 'p' ? PROMPT_APPROVED
                                            : PROMPT_ACTIVE;
    struct err e;
    int code = CLI_OK;

    if (str_find(id, STR("/")) != STR_NONE || str_find(id, STR("@")) == STR_NONE)
        return cli_complain(CLI_USAGE, "an id is NAME@DIGEST, as list shows it");
    if (!prompts_by_daemon(p, word, id, &code, &e))
        code = prompts_by_ourselves(p, id, to, &e);
    if (code == CLI_OK && !p->args->value[JSON])
        file_out_printf(&p->cli->out, STR_FMT " is %s\n", STR_ARG(id), prompt_state_name(to));
    else if (code == CLI_OK)
        code = prompts_show(p, id);
    return code;
}

static int prompts_act(struct prompts *p)
{
    const struct cli_args *args = p->args;
    const char *word = args->word_count ? args->words[0] : "list";
    int n = args->word_count;

    if (strcmp(word, "list") == 0)
        return n > 1 ? cli_too_many(args->command, args->words[1]) : cli_prompts_list(p);
    if (strcmp(word, "add") == 0)
        return n == 3 ? prompts_add(p, args->words[1], args->words[2])
                      : cli_complain(CLI_USAGE,
                                     "prompts add takes the name of a prompt and a file with its "
                                     "text: rationale prompts add NAME FILE");
    if (n != 2)
        return cli_complain(
            CLI_USAGE, "prompts %s takes the ID of a version: rationale prompts %s ID", word, word);
    return strcmp(word, "show") == 0 ? prompts_show(p, str_c(args->words[1]))
                                     : prompts_move(p, word, str_c(args->words[1]));
}

static int prompts_run(struct cli *cli, const struct cli_args *args)
{
    struct prompts p = {.cli = cli, .args = args};
    struct err e;
    int code;

    if (!config_load(args->value[CONFIG] ? args->value[CONFIG] : CLI_CONFIG_FILE, &p.config, &e))
        return cli_fail_config(&e);
    arena_init(&p.arena, ARENA_MAX);
    buf_init(&p.out, OUT_MAX);
    code = prompts_act(&p);
    registry_close(p.registry);
    if (p.store)
        store_close(p.store);
    buf_release(&p.out);
    arena_release(&p.arena);
    config_release(p.config);
    return code;
}

const struct cli_command cli_prompts = {
    .name = "prompts",
    .summary = "list, add, approve and activate versions of prompts",
    .words = "[list | add NAME FILE | VERB ID]",
    .values = prompts_verb,
    .about =
        "A version of a prompt is a set of texts, named by their digest: it never changes. A new "
        "version is a draft; a person approves it and then makes it active, which retires the "
        "previous one. A retired version that was approved can be made active again. If none is "
        "active, the built-in texts are used.\n\n"
        "VERB is show, approve, activate or retire. FILE is a JSON object from component to "
        "text, or a plain text, which is the system_prompt. A running daemon uses a change at "
        "once.",
    .examples = "  rationale prompts\n"
                "  rationale prompts add policy prompt.txt\n"
                "  rationale prompts approve policy@1f3a5c7e9b2d\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .word_max = 3,
    .run = prompts_run,
};
