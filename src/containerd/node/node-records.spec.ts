import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { NodeRecords } from './node-records.js';

const HEX = 'a'.repeat(64);

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-records-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

it('what a killed process has left half-written is removed, and nothing else', async () => {
  const times = { createdAtMs: 1, updatedAtMs: 1 };
  const record = { digest: `sha256:${HEX}`, state: 'used', size: 1, labels: {}, ...times } as const;
  await (await NodeRecords.open(directory)).put(record);
  for (const name of [`.${HEX}.0123456789ab`, '.nfs0001', 'README'])
    writeFileSync(join(directory, name), '{"dig');
  const again = await NodeRecords.open(directory);
  expect(again.all()).toEqual([record]);
  expect(readdirSync(directory).sort()).toEqual(['.nfs0001', 'README', HEX]);
});
