import { encode } from 'dns-packet';
import { describe, expect, test } from 'vitest';
import { encodeQuery, parseDnsResponse, type Question } from '../../../src/registry/dns/message.ts';
import fc, { runs } from '../../support/properties.ts';

const QUESTION: Question = { name: 'cafe.rest', type: 'A', recursive: true, dnssec: false };
const ID = 4_711;
const HEADER_BYTES = 12;
const QUESTION_BYTES = 15;

const RESPONSE = encode({
  type: 'response',
  id: ID,
  questions: [{ name: 'cafe.rest', type: 'A', class: 'IN' }],
  answers: [{ name: 'cafe.rest', type: 'A', class: 'IN', ttl: 60, data: '198.51.100.7' }],
});

describe('a packet', () => {
  test('that answers the question is read', () => {
    expect(parseDnsResponse(RESPONSE, ID, QUESTION)).toMatchObject({
      kind: 'response',
      response: { rcode: 0, truncated: false, answers: [{ data: '198.51.100.7' }] },
    });
  });

  test('that is a question is unrelated', () => {
    expect(parseDnsResponse(encodeQuery(ID, QUESTION, true), ID, QUESTION).kind).toBe('unrelated');
  });

  test.each<[string, Question]>([
    ['another type', { ...QUESTION, type: 'MX' }],
    ['another name', { ...QUESTION, name: 'cafe.example' }],
  ])('that answers a question for %s is unrelated', (_case, question) => {
    expect(parseDnsResponse(RESPONSE, ID, question).kind).toBe('unrelated');
  });

  test('that repeats no question or two questions is unrelated', () => {
    for (const questions of [[], [QUESTION, QUESTION]]) {
      expect(parseDnsResponse(encode({ type: 'response', id: ID, questions }), ID, QUESTION).kind).toBe(
        'unrelated',
      );
    }
  });

  test('of random bytes is parsed without an exception', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
        const packet = Buffer.from(bytes);
        expect(parseDnsResponse(packet, ID, QUESTION).kind).not.toBe('response');
        if (packet.length >= 2) packet.writeUInt16BE(ID);
        parseDnsResponse(packet, ID, QUESTION);
        parseDnsResponse(
          Buffer.concat([RESPONSE.subarray(0, HEADER_BYTES + QUESTION_BYTES), packet]),
          ID,
          QUESTION,
        );
      }),
    );
  });

  test('with a changed id or question is never accepted as the response', () => {
    const at = fc.oneof(
      fc.constantFrom(0, 1),
      fc.integer({ min: HEADER_BYTES, max: HEADER_BYTES + QUESTION_BYTES - 1 }),
    );
    fc.assert(
      fc.property(at, fc.integer({ min: 1, max: 255 }), (position, change) => {
        const packet = Buffer.from(RESPONSE);
        packet[position] = (packet[position] ?? 0) ^ change;
        const changedLetterCase =
          change === 0x20 && /[a-z]/.test(String.fromCharCode(RESPONSE[position] ?? 0));
        const read = parseDnsResponse(packet, ID, QUESTION);
        if (!changedLetterCase) expect(read.kind).not.toBe('response');
        else expect(read.kind).toBe('response');
      }),
      { numRuns: runs(1_000) },
    );
  });
});
