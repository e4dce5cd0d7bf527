// A LangGraph checkpointer that keeps everything in Rationale, by its threads API.
//
//     new RationaleSaver("http://127.0.0.1:8080", "a key, if there are any")
//
// SPDX-License-Identifier: Apache-2.0
import { BaseCheckpointSaver, TASKS, copyCheckpoint, getCheckpointId,
         maxChannelVersion } from "@langchain/langgraph-checkpoint";

const PAGE = 1000;
// Half a surrogate pair is text for JavaScript and none for JSON's readers.
const HALF = /\\u[dD][89a-fA-F]/;

export class RationaleSaver extends BaseCheckpointSaver {
  constructor(root, key, serde) {
    super(serde);
    this.root = `${root}/api/v1`;
    this.headers = { "content-type": "application/json",
                     ...(key ? { authorization: `Bearer ${key}` } : {}) };
  }

  async ask(method, path, query, body) {
    const search = new URLSearchParams(Object.entries(query).filter(([, v]) => v !== undefined));
    const reply = await fetch(`${this.root}${path}?${search}`, {
      method, headers: this.headers, body: body === undefined ? undefined : JSON.stringify(body) });
    const answer = await reply.json();
    if (reply.status === 404 && method === "GET") return undefined;
    if (!reply.ok) throw new Error(`${method} ${path}: ${answer.detail?.message ?? reply.status}`);
    return answer;
  }

  async pack(value) {
    const [type, bytes] = await this.serde.dumpsTyped(value);
    const text = type === "json" ? new TextDecoder().decode(bytes) : undefined;
    if (text !== undefined && !HALF.test(text)) return { type, json: JSON.parse(text) };
    return { type, base64: Buffer.from(bytes).toString("base64") };
  }

  async unpack({ type, json, base64 }) {
    return this.serde.loadsTyped(
      type, base64 === undefined ? JSON.stringify(json) : Buffer.from(base64, "base64"));
  }

  async tuple(row) {
    const { thread_id, ns: checkpoint_ns, checkpoint_id, parent_id } = row;
    const checkpoint = await this.unpack({ type: "json", json: row.checkpoint });
    checkpoint.channel_values = {};
    for (const [channel, value] of Object.entries(row.values))
      checkpoint.channel_values[channel] = await this.unpack(value);
    if (checkpoint.v < 4 && parent_id !== null)
      await this.sends(checkpoint, thread_id, checkpoint_ns, parent_id);
    const pendingWrites = await Promise.all(
      row.writes.map(async (w) => [w.task_id, w.channel, await this.unpack(w.value)]));
    const config = (id) => ({ configurable: { thread_id, checkpoint_ns, checkpoint_id: id } });
    return { config: config(checkpoint_id), checkpoint, pendingWrites,
             metadata: await this.unpack({ type: "json", json: row.metadata }),
             ...(parent_id !== null ? { parentConfig: config(parent_id) } : {}) };
  }

  // What was to be sent stood in the parent's writes before the fourth version of the format.
  async sends(checkpoint, thread, ns, parent) {
    const row = await this.ask("GET", place(thread, parent), { ns });
    checkpoint.channel_values[TASKS] = await Promise.all(
      (row?.writes ?? []).filter((w) => w.channel === TASKS).map((w) => this.unpack(w.value)));
    const versions = Object.values(checkpoint.channel_versions ?? {});
    checkpoint.channel_versions = { ...checkpoint.channel_versions, [TASKS]:
      versions.length ? maxChannelVersion(...versions) : this.getNextVersion(undefined) };
  }

  async getTuple(config) {
    const { thread_id, checkpoint_ns: ns = "" } = config.configurable ?? {};
    if (!thread_id) return undefined;
    const row = await this.ask("GET", place(thread_id, getCheckpointId(config) || "latest"), { ns });
    return row && this.tuple(row);
  }

  async *list(config, { before, limit, filter } = {}) {
    const { thread_id, checkpoint_ns: ns } = config.configurable ?? {};
    const path = thread_id ? place(thread_id) : "/checkpoints";
    let last = before?.configurable?.checkpoint_id;
    for (let left = limit ?? Infinity; left > 0;) {
      const page = Math.min(left, PAGE);
      const rows = await this.ask("GET", path, { ns, before: last, limit: page,
        metadata: filter && JSON.stringify(filter) });
      for (const row of rows.checkpoints) yield this.tuple(row);
      if (rows.checkpoints.length < page) return;
      left -= page;
      last = rows.checkpoints.at(-1).checkpoint_id;
    }
  }

  async put(config, checkpoint, metadata, newVersions) {
    const { thread_id, checkpoint_ns: ns = "", checkpoint_id } = config.configurable ?? {};
    if (!thread_id) throw new Error("a checkpoint needs a thread_id in configurable");
    const { channel_values, ...rest } = copyCheckpoint(checkpoint);
    const values = {};
    for (const channel of Object.keys(newVersions ?? {}))
      values[channel] = channel_values[channel] === undefined ? null
        : await this.pack(channel_values[channel]);
    await this.ask("PUT", place(thread_id, checkpoint.id), { ns }, {
      parent_id: checkpoint_id ?? null, checkpoint: (await this.pack(rest)).json,
      metadata: (await this.pack(metadata)).json, values });
    return { configurable: { thread_id, checkpoint_ns: ns, checkpoint_id: checkpoint.id } };
  }

  async putWrites(config, writes, task_id) {
    const { thread_id, checkpoint_ns: ns = "", checkpoint_id } = config.configurable ?? {};
    if (!thread_id || !checkpoint_id)
      throw new Error("writes need a thread_id and a checkpoint_id in configurable");
    await this.ask("PUT", `${place(thread_id, checkpoint_id)}/writes`, { ns }, { task_id,
      writes: await Promise.all(writes.map(
        async ([channel, value]) => ({ channel, value: await this.pack(value) }))) });
  }

  async deleteThread(thread_id) {
    await this.ask("DELETE", `/threads/${encodeURIComponent(thread_id)}`, {});
  }
}

function place(thread, checkpoint) {
  const list = `/threads/${encodeURIComponent(thread)}/checkpoints`;
  return checkpoint ? `${list}/${encodeURIComponent(checkpoint)}` : list;
}
