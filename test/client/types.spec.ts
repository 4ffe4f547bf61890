import { describe, expectTypeOf, it } from 'vitest';
import {
  type Hold,
  HoldfastError,
  HoldLostError,
  type LockClient,
  type LockClientOptions,
  type LockResult,
  type Outcome,
  type RunResult,
} from '../../src/client/index.js';

declare const client: LockClient;

/** The compiler is the test: nothing here runs. */
describe('the types of the public API', () => {
  it('name a node and a server', () => {
    expectTypeOf<{ serverUrl: string; nodeId: string }>().toExtend<LockClientOptions>();
    expectTypeOf<{ serverUrls: string[]; nodeId: string }>().toExtend<LockClientOptions>();
    expectTypeOf<{ serverUrl: string }>().not.toExtend<LockClientOptions>();
  });

  it('give a lock result with an optional hold and error', () => {
    expectTypeOf<LockClient['lock']>().returns.resolves.toEqualTypeOf<LockResult>();
    expectTypeOf<LockResult['hold']>().toEqualTypeOf<Hold | undefined>();
    expectTypeOf<LockResult['error']>().toEqualTypeOf<HoldfastError | undefined>();
    expectTypeOf<LockClient['tryLock']>().returns.resolves.toExtend<LockResult>();
  });

  it('carry the value of the work, and only of work that was executed', () => {
    const run = () => client.runOnce({ type: 'pull', resourceId: 'x' }, (hold) => hold.token);
    expectTypeOf(run).returns.resolves.toEqualTypeOf<RunResult<number>>();
    expectTypeOf<Extract<RunResult<number>, { status: 'executed' }>['value']>().toEqualTypeOf<number>();
    type Skipped = Extract<RunResult<number>, { status: 'skipped' }>;
    expectTypeOf<'value' extends keyof Skipped ? true : false>().toEqualTypeOf<false>();
  });

  it('say how the work ended', () => {
    expectTypeOf<{ success: true }>().toExtend<Outcome>();
    expectTypeOf<{ success: false; error: string; fatal: boolean }>().toExtend<Outcome>();
    expectTypeOf<{ success: 'yes' }>().not.toExtend<Outcome>();
    expectTypeOf<LockClient['unlock']>().parameter(1).toEqualTypeOf<Outcome>();
  });

  it('give a hold a token and a signal that cannot be written', () => {
    expectTypeOf<Hold['token']>().toEqualTypeOf<number>();
    expectTypeOf<Hold['signal']>().toEqualTypeOf<AbortSignal>();
    expectTypeOf<Hold>().toEqualTypeOf<Readonly<Hold>>();
  });

  it('make one family of the errors', () => {
    expectTypeOf<HoldLostError>().toExtend<HoldfastError>();
    expectTypeOf<HoldfastError['code']>().toEqualTypeOf<string>();
    expectTypeOf<LockClient>().toExtend<AsyncDisposable>();
  });
});
