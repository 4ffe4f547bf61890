import { type WrappedStore } from './wrapped-store.js';

/** A call to the store that is being kept waiting. */
export interface HeldCall {
  /** Resolves when the call has been made. */
  readonly reached: Promise<void>;
  open(): void;
}

/** Keeps the answer to the next reading back. */
export function holdNextGet(store: WrappedStore): HeldCall {
  const gate = newGate();
  store.onGet = async (_keys, get) => {
    store.onGet = undefined;
    const items = await get();
    await gate.pass();
    return items;
  };
  return gate;
}

/** Keeps the answer to the next commit back; the change itself has happened. */
export function holdNextCommit(store: WrappedStore): HeldCall {
  const gate = newGate();
  store.onCommit = async (_writes, commit) => {
    store.onCommit = undefined;
    const outcome = await commit();
    await gate.pass();
    return outcome;
  };
  return gate;
}

export interface Gate extends HeldCall {
  /** Whoever is to wait calls this. */
  pass(): Promise<void>;
}

export function newGate(): Gate {
  let reach: () => void;
  let open: () => void;
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const opened = new Promise<void>((resolve) => (open = resolve));
  return {
    reached,
    open: () => open(),
    pass: () => {
      reach();
      return opened;
    },
  };
}
