// LangGraph's own suite for checkpointers, all of it, on a running gateway (GATEWAY, GATEWAY_KEY).
// SPDX-License-Identifier: Apache-2.0
import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";

import { RationaleSaver } from "./saver.mjs";

const initializer = {
  checkpointerName: "rationale",
  createCheckpointer: () => new RationaleSaver(process.env.GATEWAY, process.env.GATEWAY_KEY),
  // Each saver begins with nothing there.
  async destroyCheckpointer(saver) {
    const threads = new Set();
    for await (const t of saver.list({})) threads.add(t.config.configurable.thread_id);
    for (const id of threads) await saver.deleteThread(id);
  },
};

validate(initializer);
deltaChannelHistoryTests(initializer);
