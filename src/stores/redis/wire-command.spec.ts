import { Command } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { WireCommand } from './wire-command.js';

describe('WireCommand', () => {
  it.each<[string, (string | Buffer)[]]>([
    ['no arguments', []],
    ['texts', ['a', '', '12 ', '{"v":1}']],
    ['texts that take more bytes than characters', ['ä', '€', '💣']],
    ['line ends, which mean nothing inside', ['a\r\nb', '\r\n$3\r\n']],
    ['bytes between texts', ['ä', Buffer.from([0xed, 0xa0, 0x80]), '', Buffer.alloc(0), Buffer.from([0xff])]],
    ['bytes first and last', [Buffer.from([1]), 'x', Buffer.from([2])]],
  ])('says what ioredis would have said: %s', (_, args) => {
    const theirs = new Command('evalsha', [...args]).toWritable({});
    expect(Buffer.from(new WireCommand('evalsha', args).toWritable())).toEqual(Buffer.from(theirs));
  });
});
