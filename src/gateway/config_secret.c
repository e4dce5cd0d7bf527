/* config_secret.c - keys, tokens and passwords: from the environment or a file, never from the
 * configuration itself.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/config_build.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* A key is one line of what a header may carry; a password may have any character but controls. */
static bool config_secret_usable(const struct config_secret *s, str key)
{
    for (size_t i = 0; i < key.n; i++) {
        unsigned char c = (unsigned char)key.p[i];

        if (c < ' ' || c == 0x7f || (!s->is_password && (c == ' ' || c > 0x7f)))
            return false;
    }
    return key.n > 0;
}

static void config_secret_missing(struct config_build *b, const struct config_secret *s,
                                  const struct json_node *v, str why)
{
    *s->missing = why;
    config_warn(b, v, STR_FMT "; %s", STR_ARG(why), s->effect);
}

static bool config_secret_keep(struct config_build *b, const struct config_secret *s,
                               const struct json_node *v, str key)
{
    if (config_secret_usable(s, key))
        return secret_init(s->to, key, b->e);
    config_secret_missing(b,
                          s,
                          v,
                          key.n ? STR("the key has characters that no header may carry")
                                : STR("the key is empty"));
    return true;
}

static bool config_secret_from_env(struct config_build *b, const struct config_secret *s,
                                   const struct json_node *v)
{
    str name = config_text(b, v);
    const char *value;

    if (!config_is_variable(name))
        return config_wrong(
            b, v, "must be the name of an environment variable, not the key itself");
    value = getenv(name.p);
    if (value)
        return config_secret_keep(b, s, v, str_trim(str_c(value)));
    config_secret_missing(b,
                          s,
                          v,
                          arena_printf(&b->c->arena,
                                       "the environment variable " STR_FMT " is not set",
                                       STR_ARG(config_shown_variable(b, name))));
    return true;
}

static bool config_secret_from_file(struct config_build *b, const struct config_secret *s,
                                    const struct json_node *v)
{
    char bytes[SECRET_SIZE_MAX + 1]; /* one more shows that it is too large */
    struct stat st;
    ssize_t n = -1;
    bool ok = true;
    str path;
    int fd;

    if (!config_resolve(b, v, config_text(b, v), &path))
        return false;
    if (s->file)
        *s->file = path;
    fd = open(path.p, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
        (n = read(fd, bytes, sizeof bytes)) < 0) {
        config_secret_missing(
            b, s, v, arena_printf(&b->c->arena, STR_FMT " cannot be read", STR_ARG(path)));
    } else if (n > SECRET_SIZE_MAX) {
        config_secret_missing(b,
                              s,
                              v,
                              arena_printf(&b->c->arena,
                                           STR_FMT " has more than %d bytes: it is no key",
                                           STR_ARG(path),
                                           SECRET_SIZE_MAX));
    } else {
        if (st.st_mode & (S_IRGRP | S_IROTH | S_IWGRP | S_IWOTH))
            config_warn(b, v, STR_FMT " can be read by others: chmod 600", STR_ARG(path));
        ok = config_secret_keep(b, s, v, str_trim((str){bytes, (size_t)n}));
    }
    secret_wipe(bytes, sizeof bytes);
    if (fd >= 0)
        close(fd);
    return ok;
}

bool config_secret_read(struct config_build *b, const struct json_node *v,
                        const struct config_secret *s)
{
    const struct json *doc = &b->source->doc;
    str name_env = arena_printf(&b->c->arena, "%s_env", s->name),
        name_file = arena_printf(&b->c->arena, "%s_file", s->name);
    const struct json_node *env = json_find(doc, v, name_env), *file = json_find(doc, v, name_file);

    if (env && file)
        return config_wrong(
            b, file, STR_FMT " says it already: give one of the two", STR_ARG(name_env));
    if (env)
        return config_secret_from_env(b, s, env);
    return file ? config_secret_from_file(b, s, file) : true;
}
