import { type WatchObserver } from './state-store.interface.js';

/** Tells an observer once that the engine is not heard any more, and once that it has been shown what it missed. */
export class Silence {
  private lasts = false;

  constructor(private readonly observer: WatchObserver) {}

  begin(cause: unknown): void {
    if (this.lasts) return;
    this.lasts = true;
    this.observer.interrupted?.(cause);
  }

  end(): void {
    if (!this.lasts) return;
    this.lasts = false;
    this.observer.resumed?.();
  }
}
