import { describe, expect, it } from 'vitest';
import { VaultError } from '../../src/accounts/vault.ts';
import {
  buildErrorResult,
  buildSuccessResult,
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

function newServiceError(kind: ServiceErrorKind, details: Partial<ServiceErrorDetails> = {}): ServiceError {
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
const PAID_TASK = { effect: 'charge', idempotent: false } as const;
const IDEMPOTENT_WRITE = { effect: 'write', idempotent: true } as const;

/** The result after each of the first 25 attempts: `again`, `FAILED` or `UNKNOWN`. */
function listOutcomes(error: unknown, task: (typeof TASKS)[number], wasSent: boolean): string[] {
  return Array.from({ length: 25 }, (_, index) => {
    const decision = decideResend(error, task, index + 1, wasSent);
    return decision.kind === 'resend' ? 'again' : decision.outcome;
  });
}

const listResendsThen = (times: number, then: 'FAILED' | 'UNKNOWN') => [
  ...Array.from({ length: times }, () => 'again'),
  ...Array.from({ length: 25 - times }, () => then),
];

/** The expected results for a request that may have been sent. */
function listExpectedOutcomes(
  kind: ServiceErrorKind,
  { effect, idempotent }: (typeof TASKS)[number],
): string[] {
  switch (kind) {
    case 'auth':
    case 'refused':
    case 'unsupported':
    case 'invalid_input':
      return listResendsThen(0, 'FAILED');
    case 'busy':
    case 'token_used':
      return listResendsThen(20, 'FAILED');
    case 'not_sent':
      return listResendsThen(3, 'FAILED');
    case 'unknown_outcome':
    case 'invalid_response':
      return effect !== 'charge' && idempotent
        ? listResendsThen(3, 'UNKNOWN')
        : listResendsThen(0, 'UNKNOWN');
  }
}

describe('an item’s result after an error', () => {
  it('is unknown without a retry for an unreadable 2xx response', () => {
    const unreadable = newServiceError('unknown_outcome', {
      httpStatus: 200,
      unreadableResponse: { reason: 'it is no JSON' },
    });
    for (const task of TASKS)
      expect(listOutcomes(unreadable, task, true)).toEqual(listResendsThen(0, 'UNKNOWN'));
  });

  for (const kind of KINDS) {
    it(`of kind ${kind} depends on the task and the attempt`, () => {
      for (const task of TASKS) {
        const taskName = `${task.effect}, ${task.idempotent ? 'idempotent' : 'not idempotent'}`;
        expect(listOutcomes(newServiceError(kind), task, true), taskName).toEqual(
          listExpectedOutcomes(kind, task),
        );
      }
    });
  }

  it('is unknown without a retry for a paid task that may have been carried out', () => {
    for (const idempotent of [true, false]) {
      for (const error of [
        newServiceError('unknown_outcome'),
        newServiceError('invalid_response'),
        new TypeError('oops'),
      ]) {
        expect(listOutcomes(error, { effect: 'charge', idempotent }, true)).toEqual(
          listResendsThen(0, 'UNKNOWN'),
        );
      }
    }
  });

  it('is unknown for an unexpected error once the request may have been sent', () => {
    for (const task of TASKS) {
      for (const error of [new TypeError('oops'), undefined, 'thrown']) {
        expect(listOutcomes(error, task, true)).toEqual(listResendsThen(0, 'UNKNOWN'));
      }
    }
  });

  it('is failed, not unknown, after at most three retries if the request wasn’t sent', () => {
    for (const task of TASKS) {
      for (const error of [
        newServiceError('not_sent'),
        newServiceError('unknown_outcome'),
        newServiceError('invalid_response'),
        new TypeError('oops'),
      ]) {
        expect(listOutcomes(error, task, false)).toEqual(listResendsThen(3, 'FAILED'));
      }
      for (const kind of ['auth', 'refused', 'unsupported', 'invalid_input'] as const) {
        expect(listOutcomes(newServiceError(kind), task, false), kind).toEqual(listResendsThen(0, 'FAILED'));
      }
    }
  });
});

it('an item whose sealed value can’t be decrypted isn’t retried', () => {
  for (const task of TASKS) {
    expect(listOutcomes(new VaultError('opening'), task, false)).toEqual(listResendsThen(0, 'FAILED'));
    expect(listOutcomes(new VaultError('opening'), task, true)).toEqual(listResendsThen(0, 'UNKNOWN'));
  }
});

describe('an item that must not be retried', () => {
  const account = { login: 'alice', context: 4 };

  it('is unknown if its process was suspended', () => {
    const error = new SuspendedError('6000 ms have passed');
    for (const task of TASKS) expect(listOutcomes(error, task, true)).toEqual(listResendsThen(0, 'UNKNOWN'));
    expect(buildErrorResult(error, 'UNKNOWN', account)).toEqual({
      summary: { code: 'suspended' },
    });
  });

  it('fails with the service’s reason if its session had ended', () => {
    const details = { httpStatus: 401, code: 'EF01', text: 'no session' };
    const error = new RetryRefusedError(newServiceError('auth', details));
    for (const task of TASKS) expect(listOutcomes(error, task, false)).toEqual(listResendsThen(0, 'FAILED'));
    expect(buildErrorResult(error, 'FAILED', account)).toEqual({
      ...details,
      errorKind: 'auth',
      summary: { code: 'session_ended' },
    });
  });
});

describe('an item’s retry', () => {
  const getDelayOrOutcome = (todo: ResendDecision) => (todo.kind === 'resend' ? todo.afterMs : todo.outcome);

  it.each([
    ['not_sent', PAID_TASK, [1_000, 4_000, 16_000, 'FAILED']],
    ['unknown_outcome', IDEMPOTENT_WRITE, [1_000, 4_000, 16_000, 'UNKNOWN']],
    ['busy', PAID_TASK, [1_000, 4_000, 16_000, 64_000, 64_000]],
  ] as const)('after %s waits longer each time', (kind, task, expectedDelays) => {
    const decisions = expectedDelays.map((_, index) =>
      decideResend(newServiceError(kind), task, index + 1, true),
    );
    expect(decisions.map(getDelayOrOutcome)).toEqual(expectedDelays);
  });

  it.each([
    [7_000, 7_000],
    [0, 1_000],
    [999, 1_000],
    [900_000, 900_000],
    [86_400_000, 900_000],
  ])('after a Retry-After of %d ms waits %d ms', (retryAfterMs, expected) => {
    expect(
      getDelayOrOutcome(decideResend(newServiceError('busy', { retryAfterMs }), PAID_TASK, 1, true)),
    ).toBe(expected);
  });

  it('has a reason in one sentence, without the error’s text', () => {
    for (const [error, sent] of [
      [newServiceError('busy'), true],
      [newServiceError('not_sent'), true],
      [newServiceError('unknown_outcome'), true],
      [new TypeError('canary'), false],
    ] as const) {
      const todo = decideResend(error, IDEMPOTENT_WRITE, 1, sent);
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
  const buildSavedResult = (response: Envelope) =>
    buildSuccessResult(
      { envelope: response, httpStatus: 200, output: undefined, interface: 'json' },
      { hasSecretResult: false },
    );

  it('includes the status, object, data, messages and stid', () => {
    expect(buildSavedResult(envelope)).toEqual({
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
    const long = buildSavedResult({ ...envelope, data: [{ much: 'x'.repeat(4_000) }] });
    expect(long).not.toHaveProperty('data');
    expect(long.hasFullAnswer).toBe(true);
    // The limit includes the brackets and quotes of the JSON.
    const { object: _, ...envelopeWithoutObject } = envelope;
    expect(buildSavedResult({ ...envelopeWithoutObject, data: ['x'.repeat(3_996)] })).toHaveProperty('data');
    expect(buildSavedResult({ ...envelopeWithoutObject, data: ['x'.repeat(3_997)] })).not.toHaveProperty(
      'data',
    );
  });

  it('is the envelope or the unreadable response after a failure', () => {
    const unreadableResponse = { reason: 'it is no JSON' };
    expect(getFailedAnswer(newServiceError('refused', { envelope }))).toEqual(envelope);
    expect(getFailedAnswer(newServiceError('unknown_outcome', { unreadableResponse }))).toEqual({
      unreadable: unreadableResponse,
    });
    expect(getFailedAnswer(newServiceError('not_sent'))).toBeUndefined();
  });

  it('refers to a full response only if there is more than a status', () => {
    const { status } = envelope;
    const statusOnly = { status, messages: [], data: [], received: { stid: 's', status } };
    expect(buildSavedResult(statusOnly)).not.toHaveProperty('hasFullAnswer');
    expect(buildSavedResult(statusOnly)).not.toHaveProperty('data');
    for (const addition of [{ object: {} }, { messages: [{ objects: [] }] }, { data: [1] }])
      expect(buildSavedResult({ ...statusOnly, ...addition })).toHaveProperty('hasFullAnswer', true);
    expect(buildSavedResult({ ...statusOnly, received: { status, more: 1 } })).toHaveProperty(
      'hasFullAnswer',
      true,
    );
  });

  it.each([
    [true, true, true],
    [true, false, undefined],
    [false, true, undefined],
  ])(
    'mentions a secret only if expected (%s) and received (%s)',
    (hasSecretResult, isReceived, hasSecret) => {
      const secret = isReceived ? new Secret('canary') : undefined;
      const result = buildSuccessResult(
        { envelope, httpStatus: 200, output: secret, interface: 'json' },
        { hasSecretResult },
      );
      expect(result.hasSecret).toBe(hasSecret);
      expect(JSON.stringify(result)).not.toContain('canary');
    },
  );
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
    const result = buildErrorResult(newServiceError(kind), outcome, account);
    expect(summaryText(result.summary)).toMatch(summary);
    expect(result.errorKind).toBe(kind);
  });

  it('says that the response was inconclusive', () => {
    const result = buildErrorResult(newServiceError('unknown_outcome', { envelope }), 'UNKNOWN', account);
    expect(summaryText(result.summary)).toBe(
      'The service’s response doesn’t say clearly whether it was carried out.',
    );
    expect(result).toMatchObject({ code: 'S0104', text: 'Renewed' });
  });

  it('names an application if there is no context', () => {
    const { summary } = buildErrorResult(newServiceError('auth'), 'FAILED', {
      login: 'uuid-1',
      context: undefined,
    });
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
    expect(buildErrorResult(newServiceError('refused', details), 'FAILED', account)).toEqual({
      ...details,
      errorKind: 'refused',
      summary: { code: 'refused' },
    });
    expect(
      buildErrorResult(newServiceError('refused', { ...details, envelope }), 'FAILED', account),
    ).toMatchObject({
      ...details,
      messages: [{ code: 'MSG1', text: 'Premium name', status: 'NOTICE' }, {}],
    });
  });
});
