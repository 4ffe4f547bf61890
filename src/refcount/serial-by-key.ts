/**
 * Runs the tasks of one key one after another, in the order they came, and those of different keys side by side.
 * A failed task does not stop the next. It does not time out: a task that never settles blocks its key.
 */
export class SerialByKey {
  private readonly last = new Map<string, Promise<unknown>>();

  run<Result>(key: string, task: () => Promise<Result>): Promise<Result> {
    const turn = this.last.get(key)?.then(task, task) ?? task();
    this.last.set(key, turn);
    const forget = (): void => {
      if (this.last.get(key) === turn) this.last.delete(key);
    };
    void turn.then(forget, forget);
    return turn;
  }

  /** Keys with a task running or waiting. */
  get size(): number {
    return this.last.size;
  }
}
