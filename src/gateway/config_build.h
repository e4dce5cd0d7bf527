/* config_build.h - shared by the files that read and print the configuration.
 *
 * A setting is a row: its path in the file, its place in the struct, its default and its bounds.
 * The same rows read the file, supply the defaults and print the settings in force.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/config.h"
#include "gateway/yaml.h"

#define CONFIG_ARENA_MAX ((size_t)256 << 20)
#define CONFIG_PROVIDERS_MAX 256
#define CONFIG_KEYS_MAX 4096
#define CONFIG_MODELS_MAX 4096
#define CONFIG_WARNINGS_MAX 1024
#define CONFIG_PROBLEMS_MAX 100 /* that are reported */
#define CONFIG_DOCUMENTS_MAX 1024
#define CONFIG_TOOL_REFS_MAX 1024             /* that one agent names */
#define CONFIG_YAML_ARENA (4 * YAML_JSON_MAX) /* what one more file takes at most */
#define CONFIG_HEADERS_MAX ((size_t)64 << 10)
#define CONFIG_TOKENS_MAX (1 << 24)
#define CONFIG_MS_MAX (24.0 * 3600 * 1000)

/* The parsed file, to find out later where a value came from. */
struct config_source {
    struct json doc;
    struct yaml yaml;
};

enum config_type {
    CONFIG_IS_FLAG,     /* bool */
    CONFIG_IS_TEXT,     /* str */
    CONFIG_IS_PATH,     /* str: path of a file or folder, relative to the configuration's */
    CONFIG_IS_STORE,    /* str: URL of a store; a path in it is relative likewise */
    CONFIG_IS_DECIMAL,  /* str: a number as written; null empties it */
    CONFIG_IS_MS,       /* uint64_t: "30s" or seconds */
    CONFIG_IS_SIZE,     /* size_t: "32MiB" or bytes */
    CONFIG_IS_UNSIGNED, /* unsigned */
    CONFIG_IS_COUNT,    /* int64_t */
    CONFIG_IS_USD,      /* double */
    CONFIG_IS_CHOICE,   /* an enum: the index of the word */
};

struct config_row {
    const char *path; /* below the row's object: "timeouts.idle" */
    enum config_type type;
    size_t at;            /* offset in the struct */
    const char *fallback; /* the default, as written in a file; NULL: the struct has it already */
    double min, max;      /* of numbers, in the unit they are stored in */
    const char *choices;  /* of a CHOICE, in the enum's order */
    bool secret;          /* never printed */
};

/* The rows of struct config, of a provider, of a key and of a preset. */
struct config_rows {
    const struct config_row *rows;
    size_t n;
};
extern const struct config_rows config_top_rows, config_provider_rows, config_key_rows,
    config_preset_rows, config_agent_rows, config_tools_rows, config_notify_rows;

struct config_build {
    struct config *c;
    struct config_source *source;
    struct err *e;                          /* the first problem */
    const struct config_problem_sink *sink; /* gets all problems; or NULL */
    size_t problem_count;
    bool misshapen; /* the shape has more wrong than unknown names */
    /* Path and folder (with its slash) of another file that is being read, such as an agent's.
     * Empty: the configuration itself. */
    str file, folder;
};

/* An empty configuration for the file of this path; config_release frees it. */
struct config *config_new(const char *path);
str config_schema(struct arena *a);
/* A schema that is written with single quotes, as JSON. */
str config_schema_text(struct arena *a, str quoted);
/* The schema of a file with one agent. */
str config_agent_schema(struct arena *a);
/* Checks the tree of b->source; reports problems with their lines. */
bool config_check_shape(struct config_build *b, str schema) MUST_USE;

/* Reports "FILE:LINE: path: message". Returns false; the caller may continue and find more
 * problems. */
bool config_wrong(struct config_build *b, const struct json_node *v, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
void config_warn(struct config_build *b, const struct json_node *v, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* The path of a node: "providers.openai.kind". */
void config_path(const struct json *doc, const struct json_node *v, struct buf *out);
unsigned config_line(const struct config_source *s, const struct json_node *v);
/* The value at a dotted path below an object, or NULL. */
const struct json_node *config_at(const struct json *doc, const struct json_node *v,
                                  const char *path);
/* The name most similar to the word, from a list that ends with NULL; NULL if none is similar. */
const char *config_nearest(str word, const char *const *names);
/* Whether every member of the object is one of the names, which are separated by spaces. If not,
 * the error has the first that is not, and the nearest name. For the bodies of requests. */
bool config_check_members(const struct json *doc, const struct json_node *object, const char *names,
                          struct err *e) MUST_USE;
/* Reports: no server "x", did you mean "y"? If none is similar, it lists the first names. */
bool config_unknown(struct config_build *b, const struct json_node *v, const char *what, str name,
                    const char *const *names);
/* The place of the value's text in a list of names that ends with NULL, or config_unknown. */
bool config_find_name(struct config_build *b, const struct json_node *v, const char *what,
                      const char *const *names, size_t *out) MUST_USE;
/* A member of an object; NULL if it has none of this name, or is NULL. */
const struct json_node *config_member(struct config_build *b, const struct json_node *object,
                                      const char *name);
/* A text; "" for NULL and for other values. In the configuration's arena. */
str config_string(struct config_build *b, const struct json_node *v);
/* A text, or any other value as written; "" for NULL. In the configuration's arena. */
str config_text(struct config_build *b, const struct json_node *v);
bool config_check_name(struct config_build *b, const struct json_node *v, str name) MUST_USE;
/* Whether it can name an environment variable, and how messages show it without revealing a key
 * that was put there by mistake. */
bool config_is_variable(str s);
str config_shown_variable(struct config_build *b, str name);
bool config_prices_read(struct config_build *b, struct config_provider *p,
                        const struct json_node *v) MUST_USE;
/* Warns about a key with a budget that can use models without a known price. */
void config_prices_check(struct config_build *b, const struct config_key *k,
                         const struct json_node *v);
/* The same of an agent with a limit in dollars, and of its model. */
struct config_agent;
void config_prices_check_agent(struct config_build *b, const struct config_agent *a,
                               const struct json_node *v);

/* Fills a struct from an object (or NULL) by its rows. */
bool config_rows_read(struct config_build *b, const struct config_rows *rows,
                      const struct json_node *object, void *to) MUST_USE;
/* Whether a choice without a default is not set; v is its value in the file, or NULL. */
bool config_row_unset(const struct config_row *row, const struct json_node *v);
/* One value as it is written in the file. */
void config_row_show(const struct config_row *row, const void *from, struct buf *out);

/* A part of the file as JSON on one line, without secrets. */
void config_tree_write(const struct config_source *s, const struct json_node *v, struct buf *out);
/* The sections that are printed that way, as dotted paths; ends with NULL. */
extern const char *const config_tree_sections[];
/* A URL; its password, if any, is written as ***. */
void config_mask_url(str url, struct buf *out);

/* Reads a provider's format; its host must be known. */
bool config_format_read(struct config_build *b, struct config_provider *p,
                        const struct json_node *v) MUST_USE;
/* Makes a path absolute, or the file in a store's URL. "~/" is $HOME. */
bool config_resolve(struct config_build *b, const struct json_node *v, str path, str *out) MUST_USE;
bool config_resolve_store(struct config_build *b, const struct json_node *v, str url,
                          str *out) MUST_USE;
/* The configuration file itself: the base of its relative paths, and its name in errors. */
bool config_absolute(const char *path, char out[FILE_PATH_MAX], struct err *e) MUST_USE;
void config_set_path(struct config *c, const char *path);
bool config_check_store(struct config_build *b, const struct json_node *root) MUST_USE;

bool config_providers_read(struct config_build *b, const struct json_node *v) MUST_USE;
/* A secret that an object names as NAME_env or NAME_file. */
struct config_secret {
    const char *name;   /* "api_key" */
    const char *effect; /* of its absence, for a warning: "calls of this provider will fail" */
    struct secret *to;  /* not changed if neither is given */
    str *missing;       /* why the value is missing although its source is named */
    str *file;          /* the file's path; may be NULL */
    bool is_password;   /* may have spaces and letters beyond ASCII */
};
bool config_secret_read(struct config_build *b, const struct json_node *object,
                        const struct config_secret *s) MUST_USE;
/* Reads the lists of the applications' sections. */
bool config_apps_read(struct config_build *b, const struct json_node *root) MUST_USE;
/* Reads agents, with their tools and workflows; config_agents.h. */
bool config_agents_read(struct config_build *b, const struct json_node *root) MUST_USE;
bool config_tools_read(struct config_build *b, const struct json_node *v) MUST_USE;
/* Reads how an MCP server is reached: command, args, env (or environment) and cwd, or url and
 * headers. Sets the digest as well. */
struct config_tools;
bool config_mcp_read(struct config_build *b, const struct json_node *v,
                     struct config_tools *t) MUST_USE;
/* Reads incidents.notify; config_notify.h. */
bool config_notify_read(struct config_build *b, const struct json_node *v) MUST_USE;
/* Reads "library" or "library.lend", which must be defined. */
struct config_tool_ref;
bool config_tool_ref_read(struct config_build *b, const struct json_node *v,
                          struct config_tool_ref *out) MUST_USE;
/* Reads a stage of agents, which are named in a list that ends with NULL, into stages[at]. Its
 * member `all` is the default. */
struct config_stage;
bool config_stage_read(struct config_build *b, const struct json_node *v, const char *const *names,
                       struct config_stage *stages, size_t at) MUST_USE;
/* Reads the whole file that a value names, into the configuration's arena. If it is missing, the
 * error suggests the nearest name in its folder. */
bool config_read_file(struct config_build *b, const struct json_node *v, size_t size_max,
                      str *out) MUST_USE;
/* Whether the arena has room for one more file; if not, it is reported at v. */
bool config_has_room(struct config_build *b, const struct json_node *v) MUST_USE;
/* file_read of a file that the configuration names. A pipe or a device, which may never end, is an
 * error. */
bool config_file_read(struct arena *a, const char *path, size_t size_max, str *out,
                      struct err *e) MUST_USE;
/* Checks a URL that may have a query. */
bool config_url_check(struct config_build *b, const struct json_node *v, str url,
                      struct client_url *out) MUST_USE;
/* Reads a JSON Schema: a file that holds one, or the schema itself. "" for NULL. */
bool config_schema_value(struct config_build *b, const struct json_node *v, str *out) MUST_USE;
/* Whether it is a JSON Schema that a tool's arguments, always an object, can satisfy. */
bool config_arguments_check(str schema, struct err *e) MUST_USE;
/* Writes an object of headers as lines, each ended by CRLF. They may contain values of the
 * environment: store them as a secret. */
bool config_header_lines(struct config_build *b, const struct json_node *v,
                         struct buf *out) MUST_USE;
bool config_headers_read(struct config_build *b, const struct json_node *v,
                         struct secret *out) MUST_USE;
bool config_mask_read(struct config_build *b, const struct json_node *v) MUST_USE;
/* Reads a list of patterns into b->c->mask_patterns. */
bool config_mask_patterns_read(struct config_build *b, const struct json_node *list) MUST_USE;
bool config_keys_read(struct config_build *b, const struct json_node *v) MUST_USE;
