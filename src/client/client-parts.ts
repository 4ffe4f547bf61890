import { setMaxListeners } from 'node:events';
import { Batcher } from './batcher.js';
import { Caller } from './caller.js';
import { type Clock } from './clock.js';
import { Ears } from './ears.js';
import { ClosedError } from './errors.js';
import { loseIfGone } from './hold-check.js';
import { KeyTurns } from './key-turn.js';
import { LooseEnds } from './loose-ends.js';
import { type Settings } from './options.js';
import { Retries } from './retries.js';
import { type Session } from './session.js';
import { SessionKeeper } from './session-keeper.js';
import { SessionStream } from './session-stream.js';
import { Transport } from './transport.js';
import { Waiting } from './waiting.js';

/** What a client is made of, put together. */
export class ClientParts {
  readonly clock: Clock;
  readonly turns = new KeyTurns();
  readonly caller: Caller;
  readonly locks: Batcher;
  readonly unlocks: Batcher;
  readonly renewals: Batcher;
  readonly sessions: SessionKeeper;
  readonly looseEnds: LooseEnds;
  readonly waiting: Waiting;
  private readonly closer = new AbortController();
  private readonly transport: Transport;
  private readonly stream: SessionStream;

  constructor(settings: Settings) {
    setMaxListeners(0, this.closing);
    const { clock, serverUrls } = settings;
    const { closing } = this;
    const transport = new Transport(serverUrls, settings.requestTimeoutMs, clock);
    const retries = new Retries(settings, serverUrls.length);
    const caller = new Caller(transport, retries, clock, closing);
    const refused = (session: Session) => void this.sessions.renew(session);
    const ears = new Ears(this.turns, refused, (hold) => void loseIfGone(hold, caller));
    const parallelBatches = () => this.sessions.parallelBatches;
    const dispatch = { transport, retries, clock, closing, parallelBatches };
    this.locks = new Batcher('/lock', dispatch);
    this.unlocks = new Batcher('/unlock', dispatch);
    this.renewals = new Batcher('/lock/renew', dispatch, { isApart: true });
    this.looseEnds = new LooseEnds(this.unlocks, caller, this.turns);
    this.stream = new SessionStream(transport, clock, settings.serverHeartbeatMs, ears);
    this.sessions = new SessionKeeper(settings, caller, transport, {
      renewed: (session) => this.looseEnds.tryAgain(session),
      lost: (session) => {
        this.looseEnds.forget(session);
        this.stream.close();
        this.turns.tellAll('woken');
      },
    });
    this.waiting = new Waiting(this.stream, caller, transport, clock);
    this.clock = clock;
    this.transport = transport;
    this.caller = caller;
  }

  /** Aborts when the client is closed. */
  get closing(): AbortSignal {
    return this.closer.signal;
  }

  /** Everything held or awaited ends with the session, here at once and on the server as soon as it hears of it. */
  async close(): Promise<void> {
    this.closer.abort(new ClosedError());
    await this.sessions.close();
    this.stream.close();
    this.transport.close();
  }
}
