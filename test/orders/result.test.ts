import { describe, expect, it } from 'vitest';
import { ServiceError, type ServiceErrorKind } from '../../src/client/errors.ts';
import type { Effect } from '../../src/client/task.ts';
import { resultOfError, whatToDo } from '../../src/orders/result.ts';

function failure(
  kind: ServiceErrorKind,
  details: { retryAfterMs?: number; text?: string } = {},
): ServiceError {
  return new ServiceError(kind, `renewing cafe.rest: ${kind}`, { task: 'domain.renew', ...details });
}

const charge = { effect: 'charge' as Effect, idempotent: false };
const write = { effect: 'write' as Effect, idempotent: false };
const put = { effect: 'write' as Effect, idempotent: true };

describe('what an error means for an item', () => {
  it.each<[ServiceErrorKind, 'FAILED' | 'UNKNOWN']>([
    ['auth', 'FAILED'],
    ['refused', 'FAILED'],
    ['unsupported', 'FAILED'],
    ['invalid_input', 'FAILED'],
    ['unknown_outcome', 'UNKNOWN'],
    ['invalid_response', 'UNKNOWN'],
  ])('%s ends a task that costs money as %s, at the first try', (kind, outcome) => {
    expect(whatToDo(failure(kind), charge, 1)).toEqual({ kind: 'over', outcome });
  });

  it('something unexpected is unknown, for it may have happened after sending', () => {
    expect(whatToDo(new TypeError('oops'), charge, 1)).toEqual({ kind: 'over', outcome: 'UNKNOWN' });
  });

  it('only a repeatable write goes again after an unknown outcome, three times', () => {
    const again = [1, 2, 3, 4].map((attempts) => whatToDo(failure('unknown_outcome'), put, attempts).kind);
    expect(again).toEqual(['again', 'again', 'again', 'over']);
    expect(whatToDo(failure('unknown_outcome'), write, 1)).toEqual({ kind: 'over', outcome: 'UNKNOWN' });
  });

  it('even a task declared repeatable is not repeated when it costs money', () => {
    const odd = { effect: 'charge' as Effect, idempotent: true };
    expect(whatToDo(failure('unknown_outcome'), odd, 1)).toEqual({ kind: 'over', outcome: 'UNKNOWN' });
  });

  it('what was provably not sent goes again three times, further apart, then fails', () => {
    const steps = [1, 2, 3, 4].map((attempts) => whatToDo(failure('not_sent'), charge, attempts));
    expect(steps.map((step) => ('afterMs' in step ? step.afterMs : step.outcome))).toEqual([
      1_000,
      4_000,
      16_000,
      'FAILED',
    ]);
  });

  it('a busy service is asked again when it says, with a cap both ways', () => {
    const told = (retryAfterMs: number) => whatToDo(failure('busy', { retryAfterMs }), charge, 1);
    expect(told(7_000)).toMatchObject({ kind: 'again', afterMs: 7_000 });
    expect(told(0)).toMatchObject({ kind: 'again', afterMs: 1_000 });
    expect(told(86_400_000)).toMatchObject({ kind: 'again', afterMs: 900_000 });
    expect(whatToDo(failure('busy'), charge, 21)).toEqual({ kind: 'over', outcome: 'FAILED' });
  });
});

describe('what people are told', () => {
  const account = { login: 'alice', context: 4 };

  it('names the link when the account was not accepted', () => {
    const { summary, errorKind } = resultOfError(failure('auth'), 'FAILED', account);
    expect(summary).toContain('alice in context 4');
    expect(summary).toContain('/domain link');
    expect(errorKind).toBe('auth');
  });

  it('does not call an unknown outcome a failure', () => {
    const { summary } = resultOfError(failure('unknown_outcome'), 'UNKNOWN', account);
    expect(summary).toContain('may have reached');
  });

  it('keeps what the service said', () => {
    const error = new ServiceError('refused', 'renewing cafe.rest: refused', {
      task: 'domain.renew',
      code: 'EF01002',
      text: 'Period too long',
      stid: '20260301-app-7',
      httpStatus: 422,
    });
    expect(resultOfError(error, 'FAILED', account)).toMatchObject({
      code: 'EF01002',
      text: 'Period too long',
      stid: '20260301-app-7',
      httpStatus: 422,
    });
  });
});
