import { expect, it } from 'vitest';
import { causeOf } from './reply.js';

it('why there was no answer is said so that something can be done about it', () => {
  const error = (message: string, code?: string) => Object.assign(new Error(message), { code });
  expect(causeOf(error('connect ECONNREFUSED 127.0.0.1:1', 'ECONNREFUSED'))).toBe(
    'connect ECONNREFUSED 127.0.0.1:1',
  );
  expect(causeOf(error('self-signed certificate', 'DEPTH_ZERO_SELF_SIGNED_CERT'))).toContain(
    'NODE_EXTRA_CA_CERTS',
  );
  expect(causeOf(error('', 'ECONNREFUSED'))).toBe('ECONNREFUSED');
  expect(causeOf(undefined)).toBe('it is not known why');
});
