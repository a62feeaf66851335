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

/** Every kind of task. */
const TASKS = (['read', 'write', 'charge'] as const satisfies readonly Effect[]).flatMap((effect) =>
  [true, false].map((idempotent) => ({ effect, idempotent })),
);
const charge = { effect: 'charge', idempotent: false } as const;
const put = { effect: 'write', idempotent: true } as const;

/** The result after each of the first 25 attempts: `again`, `FAILED` or `UNKNOWN`. */
function listOutcomes(error: unknown, task: (typeof TASKS)[number], sent: boolean): string[] {
  return Array.from({ length: 25 }, (_, index) => {
    const todo = decideResend(error, task, index + 1, sent);
    return todo.kind === 'resend' ? 'again' : todo.outcome;
  });
}

const resendThen = (times: number, then: 'FAILED' | 'UNKNOWN') => [
  ...Array.from({ length: times }, () => 'again'),
  ...Array.from({ length: 25 - times }, () => then),
];

/** The expected results for a request that may have been sent. */
function expectedOnceSent(kind: ServiceErrorKind, { effect, idempotent }: (typeof TASKS)[number]): string[] {
  switch (kind) {
    case 'auth':
    case 'refused':
    case 'unsupported':
    case 'invalid_input':
      return resendThen(0, 'FAILED');
    case 'busy':
    case 'token_used':
      return resendThen(20, 'FAILED');
    case 'not_sent':
      return resendThen(3, 'FAILED');
    case 'unknown_outcome':
    case 'invalid_response':
      return effect !== 'charge' && idempotent ? resendThen(3, 'UNKNOWN') : resendThen(0, 'UNKNOWN');
  }
}

describe('an item’s result after an error', () => {
  it('is unknown without a retry for an unreadable 2xx response', () => {
    const unreadable = failure('unknown_outcome', {
      httpStatus: 200,
      unreadableResponse: { reason: 'it is no JSON' },
    });
    for (const task of TASKS) expect(listOutcomes(unreadable, task, true)).toEqual(resendThen(0, 'UNKNOWN'));
  });

  for (const kind of KINDS) {
    it(`for ${kind} depends on the task and the attempt`, () => {
      for (const task of TASKS) {
        const what = `${task.effect}, ${task.idempotent ? 'repeatable' : 'not repeatable'}`;
        expect(listOutcomes(failure(kind), task, true), what).toEqual(expectedOnceSent(kind, task));
      }
    });
  }

  it('is unknown without a retry for a paid task that may have been carried out', () => {
    for (const idempotent of [true, false]) {
      for (const error of [failure('unknown_outcome'), failure('invalid_response'), new TypeError('oops')]) {
        expect(listOutcomes(error, { effect: 'charge', idempotent }, true)).toEqual(resendThen(0, 'UNKNOWN'));
      }
    }
  });

  it('is unknown for an unexpected error once the request may have been sent', () => {
    for (const task of TASKS) {
      for (const error of [new TypeError('oops'), undefined, 'thrown']) {
        expect(listOutcomes(error, task, true)).toEqual(resendThen(0, 'UNKNOWN'));
      }
    }
  });

  it('is never unknown, but failed after at most three retries, if the request wasn’t sent', () => {
    for (const task of TASKS) {
      for (const error of [
        failure('not_sent'),
        failure('unknown_outcome'),
        failure('invalid_response'),
        new TypeError('oops'),
      ]) {
        expect(listOutcomes(error, task, false)).toEqual(resendThen(3, 'FAILED'));
      }
      for (const kind of ['auth', 'refused', 'unsupported', 'invalid_input'] as const) {
        expect(listOutcomes(failure(kind), task, false), kind).toEqual(resendThen(0, 'FAILED'));
      }
    }
  });
});

it('a sealed value that can’t be opened isn’t retried', () => {
  for (const task of TASKS) {
    expect(listOutcomes(new VaultError('opening'), task, false)).toEqual(resendThen(0, 'FAILED'));
    expect(listOutcomes(new VaultError('opening'), task, true)).toEqual(resendThen(0, 'UNKNOWN'));
  }
});

describe('an item that must not be retried', () => {
  const account = { login: 'alice', context: 4 };

  it('is unknown if its process was suspended', () => {
    const error = new SuspendedError('6000 ms have passed');
    for (const task of TASKS) expect(listOutcomes(error, task, true)).toEqual(resendThen(0, 'UNKNOWN'));
    expect(buildErrorResult(error, 'UNKNOWN', account)).toEqual({
      summary: { code: 'suspended' },
    });
  });

  it('has failed, with the service’s reason, if its session had ended', () => {
    const details = { httpStatus: 401, code: 'EF01', text: 'no session' };
    const error = new RetryRefusedError(failure('auth', details));
    for (const task of TASKS) expect(listOutcomes(error, task, false)).toEqual(resendThen(0, 'FAILED'));
    expect(buildErrorResult(error, 'FAILED', account)).toEqual({
      ...details,
      errorKind: 'auth',
      summary: { code: 'session_ended' },
    });
  });
});

describe('an item’s retry', () => {
  const delayOf = (todo: ResendDecision) => (todo.kind === 'resend' ? todo.afterMs : todo.outcome);

  it.each([
    ['not_sent', charge, [1_000, 4_000, 16_000, 'FAILED']],
    ['unknown_outcome', put, [1_000, 4_000, 16_000, 'UNKNOWN']],
    ['busy', charge, [1_000, 4_000, 16_000, 64_000, 64_000]],
  ] as const)('after %s waits longer each time', (kind, task, waits) => {
    const steps = waits.map((_, index) => decideResend(failure(kind), task, index + 1, true));
    expect(steps.map(delayOf)).toEqual(waits);
  });

  it.each([
    [7_000, 7_000],
    [0, 1_000],
    [999, 1_000],
    [900_000, 900_000],
    [86_400_000, 900_000],
  ])('after a Retry-After of %d ms waits %d ms', (retryAfterMs, expected) => {
    expect(delayOf(decideResend(failure('busy', { retryAfterMs }), charge, 1, true))).toBe(expected);
  });

  it('has a reason', () => {
    for (const [error, sent] of [
      [failure('busy'), true],
      [failure('not_sent'), true],
      [failure('unknown_outcome'), true],
      [new TypeError('canary'), false],
    ] as const) {
      const todo = decideResend(error, put, 1, sent);
      if (todo.kind !== 'resend') throw new Error('expected a resend');
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
  const buildSaved = (answered: Envelope) =>
    buildResult(
      { envelope: answered, httpStatus: 200, output: undefined, interface: 'json' },
      { hasSecretResult: false },
    );

  it('has everything that people see: status, object, data, messages and stid', () => {
    expect(buildSaved(envelope)).toEqual({
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

  it('leaves out long data, which is stored separately', () => {
    const long = buildSaved({ ...envelope, data: [{ much: 'x'.repeat(4_000) }] });
    expect(long).not.toHaveProperty('data');
    expect(long.hasFullAnswer).toBe(true);
    // The limit includes the brackets and quotes of the JSON.
    const { object: _, ...bare } = envelope;
    expect(buildSaved({ ...bare, data: ['x'.repeat(3_996)] })).toHaveProperty('data');
    expect(buildSaved({ ...bare, data: ['x'.repeat(3_997)] })).not.toHaveProperty('data');
  });

  it('of a failure has what was received, readable or not', () => {
    const unreadableResponse = { reason: 'it is no JSON' };
    expect(getFailedAnswer(failure('refused', { envelope }))).toEqual(envelope);
    expect(getFailedAnswer(failure('unknown_outcome', { unreadableResponse }))).toEqual({
      unreadable: unreadableResponse,
    });
    expect(getFailedAnswer(failure('not_sent'))).toBeUndefined();
  });

  it('refers to a full response only if there is more than a status', () => {
    const { status } = envelope;
    const bare = { status, messages: [], data: [], received: { stid: 's', status } };
    expect(buildSaved(bare)).not.toHaveProperty('hasFullAnswer');
    expect(buildSaved(bare)).not.toHaveProperty('data');
    for (const more of [{ object: {} }, { messages: [{ objects: [] }] }, { data: [1] }])
      expect(buildSaved({ ...bare, ...more })).toHaveProperty('hasFullAnswer', true);
    expect(buildSaved({ ...bare, received: { status, more: 1 } })).toHaveProperty('hasFullAnswer', true);
  });

  it.each([
    [true, true, true],
    [true, false, undefined],
    [false, true, undefined],
  ])('mentions a secret only if one is expected (%s) and came (%s)', (hasSecretResult, came, hasSecret) => {
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
  ])('explains %s with the outcome %s', (kind, outcome, summary) => {
    const result = buildErrorResult(failure(kind), outcome, account);
    expect(summaryText(result.summary)).toMatch(summary);
    expect(result.errorKind).toBe(kind);
  });

  it('says that the response was inconclusive', () => {
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

  it('leaves out an unexpected error’s content', () => {
    for (const [outcome, summary] of [
      ['UNKNOWN', /while it was sending the request/],
      ['FAILED', /nothing was sent/],
    ] as const) {
      const result = buildErrorResult(new Error('canary'), outcome, account);
      expect(summaryText(result.summary)).toMatch(summary);
      expect(JSON.stringify(result)).not.toContain('canary');
    }
  });

  it('includes the service’s reason, with or without an envelope', () => {
    const details = { code: 'EF01002', text: 'Period too long', stid: '20260301-app-8', httpStatus: 422 };
    expect(buildErrorResult(failure('refused', details), 'FAILED', account)).toEqual({
      ...details,
      errorKind: 'refused',
      summary: { code: 'refused' },
    });
    expect(buildErrorResult(failure('refused', { ...details, envelope }), 'FAILED', account)).toMatchObject({
      ...details,
      messages: [{ code: 'MSG1', text: 'Premium name', status: 'NOTICE' }, {}],
    });
  });
});
