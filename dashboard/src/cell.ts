// cell.ts - a value that components follow. SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "preact/hooks";

export class Cell<T> {
  private subscribers = new Set<() => void>();
  constructor(private current: T) {}

  get value(): T {
    return this.current;
  }

  set value(v: T) {
    if (Object.is(v, this.current)) return;
    this.current = v;
    for (const f of [...this.subscribers]) f();
  }

  follow(f: () => void): () => void {
    this.subscribers.add(f);
    return () => void this.subscribers.delete(f);
  }
}

// An effect subscribes after the paint; a change between drawing and subscribing is drawn then.
export function useCell<T>(cell: Cell<T>): T {
  const [, again] = useState({});
  const drawn = cell.value;
  useEffect(() => {
    if (!Object.is(cell.value, drawn)) again({});
    return cell.follow(() => again({}));
  }, [cell]);
  return drawn;
}

// A preference kept in localStorage, or in memory if the browser allows no storage.
export function stored(name: string, initial: string): Cell<string> {
  let value = initial;
  try {
    value = localStorage.getItem(name) ?? initial;
  } catch {
    // no storage: the preference lasts as long as the page
  }
  const cell = new Cell(value);
  cell.follow(() => {
    try {
      localStorage.setItem(name, cell.value);
    } catch {
      // as above
    }
  });
  return cell;
}

// Functions to call in the next frame, each once.
const due = new Set<() => void>();
let frame = 0;

function runDue(): void {
  const now = [...due];
  due.clear();
  frame = 0;
  for (const f of now) f();
}

export function nextFrame(f: () => void): void {
  due.add(f);
  // A hidden page gets no frames: a timer runs the functions instead, so that text does not accumulate.
  frame ||= document.hidden ? window.setTimeout(runDue, 250) : requestAnimationFrame(runDue);
}
