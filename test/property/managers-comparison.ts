import { expect } from 'vitest';
import { seeded } from '../support/random.js';
import { someFaults } from '../support/faulty-store.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import { commandOf, type Intent, LONG_MS } from './managers-commands.js';
import { type History, type Step } from './managers-history.js';
import { Names } from './managers-names.js';
import { eventsOf, ManagerSystem, told, viewOf } from './managers-systems.js';

/** Two managers in bad weather and one in good, through the same history. */
export class Comparison {
  private readonly clock = new SimulatedClock();
  private readonly names = { subject: new Names(), oracle: new Names() };
  private readonly subject: ManagerSystem;
  private readonly oracle: ManagerSystem;

  constructor(private readonly history: History) {
    const random = seeded(history.seed);
    this.subject = new ManagerSystem(this.clock, history.policy, random, someFaults(random, 0));
    this.oracle = new ManagerSystem(this.clock, history.policy, random, {});
  }

  async run(): Promise<void> {
    await this.subject.start(2);
    await this.oracle.start(1);
    for (const step of this.history.steps) await this.take(step);
    await this.subject.catchUp();
    for (const resourceId of ['layer', 'other']) {
      await this.compareStates(resourceId);
      this.compareEvents(resourceId);
    }
  }

  private async take(step: Step): Promise<void> {
    switch (step.do) {
      case 'deliver':
        return this.subject.instances[step.at]!.store.deliver(step.commits);
      case 'compact':
        return this.subject.compact(step.at);
      case 'wait':
        if (step.ms === LONG_MS) await this.subject.applyLate();
        await this.clock.advance(step.ms);
        return this.subject.endDoubts();
      case 'restart':
        await this.subject.restart();
        return this.oracle.restart();
      default:
        return this.compareAnswers(step.intent, step.at, step.lost);
    }
  }

  /** A client whose answer was lost asks again, at the other manager. */
  private async compareAnswers(intent: Intent, index: number, lost: boolean): Promise<void> {
    if (lost) await this.answers(intent, index);
    const { actual, expected } = await this.answers(intent, lost ? 1 - index : index);
    expect(actual).toEqual(expected);
    await this.compareStates(intent.resourceId);
  }

  private async answers(intent: Intent, index: number): Promise<{ actual: unknown; expected: unknown }> {
    const { resourceId } = intent;
    const { subject, oracle, names } = this;
    const asked = commandOf(intent, names.subject, await subject.state(resourceId));
    const meant = commandOf(intent, names.oracle, await oracle.state(resourceId));
    const actual = names.subject.result(await subject.executeSurely(index, resourceId, asked));
    const expected = names.oracle.result(await oracle.execute(0, resourceId, meant));
    return { actual, expected };
  }

  private async compareStates(resourceId: string): Promise<void> {
    const { subject, oracle } = this;
    const { policy } = this.history;
    expect(viewOf(await subject.state(resourceId), policy)).toEqual(
      viewOf(await oracle.state(resourceId), policy),
    );
  }

  private compareEvents(resourceId: string): void {
    const expected = told(eventsOf(this.oracle.instances[0]!, resourceId));
    const streams = this.subject.instances
      .filter(({ gap }) => !gap)
      .map((instance) => eventsOf(instance, resourceId));
    for (const stream of streams) {
      expect(told(stream)).toEqual(expected);
      expect(stream).toEqual(streams[0]);
    }
  }
}
