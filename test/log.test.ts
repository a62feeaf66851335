import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { Secret } from '../src/client/secret.ts';
import { createLog, newReference } from '../src/log.ts';

function captured(): { readonly log: ReturnType<typeof createLog>; text(): string } {
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
  it('holds no secret, wherever one stands', () => {
    const { log, text } = captured();
    const secret = new Secret('canary');
    log.info({ secret, deep: { deeper: { deepest: [secret] } } }, 'with %s', secret);
    log.info({
      password: 'canary',
      account: { token: 'canary' },
      request: { headers: { authorization: 'canary' } },
    });
    log.error({ err: Object.assign(new Error('calling'), { secret, details: { secret } }) });
    expect(text()).not.toContain('canary');
    expect(text()).toContain('[secret]');
  });

  it('says of a database error its code alone, for its message quotes values', () => {
    const { log, text } = captured();
    const cause = Object.assign(new Error('Invalid value: canary'), { code: 'P2002' });
    cause.name = 'PrismaClientKnownRequestError';
    log.error({ err: new Error('keeping an order', { cause }) });
    expect(text()).not.toContain('canary');
    expect(text()).toContain('P2002');
    expect(text()).toContain('keeping an order');
  });

  it('names the cause of an error, and its cause', () => {
    const { log, text } = captured();
    log.error({ err: new Error('a', { cause: new Error('b', { cause: new Error('c') }) }) });
    expect(JSON.parse(text()).err).toMatchObject({
      message: 'a',
      cause: { message: 'b', cause: { message: 'c' } },
    });
  });

  it('copes with what is no error', () => {
    const { log, text } = captured();
    log.error({ err: 'canary' });
    expect(text()).not.toContain('canary');
  });

  it('gives references that differ', () => {
    expect(new Set(Array.from({ length: 100 }, newReference)).size).toBe(100);
  });
});
