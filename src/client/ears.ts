import { isDuration, isToken } from './answers.js';
import { type HeldLock } from './hold.js';
import { keyName } from './key.js';
import { type KeyTurns } from './key-turn.js';
import { isRecord, type Json } from './reply.js';
import { type Session } from './session.js';
import { type StreamListener } from './session-stream.js';

/** Tells those who wait what the session's stream says about their keys. */
export class Ears implements StreamListener {
  constructor(
    private readonly turns: KeyTurns,
    readonly refused: (session: Session) => void,
    private readonly doubt: (hold: HeldLock) => void,
  ) {}

  /**
   * Whatever this client waits for and the server does not list as waiting is to be asked again. A hold that is not
   * listed is doubted only: it may be newer than the list.
   */
  snapshot(session: Session, parts: readonly Json[]): void {
    session.claimWithinMs = claimTimeOf(parts[0]?.['claim_timeout_ms']);
    const waits = new Set(parts.flatMap((part) => rowsOf(part['waits'])).map(nameOf));
    const holds = parts.flatMap((part) => rowsOf(part['holds']));
    const tokens = new Map(holds.map((row) => [nameOf(row), row['token']]));
    for (const name of this.turns.names()) {
      const turn = this.turns.get(name)!;
      turn.handOver = undefined;
      if (!waits.has(name)) turn.tell('woken');
      const { hold } = turn;
      if (hold?.session === session && tokens.get(name) !== hold.token) this.doubt(hold);
    }
  }

  event(session: Session, name: string, data: Json): void {
    const turn = this.turns.get(nameOf(data));
    const isOwn = data['session_id'] === session.id;
    if (!turn || name === 'queued' || (name === 'assigned' && !isOwn)) return;
    if (isOwn && ENDS_OF_HOLDS.has(name) && turn.hold?.token === data['token']) {
      turn.hold?.lose(`the server has taken it away (${whyTaken(name, data)})`);
    }
    const { node_id: nodeId, completed_at: completedAt, token } = data;
    turn.handOver = name === 'assigned' && isToken(token) ? { session, token } : undefined;
    if (name === 'completed' && typeof nodeId === 'string') {
      turn.doneBy = { nodeId, ...(typeof completedAt === 'string' && { completedAt }) };
    }
    turn.tell('woken');
  }

  down(): void {
    this.turns.tellAll('unheard');
  }
}

/** Ends that the holder has not brought about itself. */
const ENDS_OF_HOLDS: ReadonlySet<string> = new Set(['expired', 'released']);

/** A release that is not its holder's own is somebody's who was free not to ask it. */
function whyTaken(name: string, { error }: Json): string {
  return name === 'released' ? `released by force: ${String(error)}` : String(error);
}

/** Of the server, for which 0 means that nothing need be claimed. */
function claimTimeOf(ms: unknown): number {
  if (!isDuration(ms)) return 0;
  return ms === 0 ? Infinity : ms;
}

function rowsOf(rows: unknown): readonly Json[] {
  return Array.isArray(rows) ? rows.filter(isRecord) : [];
}

function nameOf({ type, resource_id: resourceId }: Json): string {
  return keyName({ type: String(type), resourceId: String(resourceId) });
}
