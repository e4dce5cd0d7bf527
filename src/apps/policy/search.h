/* search.h - a searchable document: its tree, its index, and the search.
 *
 *     struct policy_doc *d;
 *     if (!policy_doc_load("lumbar", "example/policy/lumbar.md", &d, e)) ...
 *     struct policy_hits hits;
 *     struct policy_question q = {STR("age of the patient"), 3, NULL};
 *     if (!policy_search(d, &q, &arena, &hits, e)) ...
 *     struct policy_spans spans;
 *     if (!policy_spans(d, hits.hits[0].node, STR("18 or older"), &arena, &spans, e)) ...
 *     policy_doc_free(d);
 *
 * A loaded document is immutable: any number of threads may search it.
 *
 * Without a model: FTS5 over title, title path, summary and text. The scores of a subtree's
 * passages are folded into a score for its root, sum / sqrt(n + 1) for n that matched, and the
 * search goes down the tree where most of the score is. With a model (struct policy_pick) the picks
 * of the model come first; where the scores spread by more than POLICY_HYBRID_VARIANCE, both are
 * merged.
 *
 * Promises: any query is safe; an empty one finds nothing ("no_matches").
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/tree.h"

#define POLICY_TOP_K 3
#define POLICY_TOP_MAX 20
#define POLICY_PREVIEW_CHARS 200
#define POLICY_QUERY_MAX 16384 /* bytes; the rest of a longer query is ignored */
#define POLICY_HYBRID_VARIANCE 0.15
#define POLICY_SPANS_MAX 5

struct policy_index;
struct scope;

struct policy_doc {
    str id;                     /* as the configuration names it */
    struct policy_tree tree;    /* its texts are in the arena */
    struct policy_index *index; /* locked inside */
    const struct scope *scope;  /* its sentences as words; NULL: too many to keep */
    struct arena arena;
};

/* A file of any format (format/format.h); its content decides which. NULL for id: the file's name
 * without its ending. */
bool policy_doc_load(const char *id, const char *path, struct policy_doc **out,
                     struct err *e) MUST_USE;
/* The same of a text; `name` becomes doc_name. */
bool policy_doc_parse(str id, str name, str text, struct policy_doc **out, struct err *e) MUST_USE;
void policy_doc_free(struct policy_doc *d); /* NULL: nothing */
/* For citations: the id that the case used, or else the document's own; its version, or its
 * hash. */
str policy_doc_cited(const struct policy_doc *d, str asked);
str policy_doc_version(const struct policy_doc *d);

struct policy_hit {
    const struct policy_node *node;
    double score; /* more is better; 0 for nodes that only the model picked */
    str preview;  /* POLICY_PREVIEW_CHARS characters of its text at most */
};

struct policy_hits {
    struct policy_hit hits[POLICY_TOP_MAX]; /* best first */
    size_t n;
    const str *trajectory; /* titles from the top to the best hit */
    size_t trajectory_n;
    double confidence;       /* 0 to 1; 0 when nothing was found */
    const char *method;      /* "bm25+reranker", "pageindex-llm", "pageindex-hybrid" */
    const char *reason_code; /* "no_matches" without hits, else NULL */
};

struct policy_ids {
    str at[POLICY_TOP_MAX]; /* of nodes, best first */
    size_t n;
};

/* Tree search by a model: the question and a part of the tree (JSON, no text, bounded:
 * descend.h) to ids of nodes; one call for each part. False: e says why; the search
 * then continues without the model. Ids that are not in the part are left out. */
struct policy_pick {
    bool (*pick)(void *ctx, str question, str tree_json, struct arena *a, struct policy_ids *out,
                 struct err *e);
    void *ctx;
};

struct policy_question {
    str text;
    unsigned top_k;                 /* 0 is POLICY_TOP_K; more than POLICY_TOP_MAX is that */
    const struct policy_pick *pick; /* or NULL */
};

/* False only when the index itself fails. */
bool policy_search(const struct policy_doc *d, const struct policy_question *q, struct arena *a,
                   struct policy_hits *out, struct err *e) MUST_USE;
/* The tool's answer: {"success", "nodes": [{node_id, title, pages, text_preview}], "trajectory",
 * "confidence", "retrieval_method"}, with "reason_code" if no node matches. */
void policy_hits_json(const struct policy_hits *h, struct json_out *o);

struct policy_span {
    str text;        /* a sentence of the node's text, verbatim */
    size_t from, to; /* bytes of the node's text */
    uint32_t page;
    double score; /* 0 to 1: how much of the query's words, by weight, it contains */
};

struct policy_spans {
    struct policy_span spans[POLICY_SPANS_MAX]; /* best first */
    size_t n;
};

/* The sentences of a node (not of those below it) that answer the query best. */
bool policy_spans(const struct policy_doc *d, const struct policy_node *n, str query,
                  struct arena *a, struct policy_spans *out, struct err *e) MUST_USE;
/* {"success", "node_id", "spans": [{text, start, end, page, score}]}; start and end count
 * characters. */
void policy_spans_json(const struct policy_node *n, const struct policy_spans *s,
                       struct json_out *o);
