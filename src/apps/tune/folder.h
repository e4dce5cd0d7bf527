/* folder.h - shared by the evaluators of all applications: files of labelled cases, and texts as a
 * version of a prompt.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/tune/tune.h"

#define TUNE_FILE_MAX ((size_t)16 << 20)

struct tune_file {
    str name; /* of the file; FILE:LINE if the file has several cases */
    str text;
};

/* The .json files of a folder, and the lines of its .jsonl files, in the order of their names. */
bool tune_folder(const char *folder, struct arena *a, struct tune_file **out, size_t *n,
                 struct err *e) MUST_USE;

/* A candidate's texts, one for each part, as a version that is not in the registry. */
bool tune_prompt(const struct prompt_built_in *b, const str *texts, struct arena *a,
                 struct prompt *out, struct err *e) MUST_USE;
