import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** With 8 MB the young part is looked through half as often, and yet V8 goes through all of the heap after every third time. */
const BYTES = 4 << 20;

/**
 * What sockets have read lies outside of JavaScript's heap, and is freed when the young part of the heap is looked through.
 * That happens by what is allocated inside the heap, nearly nothing while a layer arrives: V8 finds memory short instead, and
 * goes through all of the heap, again and again (measured: half of the processor time of a download). So we have it look
 * through the young part, now and then.
 */
export class ReadMemory {
  private bytes = 0;

  constructor(private readonly collectYoung: () => void = youngCollector()) {}

  /** As many bytes have been read from a socket. */
  received(bytes: number): void {
    this.bytes += bytes;
    if (this.bytes < BYTES) return;
    this.bytes = 0;
    this.collectYoung();
  }
}

type Collect = (options: { readonly type: 'minor' }) => void;

/** The one way there is to V8's collector. A context made after the flag was set has it as a global. */
function youngCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as Collect;
  return () => collect({ type: 'minor' });
}
