/* learnt.h - what a loop has learnt under the setup in force, so that it need not ask again.
 *
 *     setup = learnt_setup(&gl->learnt, gateway);                   held for the caller
 *     key = learnt_key(&gl->learnt, setup, shown);                  whose it is, or NULL
 *     if (learnt_clean(&gl->learnt, setup, model)) ...              nothing in it is to be masked
 *     if (learnt_clean_counts(&gl->learnt, setup, usage)) ...       nor in that
 *
 * Clients show the same few keys and ask for the same few models all the time. A key is hashed and
 * looked up, a name looked through for secrets, when the loop first meets it; and so is what a
 * provider counts, of which only the numbers change. A new setup begins with nothing known. All
 * zero it is empty; one thread's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/secret.h"

#define LEARNT_KEYS 16
#define LEARNT_NAMES 32
#define LEARNT_NAME_MAX 63 /* bytes; longer ones are looked through each time */
#define LEARNT_COUNTS 4
#define LEARNT_COUNTS_MAX 1022 /* bytes */

struct config_key;
struct gateway;
struct setup;

struct learnt {
    struct setup *setup; /* held, or NULL; the rest is true under it */
    struct {
        struct secret shown;
        const struct config_key *key;
    } keys[LEARNT_KEYS];
    struct {
        unsigned char n;
        char text[LEARNT_NAME_MAX];
    } names[LEARNT_NAMES];
    struct {
        uint16_t n;
        char text[LEARNT_COUNTS_MAX];
    } counts[LEARNT_COUNTS];
    size_t counts_next; /* the one that gives way */
};

void learnt_release(struct learnt *l);
struct setup *learnt_setup(struct learnt *l, struct gateway *g);
/* How long it takes says nothing about the keys but the size of one that is known. */
const struct config_key *learnt_key(struct learnt *l, const struct setup *s, str shown);
bool learnt_clean(struct learnt *l, const struct setup *s, str name);
/* An object of names and whole numbers, and of such objects: anything else is never known. */
bool learnt_clean_counts(struct learnt *l, const struct setup *s, str json);
