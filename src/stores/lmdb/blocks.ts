/** As much of it as is used here: it is not among the types of the language or of Node. */
declare const WebAssembly: {
  readonly Memory: new (size: { readonly initial: number }) => { readonly buffer: ArrayBuffer };
};

/**
 * A disk takes bytes straight from memory, without a copy of them in the page cache, if they are whole blocks, begin at one in the file
 * and at one in memory. This is a whole number of the blocks of every disk and file system in use.
 */
export const BLOCK_BYTES = 4096;

/** The pages WebAssembly counts in. */
const PAGE_BYTES = 64 * 1024;

export function wholeBlocks(bytes: number): number {
  return Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES;
}

/** At least that many bytes, beginning at a block: of the memory Node can give, only WebAssembly's is sure to. */
export function blockBuffer(bytes: number): Buffer {
  return Buffer.from(new WebAssembly.Memory({ initial: Math.ceil(bytes / PAGE_BYTES) }).buffer);
}
