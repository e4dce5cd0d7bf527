/* The text a command reads: FILE, or standard input.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

bool cli_open(const struct cli *cli, const struct cli_args *args, struct cli_input *in,
              struct err *e)
{
    const char *path = args->word_count > 0 ? args->words[0] : "-";
    struct stat st;
    int why;

    if (str_eq(str_c(path), STR("-"))) {
        *in = (struct cli_input){.fd = STDIN_FILENO, .name = "standard input"};
        if (isatty(STDIN_FILENO))
            cli_complain(CLI_OK, "reading from the terminal; end with Ctrl-D");
        return true;
    }
    *in = (struct cli_input){.fd = open(path, O_RDONLY | O_CLOEXEC), .name = path, .owned = true};
    if (in->fd >= 0) {
        if (!cli->terminal && fstat(in->fd, &st) == 0 && S_ISREG(st.st_mode)) {
            progress_enable();
            in->progress = progress_begin(path, "bytes", (uint64_t)st.st_size);
        }
        return true;
    }
    why = errno;
    err_sys(e, "cannot open \"%s\"", path);
    if (why == ENOENT)
        e->code = ERR_NOT_FOUND;
    if (why == EACCES || why == EPERM)
        e->code = ERR_AUTH;
    return false;
}

void cli_close(struct cli_input *in)
{
    assert(!in->owned || in->fd >= 0);
    progress_end(&in->progress);
    if (in->owned)
        close(in->fd);
}

bool cli_read(struct cli_input *in, char *to, size_t size, size_t *got, struct err *e)
{
    assert(in->fd >= 0 && size > 0);
    for (;;) {
        struct pollfd ready = {.fd = in->fd, .events = POLLIN};
        ssize_t n = read(in->fd, to, size);

        if (n >= 0) {
            *got = (size_t)n;
            in->size += (size_t)n;
            progress_set(&in->progress, in->size);
            return true;
        }
        if (errno == EAGAIN && poll(&ready, 1, -1) >= 0)
            continue; /* another process made it non-blocking */
        if (errno != EINTR)
            return err_sys(e, "cannot read %s", in->name);
    }
}

uint64_t cli_count_lines(str text)
{
    uint64_t n = text.n > 0 && text.p[text.n - 1] != '\n';

    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n';
    return n;
}
