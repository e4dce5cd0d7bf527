/* wire_responses_items.h - items of a Responses conversation that several tests use.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#define REASONING_ITEM                                                                             \
    "{\"id\":\"rs_1\",\"type\":\"reasoning\",\"encrypted_content\":\"SEALED\",\"summary\":[{"      \
    "\"type\":\"summary_text\",\"text\":\"First \\u00e4.\"},{\"type\":\"summary_text\",\"text\":"  \
    "\"Second.\"}]}"
#define MESSAGE_ITEM                                                                               \
    "{\"id\":\"msg_1\",\"type\":\"message\",\"status\":\"completed\",\"role\":\"assistant\","      \
    "\"content\":[{\"type\":\"output_text\",\"annotations\":[],\"text\":\"Hello you\"}]}"
#define CALL_ITEM                                                                                  \
    "{\"id\":\"fc_1\",\"type\":\"function_call\",\"call_id\":\"call_9\",\"name\":\"f\","           \
    "\"arguments\":\"{\\\"a\\\":1}\"}"
