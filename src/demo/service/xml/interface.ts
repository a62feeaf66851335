import type { Answer } from '../answer.ts';
import type { Incoming, Plan } from '../incoming.ts';
import type { Desk } from '../operations/caller.ts';
import type { RefusedWith } from '../refusal.ts';
export function planXml(desk: Desk, _incoming: Incoming): Plan {
  return {
    task: null,
    name: null,
    claim: null,
    loggedBody: null,
    run: () => xmlRefusal(desk, { code: 'EF01002', message: 'not yet' }),
  };
}
export function xmlRefusal(_desk: Desk, { code, message, httpStatus = 200 }: RefusedWith): Answer {
  return {
    httpStatus,
    headers: { 'content-type': 'text/xml' },
    body: `<response><result><status><code>${code}</code><text>${message}</text></status></result></response>`,
    code,
  };
}
