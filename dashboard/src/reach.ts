// reach.ts - whether the gateway answers, and what happens when it does again. SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef, useState } from "preact/hooks";
import { Cell } from "./cell";

export const downSince = new Cell(0); // ms; 0: it answers
export const returns = new Cell(0); // how often the connection came back

// The time, which stops while the gateway is down: the addresses of spans up to now stay as they are, and with
// them what the pages show.
export function answeredAt(): number {
  return downSince.value || Date.now();
}

// Calls f, if the condition holds, whenever the gateway answers again.
export function useReturn(f: () => void, condition = true): void {
  const latest = useRef(() => undefined as void);
  latest.current = () => condition && f();
  useEffect(() => returns.follow(() => latest.current()), []);
}

export const NO_ANSWER = "The gateway does not answer.";

// What is wrong with a form, as a state. That there was no answer is over when the gateway answers again.
export function useProblem(): [string, (words: string) => void] {
  const [problem, set] = useState("");
  useReturn(() => set(""), problem.includes(NO_ANSWER));
  return [problem, set];
}
