// A resolver and nameserver at the lowest possible cost, in a separate process. Every host has one address, every zone
// has one nameserver below it, and there are no other records.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';

const HEADER_BYTES = 12;
const TYPE = { A: 1, NS: 2 } as const;
/** Points to the question's name (RFC 1035, 4.1.4). */
const QUESTION_NAME = Buffer.from([0xc0, HEADER_BYTES]);
const ADDRESS = Buffer.from([127, 0, 0, 1]);
const NAMESERVER = Buffer.concat([Buffer.from([3]), Buffer.from('ns1'), QUESTION_NAME]);

function buildResponse(question: Buffer): Buffer {
  let end = HEADER_BYTES;
  for (let length = question[end] ?? 0; length > 0; length = question[end] ?? 0) end += length + 1;
  const type = question.readUInt16BE(end + 1);
  const data = type === TYPE.A ? ADDRESS : type === TYPE.NS ? NAMESERVER : undefined;
  const header = Buffer.from(question.subarray(0, end + 5));
  // Flags: an authoritative response with recursion and without an error.
  header.writeUInt16BE(0x8580, 2);
  header.writeUInt16BE(data === undefined ? 0 : 1, 6);
  header.writeUInt16BE(0, 8);
  header.writeUInt16BE(0, 10);
  if (data === undefined) return header;
  const record = Buffer.alloc(10);
  record.writeUInt16BE(type, 0);
  record.writeUInt16BE(1, 2);
  record.writeUInt32BE(300, 4);
  record.writeUInt16BE(data.length, 8);
  return Buffer.concat([header, QUESTION_NAME, record, data]);
}

let questionCount = 0;
const socket = createSocket({ type: 'udp4', recvBufferSize: 4 * 2 ** 20 });
socket.on('message', (question, { port, address }) => {
  questionCount += 1;
  socket.send(buildResponse(question), port, address);
});
// Reports the number of questions since the last report.
process.on('message', () => {
  process.send?.({ asked: questionCount });
  questionCount = 0;
});
socket.bind(0, '127.0.0.1');
await once(socket, 'listening');
process.on('disconnect', () => process.exit());
process.send?.({ port: socket.address().port });
