/* Output for people: colours, text that cannot control the terminal, error messages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "cli/cli.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COMPLAINT_MAX 2048 /* bytes of a message; a longer one is truncated */
#define LINE_WIDTH_MIN 20  /* columns; a table for fewer would be unreadable */

static bool cli_is_set(const char *name)
{
    const char *v = getenv(name);

    return v && v[0] != '\0';
}

void cli_init_color(struct cli *cli)
{
    const char *term = getenv("TERM");

    cli->terminal = isatty(STDOUT_FILENO);
    cli->color = cli->terminal && cli_is_set("TERM") && !str_eq(str_c(term), STR("dumb"));
    if (cli_is_set("CLICOLOR_FORCE") && !str_eq(str_c(getenv("CLICOLOR_FORCE")), STR("0")))
        cli->color = true;
    if (cli_is_set("NO_COLOR"))
        cli->color = false;
}

size_t cli_line_width(const struct cli *cli)
{
    struct winsize w;
    uint64_t n;

    if (!cli->terminal)
        return CLI_LINE_ENDLESS;
    if (cli_is_set("COLUMNS") && str_u64(str_c(getenv("COLUMNS")), &n) && n >= LINE_WIDTH_MIN)
        return n < CLI_LINE_ENDLESS ? (size_t)n : CLI_LINE_ENDLESS;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) != 0 || w.ws_col == 0)
        return 80;
    return w.ws_col > LINE_WIDTH_MIN ? w.ws_col : LINE_WIDTH_MIN;
}

const char *cli_dim(const struct cli *cli)
{
    return cli->color ? "\033[2m" : "";
}

const char *cli_bold(const struct cli *cli)
{
    return cli->color ? "\033[1m" : "";
}

const char *cli_plain(const struct cli *cli)
{
    return cli->color ? "\033[0m" : "";
}

const char *cli_status(const struct cli *cli, str status)
{
    static const struct {
        const char *escape;
        const char *words[16];
    } colors[] = {
        {"\033[32m", {"ok", "completed", "done", "sent", "met", "complete", "active", "approved"}},
        {"\033[31m",
         {"error", "failed", "missing", "cut", "firing", "stopped", "cancelled", "dropped"}},
        {"\033[33m",
         {"warning",
          "running",
          "in_progress",
          "processing",
          "pending",
          "queued",
          "waiting",
          "uncertain",
          "retrying",
          "draft"}},
    };

    for (size_t i = 0; cli->color && i < COUNT_OF(colors); i++)
        for (const char *const *w = colors[i].words; *w; w++)
            if (str_eq(status, str_c(*w)))
                return colors[i].escape;
    return "";
}

size_t cli_safe_size(str s, size_t *bad)
{
    size_t at = 0;

    *bad = 0;
    while (at < s.n) {
        uint32_t code;
        size_t size = utf8_decode(str_slice(s, at, s.n), &code);

        if (size == 0 || (code != '\n' && code != '\t' && utf8_is_control(code))) {
            *bad = size ? size : 1;
            break;
        }
        at += size;
    }
    assert(at + *bad <= s.n);
    return at;
}

void cli_put_safe(struct file_out *out, str text)
{
    while (text.n > 0) {
        size_t bad, size = cli_safe_size(text, &bad);

        assert(size + bad > 0 && size + bad <= text.n);
        file_out_add(out, str_slice(text, 0, size));
        if (bad)
            file_out_add(out, STR("?"));
        text = str_slice(text, size + bad, text.n);
    }
}

void cli_put_text(struct cli *cli, str text)
{
    if (cli->terminal)
        cli_put_safe(&cli->out, text);
    else
        file_out_add(&cli->out, text);
}

void cli_put_escaped(struct file_out *out, str text)
{
    while (text.n > 0) {
        size_t bad, size = cli_safe_size(text, &bad);
        str rest = str_slice(text, size, text.n);
        uint32_t code;

        assert(size + bad > 0 && size + bad <= text.n);
        file_out_add(out, str_slice(text, 0, size));
        if (bad && str_starts(rest, STR("\r\n")))
            file_out_add(out, STR("\r"));
        else if (bad)
            file_out_printf(out, "\\u%04x", utf8_decode(rest, &code) ? code : 0xFFFD);
        text = str_slice(rest, bad, rest.n);
    }
}

void cli_put_json(struct cli *cli, str json)
{
    if (cli->terminal)
        cli_put_escaped(&cli->out, json);
    else
        file_out_add(&cli->out, json);
}

void cli_put_json_text(struct cli *cli, struct json_text *t)
{
    json_out_close(&t->o, t->o.depth);
    buf_add_c(&t->buf, '\n');
    cli_put_json(cli, buf_str(&t->buf));
    buf_release(&t->buf);
}

void cli_put_line(struct file_out *out, str text)
{
    for (size_t end; (end = str_find(text, STR("\n"))) != STR_NONE;) {
        assert(end < text.n);
        cli_put_safe(out, str_slice(text, 0, end));
        file_out_add(out, STR(" "));
        text = str_slice(text, end + 1, text.n);
    }
    cli_put_safe(out, text);
}

void cli_put_front(struct file_out *out, str text, size_t max)
{
    str whole = str_trim(text), front = utf8_cut_count(whole, max), rest = front;

    while (rest.n) {
        cli_put_safe(out, str_trim(str_cut(&rest, '\n')));
        if (rest.n)
            file_out_add(out, STR(" "));
    }
    file_out_add(out, front.n < whole.n ? STR("...\n") : STR("\n"));
}

/* One write, so that lines of several programs on one terminal do not mix. */
int cli_complain(int code, const char *fmt, ...)
{
    char text[COMPLAINT_MAX];
    size_t size, bad;
    struct buf line;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    buf_init(&line, 2 * COMPLAINT_MAX);
    buf_add(&line, STR("rationale: "));
    for (str left = str_c(text); left.n > 0; left = str_slice(left, size + bad, left.n)) {
        size = cli_safe_size(left, &bad);
        assert(size + bad > 0 && size + bad <= left.n);
        buf_add(&line, str_slice(left, 0, size));
        buf_add(&line, bad ? STR("?") : STR(""));
    }
    buf_add_c(&line, '\n');
    progress_clear();
    fwrite(line.p, 1, line.n, stderr);
    buf_release(&line);
    return code;
}

/* Options that do not select results. */
static bool term_selects(const struct cli_option *o)
{
    static const char *const others[] = {
        "config", "json", "limit", "cursor", "sort", "by", "format", "output", "force", "store"};

    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (strcmp(o->name, others[i]) == 0)
            return false;
    return true;
}

void cli_print_none(const struct cli_args *args, const char *things, const char *place)
{
    const struct cli_command *c = args->command;
    struct buf b;

    assert(c->option_count <= CLI_OPTIONS_MAX && args->word_count <= CLI_WORDS_MAX);
    buf_init(&b, COMPLAINT_MAX);
    for (size_t i = 0; i < c->option_count; i++)
        if (args->value[i] && term_selects(&c->options[i]))
            buf_printf(&b,
                       " --%s%s%s",
                       c->options[i].name,
                       c->options[i].value ? " " : "",
                       args->value[i]);
    for (int i = 0; i < args->word_count; i++)
        if (i > 0 || strcmp(args->words[0], "list") != 0) /* the verb of some commands */
            buf_printf(&b, " \"%s\"", args->words[i]);
    if (b.n)
        (void)cli_complain(CLI_OK, "no %s match" STR_FMT, things, STR_ARG(buf_str(&b)));
    else
        (void)cli_complain(
            CLI_OK, "no %s are on record yet%s%s", things, place ? ": " : "", place ? place : "");
    buf_release(&b);
}

void cli_flush(struct cli *cli)
{
    progress_clear();
    file_out_flush(&cli->out);
}

const char *cli_config_advice(str problem)
{
    if (str_starts(problem, STR("no configuration at ")))
        return ": " CLI_CONFIG_ADVICE;
    return str_starts(problem, STR("open ")) && str_ends(problem, str_c(strerror(EACCES)))
               ? ": this user may not read it; see chown and chmod"
               : "";
}

int cli_fail_config(const struct err *e)
{
    return cli_complain(CLI_CONFIG, "%s%s", e->text, cli_config_advice(str_c(e->text)));
}

int cli_fail_open(const struct err *e, const char *instead)
{
    bool used = strstr(e->text, "in use by") != NULL;

    if (e->code == ERR_INPUT || e->code == ERR_NOT_FOUND)
        return cli_fail_config(e);
    return cli_complain(e->code == ERR_AUTH ? CLI_AUTH : CLI_STORE,
                        "%s%s%s",
                        e->text,
                        used && instead ? "; " : "",
                        used && instead ? instead : "");
}

int cli_fail(const struct err *e)
{
    static const int codes[ERR_CODE_COUNT] = {
        [ERR_NONE] = CLI_OK,
        [ERR_INPUT] = CLI_NEGATIVE,
        [ERR_AUTH] = CLI_AUTH,
        [ERR_NOT_FOUND] = CLI_NEGATIVE,
        [ERR_CONFLICT] = CLI_NEGATIVE,
        [ERR_LIMIT] = CLI_LIMIT,
        [ERR_UPSTREAM] = CLI_UNREACHABLE,
        [ERR_TIMEOUT] = CLI_TIMEOUT,
        [ERR_CANCELLED] = CLI_TIMEOUT,
        [ERR_SYSTEM] = CLI_NEGATIVE,
    };

    assert((size_t)e->code < COUNT_OF(codes));
    return cli_complain(codes[e->code], "%s", e->text);
}
