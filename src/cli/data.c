/* data.c - see data.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/data.h"

#include "base/sha256.h"
#include "cli/cli.h"
#include "gateway/call.h"

#include <errno.h>
#include <unistd.h>

#define DATA_STORE "rationale.db"

/* The built-in configuration. Requests and replies of agents are not capped or hidden; a person may
 * suspend an agent for long. Providers are not probed: most users have an account with only one of
 * them. */
static const str data_builtin =
    STR_INIT("listen: 127.0.0.1:8484\n"
             "store: sqlite:" DATA_STORE "\n"
             "body_max: 256MiB\n"
             "log: {level: warn}\n"
             "timeouts: {write: 24h, idle: 24h, drain: 5s}\n"
             "reasoning: {show: true}\n"
             "probe: {interval: 0s}\n"
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
           err_input(e, "the path of the data folder is too long");
}

/* ---- the key ---- */

static bool data_key_path(char out[FILE_PATH_MAX], struct err *e)
{
    size_t n;

    if (!data_folder(out, e))
        return false;
    n = strlen(out);
    (void)snprintf(out + n, FILE_PATH_MAX - n, "/" DATA_KEY);
    assert(strlen(out) < FILE_PATH_MAX - 1);
    return true;
}

/* False: the key does not exist, or cannot be read. */
static bool data_key_read(char out[DATA_KEY_SIZE], uint8_t digest[SHA256_SIZE])
{
    char path[FILE_PATH_MAX];
    struct arena a;
    struct err e;
    str text;
    bool ok;

    arena_init(&a, 65536);
    ok = data_key_path(path, &e) && file_read(&a, path, DATA_KEY_SIZE - 1, &text, &e);
    text = ok ? str_trim(text) : STR("");
    ok = text.n > 0;
    if (ok) {
        assert(text.n < DATA_KEY_SIZE);
        memcpy(out, text.p, text.n);
        out[text.n] = '\0';
        sha256_of(text, digest);
    }
    arena_release(&a);
    return ok;
}

bool data_key(const struct config *c, char out[DATA_KEY_SIZE])
{
    uint8_t digest[SHA256_SIZE];

    return data_key_read(out, digest) && config_key_find(c, digest);
}

/* link() fails if another `watch` has created the key meanwhile: then that key is used. */
bool data_make_key(struct err *e)
{
    char path[FILE_PATH_MAX], fresh[FILE_PATH_MAX + 64], hex[SHA256_HEX_SIZE];
    uint8_t bytes[SHA256_SIZE];
    struct buf text;
    bool ok;

    if (!data_folder(path, e) || !file_mkdirs(path, 0700, e) || !data_key_path(path, e))
        return false;
    if (file_exists(path))
        return true;
    rand_os(bytes, sizeof bytes);
    buf_init(&text, DATA_KEY_SIZE);
    buf_printf(&text, "rk-" STR_FMT "\n", STR_ARG(sha256_hex(bytes, hex)));
    (void)snprintf(fresh, sizeof fresh, "%s.%ld", path, (long)getpid());
    ok = file_write_atomic(fresh, buf_str(&text), 0600, e);
    if (ok && link(fresh, path) != 0 && errno != EEXIST)
        ok = err_sys(e, "%s", path);
    (void)unlink(fresh);
    buf_release(&text);
    return ok;
}

/* ---- the configuration ---- */

static void data_use_builtin(struct data_place *p)
{
    uint8_t digest[SHA256_SIZE];
    char key[DATA_KEY_SIZE], hex[SHA256_HEX_SIZE], keys[200] = "";

    if (data_key_read(key, digest))
        (void)snprintf(keys,
                       sizeof keys,
                       "keys: [{name: watch, role: operator, sha256: " STR_FMT "}]\n",
                       STR_ARG(sha256_hex(digest, hex)));
    assert(data_builtin.n + strlen(keys) < sizeof p->builtin);
    (void)snprintf(p->builtin, sizeof p->builtin, STR_FMT "%s", STR_ARG(data_builtin), keys);
    p->text = str_c(p->builtin);
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
        data_use_builtin(out);
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
    if (!getcwd(here, sizeof here))
        (void)snprintf(here, sizeof here, ".");
    else if (strcmp(here, "/") == 0)
        here[0] = '\0';
    if (!data_find(NULL, &p, e)) {
        err_prefix(e, "no configuration at %s/" CLI_CONFIG_FILE ", and ", here);
        return false;
    }
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
                       here,
                       store);
    return data_load(&p, out, e);
}

struct store_options data_store_options(struct config *c)
{
    assert(c->store_url.n > 0);
    return (struct store_options){.url = c->store_url,
                                  .spool = c->spool,
                                  .durability = STORE_DURABLE,
                                  .count_interrupted = call_count_interrupted,
                                  .ctx = c};
}
