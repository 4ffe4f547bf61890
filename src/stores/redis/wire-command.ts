import { Command } from 'ioredis';

/**
 * A command that is written out here. ioredis is made for a few arguments: the hundreds of a batch of commits it copies twice, one by one,
 * before it writes them.
 */
export class WireCommand extends Command {
  private readonly wire: string | Buffer;

  constructor(name: string, args: readonly (string | Buffer)[]) {
    super(name, [], { replyEncoding: 'utf8' });
    this.wire = written(name, args);
  }

  override toWritable(): string | Buffer {
    return this.wire;
  }
}

/** The protocol's array of bulk strings. */
function written(name: string, args: readonly (string | Buffer)[]): string | Buffer {
  const before: Buffer[] = [];
  let text = `*${args.length + 1}\r\n${bulkString(name)}`;
  for (const arg of args) {
    if (typeof arg === 'string') text += bulkString(arg);
    else {
      before.push(Buffer.from(`${text}$${arg.length}\r\n`), arg);
      text = '\r\n';
    }
  }
  return before.length === 0 ? text : Buffer.concat([...before, Buffer.from(text)]);
}

function bulkString(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
}
