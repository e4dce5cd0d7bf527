/* Output for people: colours, text that cannot control the terminal, error messages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "cli/cli.h"

#include <unistd.h>

#define COMPLAINT_MAX 2048 /* bytes; a longer one is cut */

static bool is_set(const char *name)
{
    const char *v = getenv(name);

    return v && v[0] != '\0';
}

void cli_init_color(struct cli *cli)
{
    const char *term = getenv("TERM");

    cli->terminal = isatty(STDOUT_FILENO);
    cli->color = cli->terminal && is_set("TERM") && !str_eq(str_c(term), STR("dumb"));
    if (is_set("CLICOLOR_FORCE") && !str_eq(str_c(getenv("CLICOLOR_FORCE")), STR("0")))
        cli->color = true;
    if (is_set("NO_COLOR"))
        cli->color = false;
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
    return at;
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
        buf_add(&line, str_slice(left, 0, size));
        buf_add(&line, bad ? STR("?") : STR(""));
    }
    buf_add_c(&line, '\n');
    fwrite(line.p, 1, line.n, stderr);
    buf_release(&line);
    return code;
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

    return cli_complain(codes[e->code], "%s", e->text);
}
