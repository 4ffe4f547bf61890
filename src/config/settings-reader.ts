/** Names each variable that is wrong, so that one start shows them all. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';

  constructor(readonly problems: readonly string[]) {
    super(`The configuration is not valid:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
}

/** Reads variables one by one and collects what is wrong with them. An empty variable counts as not set. */
export class SettingsReader {
  private readonly problems: string[] = [];

  constructor(private readonly environment: Readonly<Record<string, string | undefined>>) {}

  text(name: string, fallback: string, pattern: RegExp, expected: string): string {
    const value = this.value(name);
    if (value === undefined) return fallback;
    if (!pattern.test(value)) this.wrong(name, `must be ${expected}, not "${value}"`);
    return value;
  }

  integer(name: string, fallback: number, min: number, max: number): number {
    const value = this.value(name);
    if (value === undefined) return fallback;
    const number = /^\d{1,15}$/.test(value) ? Number(value) : NaN;
    if (!(number >= min && number <= max)) {
      this.wrong(name, `must be a whole number from ${min} to ${max}, not "${value}"`);
    }
    return number;
  }

  flag(name: string, fallback: boolean): boolean {
    return this.choice(name, fallback ? 'true' : 'false', ['true', 'false']) === 'true';
  }

  choice<T extends string>(name: string, fallback: T, choices: readonly T[]): T {
    const value = this.value(name);
    if (value === undefined) return fallback;
    const chosen = choices.find((choice) => choice === value);
    if (chosen === undefined) this.wrong(name, `must be ${choices.join(' or ')}, not "${value}"`);
    return chosen ?? fallback;
  }

  /** Separated by commas, each once. */
  names(name: string, pattern: RegExp, most: number): readonly string[] {
    const names = (this.value(name) ?? '')
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
    const wrong = names.find((part) => !pattern.test(part));
    if (wrong !== undefined) this.wrong(name, `must be names separated by commas; "${wrong}" is not one`);
    const repeated = names.find((part, index) => names.indexOf(part) !== index);
    if (repeated !== undefined) this.wrong(name, `must name each only once, and has "${repeated}" twice`);
    if (names.length > most) this.wrong(name, `must be at most ${most} names`);
    return names;
  }

  wrong(name: string, problem: string): void {
    this.problems.push(`${name} ${problem}`);
  }

  finish(): void {
    if (this.problems.length > 0) throw new SettingsError(this.problems);
  }

  private value(name: string): string | undefined {
    return this.environment[name] || undefined;
  }
}
