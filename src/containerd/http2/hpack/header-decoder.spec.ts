import { describe, expect, it } from 'vitest';
import { H2_ERROR } from '../protocol.js';
import { headerBlock } from './header-block.js';
import { HeaderDecoder } from './header-decoder.js';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const decoded = (decoder: HeaderDecoder, block: string) =>
  Object.fromEntries(decoder.decode(hex(block)).fields);
const broken = expect.objectContaining({ code: H2_ERROR.compression });

const GET = { ':method': 'GET', ':scheme': 'http', ':path': '/', ':authority': 'www.example.com' };

describe('blocks of one connection (RFC 7541, appendix C)', () => {
  it.each([
    [
      'plain strings',
      [
        '828684 410f 7777772e6578616d706c652e636f6d',
        '828684be 5808 6e6f2d6361636865',
        '828785bf 400a 637573746f6d2d6b6579 0c 637573746f6d2d76616c7565',
      ],
    ],
    [
      'Huffman-coded strings',
      [
        '828684 418c f1e3c2e5f23a6ba0ab90f4ff',
        '828684be 5886 a8eb10649cbf',
        '828785bf 4088 25a849e95ba97d7f 89 25a849e95bb8e8b4bf',
      ],
    ],
  ])('%s: later blocks refer to what earlier ones said', (_, [first, second, third]) => {
    const decoder = new HeaderDecoder();
    expect(decoded(decoder, first!)).toEqual(GET);
    expect(decoded(decoder, second!)).toEqual({ ...GET, 'cache-control': 'no-cache' });
    expect(decoded(decoder, third!)).toEqual({
      ...GET,
      ':scheme': 'https',
      ':path': '/index.html',
      'custom-key': 'custom-value',
    });
  });

  it('the oldest fields make room in a table of 256 bytes', () => {
    const decoder = new HeaderDecoder();
    const date = 'Mon, 21 Oct 2013 20:13:21 GMT';
    const first = decoded(
      decoder,
      '3fe101 4882 6402 5885 aec3771a4b 6196 d07abe941054d444a8200595040b8166e082a62d1bff 6e91 9d29ad171863c78f0b97c8e9ae82ae43d3',
    );
    expect(first).toEqual({
      ':status': '302',
      'cache-control': 'private',
      date,
      location: 'https://www.example.com',
    });
    expect(decoded(decoder, '4883 640eff c1 c0 bf')).toEqual({ ...first, ':status': '307' });
    const third = decoded(
      decoder,
      '88 c1 6196 d07abe941054d444a8200595040b8166e084a62d1bff c0 5a83 9bd9ab' +
        '77ad 94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007',
    );
    expect(third).toEqual({
      ':status': '200',
      'cache-control': 'private',
      date: 'Mon, 21 Oct 2013 20:13:22 GMT',
      location: 'https://www.example.com',
      'content-encoding': 'gzip',
      'set-cookie': 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1',
    });
    expect(() => decoded(decoder, 'c1')).toThrow('no field 65');
  });
});

describe('a block', () => {
  it('joins the values of one name, and counts what they take', () => {
    const { fields, bytes } = new HeaderDecoder().decode(
      headerBlock([
        ['a', '1'],
        ['a', '2'],
      ]),
    );
    expect(fields.get('a')).toBe('1,2');
    expect(bytes).toBe(2 * 34);
  });

  it('may have strings of any length', () => {
    const long = 'x'.repeat(70_000);
    expect(new HeaderDecoder().decode(headerBlock([['name', long]])).fields.get('name')).toBe(long);
  });

  it('a field that is larger than the table empties it', () => {
    const decoder = new HeaderDecoder();
    decoded(decoder, '4001 61 01 62');
    decoder.decode(Buffer.concat([hex('4001 61 7f 81 3f'), Buffer.alloc(8192, 0x61)]));
    expect(() => decoded(decoder, 'be')).toThrow('no field 62');
  });

  it.each([
    ['index 0', '80'],
    ['an index beyond both tables', 'be'],
    ['a number that breaks off', 'ff'],
    ['a number without end', 'ff ffffffffffffffffffff'],
    ['a string that breaks off', '0003 6162'],
    ['no value', '0001 61'],
    ['a table larger than was offered', '3fe21f'],
    ['a table size after a field', '82 20'],
    ['a Huffman string with the end-of-string symbol', '0084 ffffffff 0161'],
    ['a Huffman string with a byte of padding', '0082 1fff 0161'],
    ['a Huffman string padded with zeros', '0081 18 0161'],
  ])('is refused with %s', (_, block) => {
    expect(() => decoded(new HeaderDecoder(), block)).toThrow(broken);
  });
});
