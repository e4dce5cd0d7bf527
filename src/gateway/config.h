/* config.h - the configuration: a YAML file into checked structs, whole or not at all.
 *
 *     struct config *c;
 *     if (!config_load("rationale.yaml", &c, e)) ...       e: file, line, path, what, nearest name
 *     config_retain(c); config_release(c);                 shared by threads; the last one frees
 *
 * Unknown names and wrong types are errors with line and path and the nearest known name. ${VAR}
 * in a value is taken from the environment (an unset one is an error). Keys come from the
 * environment or a file only. What need not stop the others (a provider whose key is not there)
 * is a warning, for whoever loads it to log. Paths are absolute here: those of the file are
 * relative to its folder. docs/configuration.md has every name.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/json.h"
#include "base/log.h"
#include "base/secret.h"
#include "chat/chat.h"
#include "gateway/config_apps.h"
#include "gateway/prices.h"
#include "mask/mask.h"
#include "net/client.h"
#include "split/format.h"
#include "store/store.h"
#include "wire/wire.h"

enum config_show { CONFIG_SHOW_UNSET, CONFIG_SHOW, CONFIG_HIDE };

struct config_preset {
    str name;               /* low, medium, high, xhigh, max */
    str temperature, top_p; /* as written; empty: none */
    int64_t reasoning_max_tokens;
    enum config_show show; /* policy of the preset, if it says */
    bool repair_starved, repair_given;
};

struct config_model {
    str alias;    /* what clients ask for */
    str upstream; /* what the provider calls it */
    struct price price;
};

struct provider_row;
struct config_source;
struct config_agents;

struct config_provider {
    str name;
    enum chat_dialect dialect; /* by kind; of kind replay, what the cassette says */
    bool replay;
    str base_url;
    struct client_url url;
    struct secret key;           /* empty if none */
    str key_file;                /* where it was read from; else empty */
    str key_missing;             /* why there is none though one was asked for; else empty */
    struct config_model *models; /* none: any model, by the name "NAME/model" */
    size_t model_count;
    struct config_model *prices; /* of models by either name; only the prices are of interest */
    size_t price_count;
    bool listed_prices; /* other models may have the price that ships with the binary */
    bool enable_reasoning;
    str reasoning_params;              /* JSON object, or empty */
    const struct split_format *format; /* NULL: its text is not split */
    /* The same with the <thinking> that enable_reasoning asks for; never NULL. */
    const struct split_format *asked_format;
    struct split_pair *pair; /* when the format is a pair of the user's own */
    bool starts_in_reasoning;
    enum chat_level level; /* of calls that ask for none; NOT_GIVEN: none */
    size_t *fallback;      /* indexes into providers */
    size_t fallback_count;
    str cassette;                            /* of kind replay: where the recordings are */
    str record;                              /* calls are recorded to this cassette */
    uint64_t connect_ms, first_ms, stall_ms; /* 10 s, 600 s, 120 s */
    unsigned retries_max;                    /* 3: after the first call */
    uint64_t backoff_ms;                     /* 1000: then 2, then 4 times that */
    const struct provider_row *row;          /* provider.h */
};

/* Of the history a client sees its own sessions, an operator all of them. */
enum config_role { CONFIG_CLIENT, CONFIG_OPERATOR };

struct config_key {
    str name;
    uint8_t sha256[32];
    str *models; /* none: all */
    size_t model_count;
    unsigned levels;       /* bits of enum chat_level; 0: all */
    enum chat_level level; /* of calls that ask for none; NOT_GIVEN: the highest of `levels` */
    int64_t rpm, tpm;      /* -1: no limit */
    double spend_usd;      /* < 0: no limit */
    enum config_show reasoning;
    enum config_role role;
};

/* What becomes of a call that cannot be put on record. */
enum config_unrecorded { CONFIG_REFUSE, CONFIG_PASS };
enum config_prices { CONFIG_PRICES_BUILTIN, CONFIG_PRICES_NONE };
/* Whose words bring a preset: our own, or a provider's as well. */
enum config_presets { CONFIG_PRESETS_ASKED, CONFIG_PRESETS_ALWAYS };
/* Whose starved replies are repaired: of calls whose level brings its preset; nobody's; all. */
enum config_repair { CONFIG_REPAIR_ASKED, CONFIG_REPAIR_NEVER, CONFIG_REPAIR_ALWAYS };
enum config_keep { CONFIG_KEEP_NONE, CONFIG_KEEP_SUMMARY, CONFIG_KEEP_TEXT };

#define CONFIG_PRESET_COUNT 5

struct config {
    str path;   /* for messages: absolute, and cut at its front if it is very long */
    str folder; /* with its slash: what relative paths were relative to */
    str listen_host;
    unsigned listen_port;
    str tls_cert, tls_key; /* files; empty: plain */
    str ca_file;           /* for upstreams; empty: the system's */
    unsigned threads;      /* loops; 0: one a core */
    str store_url;
    str spool; /* folder of the store's journal; empty: beside it */
    enum store_durability durability;
    enum config_unrecorded unrecorded;
    uint64_t retention_age_ms, retention_min_ms; /* 0: for good; at least so long whatever comes */
    size_t retention_size, journal_max;          /* bytes of the tables, 0: any; not in them yet */
    uint64_t journal_wait_ms;                    /* of a call at that ceiling */
    struct config_key *keys;
    size_t key_count;
    struct config_provider *providers;
    size_t provider_count;
    struct config_preset presets[CONFIG_PRESET_COUNT]; /* low, medium, high, xhigh, max */
    enum config_presets presets_for;
    int64_t answer_tokens; /* room for the answer where a cap bounds all of the output; 0: none is
                              bounded */
    enum config_repair repair_starved;
    bool show, delta, adaptive;
    bool drop_from_history; /* of /generate: true by default */
    enum config_keep keep;
    enum config_prices prices;
    bool masking;         /* secrets are masked before anything is kept */
    unsigned mask_groups; /* bits of enum mask_group */
    struct mask_pattern *mask_patterns;
    size_t mask_pattern_count;
    str otlp_url; /* empty: no export */
    str otlp_headers;
    uint64_t header_ms, body_ms, idle_ms, write_ms, drain_ms, keepalive_ms;
    size_t body_max;
    unsigned breaker_failures; /* in a row; 5 */
    uint64_t breaker_ms;       /* open so long; 30 s */
    enum log_level log_level;
    struct config_incidents incidents;
    struct config_policy policy;
    struct config_orders orders;
    str agents_folder;            /* of files with an agent each; or "" */
    struct config_agents *agents; /* config_agents.h; never NULL */
    str *warnings;                /* "FILE:LINE: path: words" */
    size_t warning_count;
    struct config_source *source; /* where values came from, for config_print */
    struct arena arena;           /* of all the texts here */
    _Atomic unsigned refs;
};

bool config_load(const char *path, struct config **out, struct err *e) MUST_USE;
/* The same, and every problem is reported, not only the first, which is in e as well. The texts are
 * lent for the call. */
struct config_problem {
    unsigned line; /* 0: of no line */
    str setting;   /* "timeouts.idle", or "" */
    str what;
    str file; /* of an agent, if the problem is there; "": the configuration itself */
};
struct config_problem_sink {
    void (*on_problem)(void *ctx, const struct config_problem *p);
    void *ctx;
};
bool config_load_each(const char *path, const struct config_problem_sink *sink, struct config **out,
                      struct err *e) MUST_USE;
/* The same from text; `path` is for messages, and its folder is that of relative paths. */
bool config_parse(str yaml, const char *path, struct config **out, struct err *e) MUST_USE;
struct config *config_retain(struct config *c);
void config_release(struct config *c);

/* The provider and model that serve a name; false if none does. In this order: an alias that a
 * provider lists (the first in the file wins); "NAME/model" for the provider NAME, if it lists that
 * model or lists none; any name at all if there is but one provider and it lists none. */
struct config_route {
    const struct config_provider *provider;
    struct config_model model; /* its texts are the configuration's, or point into the name */
};
bool config_find(const struct config *c, str model, struct config_route *out) MUST_USE;
/* Gives a model the price that it has at a provider: the configuration's, else the built-in one. */
void config_price_model(const struct config_provider *p, struct config_model *m);
/* The key with this digest, or NULL; how long it takes says nothing about the digests. */
const struct config_key *config_key_find(const struct config *c, const uint8_t sha256[32]);
/* Whether a reader of the record may see the reasoning in it: a key that says `hide` may not; else
 * the request's own header decides, then the key, then `reasoning.show`. Operators, and local
 * readers where there are no keys (`k` is NULL), may unless they ask not to. */
bool config_shows_reasoning(const struct config *c, const struct config_key *k,
                            enum config_show asked);
/* MINIMAL has the preset of LOW, ON that of MEDIUM; NULL for NOT_GIVEN and NONE. */
const struct config_preset *config_preset(const struct config *c, enum chat_level level);
/* What is in force and where it came from, as YAML with comments; keys are never in it. */
void config_print(const struct config *c, struct buf *out);
/* The same, a value at a time: "timeouts.idle", "60s". The origin is "file", "env" or "default",
 * the line 0 where it is in no file. Lent for the call. */
struct config_item {
    str path, value;
    const char *origin;
    unsigned line;
};
void config_each(const struct config *c, void (*fn)(void *ctx, const struct config_item *item),
                 void *ctx);
/* The files and folders that the file names, in its words and as they are looked for. `name` is
 * "tls.cert", "cassette", "policy.documents", without the provider or document that it is of. */
struct config_file {
    str setting;
    const char *name;
    str file;
    unsigned line; /* 0: a default */
};
void config_files(const struct config *c, void (*fn)(void *ctx, const struct config_file *f),
                  void *ctx);
/* Only a loopback address is listened on. */
bool config_is_loopback(str host);
