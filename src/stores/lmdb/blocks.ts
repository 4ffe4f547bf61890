/** As much of it as is used here: it is not among the types of the language or of Node. */
declare const WebAssembly: {
  readonly Memory: new (size: { readonly initial: number }) => { readonly buffer: ArrayBuffer };
};

/**
 * A disk takes bytes straight from memory, without a copy of them in the page cache, if they are whole blocks, begin at one in the file
 * and at one in memory. This is a whole number of the blocks of every disk and file system in use.
 */
const BLOCK_BYTES = 4096;

/** In WebAssembly's pages of 64 KB: more than nearly every write takes; what is not used of it takes no memory. */
const MEMORY_PAGES = 16;

export function wholeBlocks(bytes: number): number {
  return Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES;
}

/**
 * Memory that begins at a block: of what Node can give, only WebAssembly's is sure to. Throws where there is none: not with `--jitless`,
 * nor with less than the 10 GB of addresses (`ulimit -v`) that V8 keeps free around each.
 */
export function blockMemory(): Buffer {
  return Buffer.from(new WebAssembly.Memory({ initial: MEMORY_PAGES }).buffer);
}
