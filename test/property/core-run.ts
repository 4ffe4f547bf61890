import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { type Command } from '../../src/core/commands.js';
import { checkState } from '../../src/core/invariants.js';
import { type Policy } from '../../src/core/policy.js';
import { settle, settleEvent, settleResult } from '../../src/core/settle.js';
import { EMPTY_STATE, type ResourceState } from '../../src/core/state.js';
import { transition, type Transition } from '../../src/core/transition.js';
import { deepFreeze } from '../support/deep-freeze.js';
import { type Action } from './core-actions.js';
import { commandOf, type Memory } from './core-commands.js';
import { HistoryObserver, type Seen } from './history-invariants.js';

/** Drives one resource through a sequence of actions, combined into commits as a manager may combine them. */
export class CoreRun {
  private committed: ResourceState = deepFreeze(EMPTY_STATE);
  private building: ResourceState = this.committed;
  private steps: Seen[] = [];
  private revision = 1000;
  private nowMs = 1_000_000;
  private readonly observer: HistoryObserver;
  private readonly memory: Memory = { tickets: [], tokens: [], revisions: [], releases: new Map() };

  constructor(private readonly policy: Policy) {
    this.observer = new HistoryObserver(policy);
  }

  all(actions: readonly Action[]): void {
    for (const action of actions) this.perform(action);
    this.commit();
  }

  private perform(action: Action): void {
    if (!action.joined) this.commit();
    this.nowMs += action.passMs;
    const command = commandOf(action, this.committed, this.memory);
    let step = this.transition(command);
    if (grants(step) && this.steps.some(grants)) {
      this.commit();
      step = this.transition(command);
    }
    this.building = step.state;
    this.steps.push({ command, result: step.result, events: step.events, nowMs: this.nowMs });
  }

  /** Frozen states make a write to what is given throw. */
  private transition(command: Command): Transition {
    const step = transition(this.building, command, this.nowMs, this.policy);
    const { result } = step;
    if (this.building === this.committed && step.state !== this.building) {
      assert(
        !isDeepStrictEqual(step.state, this.building),
        'the same object is returned when nothing changed',
      );
    }
    if (step.state === this.building) assert.equal(step.events.length, 0, 'an event changes the state');
    if (result.kind === 'noted') assert.equal(result.changed, step.state !== this.building);
    return { ...step, state: deepFreeze(step.state) };
  }

  private commit(): void {
    this.revision += 1 + (this.nowMs % 3);
    const revision = this.revision;
    const changed = this.building !== this.committed;
    this.committed = changed ? deepFreeze(settle(this.building, revision)) : this.committed;
    this.building = this.committed;
    const steps = this.steps.map((step) => ({
      ...step,
      result: settleResult(step.result, revision),
      events: step.events.map((event) => settleEvent(event, revision)),
    }));
    this.steps = [];
    checkState(this.committed, this.policy);
    this.observer.observeCommit(steps, revision, this.committed);
    steps.forEach((step) => this.remember(step));
    this.memory.revisions.push(revision);
  }

  private remember({ command, result }: Seen): void {
    if (command.kind === 'acquire') {
      const { type, asker } = command;
      if (result.kind === 'queued')
        this.memory.tickets.push({ type, nodeId: asker.nodeId, ticket: result.ticket });
      if (result.kind === 'acquired') this.memory.tokens.push(result.token);
    }
    if (command.kind === 'release' && result.kind === 'released')
      this.memory.releases.set(command.type, command);
  }
}

function grants({ events }: Pick<Seen, 'events'>): boolean {
  return events.some(({ name }) => name === 'granted' || name === 'assigned');
}
