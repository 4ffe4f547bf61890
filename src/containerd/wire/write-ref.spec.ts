import { describe, expect, it } from 'vitest';
import { announcedDigest } from './write-ref.js';

const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;

describe('the digest a ref announces', () => {
  it.each([
    `demo/1/layer-${DIGEST}`,
    `k8s.io/17/manifest-${DIGEST}`,
    `demo/2/layer-busybox@${DIGEST}`,
    `index-${DIGEST}`,
  ])('%s', (ref) => expect(announcedDigest(ref)).toBe(DIGEST));

  it.each(['demo/1/my-upload', `demo/1/upload-${DIGEST}`, `demo/1/layer-${DIGEST}0`, `layer-${DIGEST}/more`])(
    'none: %s',
    (ref) => expect(announcedDigest(ref)).toBeUndefined(),
  );
});
