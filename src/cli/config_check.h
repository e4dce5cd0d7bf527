/* config_check.h - checks a configuration and every file that it names.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/cli.h"

/* Reports all problems, and the warnings; the exit code is CLI_CONFIG if there is a problem. */
int config_check(struct cli *cli, const char *path, bool json);
