/* descend.h - search by a model, level by level down the tree.
 *
 * A prompt shows a bounded part of the tree: all of it if it is small, else the sections of one
 * level without those inside them. The sections that the model names are opened, at most
 * DESCEND_BEAM of them, and the next prompt shows what is inside. A level that is too wide for
 * DESCEND_PARTS prompts is narrowed by the scores of the index.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/search.h"

#define DESCEND_PART_NODES 64   /* sections that one prompt shows */
#define DESCEND_PART_SIZE 32768 /* bytes of their JSON */
#define DESCEND_SUMMARY 160     /* characters of a summary, of a tree that is shown in parts */
#define DESCEND_TITLE 120       /* likewise of a title */
#define DESCEND_BEAM 5          /* sections that are opened on a level */
#define DESCEND_PARTS 4         /* prompts for one level */
#define DESCEND_PROMPTS 16      /* prompts for one search */

struct policy_descent {
    const struct policy_doc *doc;
    str question;
    const double *score; /* by place in the tree: the node's score from the index, or 0 */
    const struct policy_pick *pick;
};

/* Nodes best first. False: a call failed. */
bool policy_descend(const struct policy_descent *in, struct arena *a,
                    const struct policy_node *out[POLICY_TOP_MAX], size_t *n,
                    struct err *e) MUST_USE;
