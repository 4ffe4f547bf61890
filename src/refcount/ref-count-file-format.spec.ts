import { describe, expect, it } from 'vitest';
import { decodeRefCounts, encodeRefCounts, type StoredResource } from './ref-count-file-format.js';

const RESOURCES: StoredResource[] = [
  ['sha256:a', [{ nodeId: 'n1', sinceMs: 1_767_225_600_000 }, { nodeId: '__proto__' }]],
  ['__proto__', [{ nodeId: '层"\\\n\ud800' }]],
];

describe('the reference-count file format', () => {
  it('reads back what it wrote', () => {
    expect(decodeRefCounts(encodeRefCounts(RESOURCES))).toEqual(RESOURCES);
    expect(decodeRefCounts(encodeRefCounts([]))).toEqual([]);
  });

  it('is JSON that other tools can read', () => {
    expect(JSON.parse(encodeRefCounts(RESOURCES))).toMatchObject({
      format: 'holdfast-refcounts',
      version: 1,
    });
  });

  it('notices a file cut off anywhere', () => {
    const text = encodeRefCounts(RESOURCES).trimEnd();
    for (let length = 0; length < text.length; length++) {
      expect(() => decodeRefCounts(text.slice(0, length)), `cut at ${length}`).toThrow('damaged');
    }
  });

  it('notices any one changed character of the counts', () => {
    const text = encodeRefCounts(RESOURCES).trimEnd();
    for (let at = text.indexOf('"resources"'); at < text.length; at++) {
      const changed = text[at] === 'x' ? 'y' : 'x';
      expect(() => decodeRefCounts(text.slice(0, at) + changed + text.slice(at + 1)), `at ${at}`).toThrow(
        'damaged',
      );
    }
  });

  it.each(['null', '[]', '7', '{}', '{"format":"other","version":1}'])('refuses foreign JSON: %s', (text) => {
    expect(() => decodeRefCounts(text)).toThrow('it is not a reference-count file');
  });

  it('refuses a version it does not know, and names it', () => {
    const newer = encodeRefCounts(RESOURCES).replace('"version":1', '"version":2');
    expect(() => decodeRefCounts(newer)).toThrow('it has version 2, this program reads version 1');
  });
});
