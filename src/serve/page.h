/* page.h - the routes of the dashboard's pages and files.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "serve/internal.h"

void page_handle(struct exchange *ex);
void root_handle(struct exchange *ex); /* the dashboard for a browser, else a short confirmation */
void page_file_handle(struct exchange *ex);
void manual_handle(struct exchange *ex); /* /docs: the manual */
/* Answers 404 with the dashboard, which says that there is no such page, if a browser asks for an
 * address that is not one of the API. */
bool page_missing(struct exchange *ex);
