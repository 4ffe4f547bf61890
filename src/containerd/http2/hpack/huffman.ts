import { ConnectionError, H2_ERROR } from '../protocol.js';

const END_OF_STRING = 256;

/** The symbols by the length of their code in bits: RFC 7541, appendix B. The code is canonical, so that lengths say it all. */
const SYMBOLS_BY_BITS: readonly (readonly [bits: number, symbols: string | readonly number[]])[] = [
  [5, '012aceiost'],
  [6, ' %-./3456789=A_bdfghlmnpru'],
  [7, ':BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz'],
  [8, '&*,;XZ'],
  [10, '!"()?'],
  [11, "'+|"],
  [12, '#>'],
  [13, '\0$@[]~'],
  [14, '^}'],
  [15, '<`{'],
  [19, [92, 195, 208]],
  [20, [128, 130, 131, 162, 184, 194, 224, 226]],
  [21, [153, 161, 167, 172, 176, 177, 179, 209, 216, 217, 227, 229, 230]],
  [
    22,
    [
      129, 132, 133, 134, 136, 146, 154, 156, 160, 163, 164, 169, 170, 173, 178, 181, 185, 186, 187, 189, 190,
      196, 198, 228, 232, 233,
    ],
  ],
  [
    23,
    [
      1, 135, 137, 138, 139, 140, 141, 143, 147, 149, 150, 151, 152, 155, 157, 158, 165, 166, 168, 174, 175,
      180, 182, 183, 188, 191, 197, 231, 239,
    ],
  ],
  [24, [9, 142, 144, 145, 148, 159, 171, 206, 215, 225, 236, 237]],
  [25, [199, 207, 234, 235]],
  [26, [192, 193, 200, 201, 202, 205, 210, 213, 218, 219, 238, 240, 242, 243, 255]],
  [27, [203, 204, 211, 212, 214, 221, 222, 223, 241, 244, 245, 246, 247, 248, 250, 251, 252, 253, 254]],
  [
    28,
    [
      2, 3, 4, 5, 6, 7, 8, 11, 12, 14, 15, 16, 17, 18, 19, 20, 21, 23, 24, 25, 26, 27, 28, 29, 30, 31, 127,
      220, 249,
    ],
  ],
  [30, [10, 13, 22, END_OF_STRING]],
];

/** Pairs of where a 0 and a 1 lead: the index of a pair, or `~symbol`. The first pair is the root. */
const TREE = buildTree();

function buildTree(): Int16Array {
  const tree: number[] = [0, 0];
  let code = 0;
  let length = 0;
  for (const [bits, symbols] of SYMBOLS_BY_BITS) {
    for (const symbol of typeof symbols === 'string' ? Buffer.from(symbols, 'latin1') : symbols) {
      code <<= bits - length;
      length = bits;
      plant(tree, code, bits, symbol);
      code++;
    }
  }
  return Int16Array.from(tree);
}

function plant(tree: number[], code: number, bits: number, symbol: number): void {
  let node = 0;
  for (let bit = bits - 1; bit > 0; bit--) {
    const branch = node + ((code >>> bit) & 1);
    if (tree[branch] === 0) {
      tree[branch] = tree.length;
      tree.push(0, 0);
    }
    node = tree[branch]!;
  }
  tree[node + (code & 1)] = ~symbol;
}

/** What a Huffman-coded string says. Most strings of a connection come once: after that they are in the table. */
export function huffmanDecoded(bytes: Buffer): string {
  const symbols: number[] = [];
  let node = 0;
  /** Bits since the last symbol, and whether all of them were ones, as padding is. */
  let pending = 0;
  let isPadding = true;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      const branch = (byte >>> bit) & 1;
      node = TREE[node + branch]!;
      pending++;
      isPadding &&= branch === 1;
      if (node >= 0) continue;
      if (~node === END_OF_STRING) throw broken('it holds the end-of-string symbol');
      symbols.push(~node);
      node = 0;
      pending = 0;
      isPadding = true;
    }
  }
  if (pending > 7 || !isPadding) throw broken('its padding is not the beginning of the end-of-string symbol');
  return Buffer.from(symbols).toString('latin1');
}

function broken(why: string): ConnectionError {
  return new ConnectionError(H2_ERROR.compression, `A Huffman-coded string is broken: ${why}.`);
}
