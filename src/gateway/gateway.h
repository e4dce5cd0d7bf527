/* gateway.h - what all calls share: the setup in force, and the keepers of what outlives a call.
 *
 * One struct gateway a process, one struct gateway_loop a loop. A setup is a configuration and what
 * belongs to it; calls hold on to the one they began with, so a reload changes nothing under them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/rand.h"
#include "gateway/breaker.h"
#include "gateway/cassette.h"
#include "gateway/cassette_writer.h"
#include "gateway/config.h"
#include "gateway/conversation.h"
#include "gateway/limits.h"
#include "gateway/mask_work.h"
#include "gateway/metrics.h"
#include "gateway/otlp.h"
#include "gateway/previous_response.h"
#include "gateway/recall.h"
#include "gateway/setup_cache.h"
#include "gateway/vault.h"
#include "live/hub.h"
#include "mask/mask.h"
#include "net/client.h"
#include "store/store.h"
#include "tokens/tokens.h"

/* The parameters that a model refused, found by any loop. A new setup begins with none. */
struct setup_capability {
    _Atomic uint64_t no_control_ns; /* it is not told to end its reasoning before that time */
    struct {
        _Atomic uint64_t until_ns; /* nothing of the rest holds after that time */
        _Atomic unsigned without;  /* enum call_without bits */
        _Atomic unsigned effort;   /* enum chat_level to ask for in its place; NOT_GIVEN: itself */
    } levels[CHAT_LEVEL_COUNT];    /* by the level that is asked for */
};

#define SETUP_UNLISTED_MAX 64 /* models that no provider lists; more of them are not remembered */

struct setup_unlisted;

struct setup {
    struct config *config;
    struct cassette **cassettes;               /* by provider; NULL where it is none */
    struct setup_capability **capability;      /* by provider and listed model */
    _Atomic(struct setup_unlisted *) unlisted; /* of the other models, the newest first */
    size_t unlisted_count;
    pthread_mutex_t lock;      /* of adding one */
    struct mask *mask;         /* NULL: nothing is masked */
    struct secret (*heads)[2]; /* by provider: what setup_head gives, whole and streamed */
    bool *sound;               /* by provider: these are lines, and need not be looked at again */
    _Atomic unsigned refs;
};

/* Takes over the caller's hold on the configuration, also when it fails. */
bool setup_new(struct config *c, struct setup **out, struct err *e) MUST_USE;
/* What is known of a model; NULL: nothing. */
struct setup_capability *setup_find_capability(struct setup *s, const struct config_provider *p,
                                               str upstream);
/* The same, to put something in; NULL: too many are known already. */
struct setup_capability *setup_add_capability(struct setup *s, const struct config_provider *p,
                                              str upstream);
/* The header lines of all calls of a provider, its key among them; lent. */
str setup_head(const struct setup *s, const struct config_provider *p, bool stream);
/* Whether that is lines for certain. */
bool setup_head_sound(const struct setup *s, const struct config_provider *p);
struct setup *setup_retain(struct setup *s);
void setup_release(struct setup *s);

struct gateway {
    const struct clock *clock;
    const struct tokens_vocab *vocab;
    struct vault *vault;
    struct previous_responses *previous_responses;
    struct conversations *conversations;
    struct recall *recall;
    struct breaker *breaker;
    struct limits *limits;
    struct store *store;
    bool records; /* the store keeps something */
    struct metrics *metrics;
    struct otlp *otlp; /* or NULL */
    struct cassette_writer *cassette_writer;
    struct mask_work *mask_work;
    struct hub *hub; /* what runs, for those who watch */
    struct rand_ids ids;
    pthread_mutex_t lock; /* of the hold on it */
    _Atomic(struct setup *) setup;
};

struct gateway_options {
    const struct clock *clock;
    unsigned loops;
    struct setup *setup; /* taken over */
    struct log *log;     /* lent */
};

bool gateway_init(struct gateway *g, const struct gateway_options *o, struct err *e) MUST_USE;
void gateway_release(struct gateway *g);
/* The one in force, held for the caller. */
struct setup *gateway_setup(struct gateway *g);
/* From now on for new calls; the caller's hold is taken over. */
void gateway_setup_set(struct gateway *g, struct setup *s);

struct gateway_loop {
    struct gateway *gateway;
    struct loop *loop;
    struct client *client;
    struct metrics_shard *metrics;
    struct hub_port *port; /* or NULL: nobody is told */
    struct rand rand;
    struct setup_cache setup_cache;
    struct mask_counts redacted; /* all zero but while something is masked */
    size_t calls;                /* running */
    struct loop_task push;       /* at the end of a round: what it put on record goes to disk */
    uint64_t wall_at_ns;         /* the round in which the clock on the wall was looked at, */
    int64_t wall_ms;             /* and what it said */
};

/* The time on the wall, asked for once a round: the loop's own clock stands as long. */
int64_t gateway_wall_ms(struct gateway_loop *gl);
