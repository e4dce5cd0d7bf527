/* config_keys.c - the keys of clients: their names, rights and limits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/config_build.h"

#include "base/ctype.h"
#include "base/sha256.h"

static bool config_hex_digest(str s, uint8_t out[SHA256_SIZE])
{
    if (s.n != SHA256_SIZE * 2)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        int digit = char_hex_value(s.p[i]);

        if (digit < 0)
            return false;
        out[i / 2] = (uint8_t)(i % 2 ? out[i / 2] | digit : digit << 4);
    }
    return true;
}

/* Errors do not quote the value: a user may have written the key itself in its place. */
static bool config_read_digest(struct config_build *b, struct config_key *k,
                               const struct json_node *v)
{
    const struct json *doc = &b->source->doc;
    const struct json_node *hex = json_find(doc, v, STR("sha256"));
    const struct json_node *env = json_find(doc, v, STR("key_env"));
    const struct json_node *at = hex ? hex : env;
    const char *value;
    str text;

    if (!hex == !env)
        return config_wrong(
            b, v, "a key has either sha256 or key_env: `rationale keys new` makes one");
    if (!json_text(doc, at, &b->c->arena, &text))
        return false;
    if (hex)
        return config_hex_digest(text, k->sha256) ||
               config_wrong(b, at, "must be 64 hex digits: see `rationale keys hash`");
    text = arena_dup(&b->c->arena, text);
    if (!config_is_variable(text))
        return config_wrong(
            b, at, "must be the name of an environment variable, not the key itself");
    value = getenv(text.p);
    if (!value || !*value)
        return config_wrong(b,
                            at,
                            "the environment variable " STR_FMT " is %s",
                            STR_ARG(config_shown_variable(b, text)),
                            value ? "empty" : "not set");
    sha256_of(str_trim(str_c(value)), k->sha256);
    return true;
}

static bool config_read_lists(struct config_build *b, struct config_key *k,
                              const struct json_node *v)
{
    const struct json *doc = &b->source->doc;
    const struct json_node *models = json_find(doc, v, STR("models"));
    const struct json_node *levels = json_find(doc, v, STR("levels"));
    size_t n = json_count(doc, models);

    if (models && (n == 0 || n > CONFIG_MODELS_MAX))
        return config_wrong(
            b, models, "must name 1 to %d models; leave it out for all", CONFIG_MODELS_MAX);
    k->models = arena_zero(&b->c->arena, n, sizeof *k->models);
    for (const struct json_node *m = models ? json_first(doc, models) : NULL; m;
         m = json_next(doc, models, m)) {
        struct config_route route;
        str name;

        if (!json_text(doc, m, &b->c->arena, &name))
            return false;
        k->models[k->model_count++] = arena_dup(&b->c->arena, name);
        if (!config_find(b->c, name, &route))
            config_warn(b, m, "no provider serves the model \"" STR_FMT "\"", STR_ARG(name));
    }
    for (const struct json_node *l = levels ? json_first(doc, levels) : NULL; l;
         l = json_next(doc, levels, l)) {
        enum chat_level level;
        str name;

        if (json_text(doc, l, &b->c->arena, &name) && chat_level_parse(name, &level))
            k->levels |= 1u << level;
    }
    return true;
}

/* A key's own level is one of those that it may ask for. */
static bool config_key_check_level(struct config_build *b, const struct config_key *k,
                                   const struct json_node *v)
{
    const struct json_node *level = json_find(&b->source->doc, v, STR("level"));

    if (k->level == CHAT_LEVEL_NOT_GIVEN || !k->levels || (k->levels & (1u << k->level)))
        return true;
    return config_wrong(b,
                        level,
                        "\"%s\" is not one of the key's levels: add it to `levels`, or choose one "
                        "of them",
                        chat_level_name(k->level));
}

/* State is kept by name and a client is identified by its digest, so neither may occur twice. */
static bool config_check_others(struct config_build *b, const struct config_key *k,
                                const struct json_node *v)
{
    for (const struct config_key *other = b->c->keys; other < k; other++) {
        if (str_eq(other->name, k->name))
            return config_wrong(b, v, "there are two keys with this name: rename one");
        if (memcmp(other->sha256, k->sha256, sizeof k->sha256) == 0)
            return config_wrong(
                b, v, "the same key as that of \"" STR_FMT "\"", STR_ARG(other->name));
    }
    return true;
}

bool config_keys_read(struct config_build *b, const struct json_node *v)
{
    const struct json *doc = &b->source->doc;
    size_t n = json_count(doc, v);

    if (n > CONFIG_KEYS_MAX)
        return config_wrong(b, v, "at most %d keys", CONFIG_KEYS_MAX);
    b->c->keys = arena_zero(&b->c->arena, n, sizeof *b->c->keys);
    for (const struct json_node *one = v ? json_first(doc, v) : NULL; one;
         one = json_next(doc, v, one)) {
        struct config_key *k = &b->c->keys[b->c->key_count];
        const struct json_node *name = json_find(doc, one, STR("name"));
        str text;

        *k = (struct config_key){.rpm = -1, .tpm = -1, .spend_usd = -1};
        if (!json_text(doc, name, &b->c->arena, &text))
            return false;
        k->name = arena_dup(&b->c->arena, text);
        if (!config_check_name(b, name, k->name) || !config_read_digest(b, k, one) ||
            !config_rows_read(b, &config_key_rows, one, k) || !config_read_lists(b, k, one) ||
            !config_key_check_level(b, k, one) || !config_check_others(b, k, one))
            return false;
        config_prices_check(b, k, one);
        b->c->key_count++;
    }
    return true;
}
