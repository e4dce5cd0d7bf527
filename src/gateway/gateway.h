/* gateway.h - the state that all calls share: the current setup, and everything that outlives a
 * call.
 *
 * A process has one struct gateway, and each loop one struct gateway_loop. A setup is a
 * configuration and the data made from it. A call keeps the setup it began with, so a reload does
 * not affect running calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/breaker.h"
#include "gateway/cassette.h"
#include "gateway/cassette_writer.h"
#include "gateway/conversation.h"
#include "gateway/limits.h"
#include "gateway/mask_work.h"
#include "gateway/metrics.h"
#include "gateway/otlp.h"
#include "gateway/previous_response.h"
#include "gateway/recall.h"
#include "gateway/setup_cache.h"
#include "gateway/vault_file.h"
#include "live/hub.h"
#include "tokens/tokens.h"

/* The parameters that a model refused, found by any loop. A new setup begins with none. */
struct setup_capability {
    _Atomic uint64_t no_control_ns; /* until then, the model is not asked to end its reasoning */
    struct {
        _Atomic uint64_t until_ns; /* the entry expires then */
        _Atomic unsigned without;  /* enum call_without bits */
        _Atomic unsigned effort;   /* enum chat_level to ask for instead; NOT_GIVEN: the same */
    } levels[CHAT_LEVEL_COUNT];    /* indexed by the requested level */
};

#define SETUP_UNLISTED_MAX 64 /* models that no provider lists; further ones are not remembered */

struct setup_unlisted;

struct setup {
    struct config *config;
    struct cassette **cassettes;               /* by provider; NULL: no replay */
    struct setup_capability **capability;      /* by provider and listed model */
    _Atomic(struct setup_unlisted *) unlisted; /* the other models, newest first */
    size_t unlisted_count;
    pthread_mutex_t lock;      /* held to add an unlisted model */
    struct mask *mask;         /* NULL: nothing is masked */
    struct secret (*heads)[2]; /* by provider: the result of setup_head, whole and streamed */
    bool *sound;               /* by provider: its lines are valid, and need no further check */
    _Atomic unsigned refs;
};

/* Takes over the caller's reference to the configuration, also on failure. */
bool setup_new(struct config *c, struct setup **out, struct err *e) MUST_USE;
/* What the gateway has learned about a model; NULL: nothing. */
struct setup_capability *setup_find_capability(struct setup *s, const struct config_provider *p,
                                               str upstream);
/* The same, adding an entry if needed; NULL: too many models. */
struct setup_capability *setup_add_capability(struct setup *s, const struct config_provider *p,
                                              str upstream);
/* The header lines of every call to a provider, including its key; lent. */
str setup_head(const struct setup *s, const struct config_provider *p, bool stream);
/* Whether setup_head was checked to be valid header lines. */
bool setup_head_sound(const struct setup *s, const struct config_provider *p);
struct setup *setup_retain(struct setup *s);
void setup_release(struct setup *s);

struct gateway {
    const struct clock *clock;
    const struct tokens_vocab *vocab;
    struct vault *vault;
    struct vault_file *vault_file; /* NULL: nothing is recorded */
    struct previous_responses *previous_responses;
    struct conversations *conversations;
    struct recall *recall;
    struct breaker *breaker;
    struct limits *limits;
    struct guesses *guesses;
    struct store *store;
    bool records; /* the store records something */
    struct metrics *metrics;
    struct otlp *otlp; /* or NULL */
    struct cassette_writer *cassette_writer;
    struct mask_work *mask_work;
    struct hub *hub;                 /* the running calls, for watchers */
    struct gateway_sharing *sharing; /* with other daemons, see share.h; or NULL */
    struct rand_ids ids;
    pthread_mutex_t lock; /* protects taking a reference to `setup` */
    _Atomic(struct setup *) setup;
};

struct gateway_options {
    const struct clock *clock;
    unsigned loops;
    struct setup *setup; /* the gateway takes over the reference */
    struct log *log;     /* lent */
};

bool gateway_init(struct gateway *g, const struct gateway_options *o, struct err *e) MUST_USE;
void gateway_release(struct gateway *g);
/* The current setup; the caller gets a reference. */
struct setup *gateway_setup(struct gateway *g);
/* Sets the setup of new calls; takes over the caller's reference. */
void gateway_setup_set(struct gateway *g, struct setup *s);

#define GATEWAY_LIVE_TEXT_MAX 2048

struct gateway_loop {
    struct gateway *gateway;
    struct loop *loop;
    struct client *client;
    struct metrics_shard *metrics;
    struct hub_port *port; /* or NULL: no watchers are informed */
    struct rand rand;
    struct setup_cache setup_cache;
    struct mask_counts redacted; /* all zero except while masking */
    size_t calls;                /* running */
    struct loop_task push;       /* at the end of a round: writes its records to disk */
    uint64_t wall_at_ns;         /* the round in which the wall clock was read, */
    int64_t wall_ms;             /* and its time */
    /* Text for watchers of the call whose bytes are being read: see call_live_begin_bytes. */
    size_t live_n;
    char live_text[GATEWAY_LIVE_TEXT_MAX];
};

/* The wall-clock time, read once in each round of the loop. */
int64_t gateway_wall_ms(struct gateway_loop *gl);
