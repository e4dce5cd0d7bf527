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

// The cell is followed from after the paint on: what changed between drawing and that is drawn then.
export function useCell<T>(cell: Cell<T>): T {
  const [, again] = useState({});
  const drawn = cell.value;
  useEffect(() => {
    if (!Object.is(cell.value, drawn)) again({});
    return cell.follow(() => again({}));
  }, [cell]);
  return drawn;
}

// A preference that stays in this browser, where there is a place for it.
export function stored(name: string, initial: string): Cell<string> {
  let value = initial;
  try {
    value = localStorage.getItem(name) ?? initial;
  } catch {
    // a browser that keeps nothing
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

// Work for the next frame, once however often it is asked for.
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
  // A page that nobody looks at gets no frames; its text must not pile up for ever.
  frame ||= document.hidden ? window.setTimeout(runDue, 250) : requestAnimationFrame(runDue);
}
