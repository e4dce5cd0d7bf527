/* folder.h - shared by the evaluators of all applications: files of labelled cases, and texts as a
 * version of a prompt.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/tune/tune.h"

#define TUNE_FILE_MAX ((size_t)16 << 20)
#define TUNE_ARENA_MAX ((size_t)1 << 30)  /* of a run: its cases and all that it keeps */
#define TUNE_CASE_MAX ((size_t)128 << 20) /* bytes of an arena that one more case needs at most */

struct tune_file {
    str name; /* of the file; FILE:LINE if the file has several cases */
    str text;
};

/* The .json files of a folder, and the lines of its .jsonl files, in the order of their names. */
bool tune_folder(const char *folder, struct arena *a, struct tune_file **out, size_t *n,
                 struct err *e) MUST_USE;

/* Sets *cases to the digest of the cases in both folders (val may be NULL). ERR_INPUT: the run was
 * started with the digest in *cases ("": none), and this is another one. */
bool tune_keep_cases(const struct tune_row *row, const char *train, const char *val,
                     struct arena *a, str *cases, struct err *e) MUST_USE;

/* Whether one more case fits into the arena of the run; ERR_LIMIT if not. */
bool tune_has_room(const struct arena *a, struct err *e) MUST_USE;

/* A candidate's texts, one for each part, as a version that is not in the registry. */
bool tune_prompt(const struct prompt_built_in *b, const str *texts, struct arena *a,
                 struct prompt *out, struct err *e) MUST_USE;
