import { expect, test } from 'vitest';
import { type StoredEvidence, storedEvidenceSchema } from '../../../src/orders/record-finding.ts';
import { formatRecordFinding } from '../../../src/slack/orders/record-finding.view.ts';

const TEN = Array.from({ length: 10 }, (_, n) => `ns${n}.example`);
const dates = { expiresAt: '2029-06-20T12:00:00.000Z', before: '2027-06-20T12:00:00.000Z' };

test.each<[StoredEvidence, string]>([
  [
    { code: 'nameservers_seen', nameServers: TEN, areRequested: false },
    'The registry shows other nameservers: ns0.example, ns1.example, ns2.example, ns3.example, ns4.example, ns5.example and 4 more.',
  ],
  [
    { code: 'expiry_changed', ...dates, otherCause: 'transfer', overHttp: true },
    'The registry shows the expiry date 20 Jun 2029. Before this was sent, it was 20 Jun 2027. The registrar may also have changed, and a transfer changes the date too. The record came over plain HTTP.',
  ],
  [
    { code: 'renewed', ...dates },
    'The expiry date at the registry moved by the requested number of years, from 20 Jun 2027 to 20 Jun 2029.',
  ],
  [
    { code: 'nameservers_set' },
    'The registry shows the requested nameservers. It showed others before this was sent, and no other order requested them.',
  ],
  [
    { code: 'deleted' },
    'The registry shows that the name was deleted at the time this was sent, before its expiry.',
  ],
])('the finding %j is described, and stored unchanged', (finding, words) => {
  expect(formatRecordFinding(finding)).toBe(words);
  expect(storedEvidenceSchema.parse(JSON.parse(JSON.stringify(finding)))).toEqual(finding);
});
