/* split.h - the ways of `rationale split`, one file each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/cli.h"
#include "split/split.h"

/* Feeds the splitter until the text ends or nobody reads any more; each piece's runs go out with
 * it. */
bool cli_split_pump(struct cli *cli, const struct cli_input *in, struct split *sp,
                    struct err *e) MUST_USE;

/* --events: one JSON line an event, live. */
int cli_split_events(struct cli *cli, const struct cli_input *in, const struct split_format *format,
                     bool inside);

/* --batch: JSON Lines in, JSON Lines out. The format and whether a text begins inside reasoning are
 * for the lines that do not say. */
int cli_split_batch(struct cli *cli, const struct cli_input *in, const struct split_format *format,
                    bool inside);
