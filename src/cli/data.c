/* data.c - see data.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/data.h"

#include "cli/cli.h"

#include <errno.h>
#include <unistd.h>

#define DATA_STORE "rationale.db"

/* What agents send and get is not capped or hidden; a person may suspend an agent for long. */
static const str data_builtin =
    STR_INIT("listen: 127.0.0.1:8484\n"
             "store: sqlite:" DATA_STORE "\n"
             "body_max: 256MiB\n"
             "log: {level: warn}\n"
             "timeouts: {write: 24h, idle: 24h, drain: 5s}\n"
             "reasoning: {show: true}\n"
             "providers: {anthropic: {}, openai: {kind: responses}, gemini: {}}\n");

bool data_folder(char out[FILE_PATH_MAX], struct err *e)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    int n = -1;

    if (data && data[0] == '/')
        n = snprintf(out, FILE_PATH_MAX, "%s/rationale", data);
    else if (home && home[0] == '/')
        n = snprintf(out, FILE_PATH_MAX, "%s/.local/share/rationale", home);
    else
        return err_set(e, ERR_NOT_FOUND, "neither HOME nor XDG_DATA_HOME is an absolute path");
    return (n > 0 && n < FILE_PATH_MAX - 64) ||
           err_set(e, ERR_INPUT, "the path of the data folder is too long");
}

bool data_find(const char *given, struct data_place *out, struct err *e)
{
    char folder[FILE_PATH_MAX];
    const char *file = given ? given : CLI_CONFIG_FILE;

    out->text = STR("");
    if (given || file_exists(CLI_CONFIG_FILE)) {
        if (!realpath(file, out->path))
            return err_set(e, ERR_NOT_FOUND, "%s: %s", file, strerror(errno));
        return true;
    }
    if (!data_folder(folder, e))
        return false;
    (void)snprintf(
        out->path, sizeof out->path, "%.*s/" CLI_CONFIG_FILE, FILE_PATH_MAX - 64, folder);
    if (!file_exists(out->path))
        out->text = data_builtin;
    return true;
}

bool data_load(const struct data_place *p, struct config **out, struct err *e)
{
    return p->text.n ? config_parse(p->text, p->path, out, e) : config_load(p->path, out, e);
}

bool data_config(const char *given, struct config **out, struct err *e)
{
    char store[FILE_PATH_MAX], here[FILE_PATH_MAX];
    struct data_place p;

    if (given)
        return config_load(given, out, e);
    if (!data_find(NULL, &p, e))
        return false;
    (void)snprintf(store,
                   sizeof store,
                   "%.*s" DATA_STORE,
                   (int)(strlen(p.path) - strlen(CLI_CONFIG_FILE)),
                   p.path);
    if (p.text.n && !file_exists(store))
        return err_set(e,
                       ERR_NOT_FOUND,
                       "no configuration at %s/" CLI_CONFIG_FILE
                       ", and `rationale watch` has recorded nothing yet in %s",
                       getcwd(here, sizeof here) ? here : ".",
                       store);
    return data_load(&p, out, e);
}
