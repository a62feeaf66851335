import { describe, expect, it } from 'vitest';
import { VaultError } from '../../src/accounts/vault.ts';
import {
  buildErrorResult,
  buildResult,
  getFailedAnswer,
  RetryRefusedError,
} from '../../src/orders/item-result.ts';
import { decideResend, type ResendDecision } from '../../src/orders/resend.ts';
import type { Envelope } from '../../src/service/envelope.ts';
import {
  ServiceError,
  type ServiceErrorDetails,
  type ServiceErrorKind,
  SuspendedError,
} from '../../src/service/errors.ts';
import { Secret } from '../../src/service/secret.ts';
import type { Effect } from '../../src/service/task.ts';
import { retryReasonText, summaryText } from '../../src/slack/orders/summary.view.ts';

function failure(kind: ServiceErrorKind, details: Partial<ServiceErrorDetails> = {}): ServiceError {
  return new ServiceError(kind, `renewing cafe.rest: ${kind}`, { task: 'domain.renew', ...details });
}

const KINDS = [
  'auth',
  'refused',
  'busy',
  'token_used',
  'invalid_response',
  'not_sent',
  'unknown_outcome',
  'unsupported',
  'invalid_input',
] as const satisfies readonly ServiceErrorKind[];

/** Every kind of task; a paid task is a charge whatever else is said about it. */
const TASKS = (['read', 'write', 'charge'] as const satisfies readonly Effect[]).flatMap((effect) =>
  [true, false].map((idempotent) => ({ effect, idempotent })),
);
const charge = { effect: 'charge', idempotent: false } as const;
const put = { effect: 'write', idempotent: true } as const;

/** The result after each of the first 25 tries, as one word: `again`, `FAILED` or `UNKNOWN`. */
function tries(error: unknown, task: (typeof TASKS)[number], sent: boolean): string[] {
  return Array.from({ length: 25 }, (_, index) => {
    const todo = decideResend(error, task, index + 1, sent);
    return todo.kind === 'resend' ? 'again' : todo.outcome;
  });
}

const again = (times: number, then: 'FAILED' | 'UNKNOWN') => [
  ...Array.from({ length: times }, () => 'again'),
  ...Array.from({ length: 25 - times }, () => then),
];

/** The design's result, kind by kind, for a request that may have been sent. */
function expectedOnceSent(kind: ServiceErrorKind, { effect, idempotent }: (typeof TASKS)[number]): string[] {
  switch (kind) {
    case 'auth':
    case 'refused':
    case 'unsupported':
    case 'invalid_input':
      return again(0, 'FAILED');
    case 'busy':
    case 'token_used':
      return again(20, 'FAILED');
    case 'not_sent':
      return again(3, 'FAILED');
    case 'unknown_outcome':
    case 'invalid_response':
      return effect !== 'charge' && idempotent ? again(3, 'UNKNOWN') : again(0, 'UNKNOWN');
  }
}

describe('an item’s result after an error', () => {
  it('an unreadable 2xx response isn’t requested again, for any task', () => {
    const unreadable = failure('unknown_outcome', {
      httpStatus: 200,
      unreadableResponse: { reason: 'it is no JSON' },
    });
    for (const task of TASKS) expect(tries(unreadable, task, true)).toEqual(again(0, 'UNKNOWN'));
  });

  for (const kind of KINDS) {
    it(`${kind}, for every kind of task and every try`, () => {
      for (const task of TASKS) {
        const what = `${task.effect}, ${task.idempotent ? 'repeatable' : 'not repeatable'}`;
        expect(tries(failure(kind), task, true), what).toEqual(expectedOnceSent(kind, task));
      }
    });
  }

  it('a paid task is never repeated once it may have been carried out', () => {
    for (const idempotent of [true, false]) {
      for (const error of [failure('unknown_outcome'), failure('invalid_response'), new TypeError('oops')]) {
        expect(tries(error, { effect: 'charge', idempotent }, true)).toEqual(again(0, 'UNKNOWN'));
      }
    }
  });

  it('something unexpected is unknown once the request may have been sent, for any task', () => {
    for (const task of TASKS) {
      for (const error of [new TypeError('oops'), undefined, 'thrown']) {
        expect(tries(error, task, true)).toEqual(again(0, 'UNKNOWN'));
      }
    }
  });

  it('if the request wasn’t sent nothing is unknown: three more tries, then it failed', () => {
    for (const task of TASKS) {
      for (const error of [
        failure('not_sent'),
        failure('unknown_outcome'),
        failure('invalid_response'),
        new TypeError('oops'),
      ]) {
        expect(tries(error, task, false)).toEqual(again(3, 'FAILED'));
      }
      for (const kind of ['auth', 'refused', 'unsupported', 'invalid_input'] as const) {
        expect(tries(failure(kind), task, false), kind).toEqual(again(0, 'FAILED'));
      }
    }
  });
});

it('a sealed value that doesn’t open isn’t tried again', () => {
  for (const task of TASKS) {
    expect(tries(new VaultError('opening'), task, false)).toEqual(again(0, 'FAILED'));
    expect(tries(new VaultError('opening'), task, true)).toEqual(again(0, 'UNKNOWN'));
  }
});

describe('an item that wasn’t sent, or was refused, and must not be repeated', () => {
  const account = { login: 'alice', context: 4 };

  it('is unknown if its process was suspended, for any task', () => {
    const error = new SuspendedError('6000 ms have passed');
    for (const task of TASKS) expect(tries(error, task, true)).toEqual(again(0, 'UNKNOWN'));
    expect(buildErrorResult(error, 'UNKNOWN', account)).toEqual({
      summary: { code: 'suspended' },
    });
  });

  it('has failed if its session had ended, with the service’s reason', () => {
    const said = { httpStatus: 401, code: 'EF01', text: 'no session' };
    const error = new RetryRefusedError(failure('auth', said));
    for (const task of TASKS) expect(tries(error, task, false)).toEqual(again(0, 'FAILED'));
    expect(buildErrorResult(error, 'FAILED', account)).toEqual({
      ...said,
      errorKind: 'auth',
      summary: { code: 'session_ended' },
    });
  });
});

describe('when an item is retried', () => {
  const callDelay = (todo: ResendDecision) => (todo.kind === 'resend' ? todo.afterMs : todo.outcome);

  it.each([
    ['not_sent', charge, [1_000, 4_000, 16_000, 'FAILED']],
    ['unknown_outcome', put, [1_000, 4_000, 16_000, 'UNKNOWN']],
    ['busy', charge, [1_000, 4_000, 16_000, 64_000, 64_000]],
  ] as const)('after %s, further apart', (kind, task, waits) => {
    const steps = waits.map((_, index) => decideResend(failure(kind), task, index + 1, true));
    expect(steps.map(callDelay)).toEqual(waits);
  });

  it.each([
    [7_000, 7_000],
    [0, 1_000],
    [999, 1_000],
    [900_000, 900_000],
    [86_400_000, 900_000],
  ])('after a Retry-After of %d ms it waits %d ms', (retryAfterMs, expected) => {
    expect(callDelay(decideResend(failure('busy', { retryAfterMs }), charge, 1, true))).toBe(expected);
  });

  it('the reason is given', () => {
    for (const [error, sent] of [
      [failure('busy'), true],
      [failure('not_sent'), true],
      [failure('unknown_outcome'), true],
      [new TypeError('canary'), false],
    ] as const) {
      const todo = decideResend(error, put, 1, sent);
      if (todo.kind !== 'resend') throw new Error('it is over');
      expect(retryReasonText({ code: todo.retryReason })).toMatch(/^[A-Z][^.]+\.$/);
      expect(JSON.stringify(todo)).not.toContain('canary');
    }
  });
});

const envelope: Envelope = {
  stid: '20260301-app-7',
  status: { code: 'S0104', text: 'Renewed', type: 'SUCCESS' },
  object: { type: 'Domain', value: 'cafe.rest', data: { unheard: 'of' } },
  messages: [{ code: 'MSG1', text: 'Premium name', status: 'NOTICE', objects: [] }, { objects: [] }],
  data: [{ much: 'data' }],
};

describe('the saved part of a response', () => {
  const kept = (answered: Envelope) =>
    buildResult(
      { envelope: answered, httpStatus: 200, output: undefined, interface: 'json' },
      { hasSecretResult: false },
    );

  it('has everything that people see: status, object, data, messages and stid', () => {
    expect(kept(envelope)).toEqual({
      summary: { code: 'done' },
      code: 'S0104',
      text: 'Renewed',
      type: 'SUCCESS',
      stid: '20260301-app-7',
      httpStatus: 200,
      messages: [{ code: 'MSG1', text: 'Premium name', status: 'NOTICE' }, {}],
      object: { type: 'Domain', value: 'cafe.rest' },
      data: [{ unheard: 'of' }, { much: 'data' }],
      hasFullAnswer: true,
    });
  });

  it('has no data that is too long, which is stored separately', () => {
    const long = kept({ ...envelope, data: [{ much: 'x'.repeat(4_000) }] });
    expect(long).not.toHaveProperty('data');
    expect(long.hasFullAnswer).toBe(true);
    // With the brackets and quotes of its JSON.
    const { object: _, ...bare } = envelope;
    expect(kept({ ...bare, data: ['x'.repeat(3_996)] })).toHaveProperty('data');
    expect(kept({ ...bare, data: ['x'.repeat(3_997)] })).not.toHaveProperty('data');
  });

  it('of a failure is what was received, read or not', () => {
    const unreadableResponse = { reason: 'it is no JSON' };
    expect(getFailedAnswer(failure('refused', { envelope }))).toEqual(envelope);
    expect(getFailedAnswer(failure('unknown_outcome', { unreadableResponse }))).toEqual({
      unreadable: unreadableResponse,
    });
    expect(getFailedAnswer(failure('not_sent'))).toBeUndefined();
  });

  it('refers to nothing more if there is only a status', () => {
    const { status } = envelope;
    const bare = { status, messages: [], data: [], received: { stid: 's', status } };
    expect(kept(bare)).not.toHaveProperty('hasFullAnswer');
    expect(kept(bare)).not.toHaveProperty('data');
    for (const more of [{ object: {} }, { messages: [{ objects: [] }] }, { data: [1] }])
      expect(kept({ ...bare, ...more })).toHaveProperty('hasFullAnswer', true);
    expect(kept({ ...bare, received: { status, more: 1 } })).toHaveProperty('hasFullAnswer', true);
  });

  it.each([
    [true, true, true],
    [true, false, undefined],
    [false, true, undefined],
  ])('mentions a secret only if a task has one (%s) and it came (%s)', (hasSecretResult, came, hasSecret) => {
    const secret = came ? new Secret('canary') : undefined;
    const result = buildResult(
      { envelope, httpStatus: 200, output: secret, interface: 'json' },
      { hasSecretResult },
    );
    expect(result.hasSecret).toBe(hasSecret);
    expect(JSON.stringify(result)).not.toContain('canary');
  });
});

describe('an error’s text for people', () => {
  const account = { login: 'alice', context: 4 };

  it.each<[kind: ServiceErrorKind, outcome: 'FAILED' | 'UNKNOWN', summary: RegExp]>([
    ['auth', 'FAILED', /alice in context 4.*`\/domain link`/],
    ['refused', 'FAILED', /refused/],
    ['busy', 'FAILED', /busy.*wasn’t carried out/],
    ['token_used', 'FAILED', /one-time token .*nothing was sent/],
    ['not_sent', 'FAILED', /nothing was sent/],
    ['unsupported', 'FAILED', /Nothing was sent\. The service’s interface doesn’t accept this/],
    ['invalid_input', 'FAILED', /Nothing was sent\. The service’s interface doesn’t accept this/],
    ['unknown_outcome', 'UNKNOWN', /may have reached the service/],
    ['invalid_response', 'UNKNOWN', /may have reached the service/],
    ['unknown_outcome', 'FAILED', /nothing was sent/],
  ])('%s, with the order %s', (kind, outcome, summary) => {
    const result = buildErrorResult(failure(kind), outcome, account);
    expect(summaryText(result.summary)).toMatch(summary);
    expect(result.errorKind).toBe(kind);
  });

  it('says that there was a response that settles nothing', () => {
    const result = buildErrorResult(failure('unknown_outcome', { envelope }), 'UNKNOWN', account);
    expect(summaryText(result.summary)).toBe(
      'The service’s response doesn’t say clearly whether it was carried out.',
    );
    expect(result).toMatchObject({ code: 'S0104', text: 'Renewed' });
  });

  it('names an application if there is no context', () => {
    const { summary } = buildErrorResult(failure('auth'), 'FAILED', { login: 'uuid-1', context: undefined });
    expect(summaryText(summary)).toContain('application uuid-1');
  });

  it('has nothing of an unexpected error, which could contain anything', () => {
    for (const [outcome, summary] of [
      ['UNKNOWN', /while it was sending the request/],
      ['FAILED', /nothing was sent/],
    ] as const) {
      const result = buildErrorResult(new Error('canary'), outcome, account);
      expect(summaryText(result.summary)).toMatch(summary);
      expect(JSON.stringify(result)).not.toContain('canary');
    }
  });

  it('has the service’s reason, with or without an envelope', () => {
    const said = { code: 'EF01002', text: 'Period too long', stid: '20260301-app-8', httpStatus: 422 };
    expect(buildErrorResult(failure('refused', said), 'FAILED', account)).toEqual({
      ...said,
      errorKind: 'refused',
      summary: { code: 'refused' },
    });
    expect(buildErrorResult(failure('refused', { ...said, envelope }), 'FAILED', account)).toMatchObject({
      ...said,
      messages: [{ code: 'MSG1', text: 'Premium name', status: 'NOTICE' }, {}],
    });
  });
});
