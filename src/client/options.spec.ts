import { describe, expect, it } from 'vitest';
import { settingsOf } from './options.js';

describe('the options of a client', () => {
  it.each([
    [undefined, 'LockClient needs options.'],
    [{ nodeId: 'n1' }, 'LockClient needs a serverUrl or serverUrls.'],
    [{ nodeId: 'n1', serverUrls: [] }, 'LockClient needs a serverUrl or serverUrls.'],
    [{ nodeId: 'n1', serverUrls: 'http://h' }, 'serverUrls must be a list of URLs.'],
    [{ serverUrl: 'http://h' }, 'LockClient needs a nodeId.'],
  ])('are not %j', (options, complaint) => {
    expect(() => settingsOf(options as never)).toThrow(new TypeError(complaint));
  });
});

describe('the URL of a server', () => {
  it('may have a path', () => {
    const { serverUrls } = settingsOf({ serverUrl: 'https://example.org/locks@here/', nodeId: 'n1' });
    expect(serverUrls.map(({ href }) => href)).toEqual(['https://example.org/locks@here/']);
  });

  it.each([
    [
      'http://user:secret@example.org',
      'must be without user and password, which are not sent: …@example.org',
    ],
    ['http://secret@example.org', 'must be without user and password, which are not sent: …@example.org'],
    ['http://:secret@example.org', 'must be without user and password, which are not sent: …@example.org'],
    ['http://user:se@cret@example.org:99999', 'Not the URL of a server: …@example.org:99999'],
    ['user:secret@example.org', 'Not the URL of a server: …@example.org'],
    ['nowhere', 'Not the URL of a server: nowhere'],
    [8086 as unknown as string, 'Not the URL of a server: 8086'],
  ])('is not %s', (serverUrl, complaint) => {
    const settings = () => settingsOf({ serverUrl, nodeId: 'n1' });
    expect(settings).toThrow(TypeError);
    expect(settings).toThrow(complaint);
    expect(settings).not.toThrow(/secret|cret@/);
  });
});
