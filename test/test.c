/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <unistd.h>

/* meson sets RATIONALE_CORPORA to ../shared/corpora, which need not exist. */
const char *test_corpora(const char *name)
{
    static char path[4096];
    const char *root = getenv("RATIONALE_CORPORA");

    snprintf(path, sizeof path, "%s/%s", root ? root : "../shared/corpora", name);
    if (access(path, R_OK) == 0)
        return path;
    print_message("skipped: no %s\n", path);
    return NULL;
}

const char *test_tmp(void)
{
    const char *set = getenv("TMPDIR");

    return set && set[0] == '/' && strlen(set) <= TEST_TMP_MAX ? set : "/tmp";
}
