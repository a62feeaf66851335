import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createErrorReference, createLog } from '../../src/lib/log.ts';
import { Secret } from '../../src/service/secret.ts';

function captureLog(): { readonly log: ReturnType<typeof createLog>; text(): string } {
  let text = '';
  const sink = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk);
      done();
    },
  });
  return { log: createLog('trace', sink), text: () => text };
}

describe('the log', () => {
  it('never contains a secret', () => {
    const { log, text } = captureLog();
    const secret = new Secret('canary');
    log.info({ secret, deep: { deeper: { deepest: [secret] } } }, 'with %s', secret);
    log.info({
      password: 'canary',
      account: { token: 'canary' },
      request: { headers: { authorization: 'canary' } },
      tried: [{ way: { by: { login: 'alice', password: 'canary', totpSecret: 'canary' } } }],
    });
    log.error({ err: Object.assign(new Error('calling'), { secret, details: { secret } }) });
    expect(text()).not.toContain('canary');
    expect(text()).toContain('[secret]');
    expect(text(), 'other values stay').toContain('"login":"alice"');
  });

  it('has ISO timestamps', () => {
    const { log, text } = captureLog();
    log.info('now');
    expect(text()).toMatch(/"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/);
  });

  it('doesn’t change its input, and supports circular values', () => {
    const { log, text } = captureLog();
    const ring: Record<string, unknown> = { at: new Date(0), token: 'canary' };
    ring['ring'] = ring;
    log.info({ ring });
    expect(text()).toContain('1970-01-01');
    expect(ring['token']).toBe('canary');
  });

  it('contains only the code of a database error, because its message quotes values', () => {
    const { log, text } = captureLog();
    const cause = Object.assign(new Error('Invalid value: canary'), { code: 'P2002' });
    cause.name = 'PrismaClientKnownRequestError';
    log.error({ err: new Error('keeping an order', { cause }) });
    expect(text()).not.toContain('canary');
    expect(text()).toContain('P2002');
    expect(text()).toContain('keeping an order');
  });

  it('contains the causes of an error', () => {
    const { log, text } = captureLog();
    log.error({ err: new Error('a', { cause: new Error('b', { cause: new Error('c') }) }) });
    expect(JSON.parse(text()).err).toMatchObject({
      message: 'a',
      cause: { message: 'b', cause: { message: 'c' } },
    });
  });

  it.each([
    'PrismaClientKnownRequestError',
    'PrismaClientValidationError',
    'PrismaClientUnknownRequestError',
    'PrismaClientInitializationError',
  ])('hides values quoted by %s, anywhere in a chain of causes', (name) => {
    const { log, text } = captureLog();
    const quoting = Object.assign(new Error('Invalid `create()`:\n    at password: "canary"\n  at canary'), {
      name,
      meta: { target: 'canary' },
    });
    log.error({ err: quoting }, 'one');
    log.error(quoting, 'two');
    log.error({ orderId: 'x', err: new Error('a', { cause: new Error('b', { cause: quoting }) }) });
    expect(text()).not.toContain('canary');
    expect(text().match(/a database error/g)).toHaveLength(3);
  });

  it('contains the stack of an error', () => {
    const { log, text } = captureLog();
    log.error({ err: new Error('here') });
    expect(JSON.parse(text()).err.stack).toMatch(/^\s+at .*log\.test\.ts/);
  });

  it('supports a circular chain of causes', () => {
    const { log, text } = captureLog();
    const ring = new Error('round');
    ring.cause = new Error('and', { cause: ring });
    log.error({ err: ring });
    expect(text().match(/"round"/g)?.length).toBeLessThan(5);
  });

  it.each([['canary'], [{ canary: true }], [null], [new Map([['canary', 1]])]])(
    'supports values that aren’t errors: %j',
    (thrown) => {
      const { log, text } = captureLog();
      log.error({ err: thrown });
      log.error({ err: new Error('calling', { cause: thrown }) });
      expect(text()).not.toContain('canary');
      expect(text()).toContain('calling');
    },
  );

  it('writes one JSON object per line, at its level and above', () => {
    const written: string[] = [];
    const log = createLog('warn', { write: (line) => void written.push(line) });
    log.info('too quiet');
    log.warn({ orderId: 'x' }, 'a line\nthat breaks');
    log.error('loud');
    const lines = written.join('').trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['a line\nthat breaks', 'loud']);
  });

  it('has unique error references', () => {
    const references = Array.from({ length: 100 }, createErrorReference);
    expect(new Set(references).size).toBe(100);
    for (const reference of references) expect(reference).toMatch(/^[0-9a-f]{8}$/);
  });
});
