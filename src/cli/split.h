/* split.h - the modes of `rationale split`, one file each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/cli.h"
#include "split/split.h"

/* Feeds the splitter until the text ends or the output is closed; writes the runs of each piece at
 * once. */
bool cli_split_pump(struct cli *cli, struct cli_input *in, struct split *sp,
                    struct err *e) MUST_USE;

/* --events: one JSON line for each event, live. */
int cli_split_events(struct cli *cli, struct cli_input *in, const struct split_format *format,
                     bool inside);

/* --batch: JSON Lines in, JSON Lines out. The given format, and whether a text begins inside
 * reasoning, apply to lines without their own. */
int cli_split_batch(struct cli *cli, struct cli_input *in, const struct split_format *format,
                    bool inside);
