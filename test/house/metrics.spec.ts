import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { TestServer } from '../support/server-bootstrap.js';

const PAGES = ['README.md', ...readdirSync('docs').map((name) => join('docs', name))].filter((name) =>
  name.endsWith('.md'),
);

/** What a page calls a metric of ours or of the process; of a histogram, without what Prometheus appends. */
function metricsOf(page: string): string[] {
  const names = readFileSync(page, 'utf8').matchAll(/\b(?:holdfast|nodejs|process)_[a-z0-9_]+\b/g);
  return Array.from(new Set(Array.from(names, ([name]) => name.replace(/_(?:bucket|count|sum)$/, ''))));
}

describe('The documentation', () => {
  it('speaks only of metrics that /metrics has', async () => {
    const server = await TestServer.with({}).start();
    const { text } = await server.get('/metrics');
    const known = new Set(Array.from(text.matchAll(/^# TYPE (\S+)/gm), ([, name]) => name));
    const spoken = PAGES.flatMap(metricsOf);
    expect(spoken).toContain('holdfast_waiters');
    expect(spoken.filter((name) => !known.has(name))).toEqual([]);
  });
});
