/* setup_cache.h - a loop's cache of lookups under the current setup.
 *
 *     setup = setup_cache_setup(&gl->setup_cache, gateway);               held for the caller
 *     key = setup_cache_key(&gl->setup_cache, setup, shown);              whose key it is, or NULL
 *     if (setup_cache_clean(&gl->setup_cache, setup, model)) ...          nothing in it is masked
 *     if (setup_cache_clean_counts(&gl->setup_cache, setup, usage)) ...   nor in that
 *
 * Clients send the same few keys and models all the time. The loop hashes a key, and searches a
 * name for secrets, only the first time; likewise a usage object, in which only the numbers change.
 * A new setup empties the cache. All zero is empty; for one thread only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/secret.h"

#define SETUP_CACHE_KEYS 16
#define SETUP_CACHE_NAMES 32
#define SETUP_CACHE_NAME_MAX 63 /* bytes; longer names are searched each time */
#define SETUP_CACHE_COUNTS 4
#define SETUP_CACHE_COUNTS_MAX 1022 /* bytes */

struct config_key;
struct gateway;
struct setup;

struct setup_cache {
    struct setup *setup; /* referenced, or NULL; the rest is valid for it */
    struct {
        struct secret shown;
        const struct config_key *key;
    } keys[SETUP_CACHE_KEYS];
    struct {
        unsigned char n;
        char text[SETUP_CACHE_NAME_MAX];
    } names[SETUP_CACHE_NAMES];
    struct {
        uint16_t n;
        char text[SETUP_CACHE_COUNTS_MAX];
    } counts[SETUP_CACHE_COUNTS];
    size_t counts_next; /* the next entry to overwrite */
};

void setup_cache_release(struct setup_cache *l);
struct setup *setup_cache_setup(struct setup_cache *l, struct gateway *g);
/* The time it takes reveals only the size of a known key. */
const struct config_key *setup_cache_key(struct setup_cache *l, const struct setup *s, str shown);
bool setup_cache_clean(struct setup_cache *l, const struct setup *s, str name);
/* For an object of names and integers, and of such objects; anything else is not cached. */
bool setup_cache_clean_counts(struct setup_cache *l, const struct setup *s, str json);
