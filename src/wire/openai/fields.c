/* fields.c - the look-up of members of Chat Completions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/openai/fields.h"

JSON_FIELD_SET(openai_reply_fields, OPENAI_REPLY_FIELDS);
JSON_FIELD_SET(openai_usage_fields, OPENAI_USAGE_FIELDS);
JSON_FIELD_SET(openai_request_fields, OPENAI_REQUEST_FIELDS);

const enum openai_reply_field openai_thought_fields[OPENAI_THOUGHT_COUNT] = {
    OPENAI_AT_REASONING_CONTENT, OPENAI_AT_REASONING, OPENAI_AT_REASONING_TEXT, OPENAI_AT_THINKING};
const enum openai_reply_field openai_detail_fields[OPENAI_DETAIL_COUNT] = {
    OPENAI_AT_REASONING_DETAILS, OPENAI_AT_THINKING_BLOCKS};
