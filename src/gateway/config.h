/* config.h - the configuration: reads a YAML file into checked structs, completely or not at all.
 *
 *     struct config *c;
 *     if (!config_load("rationale.yaml", &c, e)) ...       e: file, line, path, what, nearest name
 *     config_retain(c); config_release(c);                 shared by threads; the last one frees
 *
 * Unknown names and wrong types are errors that give line, path and the nearest known name. ${VAR}
 * in a value is replaced by the environment variable; an unset variable is an error. Keys come only
 * from the environment or a file. A problem that does not affect the rest (a provider whose key is
 * missing) is a warning, which the caller logs. Paths in these structs are absolute: relative paths
 * of the file start at its folder. docs/reference/configuration.md lists every name.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/secret.h"
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
    str temperature, top_p; /* as written; empty: not set */
    int64_t reasoning_max_tokens;
    enum config_show show; /* policy of the preset, if set */
    bool repair_starved, repair_given;
};

struct config_model {
    str alias;    /* the name that clients use */
    str upstream; /* the provider's name for it */
    struct price price;
};

struct provider_row;
struct config_source;
struct config_agents;

struct config_provider {
    str name;
    enum chat_dialect dialect; /* by kind; for kind replay, the cassette's */
    bool replay;
    str base_url;
    struct client_url url;
    struct secret key;           /* empty if none */
    str key_file;                /* file that the key came from; else empty */
    str key_missing;             /* why a configured key is missing; else empty */
    struct config_model *models; /* none: any model, by the name "NAME/model" */
    size_t model_count;
    struct config_model *prices; /* of models by either name; only the prices are used */
    size_t price_count;
    bool listed_prices; /* other models may use the price table of the binary */
    bool enable_reasoning;
    str reasoning_params;              /* JSON object, or empty */
    const struct split_format *format; /* NULL: its text is not split */
    /* The same plus the <thinking> tags that enable_reasoning asks for; never NULL. */
    const struct split_format *asked_format;
    struct split_pair *pair; /* if the format is a pair that the user defined */
    bool starts_in_reasoning;
    enum chat_level level; /* for calls that ask for no level; NOT_GIVEN: none */
    size_t *fallback;      /* indexes into providers */
    size_t fallback_count;
    str cassette;                            /* for kind replay: the file with the recordings */
    str record;                              /* calls are recorded to this cassette */
    uint64_t connect_ms, first_ms, stall_ms; /* 10 s, 600 s, 120 s */
    unsigned retries_max;                    /* default 3, after the first attempt */
    uint64_t backoff_ms;                     /* default 1000; then 2 and 4 times that */
    const struct provider_row *row;          /* provider.h */
};

/* In the history, a client sees its own sessions and an operator sees all. */
enum config_role { CONFIG_CLIENT, CONFIG_OPERATOR };

struct config_key {
    str name;
    uint8_t sha256[32];
    str *models; /* none: all */
    size_t model_count;
    unsigned levels;       /* bits of enum chat_level; 0: all */
    enum chat_level level; /* for calls that ask for none; NOT_GIVEN: the highest of `levels` */
    int64_t rpm, tpm;      /* -1: no limit */
    double spend_usd;      /* < 0: no limit */
    enum config_show reasoning;
    enum config_role role;
};

/* What happens to a call that cannot be recorded. */
enum config_unrecorded { CONFIG_REFUSE, CONFIG_PASS };
enum config_prices { CONFIG_PRICES_BUILTIN, CONFIG_PRICES_NONE };
/* Whose level names apply a preset: only the gateway's own, or a provider's as well. */
enum config_presets { CONFIG_PRESETS_ASKED, CONFIG_PRESETS_ALWAYS };
/* Which starved replies are repaired: those of calls whose level applies its preset; none; all. */
enum config_repair { CONFIG_REPAIR_ASKED, CONFIG_REPAIR_NEVER, CONFIG_REPAIR_ALWAYS };
enum config_keep { CONFIG_KEEP_NONE, CONFIG_KEEP_SUMMARY, CONFIG_KEEP_TEXT };

#define CONFIG_PRESET_COUNT 5
/* The smallest value of `providers`, for messages. */
#define CONFIG_EXAMPLE "{openai: {api_key_env: OPENAI_API_KEY, models: [gpt-5]}}"

struct config {
    str path;   /* for messages: absolute; a very long path loses its beginning */
    str folder; /* with its slash: relative paths start here */
    str listen_host;
    unsigned listen_port;
    str tls_cert, tls_key; /* files; empty: plain */
    str ca_file;           /* for providers; empty: the system's */
    unsigned threads;      /* loops; 0: one for each core */
    str store_url;
    str spool; /* folder of the store's journal; empty: next to the store */
    enum store_durability durability;
    enum config_unrecorded unrecorded;
    uint64_t retention_age_ms, retention_min_ms; /* 0: forever; minimum age before deletion */
    size_t retention_size, journal_max;          /* bytes in the tables, 0: no limit; bytes not
                                                    in them yet */
    uint64_t journal_wait_ms;                    /* how long a call waits at that limit */
    struct config_key *keys;
    size_t key_count;
    struct config_provider *providers;
    size_t provider_count;
    struct config_preset presets[CONFIG_PRESET_COUNT]; /* low, medium, high, xhigh, max */
    enum config_presets presets_for;
    int64_t answer_tokens; /* room for the answer if a cap limits the output; 0: it is not
                              limited */
    enum config_repair repair_starved;
    bool show, delta, adaptive;
    bool drop_from_history; /* for /generate; default true */
    enum config_keep keep;
    enum config_prices prices;
    bool masking;         /* secrets are masked before anything is stored */
    unsigned mask_groups; /* bits of enum mask_group */
    struct mask_pattern *mask_patterns;
    size_t mask_pattern_count;
    str otlp_url; /* empty: no export */
    str otlp_headers;
    uint64_t header_ms, body_ms, idle_ms, write_ms, drain_ms, keepalive_ms;
    size_t body_max;
    unsigned breaker_failures; /* consecutive; default 5 */
    uint64_t breaker_ms;       /* time the circuit stays open; default 30 s */
    uint64_t probe_ms;         /* how often providers are connected to; 0: never */
    enum log_level log_level;
    struct config_incidents incidents;
    struct config_policy policy;
    struct config_orders orders;
    str agents_folder;            /* folder of files with one agent each; or "" */
    struct config_agents *agents; /* config_agents.h; never NULL */
    str *warnings;                /* "FILE:LINE: path: message" */
    size_t warning_count;
    struct config_source *source; /* origin of the values, for config_print */
    struct arena arena;           /* holds all texts of this struct */
    _Atomic unsigned refs;
};

bool config_load(const char *path, struct config **out, struct err *e) MUST_USE;
/* Like config_load, but reports every problem to the sink. The first problem is in `e` as well. The
 * texts are lent for the callback. */
struct config_problem {
    unsigned line; /* 0: no line */
    str setting;   /* "timeouts.idle", or "" */
    str what;
    str file; /* the agent's file if the problem is there; "": the configuration */
};
struct config_problem_sink {
    void (*on_problem)(void *ctx, const struct config_problem *p);
    void *ctx;
};
bool config_load_each(const char *path, const struct config_problem_sink *sink, struct config **out,
                      struct err *e) MUST_USE;
/* The same from text; `path` is for messages, and relative paths start at its folder. */
bool config_parse(str yaml, const char *path, struct config **out, struct err *e) MUST_USE;
struct config *config_retain(struct config *c);
void config_release(struct config *c);

/* The provider and model that serve a name; false if none does. In this order: an alias that a
 * provider lists (the first in the file wins); "NAME/model" for the provider NAME, if it lists that
 * model or lists none; any name if there is only one provider and it lists no models. */
struct config_route {
    const struct config_provider *provider;
    const struct config_model *listed; /* NULL: the provider lists no models */
    str upstream; /* the provider's name for it; of the configuration, or a part of the name */
};
bool config_find(const struct config *c, str model, struct config_route *out) MUST_USE;
/* For errors: the listed model whose name is most similar, of those that the key may use; empty if
 * none is similar. key: NULL for a caller without a key. */
str config_nearest_model(const struct config *c, const struct config_key *key, str model);
/* The model of a route, with its price. */
void config_route_model(const struct config_route *r, struct config_model *out);
/* Sets a model's price at a provider: the configured one, else the built-in one. */
void config_price_model(const struct config_provider *p, struct config_model *m);
/* The key with this digest, or NULL. The time it takes reveals nothing about the digests. */
const struct config_key *config_key_find(const struct config *c, const uint8_t sha256[32]);
/* Whether a reader of the record may see its reasoning. A key with `hide` may not; otherwise the
 * request's header decides, then the key, then `reasoning.show`. Operators, and local readers if no
 * keys are configured (`k` is NULL), may see it unless they ask not to. */
bool config_shows_reasoning(const struct config *c, const struct config_key *k,
                            enum config_show asked);
/* MINIMAL uses the preset of LOW, ON that of MEDIUM; NULL for NOT_GIVEN and NONE. */
const struct config_preset *config_preset(const struct config *c, enum chat_level level);
/* Writes the settings in force and their origin as YAML with comments; never keys. */
void config_print(const struct config *c, struct buf *out);
/* The same, one value at a time: "timeouts.idle", "60s". The origin is "file", "env" or "default";
 * the line is 0 if the value is in no file. Lent for the callback. */
struct config_item {
    str path, value;
    const char *origin;
    unsigned line;
};
void config_each(const struct config *c, void (*fn)(void *ctx, const struct config_item *item),
                 void *ctx);
/* The files and folders that the configuration names, as written and as resolved. `name` is
 * "tls.cert", "cassette", "policy.documents", without the provider or document it belongs to. */
struct config_file {
    str setting;
    const char *name;
    str file;
    unsigned line; /* 0: a default value */
};
void config_files(const struct config *c, void (*fn)(void *ctx, const struct config_file *f),
                  void *ctx);
/* Whether `host` is a loopback address. */
bool config_is_loopback(str host);
