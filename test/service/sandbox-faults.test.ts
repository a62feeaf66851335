import type { Fault, FaultKind, RecordedRequest } from '@domain-steward/sandbox-service';
import { describe, expect, it } from 'vitest';
import type { ServiceErrorKind } from '../../src/service/errors.ts';
import { domainRenew } from '../../src/service/tasks/domain.ts';
import { preregSearch } from '../../src/service/tasks/prereg.ts';
import { redirectUpdate } from '../../src/service/tasks/redirect.ts';
import { getServiceError } from './clients.ts';
import { passwordCredential, type RunTask, useSandbox } from './sandbox.ts';

const { service, createClient } = useSandbox();

/** The outcomes of a change (a charge over JSON, a write over XML) and of a read. */
interface Ends {
  readonly changing: ServiceErrorKind | 'done';
  readonly reading: ServiceErrorKind | 'done';
  readonly retryAfterMs?: number;
}

const OPEN: Ends = { changing: 'unknown_outcome', reading: 'invalid_response' };
const LATE: Ends = { changing: 'unknown_outcome', reading: 'busy' };
const REFUSED: Ends = { changing: 'refused', reading: 'refused' };
const AUTH: Ends = { changing: 'auth', reading: 'auth' };
const DONE: Ends = { changing: 'done', reading: 'done' };
const refusal = { code: 'EF00803', text: 'no' };

/** The type requires every fault of the sandbox. */
const FAULTS: Readonly<
  Record<Exclude<FaultKind, 'rdap_not_found' | 'rdap_wrong_date'>, readonly (readonly [Fault, Ends])[]>
> = {
  hang: [
    [{ kind: 'hang' }, OPEN],
    [{ kind: 'hang', carriedOut: true }, OPEN],
  ],
  drop_before: [
    [{ kind: 'drop_before' }, OPEN],
    [{ kind: 'drop_before', reset: true }, OPEN],
  ],
  drop_after: [
    [{ kind: 'drop_after' }, OPEN],
    [{ kind: 'drop_after', reset: true }, OPEN],
  ],
  status_500: [
    [{ kind: 'status_500' }, OPEN],
    [{ kind: 'status_500', envelope: true }, OPEN],
    [{ kind: 'status_500', carriedOut: true }, OPEN],
  ],
  status_503: [
    [{ kind: 'status_503' }, LATE],
    [{ kind: 'status_503', envelope: true }, LATE],
  ],
  status_429: [
    [{ kind: 'status_429' }, { changing: 'busy', reading: 'busy', retryAfterMs: 1_000 }],
    [
      { kind: 'status_429', retryAfter: 7 },
      { changing: 'busy', reading: 'busy', retryAfterMs: 7_000 },
    ],
  ],
  cut_json: [
    [{ kind: 'cut_json' }, OPEN],
    [{ kind: 'cut_json', abrupt: true }, OPEN],
    [{ kind: 'cut_json', bytes: 0 }, OPEN],
  ],
  cut_xml: [
    [{ kind: 'cut_xml' }, OPEN],
    [{ kind: 'cut_xml', abrupt: true }, OPEN],
    [{ kind: 'cut_xml', bytes: 0 }, OPEN],
  ],
  html: [[{ kind: 'html' }, OPEN]],
  redirect_307: [
    [{ kind: 'redirect_307' }, OPEN],
    [{ kind: 'redirect_307', location: '/v1/domain/cafe.rest/_renew', carriedOut: true }, OPEN],
  ],
  trickle: [[{ kind: 'trickle' }, OPEN]],
  huge: [[{ kind: 'huge' }, OPEN]],
  doctype: [[{ kind: 'doctype' }, OPEN]],
  slow: [
    [{ kind: 'slow', delayMs: 10 }, DONE],
    [{ kind: 'slow', delayMs: 60_000 }, OPEN],
    [{ kind: 'slow', delayMs: 60_000, carriedOut: false }, OPEN],
  ],
  wrong_type: [[{ kind: 'wrong_type' }, OPEN]],
  changed_status: [
    [{ kind: 'changed_status', type: 'ERROR' }, OPEN],
    [{ kind: 'changed_status', code: 'S1301001' }, OPEN],
  ],
  refuse: [
    [{ kind: 'refuse', ...refusal }, REFUSED],
    [{ kind: 'refuse', ...refusal, httpStatus: 200 }, REFUSED],
    [{ kind: 'refuse', ...refusal, httpStatus: 401 }, AUTH],
    [{ kind: 'refuse', ...refusal, httpStatus: 403 }, AUTH],
    [{ kind: 'refuse', ...refusal, httpStatus: 408 }, OPEN],
  ],
};

const findFaults = (other: FaultKind[]) =>
  Object.values(FAULTS)
    .flat()
    .filter(([{ kind }]) => !other.includes(kind))
    .map(([fault, ends]) => [JSON.stringify(fault), fault, ends] as const);

const charge: RunTask = (c, call) => c.run(domainRenew, { name: 'cafe.rest', period: 1 }, call);
const redirect: RunTask = (c, call) =>
  c.run(
    redirectUpdate,
    { source: 'shop.cafe.rest', target: 'b.example', type: 'domain', mode: 'frame' },
    call,
  );
const search: RunTask = (c, call) =>
  c.run(preregSearch, { view: { children: true, offset: 0, limit: 2 }, filters: [] }, call);

/** With these faults, the call is aborted as soon as the sandbox has the request. */
const isEndless = ({ kind, ...fault }: Fault): boolean =>
  kind === 'hang' || kind === 'trickle' || ('delayMs' in fault && fault.delayMs > 1_000);

async function runWithFault(fault: Fault, via: 'json' | 'xml', run: RunTask): Promise<CallEnd> {
  service().faults.clear();
  service().faults.set({ ...fault, times: 1 });
  const before = service().requests.length;
  const client = createClient(passwordCredential);
  const controller = new AbortController();
  const unsubscribe = service().onRequest(({ durationMs }) => {
    const isRunning = durationMs === null;
    if (isRunning && isEndless(fault)) controller.abort();
  });
  const call = run(client, {
    interface: via,
    ctid: 'order-1',
    timeoutMs: 10_000,
    signal: controller.signal,
  });
  let end: Omit<CallEnd, 'sent'>;
  try {
    await call;
    end = { kind: 'done' };
  } catch {
    const { kind, retryAfterMs, ctid, message } = await getServiceError(call);
    expect(ctid).toBe('order-1');
    expect(message).not.toContain(passwordCredential.password.reveal());
    end = { kind, retryAfterMs };
  } finally {
    unsubscribe();
  }
  return { ...end, sent: service().requests.slice(before) };
}

interface CallEnd {
  readonly kind: ServiceErrorKind | 'done';
  readonly retryAfterMs?: number | undefined;
  /** The sandbox's log. */
  readonly sent: readonly RecordedRequest[];
}

/** Kinds that promise that the service did nothing. */
const NOTHING_DONE = new Set<CallEnd['kind']>(['auth', 'refused', 'busy', 'not_sent']);

function expectOutcome(end: CallEnd, kind: CallEnd['kind'], { retryAfterMs }: Ends): void {
  expect(end.kind).toBe(kind);
  expect(end.retryAfterMs).toBe(retryAfterMs);
  expect(end.sent, 'requests, one whatever the response').toHaveLength(1);
  if (NOTHING_DONE.has(kind)) expect(end.sent[0]?.carriedOut, 'carried out despite the error').toBe(false);
  if (kind === 'done') expect(end.sent[0]?.carriedOut).toBe(true);
}

describe('the outcome of every fault', () => {
  it.each(findFaults(['cut_xml', 'doctype']))(
    'of a charge and a read over JSON: %s',
    async (_name, fault, ends) => {
      expectOutcome(await runWithFault(fault, 'json', charge), ends.changing, ends);
      expectOutcome(await runWithFault(fault, 'json', search), ends.reading, ends);
    },
  );

  it.each(findFaults(['cut_json']))('of a write and a read over XML: %s', async (_name, fault, ends) => {
    expectOutcome(await runWithFault(fault, 'xml', redirect), ends.changing, ends);
    expectOutcome(await runWithFault(fault, 'xml', search), ends.reading, ends);
  });
});
