/* internal.h - shared by the files of the JSON Schema validator only.
 *
 * A schema is documents (schema.c), resources and anchors found by URI (ref.c), and nodes: one for
 * each subschema, with its rules in the order they are checked (compile.c). A check walks nodes and
 * the value's tape together (check.c) and reports problems (report.c). Paths are computed from the
 * tapes only for a report.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/schema.h"
#include "base/schema/number.h"
#include "base/schema/regex.h"
#include "base/schema/value.h"

/* ---- documents, resources, nodes ---- */

enum schema_draft {
    SCHEMA_DRAFT_4 = 1,
    SCHEMA_DRAFT_6 = 2,
    SCHEMA_DRAFT_7 = 4,
    SCHEMA_DRAFT_2019 = 8,
    SCHEMA_DRAFT_2020 = 16,
    SCHEMA_DRAFT_UNSAID = 32, /* no $schema: 2020-12, and older forms where they are unambiguous */
};
#define SCHEMA_DRAFT_OLD (SCHEMA_DRAFT_4 | SCHEMA_DRAFT_6 | SCHEMA_DRAFT_7)

enum schema_vocabulary {
    SCHEMA_CORE = 1,
    SCHEMA_APPLICATOR = 2,
    SCHEMA_UNEVALUATED = 4,
    SCHEMA_VALIDATION = 8,
    SCHEMA_VOCABULARY_ALL = 15,
};

struct schema_node;
struct schema_anchor {
    str name;
    struct schema_node *node;
    const struct json_node *at;
    struct schema_anchor *next;
};

struct schema_slot { /* beside each node of a document's tape */
    struct schema_node *node;
    struct schema_resource *resource; /* if a schema begins here */
    bool indexed;                     /* an object whose members are in the table */
};

struct schema_doc {
    str uri;
    struct json json;
    struct schema_slot *slots;
    struct schema_resource *resources; /* chained */
    bool builtin, used;
    struct schema_doc *next;
};

struct schema_resource {
    str uri; /* absolute if possible, without a fragment */
    struct schema_doc *doc;
    enum schema_draft draft;
    unsigned vocabularies;
    struct schema_anchor *dynamic; /* its dynamic anchors */
    struct schema_resource *next;
};

/* In the order of checking: cheap ones first, unevaluated last. */
enum schema_op {
    SCHEMA_OP_TYPE,
    SCHEMA_OP_CONST,
    SCHEMA_OP_ENUM,
    SCHEMA_OP_MINIMUM,
    SCHEMA_OP_MAXIMUM,
    SCHEMA_OP_EXCLUSIVE_MINIMUM,
    SCHEMA_OP_EXCLUSIVE_MAXIMUM,
    SCHEMA_OP_MULTIPLE,
    SCHEMA_OP_LENGTH,
    SCHEMA_OP_PATTERN,
    SCHEMA_OP_ITEM_COUNT,
    SCHEMA_OP_PROPERTY_COUNT,
    SCHEMA_OP_REQUIRED,
    SCHEMA_OP_DEPENDENT_REQUIRED,
    SCHEMA_OP_NAMES,
    SCHEMA_OP_MEMBERS,
    SCHEMA_OP_ITEMS,
    SCHEMA_OP_CONTAINS,
    SCHEMA_OP_UNIQUE,
    SCHEMA_OP_REF,
    SCHEMA_OP_DYNAMIC_REF,
    SCHEMA_OP_RECURSIVE_REF,
    SCHEMA_OP_ALL,
    SCHEMA_OP_ANY,
    SCHEMA_OP_ONE,
    SCHEMA_OP_NOT,
    SCHEMA_OP_IF,
    SCHEMA_OP_DEPENDENT,
    SCHEMA_OP_DEPENDENCIES,
    SCHEMA_OP_UNEVALUATED_ITEMS,
    SCHEMA_OP_UNEVALUATED_PROPERTIES,
    SCHEMA_OP_NONE, /* keywords that check nothing themselves */
    SCHEMA_OP_COUNT
};

struct schema_named { /* a name and its data; sorted by name in a rule */
    str name;
    const struct json_node *at; /* the value in the schema */
    struct schema_node *node;
    str *needs; /* other names */
    size_t need_count;
    struct schema_regex *regex; /* the name as a pattern */
};

/* One keyword, or several that work only together. Which members count depends on op. */
struct schema_rule {
    uint8_t op;     /* enum schema_op */
    uint8_t kinds;  /* one bit for each enum json_kind it applies to */
    bool ready;     /* false: a keyword without the one it needs; dropped */
    bool exclusive; /* draft 4: minimum and maximum */
    bool dynamic;   /* a reference that looks for its anchor in the dynamic scope */
    bool marks;     /* contains: matches count as evaluated */
    bool min_said;  /* contains: minContains is given */
    unsigned types; /* one bit for each kind, and SCHEMA_TYPE_INTEGER */
    const char *keyword;
    const char *rest_keyword;              /* the keyword of `one` if it is the rest */
    struct schema_node *one, *two, *three; /* if then else; a target; the rest */
    struct schema_node **list;
    struct schema_named *named, *patterns;
    const struct json_node **values;
    uint64_t *hashes; /* of the values */
    str *names;
    size_t count, pattern_count; /* of list, named, values or names; of patterns */
    uint64_t min, max;
    struct schema_decimal number;
    struct schema_regex *regex;
    str anchor;
};

#define SCHEMA_TYPE_INTEGER 0x100u
enum schema_node_kind { SCHEMA_NODE_RULES, SCHEMA_NODE_TRUE, SCHEMA_NODE_FALSE };
struct schema_node {
    struct schema_resource *resource;
    const struct json_node *at;
    struct schema_rule *rules;
    size_t rule_count;
    uint8_t kind;     /* enum schema_node_kind */
    uint8_t colour;   /* for finding loops */
    bool unevaluated; /* it has such a keyword, so it needs its own marks */
    struct schema_node *pending;
};

/* ---- names: table.c, scan.c, ref.c ---- */

#define SCHEMA_DRAFT_BASE "https://json-schema.org/draft/2020-12/"

struct schema_entry {
    str key; /* "uri" or "uri#anchor" or, once used, "uri#/pointer" */
    uint64_t hash;
    struct schema_doc *doc;
    const struct json_node *at;
    bool dynamic;
};

struct schema {
    struct arena arena;
    struct schema_doc *docs;
    struct schema_node *root, *pending; /* pending: nodes whose rules are not compiled yet */
    struct schema_entry *entries;       /* a hash table, by key */
    size_t entry_count, entry_cap;
    struct schema_regex **regexes;
    size_t regex_count, regex_cap, text_size, node_count;
    uint64_t build_left; /* steps and bytes left for compiling */
    uint64_t work_max;
};

/* Counts toward the limit of compiling. */
bool schema_spend(struct schema *s, uint64_t cost, struct err *e) MUST_USE;
const struct schema_entry *schema_entry_find(const struct schema *s, str key);
/* Copies the key. False if another place has it already. */
bool schema_entry_add(struct schema *s, str key, struct schema_doc *doc, const struct json_node *at,
                      bool dynamic);
void schema_entry_move(struct schema *s, str key, const struct json_node *at);
bool schema_uri_resolve(str base, str ref, struct buf *out, struct err *e) MUST_USE;
/* Parses a document, registers its URI and finds the resources and anchors in it. */
bool schema_doc_new(struct schema *s, str uri, str text, struct schema_doc **out,
                    struct err *e) MUST_USE;
bool schema_doc_scan(struct schema *s, struct schema_doc *doc, struct err *e) MUST_USE;
bool schema_place_scan(struct schema *s, struct schema_doc *doc, const struct json_node *at,
                       struct schema_resource *around, struct err *e) MUST_USE;

struct schema_target {
    struct schema_node *node;
    bool dynamic; /* found by a dynamic anchor: its name */
    str anchor;
};
bool schema_ref_find(struct schema *s, const struct schema_node *from, str ref,
                     struct schema_target *out, struct err *e) MUST_USE;
/* 2019-09's $recursiveRef. */
bool schema_recursive_find(struct schema *s, const struct schema_node *from,
                           struct schema_target *out, struct err *e) MUST_USE;
/* The text of the built-in metaschema. */
void schema_meta_add(struct buf *out);

/* ---- keywords: keyword.c has the table, compile.c applies it ---- */

/* The place of subschemas in a keyword's value. */
enum schema_holds {
    SCHEMA_HOLDS_NONE,
    SCHEMA_HOLDS_ONE,
    SCHEMA_HOLDS_LIST,
    SCHEMA_HOLDS_MAP,
    SCHEMA_HOLDS_ITEMS, /* one or a list */
};

struct schema_part { /* a keyword being compiled */
    struct schema *s;
    struct schema_node *node;
    struct schema_rule *rule;
    const struct schema_keyword *keyword;
    const struct json_node *value;
};

struct schema_keyword {
    const char *name;
    unsigned drafts; /* enum schema_draft, or-ed */
    enum schema_holds holds;
    enum schema_op op;
    unsigned kinds;
    bool (*compile)(struct schema_part *p, struct err *e);
};

const struct schema_keyword *schema_keyword_find(const struct schema_resource *r,
                                                 const struct json *doc,
                                                 const struct json_node *key);

/* The node of the schema at a place, created on first use; its rules are compiled later. */
bool schema_node_get(struct schema *s, struct schema_doc *doc, const struct json_node *at,
                     struct schema_node **out, struct err *e) MUST_USE;
bool schema_anchors_get(struct schema *s, struct schema_doc *doc, struct err *e) MUST_USE;
/* Compiles the rules of all pending nodes. */
bool schema_rules_make(struct schema *s, struct err *e) MUST_USE;
bool schema_loops_check(struct schema *s, struct err *e) MUST_USE;
void schema_keep_regex(struct schema *s, struct schema_regex *r);

/* ---- reporting: report.c ---- */

/* "schema PLACE: WHAT", where PLACE is the path of a value in a schema document. Returns false. */
bool schema_wrong(struct err *e, const struct schema_doc *doc, const struct json_node *at,
                  const char *fmt, ...) PRINTF_LIKE(4, 5);
