/* `rationale order`: takes an order in a conversation, at the terminal or from a pipe.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/score.h"
#include "base/utf8.h"
#include "cli/daemon.h"
#include "cli/table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#define TURN_ARENA_MAX ((size_t)2 << 30)
#define LINE_MAX_SIZE ((size_t)65536)
#define STORE_LOOK_NS 50000000L /* pause between two checks whether the store is free */
#define STORE_WAIT_MS 10000

enum { CONFIG, THREAD, MENU, STATE, WHY, JSON, EVAL };

static const struct cli_option options[] = {
    [CONFIG] = {"config", 'c', "FILE", NULL, "the configuration; rationale.yaml if not given"},
    [THREAD] = {"thread", 't', "ID", NULL, "the conversation to continue; else a new one"},
    [MENU] = {"menu", 0, "FILE", NULL, "the menu, instead of the configuration's"},
    [STATE] = {"state", 0, NULL, NULL, "print the state of the conversation, and end"},
    [WHY] = {"why", 0, NULL, NULL, "show each decision with its reason, on stderr"},
    [JSON] = {"json", 0, NULL, NULL, "print each event as one line of JSON"},
    [EVAL] = {"eval", 0, "FILE", NULL, "take the utterances of FILE and score them"},
};

struct window {
    struct cli *cli;
    const struct cli_args *args;
    struct app_local local;
    struct orders *orders;
    struct thread_asker who;
    char thread[ORDERS_THREAD_MAX + 8];
    bool person; /* a person types, and sees prompts */
    struct buf line;
    struct buf said;          /* bytes of the reply so far */
    struct progress progress; /* of --eval */
    uint64_t cases;
    struct table table; /* likewise, without --json */
};

/* ---- output ---- */

static void order_put_safe(struct file_out *out, str s)
{
    size_t size, bad;

    for (; s.n > 0; s = str_slice(s, size + bad, s.n)) {
        size = cli_safe_size(s, &bad);
        file_out_add(out, str_slice(s, 0, size));
    }
}

static void order_event(struct window *w, const char *name, const char *key, str json)
{
    struct json_out o;

    assert(w->thread[0] && key);
    buf_reset(&w->line);
    json_out_init_object(&o, &w->line);
    json_member_str(&o, "event", str_c(name));
    json_member_str(&o, "thread_id", str_c(w->thread));
    json_out_key(&o, str_c(key));
    json_out_raw(&o, json);
    json_out_end(&o);
    buf_add_c(&w->line, '\n');
    cli_put_json(w->cli, buf_str(&w->line));
    file_out_flush(&w->cli->out);
}

static void order_text_event(struct window *w, const char *name, str text)
{
    struct buf quoted;

    buf_init(&quoted, 8 * text.n + 16);
    (void)json_quote(&quoted, text);
    order_event(w, name, "text", buf_str(&quoted));
    buf_release(&quoted);
}

/* Decisions are not for the customer: they go to stderr. */
static void order_on_decision(void *ctx, str entry)
{
    struct window *w = ctx;
    struct file_out err;

    if (w->args->value[JSON]) {
        order_text_event(w, "decision", entry);
        return;
    }
    if (!w->args->value[WHY])
        return;
    file_out_flush(&w->cli->out);
    file_out_init(&err, STDERR_FILENO);
    file_out_add(&err, str_c(cli_dim(w->cli)));
    order_put_safe(&err, entry);
    file_out_add(&err, str_c(cli_plain(w->cli)));
    file_out_add(&err, STR("\n"));
    file_out_flush(&err);
}

/* Prints the order so far. */
static void order_on_order(void *ctx, const struct order *order)
{
    struct window *w = ctx;
    struct json_out o;
    struct buf b;

    buf_init(&b, (size_t)1 << 20);
    if (w->args->value[JSON]) {
        json_out_init(&o, &b);
        order_write(&o, order, true);
        order_event(w, "order", "current_order", buf_str(&b));
    } else if (w->person) {
        order_words(&b, order);
        file_out_printf(&w->cli->out, "%s", cli_dim(w->cli));
        for (str rest = buf_str(&b); rest.n > 0;) {
            file_out_add(&w->cli->out, STR("  | "));
            order_put_safe(&w->cli->out, str_cut(&rest, '\n'));
            file_out_add(&w->cli->out, STR("\n"));
        }
        file_out_printf(&w->cli->out, "%s", cli_plain(w->cli));
        file_out_flush(&w->cli->out);
    }
    buf_release(&b);
}

/* Prints the reply as it arrives. */
static void order_print_text(void *ctx, str text)
{
    struct window *w = ctx;

    if (w->said.n == 0)
        file_out_printf(&w->cli->out, "%s", cli_bold(w->cli));
    buf_add(&w->said, text);
    order_put_safe(&w->cli->out, text);
    file_out_flush(&w->cli->out);
}

/* The number of terminal lines of a text. */
static size_t order_rows_of(str text, size_t columns)
{
    size_t rows = 1, at = 0;

    assert(columns > 0);
    while (text.n) {
        str c = utf8_cut_count(text, 1);
        bool ends = c.p[0] == '\n';
        size_t width = ends ? 0 : table_text_width(c);

        if (ends || at + width > columns) {
            rows++;
            at = 0;
        }
        at += width;
        text = str_slice(text, c.n, text.n);
    }
    return rows;
}

/* Removes printed text that the customer must not see. */
static void order_on_retract(void *ctx)
{
    struct window *w = ctx;
    struct winsize size = {.ws_col = 0};
    size_t rows;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        size.ws_col = 80;
    rows = order_rows_of(buf_str(&w->said), size.ws_col);
    file_out_printf(&w->cli->out, "%s\r", cli_plain(w->cli));
    if (rows > 1)
        file_out_printf(&w->cli->out, "\033[%zuA", rows - 1);
    file_out_add(&w->cli->out, STR("\033[J"));
    file_out_flush(&w->cli->out);
    buf_reset(&w->said);
}

static void order_show_reply(struct window *w, str reply)
{
    if (w->args->value[JSON]) {
        order_text_event(w, "reply", reply);
        return;
    }
    if (w->said.n == 0) {
        file_out_printf(&w->cli->out, "%s", w->person ? cli_bold(w->cli) : "");
        order_put_safe(&w->cli->out, reply);
    }
    buf_reset(&w->said);
    file_out_printf(&w->cli->out, "%s\n", w->person ? cli_plain(w->cli) : "");
    file_out_flush(&w->cli->out);
}

/* ---- turns ---- */

static int order_shown(struct window *w, const struct orders_turn *turn)
{
    if (turn->end == ORDERS_NOTHING)
        return CLI_OK;
    order_show_reply(w, turn->reply);
    if (turn->end != ORDERS_FAILED)
        return CLI_OK;
    return cli_complain(turn->status == 401 || turn->status == 403 ? CLI_AUTH : CLI_UNREACHABLE,
                        "the model call failed (%d): " STR_FMT
                        "; the turn is kept: rationale order --thread %s continues it",
                        turn->status,
                        STR_ARG(turn->why),
                        w->thread);
}

/* text "": resumes an unfinished turn. */
static int order_turn(struct window *w, str text)
{
    struct orders_watch watch = {
        .on_decision = order_on_decision, .on_order = order_on_order, .ctx = w};
    struct orders_said said;
    struct orders_turn out;
    struct arena a;
    struct err e;
    int code;
    bool ok;

    assert(w->orders && w->thread[0]);
    /* In a pipe, text cannot be removed, and reasons would be mixed with it. */
    if (w->person && !w->args->value[WHY]) {
        watch.on_say = order_print_text;
        watch.on_retract = order_on_retract;
    }
    arena_init(&a, TURN_ARENA_MAX);
    w->who = orders_asker(w->orders, STR(""), true);
    said = (struct orders_said){
        .who = &w->who, .thread = str_c(w->thread), .text = text, .watch = &watch};
    ok = text.n ? orders_run_turn(w->orders, &said, &a, &out, &e)
                : orders_resume(w->orders, &said, &a, &out, &e);
    code = ok ? order_shown(w, &out) : cli_fail(&e);
    arena_release(&a);
    return code;
}

/* A line of stdin without its line end; false at the end of input, or after an error message. A
 * line that is too long is truncated; its rest is not taken for another line. */
static bool order_next_line(struct buf *in, str *line, size_t *used, int *code)
{
    struct cli_input from = {.fd = STDIN_FILENO, .name = "standard input"};
    char bytes[4096];
    const char *end;
    size_t kept, n;
    struct err e;

    buf_drop(in, *used);
    *used = 0;
    while (!(end = in->n ? memchr(in->p, '\n', in->n) : NULL)) {
        if (!cli_read(&from, bytes, sizeof bytes, &n, &e)) {
            *code = cli_fail(&e);
            return false;
        }
        if (n == 0)
            break;
        if (in->n > LINE_MAX_SIZE)
            in->n = LINE_MAX_SIZE;
        buf_add(in, (str){bytes, n});
    }
    kept = end ? (size_t)(end - in->p) : in->n;
    *line = (str){in->n ? in->p : "", kept};
    *used = end ? kept + 1 : kept;
    assert(*used <= in->n);
    return end || kept > 0;
}

static void order_print_prompt(struct window *w)
{
    if (!w->person)
        return;
    file_out_printf(&w->cli->out, "%s> %s", cli_dim(w->cli), cli_plain(w->cli));
    file_out_flush(&w->cli->out);
}

static int order_too_much(struct window *w)
{
    order_show_reply(w, STR("Sorry, that was too much at once. Could you say it in fewer words?"));
    return cli_complain(CLI_NEGATIVE,
                        "the line is longer than %d bytes and is ignored: send a shorter one",
                        ORDERS_TEXT_MAX);
}

/* A person may try again. From a pipe, the next lines are read after a failure, too. */
static int order_run_conversation(struct window *w)
{
    struct buf in;
    size_t used = 0;
    int code = order_turn(w, STR("")), refused = CLI_OK;
    str line;

    assert(w->orders);
    buf_init(&in, 2 * LINE_MAX_SIZE);
    if (w->person)
        file_out_printf(
            &w->cli->out,
            "%s%s: say what you would like; Ctrl-D ends. --thread %s resumes later.%s\n",
            cli_dim(w->cli),
            orders_menu(w->orders)->location.n ? orders_menu(w->orders)->location.p : "Hello",
            w->thread,
            cli_plain(w->cli));
    for (order_print_prompt(w);
         (code == CLI_OK || w->person) && order_next_line(&in, &line, &used, &code);
         order_print_prompt(w)) {
        if (utf8_trim(line).n > ORDERS_TEXT_MAX)
            refused = order_too_much(w);
        else if (utf8_trim(line).n > 0)
            code = order_turn(w, line);
    }
    if (w->person)
        file_out_add(&w->cli->out, STR("\n"));
    buf_release(&in);
    return code || w->person ? code : refused;
}

/* ---- other modes ---- */

/* Only reads: another process may continue the order at the same time. */
static int order_print_state(struct cli *cli, const struct config *c, str thread)
{
    struct thread_asker who = {.key = STR(""), .all = true};
    struct threads *threads;
    struct orders_state s;
    struct json_out o;
    struct arena a;
    struct buf b;
    struct err e;
    int code = CLI_OK;

    if (str_eq(c->store_url, STR("none")))
        return cli_complain(
            CLI_CONFIG, "orders are kept in the store, and the configuration has none: set store");
    if (!state_thread_ok(thread, &e))
        return cli_complain(CLI_USAGE, "%s", e.text);
    if (!threads_open(c->store_url, &threads, &e))
        return cli_complain(CLI_STORE, "%s", e.text);
    arena_init(&a, TURN_ARENA_MAX);
    buf_init(&b, THREAD_TUPLE_MAX);
    if (!state_read(threads, &who, thread, &a, &s, &e)) {
        code = cli_fail(&e);
    } else {
        json_out_init_object(&o, &b);
        state_write(&o, &s, true);
        json_out_end(&o);
        buf_add_c(&b, '\n');
        cli_put_json(cli, buf_str(&b));
    }
    buf_release(&b);
    arena_release(&a);
    threads_close(threads);
    return code;
}

static void order_eval_json(struct window *w, const char *kind, const struct orders_eval_result *r,
                            const struct score *s)
{
    struct json_out o;

    buf_reset(&w->line);
    json_out_init_object(&o, &w->line);
    json_member_str(&o, "kind", str_c(kind));
    if (r) {
        json_member_str(&o, "id", r->of->id);
        json_member_str(&o, "category", r->of->category);
    }
    json_member_double(&o, "order_correctness", s->order);
    json_member_double(&o, "tool_protocol", s->protocol);
    json_member_double(&o, "no_hallucinated_items", s->real);
    if (r) {
        json_out_key(&o, STR("current_order"));
        order_write(&o, r->got, false);
        json_member_str(&o, "error", r->failed);
    }
    json_out_end(&o);
    buf_add_c(&w->line, '\n');
    cli_put_json(w->cli, buf_str(&w->line));
}

static void order_eval_row(struct window *w, str name, str category, const struct score *score)
{
    table_add(&w->table, name);
    table_add(&w->table, category);
    table_printf(&w->table, "%.2f", score->order);
    table_printf(&w->table, "%.2f", score->protocol);
    table_printf(&w->table, "%.2f", score->real);
    table_flush(&w->table);
}

static void order_on_case(void *ctx, const struct orders_eval_result *r)
{
    struct window *w = ctx;

    assert(r->of);
    progress_set(&w->progress, ++w->cases);
    if (w->args->value[JSON]) {
        order_eval_json(w, "utterance", r, &r->score);
        return;
    }
    order_eval_row(w, r->of->id, r->of->category, &r->score);
    if (r->failed.n)
        (void)cli_complain(CLI_OK, STR_FMT ": " STR_FMT, STR_ARG(r->of->id), STR_ARG(r->failed));
}

static int order_evaluate(struct window *w)
{
    static const struct table_column columns[] = {{"UTTERANCE", TABLE_TEXT, 16},
                                                  {"CATEGORY", TABLE_TEXT, 14},
                                                  {"ORDER", TABLE_RIGHT, 6},
                                                  {"PROTOCOL", TABLE_RIGHT, 8},
                                                  {"REAL", TABLE_RIGHT, 5}};
    const char *path = w->args->value[EVAL];
    struct orders_eval sums;
    struct arena a;
    struct err e;
    str text;
    bool ok;

    assert(w->orders && path);
    arena_init(&a, 4 * ORDERS_EVAL_MAX);
    ok = file_read(&a, path, ORDERS_EVAL_MAX, &text, &e);
    progress_enable();
    if (!w->args->value[JSON])
        table_begin(&w->table, w->cli, columns, COUNT_OF(columns));
    w->progress = progress_begin("order --eval", "utterances", ok ? cli_count_lines(text) : 0);
    ok = ok && orders_eval_run(w->orders,
                               &(struct orders_eval_source){
                                   .text = text, .path = path, .on_case = order_on_case, .ctx = w},
                               &sums,
                               &e);
    progress_end(&w->progress);
    if (ok && w->args->value[JSON])
        order_eval_json(w, "mean", NULL, &sums.mean);
    else if (ok)
        order_eval_row(w, STR("mean"), arena_printf(&a, "%zu utterances", sums.cases), &sums.mean);
    if (!w->args->value[JSON])
        table_release(&w->table);
    arena_release(&a);
    if (!ok)
        return cli_fail(&e);
    return sums.failed ? cli_complain(CLI_UNREACHABLE,
                                      "%zu of %zu could not be taken: the model call failed",
                                      sums.failed,
                                      sums.cases)
                       : CLI_OK;
}

/* ---- opening the store ---- */

static bool order_name_thread(struct window *w, struct err *e)
{
    struct rand_ids ids;
    char id[RAND_ID_SIZE];

    assert(!w->thread[0]);
    if (w->args->value[THREAD]) {
        if (!state_thread_ok(str_c(w->args->value[THREAD]), e))
            return false;
        (void)snprintf(w->thread, sizeof w->thread, "%s", w->args->value[THREAD]);
        return true;
    }
    rand_ids_init(&ids, &clock_real);
    (void)snprintf(w->thread, sizeof w->thread, "cli-%s", rand_id(&ids, id).p);
    rand_ids_release(&ids);
    return true;
}

static int order_run_open(struct window *w)
{
    struct orders_options o = {.menu = w->args->value[MENU]};
    struct err e;
    int code;

    if (!order_name_thread(w, &e))
        return cli_complain(CLI_USAGE, "%s", e.text);
    if (!orders_open(&w->local.host, &o, &w->orders, &e))
        return cli_fail_config(&e);
    buf_init(&w->line, THREAD_TUPLE_MAX);
    buf_init(&w->said, THREAD_TUPLE_MAX);
    w->person = isatty(STDIN_FILENO) && w->cli->terminal && !w->args->value[JSON];
    code = w->args->value[EVAL] ? order_evaluate(w) : order_run_conversation(w);
    buf_release(&w->said);
    buf_release(&w->line);
    orders_close(w->orders);
    return code;
}

static bool order_daemon_serves(const struct config *c)
{
    struct daemon_link d;
    struct err e;
    bool serves = daemon_open(&d, c, &e);

    daemon_close(&d);
    return serves;
}

/* Another `rationale order` may be about to end, so this waits for the store; a daemon keeps it. */
static bool order_open_local(const char *path, const struct config *c, struct app_local *l,
                             struct err *e)
{
    const struct timespec pause = {.tv_nsec = STORE_LOOK_NS};
    uint64_t until_ns = clock_deadline_ns(&clock_real, STORE_WAIT_MS);

    for (bool waits = false;; waits = true) {
        if (app_local_open(path, l, e))
            return true;
        if (str_find(str_c(e->text), STR("in use by")) == STR_NONE ||
            clock_mono_ns(&clock_real) >= until_ns)
            return false;
        if (!waits) {
            if (order_daemon_serves(c))
                return false;
            cli_complain(CLI_OK,
                         "another process has the store: this one waits for it, up to %d s",
                         STORE_WAIT_MS / 1000);
        }
        (void)nanosleep(&pause, NULL);
    }
}

static int order_run(struct cli *cli, const struct cli_args *args)
{
    const char *config = args->value[CONFIG] ? args->value[CONFIG] : CLI_CONFIG_FILE;
    struct window w = {.cli = cli, .args = args};
    struct config *c;
    struct err e;
    bool opened;
    int code;

    if (args->value[STATE] && !args->value[THREAD])
        return cli_complain(CLI_USAGE, "--state needs a conversation: --thread ID");
    if (!file_check_readable(args->value[EVAL], &e))
        return cli_fail(&e);
    if (!file_check_readable(args->value[MENU], &e) || !config_load(config, &c, &e))
        return cli_fail_config(&e);
    if (args->value[STATE]) {
        code = order_print_state(cli, c, str_c(args->value[THREAD]));
        config_release(c);
        return code;
    }
    opened = order_open_local(config, c, &w.local, &e);
    config_release(c);
    if (!opened)
        return cli_fail_open(&e, "a daemon takes orders, too: POST /api/v1/orders/THREAD/say");
    code = order_run_open(&w);
    app_local_close(&w.local);
    return code;
}

const struct cli_command cli_order = {
    .name = "order",
    .summary = "take an order in conversation",
    .words = "",
    .about =
        "Takes orders from a menu: each line of standard input is a message of the customer, and "
        "standard output has only the replies to the customer. At a terminal the order is shown "
        "as it grows; --why adds each decision of the model with its reason.\n\n"
        "The menu is the one of the configuration (orders: {menu: FILE}), of --menu, or a "
        "built-in one. The conversation is stored after every step: --thread ID resumes it, also "
        "in the middle of a turn after a crash or a model error. --state prints it as JSON: "
        "thread_id, current_order, reasoning, messages, finalized.\n\n"
        "--eval takes a file of utterances with their expected orders, one JSON object a line, "
        "and prints three scores from 0 to 1 for each: the order, the protocol (looked up before "
        "added), and that nothing was made up.",
    .examples = "  rationale order --config orders.yaml\n"
                "  echo \"two colas, please\" | rationale order --thread lane-1\n"
                "  rationale order --thread lane-1 --state\n"
                "  rationale order --eval utterances.jsonl\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .run = order_run,
};
