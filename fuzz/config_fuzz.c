/* Arbitrary bytes as a configuration: an error that names its place, or a consistent configuration
 * that stays the same when it is printed and read again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/config.h"

#define HOLDS(claim) ((claim) ? (void)0 : base_die("line %d: %s", __LINE__, #claim))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct config *c)
{
    struct config_route r;

    HOLDS(c->provider_count > 0);
    HOLDS(c->presets[0].reasoning_max_tokens < c->presets[1].reasoning_max_tokens);
    HOLDS(c->presets[1].reasoning_max_tokens < c->presets[2].reasoning_max_tokens);
    HOLDS(c->key_count > 0 || config_is_loopback(c->listen_host) || c->warning_count > 0);
    for (size_t i = 0; i < c->provider_count; i++) {
        const struct config_provider *p = &c->providers[i];

        HOLDS(p->row && (p->replay || p->url.host.n > 0));
        for (size_t j = 0; j < p->fallback_count; j++)
            HOLDS(p->fallback[j] < c->provider_count && p->fallback[j] != i);
        for (size_t j = 0; j < p->model_count; j++)
            HOLDS(config_find(c, p->models[j].alias, &r));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str text = size ? (str){(const char *)data, size} : STR("");
    struct config *c, *again;
    struct err e;
    struct buf b;

    if (!config_parse(text, "c.yaml", &c, &e)) {
        HOLDS(strncmp(e.text, "c.yaml:", 7) == 0);
        return 0;
    }
    check(c);
    buf_init(&b, 64 << 20);
    config_print(c, &b);
    HOLDS(!buf_full(&b));
    if (config_parse(buf_str(&b), "c.yaml", &again, &e)) {
        HOLDS(again->provider_count == c->provider_count);
        HOLDS(again->body_max == c->body_max && again->idle_ms == c->idle_ms);
        config_release(again);
    } else {
        /* Secrets are not printed, so they cannot be read again. */
        HOLDS(c->key_count > 0 || strstr(e.text, "LIMIT") || e.code == ERR_LIMIT);
    }
    buf_release(&b);
    config_release(c);
    return 0;
}
