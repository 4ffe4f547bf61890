const HEAD = 'src/client/http/answer-head.ts';
const READER = 'src/client/http/answer-reader.ts';
const CHUNKS = 'src/client/http/chunked-body.ts';
const CONNECTION = 'src/client/http/http-connection.ts';
const POOL = 'src/client/http/http-pool.ts';
const EXCHANGE = 'src/client/exchange.ts';

const BAG = 'src/client/bag.ts';
const TURN = 'src/client/key-turn.ts';

const ANSWERS = ['test/client/http-answers.spec.ts'];
const CONNECTIONS = ['test/client/http-connections.spec.ts'];
const PROCESSES = ['test/client/http-processes.spec.ts'];

/** What the client's own HTTP reads, and refuses to read. */
const reading = [
  {
    name: 'a line feed alone ends no line of a head',
    file: HEAD,
    find: 'if (text.charCodeAt(lineFeed - 1) === CARRIAGE_RETURN) return lineFeed - 1;',
    replace: 'return lineFeed - 1;',
  },
  {
    name: 'no space stands before the colon of a header',
    file: HEAD,
    find: ' && text.charCodeAt(end - 1) > SPACE',
    replace: '',
  },
  {
    name: 'no line of a head goes on with the one before',
    file: HEAD,
    find: ' && text.charCodeAt(start) > SPACE',
    replace: '',
  },
  {
    name: 'two lengths that differ are refused',
    file: HEAD,
    find: 'length === (before ?? length)',
    replace: 'length === length',
  },
  {
    name: 'a length and chunks are refused',
    file: HEAD,
    find: 'if (isChunked && contentLength !== undefined)',
    replace: 'if (false)',
  },
  {
    name: 'an unknown transfer encoding is refused',
    file: HEAD,
    find: 'if (isChunked || !CHUNKED.test(text.slice(colon + 1, end)))',
    replace: 'if (isChunked)',
  },
  {
    name: 'close is heard wherever it is said',
    file: HEAD,
    find: 'connection += text.slice',
    replace: 'connection = text.slice',
  },
  {
    name: 'HTTP/1.0 keeps a connection only if it says so',
    file: HEAD,
    find: "statusLine[1] === '1'",
    replace: 'true',
  },
  {
    name: 'what begins no answer is refused at once',
    file: READER,
    find: "if (!mayBegin(bytes, at)) throw new NotHttpError('it does not begin with a status');",
    replace: '',
  },
  {
    name: 'a head is no longer than 64 KB, however it comes',
    file: READER,
    find: 'if ((end < 0 ? bytes.length : end) - at > MAX_HEAD_BYTES)',
    replace: 'if (end < 0 && bytes.length - at > MAX_HEAD_BYTES)',
  },
  {
    name: 'the beginning of a head is copied out of the shared memory',
    file: READER,
    find: 'Buffer.from(bytes.subarray(at))',
    replace: 'bytes.subarray(at)',
  },
  {
    name: 'answers that are not final are passed over',
    file: READER,
    find: 'if (head.status < 200) continue;',
    replace: '',
  },
  {
    name: 'another protocol is refused',
    file: READER,
    find: "if (head.status === 101) throw new NotHttpError('it changes to another protocol');",
    replace: '',
  },
  {
    name: 'an answer without content has no body, whatever it says',
    file: READER,
    find: 'head.status === 204 || head.status === 304',
    replace: 'head.status === 204',
  },
  {
    name: 'only an answer without length and chunks ends with its connection',
    file: READER,
    find: ' && this.head.contentLength === undefined',
    replace: '',
  },
  {
    name: 'the lines of a body are bounded',
    file: CHUNKS,
    find: "if (this.line.length > MAX_LINE) throw new NotHttpError('a line of its body is too long');",
    replace: '',
  },
  {
    name: 'a chunk is as long as it says',
    file: CHUNKS,
    find: "if (text !== '') throw new NotHttpError('a chunk of its body is longer than it says');",
    replace: '',
  },
  {
    name: 'a line feed alone ends no line of a body',
    file: CHUNKS,
    find: "if (!this.line.endsWith('\\r\\n')) throw new NotHttpError('a line of its body has no proper end');",
    replace: '',
  },
];

/** Connections and who uses them. */
const connections = [
  {
    name: 'a connection with bytes after the answer is not used again',
    file: CONNECTION,
    find: 'if (keepsAlive && isExact && keptMs > 0)',
    replace: 'if (keepsAlive && keptMs > 0)',
    tests: ANSWERS,
  },
  {
    name: 'a connection that the server closes is not used again',
    file: CONNECTION,
    find: 'if (keepsAlive && isExact && keptMs > 0)',
    replace: 'if (isExact && keptMs > 0)',
    tests: ANSWERS,
  },
  {
    name: 'a connection that is kept for a second or less is not used again',
    file: CONNECTION,
    find: 'if (keepsAlive && isExact && keptMs > 0)',
    replace: 'if (keepsAlive && isExact)',
  },
  {
    name: 'a connection is left before the server closes it',
    file: CONNECTION,
    find: 'Math.min(keepAliveMs, LONGEST_IDLE_MS) - MARGIN_MS',
    replace: 'Math.min(keepAliveMs, LONGEST_IDLE_MS)',
  },
  {
    name: 'no connection is idle for longer than ten minutes',
    file: CONNECTION,
    find: 'Math.min(keepAliveMs, LONGEST_IDLE_MS) - MARGIN_MS',
    replace: 'keepAliveMs - MARGIN_MS',
  },
  {
    name: 'what nobody asked for closes the connection',
    file: CONNECTION,
    find: 'if (!reader || !listener) return this.destroy();',
    replace: 'if (!reader || !listener) return;',
  },
  {
    name: 'a connection is waited for ten seconds',
    file: CONNECTION,
    find: 'const CONNECT_WITHIN_MS = 10_000;',
    replace: 'const CONNECT_WITHIN_MS = 100_000;',
  },
  {
    name: 'the wait for a connection ends when it is there',
    file: CONNECTION,
    find: '    this.isOpen = true;\n    this.cancelTimer();',
    replace: '    this.isOpen = true;',
  },
  {
    name: 'nothing is written before TLS is agreed on',
    file: CONNECTION,
    find: 'if (this.isOpen) this.socket.write(request, encoding);\n    else this.first = { request, encoding };',
    replace: 'this.socket.write(request, encoding);',
    tests: PROCESSES,
  },
  {
    name: 'an idle connection does not keep the process',
    file: CONNECTION,
    find: 'this.socket.unref();',
    replace: '',
    tests: PROCESSES,
  },
  {
    name: 'a request keeps the process, also on a connection that was idle',
    file: CONNECTION,
    find: 'this.socket.ref();',
    replace: '',
    tests: PROCESSES,
  },
  {
    name: 'who abandons an old request does nothing to the next',
    file: CONNECTION,
    find: 'if (this.listener !== listener) return;',
    replace: '',
    tests: ['test/client/http-pool.spec.ts'],
  },
  {
    name: 'a request that is given up does not arrive any more',
    file: CONNECTION,
    find: '!(this.socket instanceof TLSSocket)',
    replace: 'false',
  },
  {
    name: 'a stream that has been answered is not broken',
    file: CONNECTION,
    find: 'this.isOpen && !this.reader?.head &&',
    replace: 'this.isOpen &&',
  },
];

const pools = [
  {
    name: 'there are no more connections than the limit',
    file: POOL,
    find: 'if (this.connections.size >= this.limit) return undefined;',
    replace: '',
  },
  {
    name: 'who waits gets the connection that is free',
    file: POOL,
    find: 'if (!next) return void this.idle.push(connection);',
    replace: 'return void this.idle.push(connection);',
  },
  {
    name: 'who waits gets another connection for one that is gone',
    file: POOL,
    find: 'if (!next || this.isClosed) return;',
    replace: 'return;',
  },
  {
    name: 'a pool that is closed opens no connection',
    file: POOL,
    find: 'if (!next || this.isClosed) return;',
    replace: 'if (!next) return;',
  },
  {
    name: 'who waits and has left is not sent',
    file: POOL,
    find: 'else this.waiting.delete(underWay);',
    replace: '',
  },
  {
    name: 'who waits is told once that the pool is closed',
    file: POOL,
    find: 'if (this.waiting.delete(underWay)) underWay',
    replace: 'underWay',
  },
  {
    name: 'a connection that is gone is not idle',
    file: POOL,
    find: 'if (at >= 0) this.idle.splice(at, 1);',
    replace: '',
    tests: CONNECTIONS,
  },
  {
    name: 'a path cannot end the line it stands in',
    file: POOL,
    find: "if (UNCLEAN.test(path)) throw new TypeError('A path must be encoded.');",
    replace: '',
    tests: ANSWERS,
  },
  {
    name: 'text is sent as UTF-8',
    file: POOL,
    find: "isAscii ? 'latin1' : 'utf8'",
    replace: "'latin1'",
    tests: ANSWERS,
  },
];

const exchanges = [
  {
    name: 'an answer has a limit',
    file: EXCHANGE,
    find: "if (this.length > MAX_ANSWER_BYTES) return this.abort(new Error('the answer is too long'));",
    replace: '',
  },
  {
    name: 'an exchange has one reply',
    file: EXCHANGE,
    find: 'if (this.isOver) return;',
    replace: '',
  },
];

const batches = [
  {
    name: 'a server that waits for an engine gets batches side by side',
    file: 'src/client/batcher.ts',
    find: 'Math.min(this.dispatch.parallelBatches(), Math.floor(calls / FEWEST_APART))',
    replace: '1',
  },
  {
    name: 'batches side by side are worth a request each',
    file: 'src/client/batcher.ts',
    find: 'Math.min(this.dispatch.parallelBatches(), Math.floor(calls / FEWEST_APART))',
    replace: 'this.dispatch.parallelBatches()',
  },
  {
    name: 'a server that has something to do gets the rest together',
    file: 'src/client/batcher.ts',
    find: ' || !this.dispatch.transport.isIdle',
    replace: '',
  },
];

/** What comes and goes with every call. */
const trails = [
  {
    name: 'the last thing in a bag takes the place of the one that goes',
    file: BAG,
    find: 'last.place = place;',
    replace: '',
    tests: ['src/client/bag.spec.ts'],
  },
  {
    name: 'what is not in a bag takes nothing out of it',
    file: BAG,
    find: 'if (place < 0) return;',
    replace: '',
    tests: ['src/client/bag.spec.ts'],
  },
  {
    name: 'a table of turns is made anew before it grows old',
    file: TURN,
    find: '    this.renewTable();\n',
    replace: '',
    tests: ['src/client/key-turn.spec.ts'],
  },
];

export const httpClientMutants = [
  ...trails,
  ...withTests(['src/client/http/'], reading),
  ...withTests(CONNECTIONS, connections),
  ...withTests(['test/client/http-pool.spec.ts'], pools),
  ...withTests(['src/client/exchange.spec.ts'], exchanges),
  ...withTests(['src/client/batcher.spec.ts'], batches),
];

function withTests(tests, group) {
  return group.map((mutant) => ({ tests, ...mutant }));
}
